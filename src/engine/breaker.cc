// The breaker's three states.
#include "engine/breaker.h"

namespace tollgate {

bool Breaker::allows() const {
    const std::scoped_lock lock(mutex_);
    return state_ == State::kClosed;
}

Breaker::State Breaker::state() const {
    const std::scoped_lock lock(mutex_);
    return state_;
}

std::uint64_t Breaker::times_opened() const {
    const std::scoped_lock lock(mutex_);
    return times_opened_;
}

void Breaker::open(Steady::time_point now) {
    if (state_ == State::kClosed) {
        state_ = State::kOpen;
        ++times_opened_;
        next_probe_ = now + options_.probe_every;
    }
}

void Breaker::succeeded() {
    const std::scoped_lock lock(mutex_);
    failures_ = 0;
}

void Breaker::failed(Steady::time_point now) {
    const std::scoped_lock lock(mutex_);
    if (++failures_ >= options_.failures) {
        open(now);
    }
}

void Breaker::force_open(Steady::time_point now) {
    const std::scoped_lock lock(mutex_);
    open(now);
}

bool Breaker::take_probe(Steady::time_point now) {
    const std::scoped_lock lock(mutex_);
    if (state_ != State::kOpen || now < next_probe_) {
        return false;
    }
    state_ = State::kHalfOpen;
    return true;
}

void Breaker::probe_ended(bool well, Steady::time_point now) {
    const std::scoped_lock lock(mutex_);
    if (state_ != State::kHalfOpen) {
        return;
    }
    failures_ = 0;
    state_ = well ? State::kClosed : State::kOpen;
    next_probe_ = now + options_.probe_every;
}

}  // namespace tollgate
