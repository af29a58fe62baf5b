// TileLane's hand-over of tiles and LaneGate's sleep.
#include "base/lanes.h"

#include <utility>

namespace tollgate {

namespace {

// About 20 us of spinning: longer than the gap between two operations of one forward pass, far
// shorter than the gap between requests.
constexpr int kSpins = 2000;

// Tells the core that this is a wait, so that its other thread gets the ports.
void relax() {
    asm volatile("pause" ::: "memory");
}

}  // namespace

TileLane::TileLane(std::size_t threads, ThreadRole role, std::string name) {
    const std::size_t helpers = threads > 1 ? threads - 1 : 0;
    helpers_.reserve(helpers);
    for (std::size_t i = 0; i < helpers; ++i) {
        helpers_.emplace_back([this, role, name, worker = i + 1] {
            enter_thread(role, name + "-" + std::to_string(worker));
            help(worker);
        });
    }
}

TileLane::~TileLane() {
    stop_.store(true);
    round_.fetch_add(1);
    {
        const std::scoped_lock lock(mutex_);
        wake_.notify_all();
    }
    helpers_.clear();  // joins, while the members that they read are still there
}

void TileLane::run(std::size_t tiles, TileFn f) {
    if (tiles <= 1 || helpers_.empty()) {
        for (std::size_t tile = 0; tile < tiles; ++tile) {
            begun_.fetch_add(1, std::memory_order_relaxed);
            f(tile, 0);
        }
        return;
    }
    job_ = &f;
    tiles_ = tiles;
    next_.store(0, std::memory_order_relaxed);
    open_.store(true);
    round_.fetch_add(1);
    if (asleep_.load() > 0) {
        const std::scoped_lock lock(mutex_);
        wake_.notify_all();
    }
    take_tiles(0);
    open_.store(false);
    for (int spins = 0; active_.load() != 0; ++spins) {
        relax();
        if (spins > kSpins) {
            std::this_thread::yield();  // a helper lost its core in the middle of a tile
        }
    }
}

void TileLane::take_tiles(std::size_t worker) {
    for (;;) {
        const std::size_t tile = next_.fetch_add(1, std::memory_order_relaxed);
        if (tile >= tiles_) {
            return;
        }
        begun_.fetch_add(1, std::memory_order_relaxed);
        (*job_)(tile, worker);
    }
}

void TileLane::wait_for_round(std::uint64_t seen) {
    for (int spins = 0; spins < kSpins; ++spins) {
        if (round_.load(std::memory_order_acquire) != seen) {
            return;
        }
        relax();
    }
    std::unique_lock lock(mutex_);
    asleep_.fetch_add(1);
    wake_.wait(lock, [&] { return round_.load() != seen; });
    asleep_.fetch_sub(1);
}

void TileLane::help(std::size_t worker) {
    std::uint64_t seen = 0;
    while (!stop_.load()) {
        wait_for_round(seen);
        seen = round_.load();
        active_.fetch_add(1);
        if (open_.load()) {
            take_tiles(worker);
        }
        active_.fetch_sub(1);
    }
}

void LaneGate::open() {
    if (closed_.fetch_sub(1) == 1) {
        wake_all();
    }
}

bool LaneGate::wait_open(const std::atomic<bool>& stop) {
    if (is_open()) {
        return true;
    }
    waits_.fetch_add(1, std::memory_order_relaxed);
    std::unique_lock lock(mutex_);
    (void)opened_.wait_for(lock, kLongestWait, [&] { return is_open() || stop.load(); });
    return false;
}

void LaneGate::wake_all() {
    const std::scoped_lock lock(mutex_);
    opened_.notify_all();
}

}  // namespace tollgate
