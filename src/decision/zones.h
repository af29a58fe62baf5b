// Zones: time zones of a pack as tables of offsets, so that local time is a search and never a lock
// or an allocation.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace tollgate {

struct LocalTime {
    Micros since_midnight{
        0};           // of the wall clock: after a change of the clocks not the time gone by
    int weekday = 1;  // 1 Monday .. 7 Sunday
    std::chrono::local_days day;
};

// Immutable once loaded; any thread. Offsets for 1970 to 2200 from the system's tz database; the
// machine's database carries summer time to 2037 and the last offset is used after it.
class Zones {
  public:
    // kBadInput naming a zone that the database does not have.
    static Result<Zones> load(std::span<const std::string> names);

    LocalTime local(std::size_t zone, EventTime at) const noexcept;
    // The first instant of that local day (where midnight does not exist, the instant of the
    // change).
    EventTime start_of_day(std::size_t zone, std::chrono::local_days day) const noexcept;
    std::size_t size() const { return tables_.size(); }

  private:
    struct Step {
        std::int64_t from_us;
        std::int64_t offset_us;
    };
    std::vector<std::vector<Step>> tables_;  // never empty, first step at INT64_MIN
};

}  // namespace tollgate
