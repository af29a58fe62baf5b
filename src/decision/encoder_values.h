// Values of rules and stored events as a template sees them.
#pragma once

#include <string>
#include <string_view>

#include "decision/event.h"
#include "decision/value.h"
#include "decision/window_def.h"
#include "text/template_value.h"

namespace tollgate {

// Unknown and errors: none. Money: major units as a float. Times: seconds since the epoch;
// durations and times of day: seconds. A text of which only the hash is stored: none.
TemplateValue template_value(const Value& value, int digits);

// A stored event: age_days, label ("fraud", "legit" or none), and the row's slots by name ('.'
// becomes '_').
TemplateValue history_row(const WindowPlan& plan, int digits, EventTime now,
                          const std::uint64_t* row, Label label);

// Appends `text` with its white space squeezed to single spaces.
void append_squeezed(std::string_view text, std::string& out);

}  // namespace tollgate
