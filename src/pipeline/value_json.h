// Values as JSON, for answers that people read.
#pragma once

#include "decision/money.h"
#include "decision/value.h"
#include "text/json_writer.h"

namespace tollgate::pipeline {

// Numbers exact as text ("29.005", "87/3"), money in major units with its currency, times in RFC
// 3339, unknown as null.
void append_value_json(JsonWriter& out, const Value& value, Currency currency);

}  // namespace tollgate::pipeline
