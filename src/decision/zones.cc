// Offsets of time zones, walked once from Howard Hinnant's tz library; the only file that includes
// it.
#include "decision/zones.h"

#include <date/tz.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>

#include "base/check.h"
#include "decision/describe.h"

namespace tollgate {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kDay = 86'400 * kSecond;
constexpr std::size_t kMaxSteps = 4096;  // two changes a year would fill 2,000 years
// Times further out are read as this far out, so that adding an offset cannot overflow.
constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 2;

const date::time_zone* find_zone(const std::string& name) {
    try {
        return date::locate_zone(name);
    } catch (const std::exception&) {  // the library's way to say that there is none
        return nullptr;
    }
}

std::int64_t floor_day(std::int64_t us) {
    return us / kDay - (us % kDay < 0 ? 1 : 0);
}

}  // namespace

Result<Zones> Zones::load(std::span<const std::string> names) {
    Zones zones;
    const date::sys_seconds end = date::sys_days{date::year{2200} / 1 / 1};
    for (const std::string& name : names) {
        const date::time_zone* zone = find_zone(name);
        if (zone == nullptr) {
            return Error{Fault::kBadInput, "time zone " + short_quote(name) +
                                               " is not in the tz database (such as "
                                               "\"Asia/Seoul\" or \"UTC\")"};
        }
        std::vector<Step> steps;
        date::sys_seconds at = date::sys_days{date::year{1970} / 1 / 1};
        std::int64_t from = std::numeric_limits<std::int64_t>::min();
        while (at < end && steps.size() < kMaxSteps) {
            const date::sys_info info = zone->get_info(at);
            const std::int64_t offset = info.offset.count() * kSecond;
            if (steps.empty() || steps.back().offset_us != offset) {
                steps.push_back({from, offset});
            }
            if (info.end <= at || info.end >= end) {
                break;
            }
            at = info.end;
            from = at.time_since_epoch().count() * kSecond;
        }
        zones.tables_.push_back(std::move(steps));
    }
    return zones;
}

LocalTime Zones::local(std::size_t zone, EventTime at) const noexcept {
    TG_CHECK(zone < tables_.size(), "zone index");
    const std::vector<Step>& steps = tables_[zone];
    const std::int64_t us = std::clamp(to_micros(at), -kFar, kFar);
    const auto next = std::upper_bound(steps.begin(), steps.end(), us,
                                       [](std::int64_t t, const Step& s) { return t < s.from_us; });
    const std::int64_t wall = us + std::prev(next)->offset_us;
    const std::int64_t days = floor_day(wall);
    LocalTime local;
    local.since_midnight = Micros{wall - days * kDay};
    local.day = std::chrono::local_days{std::chrono::days{days}};
    // 1970-01-01 was a Thursday: day 0 is weekday 4.
    local.weekday = static_cast<int>(((days + 3) % 7 + 7) % 7) + 1;
    return local;
}

EventTime Zones::start_of_day(std::size_t zone, std::chrono::local_days day) const noexcept {
    TG_CHECK(zone < tables_.size(), "zone index");
    const std::vector<Step>& steps = tables_[zone];
    const std::int64_t midnight = std::int64_t{day.time_since_epoch().count()} * kDay;
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
        const std::int64_t at = midnight - steps[i].offset_us;
        if (at < steps[i + 1].from_us) {
            return from_micros(std::max(at, steps[i].from_us));
        }
    }
    return from_micros(std::max(midnight - steps.back().offset_us, steps.back().from_us));
}

}  // namespace tollgate
