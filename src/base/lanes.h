// Compute lanes: threads that share one job's tiles, and the gate by which a fast request keeps the
// deep lane from starting another tile.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/threads.h"
#include "base/time.h"

namespace tollgate {

// A borrowed callable: no allocation, valid for the call it is handed to.
class TileFn {
  public:
    template <class F>
    // NOLINTNEXTLINE(google-explicit-constructor): a lambda is written where it is used.
    TileFn(F& f) : object_(&f), call_(&call<F>) {}
    void operator()(std::size_t tile, std::size_t worker) const { call_(object_, tile, worker); }

  private:
    template <class F>
    static void call(void* object, std::size_t tile, std::size_t worker) {
        (*static_cast<F*>(object))(tile, worker);
    }
    void* object_;
    void (*call_)(void*, std::size_t, std::size_t);
};

// Helpers that take tiles beside the calling thread. One caller at a time. Which thread takes which
// tile is left to chance: a tile's result must not depend on it. Helpers spin for a moment after a
// job (the next one is usually a few microseconds away), then sleep: an idle lane burns nothing.
class TileLane {
  public:
    // `threads` counts the caller: 1 makes no helper. Helpers are named NAME-1, NAME-2, …
    TileLane(std::size_t threads, ThreadRole role, std::string name);
    ~TileLane();
    TileLane(const TileLane&) = delete;
    TileLane& operator=(const TileLane&) = delete;

    std::size_t threads() const { return helpers_.size() + 1; }

    // Calls f(tile, worker) for each tile in [0, tiles), worker in [0, threads()), and returns when
    // all are done. With one tile, or alone, it runs on the caller. Allocates nothing.
    void run(std::size_t tiles, TileFn f);

    // Tiles begun since the start: what a watchdog looks at. Relaxed, any thread.
    std::uint64_t tiles_begun() const { return begun_.load(std::memory_order_relaxed); }

  private:
    // A helper enters a job by raising active_ and then reading open_; run() ends it by clearing
    // open_ and then reading active_. Both are sequentially consistent, so one of the two sees the
    // other: no helper is inside once run() has returned, and none can enter until the next job is
    // whole.
    void help(std::size_t worker);
    void take_tiles(std::size_t worker);
    void wait_for_round(std::uint64_t seen);

    const TileFn* job_ = nullptr;
    std::size_t tiles_ = 0;
    std::atomic<std::size_t> next_{0};
    std::atomic<bool> open_{false};
    std::atomic<std::size_t> active_{0};
    std::atomic<std::uint64_t> round_{0};  // raised per job; helpers wait for it to change
    std::atomic<std::size_t> asleep_{0};   // helpers on wake_; partner of round_
    std::atomic<std::uint64_t> begun_{0};  // relaxed count
    std::atomic<bool> stop_{false};
    std::mutex mutex_;  // guards nothing but the sleep on wake_
    std::condition_variable wake_;
    std::vector<std::jthread> helpers_;
};

// Closed while a fast request is in flight: no deep tile starts until it is open again (design
// section 6), so that a fast request waits for at most one tile in all. Thread-safe.
class LaneGate {
  public:
    void close() { closed_.fetch_add(1, std::memory_order_acq_rel); }
    void open();
    bool is_open() const { return closed_.load(std::memory_order_acquire) == 0; }

    // Deep lane, before each tile: returns once the gate is open, false when it had to wait. Also
    // returns when `stop` is set, and after kLongestWait: no healthy fast request takes that long,
    // so a hung fast lane does not take the deep one with it.
    static constexpr std::chrono::milliseconds kLongestWait{50};
    bool wait_open(const std::atomic<bool>& stop);
    void wake_all();

    std::uint64_t waits() const { return waits_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint32_t> closed_{0};  // requests in flight; open() releases, waiters acquire
    std::atomic<std::uint64_t> waits_{0};   // relaxed count
    std::mutex mutex_;                      // guards nothing but the sleep on opened_
    std::condition_variable opened_;
};

}  // namespace tollgate
