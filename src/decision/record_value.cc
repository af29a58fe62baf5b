// Exact text of values and back.
#include "decision/record_value.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

namespace tollgate {
namespace {

constexpr Int128 kMaxInt128 = ((Int128{1} << 126) - 1) * 2 + 1;
constexpr std::int64_t kMaxDen = std::numeric_limits<std::int64_t>::max();

std::string hex_of(const StringKey& key) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    for (const std::uint64_t word : key.words) {
        for (unsigned shift = 64; shift > 0; shift -= 4) {
            out += kDigits[(word >> (shift - 4)) & 15U];
        }
    }
    return out;
}

std::optional<StringKey> key_of(std::string_view hex) {
    StringKey key;
    if (hex.size() != 32) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < hex.size(); ++i) {
        const char c = hex[i];
        const bool digit = c >= '0' && c <= '9';
        if (!digit && (c < 'a' || c > 'f')) {
            return std::nullopt;
        }
        const auto nibble = static_cast<std::uint64_t>(digit ? c - '0' : c - 'a' + 10);
        key.words[i / 16] = (key.words[i / 16] << 4U) | nibble;
    }
    return key;
}

Error corrupt() {
    return {Fault::kCorrupt, "record: a value is not readable"};
}

// Appends a decimal digit; false when it does not fit.
bool push(Int128& number, char digit) {
    if (digit < '0' || digit > '9' || number > (kMaxInt128 - (digit - '0')) / 10) {
        return false;
    }
    number = number * 10 + (digit - '0');
    return true;
}

}  // namespace

std::optional<Number> read_exact(std::string_view text) noexcept {
    const bool negative = text.starts_with('-');
    text.remove_prefix(negative ? 1 : 0);
    Number number;
    Int128 den = 0;
    enum class Part : std::uint8_t { kWhole, kDecimals, kDenominator } part = Part::kWhole;
    std::size_t digits = 0;  // of the current part
    for (const char c : text) {
        if ((c == '.' || c == '/') && part == Part::kWhole && digits > 0) {
            part = c == '.' ? Part::kDecimals : Part::kDenominator;
            digits = 0;
            continue;
        }
        ++digits;
        if (!push(part == Part::kDenominator ? den : number.num, c)) {
            return std::nullopt;
        }
        if (part == Part::kDecimals) {
            if (number.den > kMaxDen / 10) {
                return std::nullopt;
            }
            number.den *= 10;
        }
    }
    if (digits == 0 || (part == Part::kDenominator && (den == 0 || den > kMaxDen))) {
        return std::nullopt;
    }
    number.den = part == Part::kDenominator ? static_cast<std::int64_t>(den) : number.den;
    number.num = negative ? -number.num : number.num;
    return number;
}

void append_value(JsonWriter& out, const Value& value) {
    switch (value.kind) {
        case ValueKind::kUnknown:
            return out.null();
        case ValueKind::kBool:
            return out.boolean(value.boolean);
        case ValueKind::kNumber:
        case ValueKind::kMoney:
        case ValueKind::kTime:
        case ValueKind::kDuration:
        case ValueKind::kTimeOfDay:
            return out.string(to_text(value.number));
        case ValueKind::kError:
            out.begin_object();
            out.key("error");
            out.boolean(true);
            return out.end_object();
        case ValueKind::kString: {
            std::string_view text;
            const bool whole = string_key_text(value.key, text);
            out.begin_object();
            out.key(whole ? "text" : "key");
            out.string(whole ? std::string(text) : hex_of(value.key));
            return out.end_object();
        }
    }
}

Result<Value> read_value(const JsonValue& json, ValueKind kind) {
    if (json.is(JsonKind::kNull)) {
        return Value::unknown();
    }
    if (json.is(JsonKind::kBool)) {
        return Value::of_bool(json.boolean());
    }
    if (json.is(JsonKind::kString)) {
        const auto number = read_exact(json.string());
        if (!number) {
            return corrupt();
        }
        Value value = Value::of_number(*number);
        value.kind = kind;
        return value;
    }
    if (!json.is(JsonKind::kObject)) {
        return corrupt();
    }
    if (json.find("error")) {
        return Value::error();
    }
    const auto text = json.find("text");
    if (text && text->is(JsonKind::kString)) {
        return Value::of_key(make_string_key(text->string()));
    }
    const auto hex = json.find("key");
    const auto key = hex && hex->is(JsonKind::kString) ? key_of(hex->string()) : std::nullopt;
    if (!key) {
        return corrupt();
    }
    return Value::of_key(*key);
}

}  // namespace tollgate
