// One case per kind of value.
#include "pipeline/value_json.h"

#include "base/hash.h"

namespace tollgate::pipeline {

namespace {

// Minor units (maybe a ratio, for averages) in major units.
std::string major_units(const Number& minor, Currency currency) {
    std::int64_t scale = 1;
    for (int i = 0; i < digits_of(currency); ++i) {
        scale *= 10;
    }
    const auto major = divide(minor, Number{scale, 1});
    return major ? to_text(*major) : to_text(minor);
}

}  // namespace

void append_value_json(JsonWriter& out, const Value& value, Currency currency) {
    switch (value.kind) {
        case ValueKind::kUnknown:
        case ValueKind::kError:
            out.null();
            return;
        case ValueKind::kBool:
            out.boolean(value.boolean);
            return;
        case ValueKind::kNumber:
            out.string(to_text(value.number));
            return;
        case ValueKind::kMoney:
            out.string(major_units(value.number, currency) + " " +
                       std::string(alpha3_of(currency)));
            return;
        case ValueKind::kString: {
            std::string_view text = value.text;
            if (text.empty()) {
                (void)string_key_text(value.key, text);
            }
            out.string(text);
            return;
        }
        case ValueKind::kTime:
            out.string(format_rfc3339(
                from_micros(static_cast<std::int64_t>(value.number.num / value.number.den))));
            return;
        case ValueKind::kDuration:
        case ValueKind::kTimeOfDay: {
            const auto seconds = divide(value.number, Number{1'000'000, 1});
            out.string((seconds ? to_text(*seconds) : to_text(value.number)) + "s");
            return;
        }
    }
}

}  // namespace tollgate::pipeline
