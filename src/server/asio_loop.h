// AsioLoop: the pipeline's loop over one Boost.Asio context; the io thread is whoever calls run().
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/faults.h"
#include "pipeline/loop.h"

namespace boost::asio {
class io_context;
}

namespace tollgate::server {

// post() and stop() are safe from any thread; all else belongs to the thread in run(). Posted work
// of many threads costs one wake-up a burst; timers are a heap of our own behind one Asio timer, so
// a timer that is set and cancelled (each request has some) makes no system call and, after
// warm-up, allocates nothing but what its function holds.
class AsioLoop final : public pipeline::Loop {
  public:
    explicit AsioLoop(const FaultSwitches* faults = nullptr);
    ~AsioLoop() override;
    AsioLoop(const AsioLoop&) = delete;
    AsioLoop& operator=(const AsioLoop&) = delete;

    void post(std::function<void()> f) override;
    TimerId call_at(Steady::time_point when, std::function<void()> f) override;
    void cancel(TimerId id) override;
    Steady::time_point now() const override { return Steady::now(); }
    EventTime wall() const override;

    // Runs until stop(). run() may be called again.
    void run();
    // Runs what is ready and returns; for start-up and tests.
    void run_for(std::chrono::milliseconds time);
    void stop();

    boost::asio::io_context& context();
    std::size_t timers() const { return heap_.size() - stale_; }

  private:
    struct Io;
    struct Due {
        Steady::time_point when;
        std::uint64_t order = 0;  // equal times run in the order they were set
        TimerId id = 0;
    };
    struct Slot {
        std::function<void()> f;
        std::uint32_t generation = 1;
        bool used = false;
    };
    static bool later(const Due& a, const Due& b);
    bool live(TimerId id) const;
    void release(TimerId id);
    void drop_stale();
    void arm();
    void run_due();
    void run_posted();

    std::unique_ptr<Io> io_;
    const FaultSwitches* faults_;

    std::mutex mutex_;  // guards posted_ and woken_
    std::vector<std::function<void()>> posted_;
    bool woken_ = false;
    std::vector<std::function<void()>> running_;  // the burst being run; keeps its capacity

    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;
    std::vector<Due> heap_;
    std::size_t stale_ = 0;  // entries of heap_ that were cancelled
    std::uint64_t order_ = 0;
    Steady::time_point armed_ = Steady::time_point::max();
};

}  // namespace tollgate::server
