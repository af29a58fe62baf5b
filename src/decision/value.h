// Value: what a field, a window or an expression holds while rules run. Three-valued: unknown is a
// value of its own.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "decision/number.h"

namespace tollgate {

// 16 bytes that stand for a string in stored rows: up to 15 bytes are held as they are (exact); a
// longer string by its length tag and 120 bits of its SHA-256. Equal strings give equal keys;
// all-zero is the empty string.
struct StringKey {
    std::array<std::uint64_t, 2> words{};
    friend bool operator==(const StringKey&, const StringKey&) = default;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads a defaulted <=>
    friend auto operator<=>(const StringKey&, const StringKey&) = default;
};
StringKey make_string_key(std::string_view text) noexcept;
// The text when it is held exactly; an empty view (and false) when only its hash is. The view
// points into `key`.
bool string_key_text(const StringKey& key, std::string_view& text) noexcept;

enum class ValueKind : std::uint8_t {
    kUnknown,  // missing field, empty avg, no rate: Kleene's third value
    kError,    // arithmetic that does not fit, division by zero: the rule set's on_error decides
    kBool,
    kNumber,  // counts, decimals, shares, ratios
    kMoney,   // minor units of the rule set's currency (number may be a ratio, for averages)
    kString,
    kTime,       // number = UTC microseconds
    kDuration,   // number = microseconds
    kTimeOfDay,  // number = microseconds since local midnight
};

struct Value {
    ValueKind kind = ValueKind::kUnknown;
    bool boolean = false;  // kBool
    Number number;         // kNumber, kMoney, kTime, kDuration, kTimeOfDay
    StringKey key;         // kString: always set, compared first
    std::string_view
        text;  // kString: the text when it is at hand (current event, literals), else empty

    static Value unknown() noexcept { return {}; }
    static Value error() noexcept { return of(ValueKind::kError); }
    static Value of_bool(bool b) noexcept {
        Value v = of(ValueKind::kBool);
        v.boolean = b;
        return v;
    }
    static Value of_number(Number n) noexcept {
        Value v = of(ValueKind::kNumber);
        v.number = n;
        return v;
    }
    static Value of_int(std::int64_t n) noexcept { return of_number({n, 1}); }
    static Value of_money(Number minor_units) noexcept {
        Value v = of(ValueKind::kMoney);
        v.number = minor_units;
        return v;
    }
    static Value of_time(EventTime t) noexcept {
        Value v = of(ValueKind::kTime);
        v.number = {to_micros(t), 1};
        return v;
    }
    // `text` must outlive the value.
    static Value of_string(std::string_view text) noexcept {
        Value v = of(ValueKind::kString);
        v.text = text;
        v.key = make_string_key(text);
        return v;
    }
    static Value of_key(const StringKey& key) noexcept {
        Value v = of(ValueKind::kString);
        v.key = key;
        return v;
    }
    bool is_unknown() const noexcept { return kind == ValueKind::kUnknown; }
    bool is_error() const noexcept { return kind == ValueKind::kError; }
    bool is_true() const noexcept { return kind == ValueKind::kBool && boolean; }

  private:
    static Value of(ValueKind kind) noexcept {
        Value v;
        v.kind = kind;
        return v;
    }
};

}  // namespace tollgate
