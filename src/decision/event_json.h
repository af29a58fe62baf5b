// Events and outcomes as JSON: what the API, traffic files and records read, and the one canonical
// form they are kept in.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "decision/event.h"
#include "decision/json_fields.h"
#include "decision/schema.h"
#include "text/json.h"
#include "text/json_writer.h"

namespace tollgate {

// Bounds in bytes of UTF-8 (ids: kMaxIdBytes, not empty). Ids, kinds and attribute strings hold no
// control characters.
constexpr std::size_t kMaxKindBytes =
    32;  // channel, counterparty.kind, counterparty.category; not empty
constexpr std::size_t kMaxAttributeBytes = 256;  // string attributes
constexpr std::size_t kMaxMemoBytes = 4096;
constexpr std::size_t kMaxNoteBytes = 1024;

// Reads one event. null and absent are the same for optional fields, so are an object of nothing
// but them and no object. Errors (kBadInput) begin with the field's path, such as
// "counterparty.country", and say what was given and what is allowed; unknown members are refused
// by name with the nearest known one. Amounts are decimal strings, zero or more.
Result<Event> parse_event(const JsonValue& json, const Schema& schema);
Result<Outcome> parse_outcome(const JsonValue& json);

// One canonical text per event or outcome: fixed order of members, absent ones left out, attributes
// by name, times in UTC, amounts with all their decimals. parse_event() reads it back to an equal
// event.
void append_event(JsonWriter& out, const Event& event, const Schema& schema);
void append_outcome(JsonWriter& out, const Outcome& outcome);

// One attribute's JSON value: what append_event writes for it.
void append_attribute(JsonWriter& out, const AttributeValue& value, Currency currency);

std::string_view to_text(EventType type);      // "payment"
std::string_view to_text(Label label);         // "fraud", "legit", "none"
std::string_view to_text(OutcomeKind kind);    // "chargeback"
std::string_view to_text(AttributeType type);  // "decimal"
std::optional<AttributeType> attribute_type_of(std::string_view text);

}  // namespace tollgate
