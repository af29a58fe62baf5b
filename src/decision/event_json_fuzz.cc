// Fuzz target: any bytes as an event or outcome; what is accepted must render and read back equal.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "decision/event_json.h"

namespace {

using tollgate::AttributeType;

void check_event(const tollgate::JsonValue& json) {
    const tollgate::Schema schema{{{"s", AttributeType::kString, false},
                                   {"i", AttributeType::kInteger, false},
                                   {"d", AttributeType::kDecimal, true},
                                   {"b", AttributeType::kBoolean, false},
                                   {"t", AttributeType::kTimestamp, false},
                                   {"m", AttributeType::kMoney, false}},
                                  {"memo"}};
    const auto event = tollgate::parse_event(json, schema);
    if (!event) {
        TG_CHECK(!event.error().message.empty(), "an error without words");
        return;
    }
    std::string text;
    tollgate::JsonWriter writer(text);
    append_event(writer, *event, schema);
    tollgate::JsonDocument document;
    const auto again = document.parse(text).and_then(
        [&](const tollgate::JsonValue& value) { return tollgate::parse_event(value, schema); });
    TG_CHECK(again.has_value() && *again == *event, "the canonical text reads back differently");
}

void check_outcome(const tollgate::JsonValue& json) {
    const auto outcome = tollgate::parse_outcome(json);
    if (!outcome) {
        return;
    }
    std::string text;
    tollgate::JsonWriter writer(text);
    append_outcome(writer, *outcome);
    tollgate::JsonDocument document;
    const auto again = document.parse(text).and_then(
        [](const tollgate::JsonValue& value) { return tollgate::parse_outcome(value); });
    TG_CHECK(again.has_value() && *again == *outcome, "the canonical text reads back differently");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    tollgate::JsonDocument document;
    if (const auto json = document.parse(text)) {
        check_event(*json);
        check_outcome(*json);
    }
    return 0;
}
