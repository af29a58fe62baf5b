// Retention: how far the log had come on each day, and dropping what is older than is kept.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "pipeline/history.h"
#include "store/store.h"

namespace tollgate::pipeline {

// Days are UTC days since 1970 of the wall clock: a record is as old as its writing, whatever time
// its event has, so that imported history is kept as long as what is decided.
std::int64_t day_of(EventTime wall);

// How many days of log a tenant keeps: `days`, but never less than its windows need, nor than the
// 35 days in which an event_id is unique.
std::int64_t days_kept(std::int64_t days, Micros windows, Micros lateness);

// Notes that the tenant's log had come to its present end on `day`. Once a day is enough.
Status mark_day(store::Store& store, const std::string& tenant, std::int64_t day);

struct Dropped {
    std::uint64_t records = 0;
    std::uint64_t event_ids = 0;  // forgotten: they may be used again
};
// Drops log records, answers, personal values, event ids and outcomes written on or before `last`,
// as far as a snapshot covers them. What the dropped events were newest is remembered
// (read_complete_from). Background thread; cost: reads what it drops once. Interrupted, it goes on
// where it was.
Result<Dropped> drop_until(store::Store& store, const std::string& tenant, std::int64_t last,
                           const PackByHash& packs);

// The log holds every event later than this; INT64_MIN: every event.
Result<std::int64_t> read_complete_from(const store::Store& store, const std::string& tenant);

// Parked outcomes expire after 30 days.
constexpr std::int64_t kParkedDays = 30;
// The note to store beside a parked outcome's key.
store::Put parked_note(std::int64_t day, const std::string& parked_key);
// Removes outcomes parked on or before `last`; how many were still waiting.
Result<std::uint64_t> drop_parked(store::Store& store, const std::string& tenant,
                                  std::int64_t last);

}  // namespace tollgate::pipeline
