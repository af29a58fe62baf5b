// Hinnant's date library throws for unknown zones; it is wrapped here.
#include "decision/compile_zone.h"

#include <date/tz.h>

#include <exception>

#include "decision/describe.h"

namespace tollgate {
namespace {

const date::time_zone* zone_of(const std::string& name) {
    try {
        return date::locate_zone(name);
    } catch (const std::exception&) {
        return nullptr;
    }
}

Error no_zone(const std::string& name) {
    return {Fault::kBadInput, "there is no time zone " + short_quote(name) +
                                  "; IANA names such as \"Asia/Seoul\" or \"UTC\" are allowed"};
}

}  // namespace

Status check_zone(const std::string& zone) {
    if (zone.empty() || zone_of(zone) == nullptr) {
        return no_zone(zone);
    }
    return ok();
}

Result<EventTime> day_start(const std::string& zone, std::int64_t days) {
    const date::time_zone* found = zone_of(zone);
    if (found == nullptr) {
        return no_zone(zone);
    }
    const date::local_days day{date::days{static_cast<int>(days)}};
    const auto at = found->to_sys(date::local_seconds{day}, date::choose::earliest);
    return EventTime{std::chrono::duration_cast<Micros>(at.time_since_epoch())};
}

Result<LocalClock> local_clock(const std::string& zone, EventTime at) {
    const date::time_zone* found = zone_of(zone);
    if (found == nullptr) {
        return no_zone(zone);
    }
    const auto local = found->to_local(at);
    const auto day = date::floor<date::days>(local);
    return LocalClock{(local - day).count(), static_cast<int>(date::weekday{day}.iso_encoding())};
}

}  // namespace tollgate
