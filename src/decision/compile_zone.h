// Time zones for the compiler and rule tests: does the zone exist, when does a day begin there,
// what time is it there.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace tollgate {

struct LocalClock {
    std::int64_t day_us = 0;  // since local midnight on the wall clock
    int weekday = 1;          // 1 Monday .. 7 Sunday
};

// kBadInput for a name that is not in the time zone database.
Status check_zone(const std::string& zone);
// The first instant of that day (days since 1970) in the zone; where midnight does not exist, the
// first after the gap.
Result<EventTime> day_start(const std::string& zone, std::int64_t days);
Result<LocalClock> local_clock(const std::string& zone, EventTime at);

}  // namespace tollgate
