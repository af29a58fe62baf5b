// Virtual time: timers fire only inside advance(), in order of their due time.
#include "pipeline/virtual_loop.h"

#include <algorithm>

namespace tollgate::pipeline {

void VirtualLoop::post(std::function<void()> f) {
    {
        const std::scoped_lock lock(mutex_);
        posted_.push_back(std::move(f));
    }
    ready_.notify_one();
}

Loop::TimerId VirtualLoop::call_at(Steady::time_point when, std::function<void()> f) {
    const TimerId id = next_timer_++;
    timers_.emplace(when, std::make_pair(id, std::move(f)));
    return id;
}

void VirtualLoop::cancel(TimerId id) {
    const auto found = std::find_if(timers_.begin(), timers_.end(),
                                    [id](const auto& timer) { return timer.second.first == id; });
    if (found != timers_.end()) {
        timers_.erase(found);
    }
}

EventTime VirtualLoop::wall() const {
    const std::int64_t jump =
        faults_ == nullptr ? 0 : faults_->clock_jump_us.load(std::memory_order_relaxed);
    return wall_ + Micros{jump};
}

std::size_t VirtualLoop::run_posted() {
    std::size_t ran = 0;
    for (;;) {
        std::function<void()> f;
        {
            const std::scoped_lock lock(mutex_);
            if (posted_.empty()) {
                return ran;
            }
            f = std::move(posted_.front());
            posted_.pop_front();
        }
        f();
        ++ran;
    }
}

bool VirtualLoop::run_until(const std::function<bool()>& finished,
                            std::chrono::milliseconds patience) {
    while (!finished()) {
        if (run_posted() > 0) {
            continue;
        }
        std::unique_lock lock(mutex_);
        if (!ready_.wait_for(lock, patience, [this] { return !posted_.empty(); })) {
            return false;
        }
    }
    return true;
}

void VirtualLoop::advance(std::chrono::microseconds by) {
    const Steady::time_point target = now_ + by;
    (void)run_posted();
    while (!timers_.empty() && timers_.begin()->first <= target) {
        auto node = timers_.extract(timers_.begin());
        const Steady::time_point due = std::max(now_, node.key());
        wall_ += std::chrono::duration_cast<Micros>(due - now_);
        now_ = due;
        node.mapped().second();
        (void)run_posted();
    }
    wall_ += std::chrono::duration_cast<Micros>(target - now_);
    now_ = target;
}

}  // namespace tollgate::pipeline
