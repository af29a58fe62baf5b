// Event time: UTC microseconds since 1970, and its RFC 3339 text form. Deadlines use the steady
// clock instead.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tollgate {

using Micros = std::chrono::microseconds;
using EventTime = std::chrono::sys_time<Micros>;
using Steady = std::chrono::steady_clock;

constexpr std::int64_t to_micros(EventTime t) {
    return t.time_since_epoch().count();
}
constexpr EventTime from_micros(std::int64_t micros) {
    return EventTime{Micros{micros}};
}

// RFC 3339 section 5.6 with a mandatory offset ("Z" or "+hh:mm"); fractions up to 6 digits (more
// are refused, they cannot be kept), a leap second (:60) reads as the following second's :00.
// Errors: kBadInput naming `field`, the text (shortened to 40 bytes) and the allowed form and range
// (years 1970..2199).
Result<EventTime> parse_rfc3339(std::string_view field, std::string_view text);

// Always UTC with "Z"; fraction printed only when not zero, 3 or 6 digits.
std::string format_rfc3339(EventTime t);

// Appends what format_rfc3339 returns, without allocating when `out` has room for 27 bytes.
void append_rfc3339(std::string& out, EventTime t);

}  // namespace tollgate
