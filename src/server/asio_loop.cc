// Posting and timers over one io_context.
#include "server/asio_loop.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "base/check.h"

namespace tollgate::server {

namespace asio = boost::asio;

struct AsioLoop::Io {
    asio::io_context context{1};  // one thread runs it
    asio::steady_timer timer{context};
};

AsioLoop::AsioLoop(const FaultSwitches* faults) : io_(std::make_unique<Io>()), faults_(faults) {}
AsioLoop::~AsioLoop() = default;

asio::io_context& AsioLoop::context() {
    return io_->context;
}

void AsioLoop::post(std::function<void()> f) {
    bool wake = false;
    {
        const std::scoped_lock lock(mutex_);
        posted_.push_back(std::move(f));
        wake = !std::exchange(woken_, true);
    }
    if (wake) {
        asio::post(io_->context, [this] { run_posted(); });
    }
}

void AsioLoop::run_posted() {
    {
        const std::scoped_lock lock(mutex_);
        woken_ = false;
        running_.swap(posted_);
    }
    for (auto& f : running_) {
        f();
        f = nullptr;
    }
    running_.clear();
}

EventTime AsioLoop::wall() const {
    const auto now = std::chrono::time_point_cast<Micros>(std::chrono::system_clock::now());
    const std::int64_t jump =
        faults_ == nullptr ? 0 : faults_->clock_jump_us.load(std::memory_order_relaxed);
    return now + Micros{jump};
}

bool AsioLoop::later(const Due& a, const Due& b) {
    return a.when != b.when ? a.when > b.when : a.order > b.order;
}

bool AsioLoop::live(TimerId id) const {
    const auto index = static_cast<std::uint32_t>(id & 0xFFFFFFFFU);
    return index < slots_.size() && slots_[index].used &&
           slots_[index].generation == static_cast<std::uint32_t>(id >> 32U);
}

void AsioLoop::release(TimerId id) {
    const auto index = static_cast<std::uint32_t>(id & 0xFFFFFFFFU);
    Slot& slot = slots_[index];
    slot.used = false;
    ++slot.generation;
    free_.push_back(index);
}

pipeline::Loop::TimerId AsioLoop::call_at(Steady::time_point when, std::function<void()> f) {
    if (free_.empty()) {
        TG_CHECK(slots_.size() < 0xFFFFFFFFU, "timers");
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Slot& slot = slots_[index];
    slot.f = std::move(f);
    slot.used = true;
    const TimerId id = (TimerId{slot.generation} << 32U) | index;
    heap_.push_back(Due{when, order_++, id});
    std::push_heap(heap_.begin(), heap_.end(), later);
    if (when < armed_) {
        arm();
    }
    return id;
}

void AsioLoop::cancel(TimerId id) {
    if (!live(id)) {
        return;
    }
    slots_[id & 0xFFFFFFFFU].f = nullptr;
    release(id);
    ++stale_;
    // Most timers are cancelled; the heap is swept before stale entries outnumber the live ones.
    if (stale_ > 1'024 && stale_ * 2 > heap_.size()) {
        std::erase_if(heap_, [this](const Due& due) { return !live(due.id); });
        std::make_heap(heap_.begin(), heap_.end(), later);
        stale_ = 0;
    }
}

void AsioLoop::drop_stale() {
    while (!heap_.empty() && !live(heap_.front().id)) {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        heap_.pop_back();
        --stale_;
    }
}

void AsioLoop::arm() {
    drop_stale();
    if (heap_.empty()) {
        armed_ = Steady::time_point::max();
        return;
    }
    armed_ = heap_.front().when;
    io_->timer.expires_at(armed_);  // ends the wait before with operation_aborted
    io_->timer.async_wait([this](const boost::system::error_code& fault) {
        if (!fault) {
            run_due();
        }
    });
}

void AsioLoop::run_due() {
    const auto now = Steady::now();
    for (drop_stale(); !heap_.empty() && heap_.front().when <= now; drop_stale()) {
        const TimerId id = heap_.front().id;
        std::pop_heap(heap_.begin(), heap_.end(), later);
        heap_.pop_back();
        const auto f = std::move(slots_[id & 0xFFFFFFFFU].f);
        release(id);
        f();
    }
    arm();
}

void AsioLoop::run() {
    const auto guard = asio::make_work_guard(io_->context);
    io_->context.restart();
    io_->context.run();
}

void AsioLoop::run_for(std::chrono::milliseconds time) {
    io_->context.restart();
    io_->context.run_for(time);
}

void AsioLoop::stop() {
    io_->context.stop();
}

}  // namespace tollgate::server
