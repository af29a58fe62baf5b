// VirtualLoop: a Loop whose time moves only when it is told to, for tests and lockstep replay.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "base/faults.h"
#include "pipeline/loop.h"

namespace tollgate::pipeline {

// The thread that calls run_* is the loop's thread. mutex_ guards posted_ alone; everything else is
// the loop thread's.
class VirtualLoop : public Loop {
  public:
    explicit VirtualLoop(EventTime wall, const FaultSwitches* faults = nullptr)
        : wall_(wall), faults_(faults) {}

    void post(std::function<void()> f) override;
    TimerId call_at(Steady::time_point when, std::function<void()> f) override;
    void cancel(TimerId id) override;
    Steady::time_point now() const override { return now_; }
    EventTime wall() const override;

    // Runs what is posted, waiting for other threads' posts, until `finished` is true; false after
    // `patience` of real time without a post. Virtual time does not move: no timer runs.
    bool run_until(const std::function<bool()>& finished,
                   std::chrono::milliseconds patience = std::chrono::seconds(30));
    // Moves virtual time (and the wall clock) forward, running the timers that come due in order,
    // and what is posted.
    void advance(std::chrono::microseconds by);
    void set_wall(EventTime wall) { wall_ = wall; }
    std::size_t run_posted();

  private:
    std::mutex mutex_;
    std::condition_variable ready_;
    std::deque<std::function<void()>> posted_;
    std::multimap<Steady::time_point, std::pair<TimerId, std::function<void()>>> timers_;
    TimerId next_timer_ = 1;
    Steady::time_point now_ = Steady::time_point{} + std::chrono::hours(1);
    EventTime wall_;
    const FaultSwitches* faults_;
};

}  // namespace tollgate::pipeline
