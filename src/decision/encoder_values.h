// Values of rules and stored events as a template sees them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decision/event.h"
#include "decision/money.h"
#include "decision/value.h"
#include "decision/window_def.h"
#include "text/template_value.h"

namespace tollgate {

// Unknown and errors: none. Money: major units as a float. Times: seconds since the epoch;
// durations and times of day: seconds. A text of which only the hash is stored: none.
TemplateValue template_value(const Value& value, int digits);

// What a stored event offers to a template: the row's slots under the names that templates use ('.'
// becomes '_'; money of another currency than the pack's ends in it, "amount_eur").
struct HistorySlot {
    std::string name;
    RowSlot slot;
    int digits = 0;  // of its currency, for money
};
std::vector<HistorySlot> history_slots(const WindowPlan& plan, Currency currency);

// A stored event: age_days, label ("fraud", "legit" or none), and the slots.
TemplateValue history_row(std::span<const HistorySlot> slots, EventTime now,
                          const std::uint64_t* row, Label label);
// The same of which nothing is known.
TemplateValue blank_history_row(std::span<const HistorySlot> slots);

// Appends `text` with its white space squeezed to single spaces.
void append_squeezed(std::string_view text, std::string& out);

}  // namespace tollgate
