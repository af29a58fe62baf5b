// Number: an exact rational, the only arithmetic of rules and windows. No binary float ever holds
// money.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tollgate {

__extension__ using Int128 = __int128;

// num / den, den > 0, not necessarily reduced. Integers have den 1; 2.5 is 25/10; an average is
// sum/count.
struct Number {
    Int128 num = 0;
    std::int64_t den = 1;
};

// Exact; nullopt when the result does not fit after reduction (the caller turns it into an error
// value, never a wrong number) or on division by zero.
std::optional<Number> add(const Number& a, const Number& b) noexcept;
std::optional<Number> subtract(const Number& a, const Number& b) noexcept;
std::optional<Number> multiply(const Number& a, const Number& b) noexcept;
std::optional<Number> divide(const Number& a, const Number& b) noexcept;
Number reduced(const Number& a) noexcept;

// Exact for every pair, without overflow (continued fractions of the two quotients).
std::strong_ordering compare(const Number& a, const Number& b) noexcept;

double to_double(const Number& a) noexcept;  // for output and model inputs only
// Rounded half to even to `scale` decimal digits (0..9) and multiplied by 10^scale; nullopt when it
// does not fit.
std::optional<std::int64_t> to_scaled(const Number& a, int scale) noexcept;
// "12", "-0.5", "29.005" when the decimal expansion ends within 9 digits, else "num/den" reduced.
std::string to_text(const Number& a);
void append_text(std::string& out, const Number& a);
// What to_text wrote, or a plain decimal ("-12.50"); nullopt otherwise. At most 18 digits a side.
std::optional<Number> parse_number(std::string_view text) noexcept;

}  // namespace tollgate
