// The stream clock: what moves it, and what its place says of an event.
#include "decision/stream_clock.h"

#include <algorithm>

#include "base/bytes.h"

namespace tollgate {
namespace {

constexpr std::uint8_t kVersion = 1;

void put(ByteWriter& out, const std::optional<EventTime>& time) {
    out.u8(time ? 1 : 0);
    out.i64(time ? to_micros(*time) : 0);
}
std::optional<EventTime> take(ByteReader& in) {
    const bool there = in.u8() != 0;
    const EventTime time = from_micros(in.i64());
    return there ? std::optional(time) : std::nullopt;
}

}  // namespace

std::string_view to_text(Admission admission) {
    switch (admission) {
        case Admission::kFresh:
            return "fresh";
        case Admission::kLate:
            return "late";
        case Admission::kTooLate:
            return "too_late";
        case Admission::kAhead:
            return "ahead";
    }
    return "unknown";
}

EventTime StreamClock::now(EventTime wall) const noexcept {
    if (rules_.mode == ClockMode::kEvent) {
        return highest_.value_or(EventTime{});
    }
    const bool small_step_back = wall_ && wall < *wall_ && *wall_ - wall <= rules_.max_ahead;
    return small_step_back ? *wall_ : wall;
}

Admission StreamClock::judge(EventTime occurred_at, EventTime wall) const noexcept {
    if (rules_.mode == ClockMode::kEvent && !highest_) {
        return Admission::kFresh;
    }
    const EventTime clock = now(wall);
    if (rules_.mode == ClockMode::kWall && occurred_at - clock > rules_.max_ahead) {
        return Admission::kAhead;
    }
    if (clock - occurred_at > rules_.lateness) {
        return Admission::kTooLate;
    }
    return clock - occurred_at > rules_.late_after ? Admission::kLate : Admission::kFresh;
}

Admission StreamClock::admit(EventTime occurred_at, EventTime wall) noexcept {
    const Admission admission = judge(occurred_at, wall);
    if (rules_.mode == ClockMode::kEvent) {
        advance(occurred_at);
        return admission;
    }
    const EventTime clock = now(wall);
    if (wall_ && clock < *wall_) {
        ++steps_back_;
        // What was admitted under the wrong hour no longer says how far the stream is.
        highest_ = highest_ ? std::optional(std::min(*highest_, clock)) : highest_;
    }
    wall_ = clock;
    if (admission != Admission::kAhead) {
        highest_ = std::max(highest_.value_or(occurred_at), occurred_at);
    }
    return admission;
}

// Moves the event clock. A candidate is confirmed by an event that is not more than max_ahead
// before it; an earlier one that is itself ahead takes its place, so that one event from the far
// future cannot confirm another.
void StreamClock::advance(EventTime occurred_at) noexcept {
    if (!highest_ || occurred_at - *highest_ <= rules_.max_ahead) {
        highest_ = std::max(highest_.value_or(occurred_at), occurred_at);
    } else if (!candidate_ || *candidate_ - occurred_at > rules_.max_ahead) {
        candidate_ = occurred_at;
    } else {
        const EventTime higher = std::max(*candidate_, occurred_at);
        highest_ = std::min(*candidate_, occurred_at);
        candidate_ = higher;
    }
    if (candidate_ && *candidate_ - *highest_ <= rules_.max_ahead) {
        // Confirmed twice over when it was just given: the clock's rule holds for it as for any
        // other event.
        highest_ = std::max(*highest_, *candidate_);
        candidate_.reset();
    }
}

std::string StreamClock::encode() const {
    std::string state;
    ByteWriter out(state);
    out.u8(kVersion);
    put(out, highest_);
    put(out, candidate_);
    put(out, wall_);
    out.u64(steps_back_);
    return state;
}

Status StreamClock::decode(std::string_view state) {
    ByteReader in(state);
    const std::uint8_t version = in.u8();
    const auto highest = take(in);
    const auto candidate = take(in);
    const auto wall = take(in);
    const std::uint64_t steps_back = in.u64();
    if (version != kVersion || !in.ok() || !in.at_end()) {
        return Error{Fault::kCorrupt, "the stored stream clock is not readable"};
    }
    highest_ = highest;
    candidate_ = candidate;
    wall_ = wall;
    steps_back_ = steps_back;
    return ok();
}

}  // namespace tollgate
