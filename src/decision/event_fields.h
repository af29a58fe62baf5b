// fill_fields: an event as the row of values that rules and windows read.
#pragma once

#include <optional>
#include <span>

#include "decision/event.h"
#include "decision/money.h"
#include "decision/rates.h"
#include "decision/schema.h"
#include "decision/value.h"
#include "decision/zones.h"

namespace tollgate {

// `out` has one place per field of `table`; `zones` was loaded from table.zones(). Strings view
// into the event, which must outlive the values. Absent is unknown; money is in each rule set's
// currency at the rate of the event's time (no rate: unknown). `limit` is the account's limit in
// force, see limit_of() in combine.h. No allocation.
void fill_fields(const Event& event, const FieldTable& table, const Rates& rates,
                 const Zones& zones, const std::optional<Money>& limit,
                 std::span<Value> out) noexcept;

}  // namespace tollgate
