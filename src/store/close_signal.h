// How waits on the store's threads end when the store is closed.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace tollgate::store {

// Thread-safe. mutex_ guards deadline_.
class CloseSignal {
  public:
    using Clock = std::chrono::steady_clock;

    // From now on waits may last until `deadline` and no longer. Called once.
    void close_by(Clock::time_point deadline) {
        {
            const std::scoped_lock lock(mutex_);
            deadline_ = deadline;
        }
        changed_.notify_all();
    }

    // Waits for `wait`, or less when the deadline of a close comes first; false past that deadline.
    bool pause(std::chrono::microseconds wait) const {
        const auto until = Clock::now() + wait;
        std::unique_lock lock(mutex_);
        while (Clock::now() < until) {
            if (deadline_ && Clock::now() >= *deadline_) {
                return false;
            }
            (void)changed_.wait_until(lock, deadline_ ? std::min(until, *deadline_) : until);
        }
        return !deadline_ || Clock::now() < *deadline_;
    }

    bool expired() const {
        const std::scoped_lock lock(mutex_);
        return deadline_ && Clock::now() >= *deadline_;
    }

  private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::optional<Clock::time_point> deadline_;
};

}  // namespace tollgate::store
