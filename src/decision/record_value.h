// Values in records: exact as text, so that a value read back is the value that was decided on.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "decision/value.h"
#include "text/json.h"
#include "text/json_writer.h"

namespace tollgate {

// Numbers of every kind as a string ("12", "29.005", "87/7"), booleans as such, unknown as null, an
// error as {"error":true}, a string as {"text":"..."} when its key holds it whole, else {"key":"<32
// hex>"}.
void append_value(JsonWriter& out, const Value& value);
// `kind` is the window's type. Strings come back by key. kCorrupt when it is not what append_value
// writes.
Result<Value> read_value(const JsonValue& json, ValueKind kind);

// to_text(Number) read back, whatever its size; nullopt when it is no such text or does not fit.
std::optional<Number> read_exact(std::string_view text) noexcept;

}  // namespace tollgate
