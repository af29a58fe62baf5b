// StreamClock: a tenant's clock of event time, which lateness, label delay, expiry and "previous
// day" read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace tollgate {

enum class ClockMode : std::uint8_t { kWall, kEvent };

struct ClockRules {
    ClockMode mode = ClockMode::kWall;
    Micros max_ahead = std::chrono::minutes(5);
    Micros late_after = std::chrono::minutes(1);  // further behind the clock than this is late
    Micros lateness = std::chrono::hours(24);     // further behind than this is too late
};

enum class Admission : std::uint8_t {
    kFresh,
    kLate,     // recorded at its own time, flagged
    kTooLate,  // assessed on read-only windows, not recorded, counted
    kAhead,    // mode kWall: more than max_ahead beyond the clock, refused
};
std::string_view to_text(Admission admission);  // "fresh", "late", "too_late", "ahead"

// Loop thread only. `wall` is the injected wall clock; mode kEvent never reads it, so that a replay
// gives the same admissions whatever the day.
//
// kWall: the clock is the wall clock, held still over steps back of at most max_ahead; a longer
// step back is believed (the step forward before it was the error) and counted in steps_back().
// kEvent: the clock is the highest occurred_at admitted. One more than max_ahead beyond it is
// admitted but moves the clock only when a second one confirms it: the clock then goes to the lower
// of the two. The first event ever sets the clock.
class StreamClock {
  public:
    explicit StreamClock(const ClockRules& rules) : rules_(rules) {}

    // The stream's time. Before the first event of mode kEvent: 1970-01-01.
    EventTime now(EventTime wall) const noexcept;
    // What admit() would say, without moving the clock.
    Admission judge(EventTime occurred_at, EventTime wall) const noexcept;
    Admission admit(EventTime occurred_at, EventTime wall) noexcept;

    // A new pack's rules. From kWall to kEvent the clock goes on from the highest occurred_at
    // admitted.
    void use_rules(const ClockRules& rules) noexcept { rules_ = rules; }
    const ClockRules& rules() const noexcept { return rules_; }
    std::uint64_t steps_back() const noexcept { return steps_back_; }

    std::string encode() const;
    Status decode(std::string_view state);  // kCorrupt, and nothing changed, when it does not parse

  private:
    void advance(EventTime occurred_at) noexcept;

    ClockRules rules_;
    std::optional<EventTime> highest_;    // of the events admitted and counted
    std::optional<EventTime> candidate_;  // ahead, waiting for a second one
    std::optional<EventTime> wall_;       // last value that was given
    std::uint64_t steps_back_ = 0;
};

}  // namespace tollgate
