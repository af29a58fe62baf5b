// Exact rationals: small values take a short path, large ones are worked in three 64-bit limbs so
// that a sum that fits after reduction is never lost.
#include "decision/number.h"

#include <array>
#include <cstddef>
#include <limits>

namespace tollgate {
namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr std::int64_t kMaxDen = std::numeric_limits<std::int64_t>::max();
constexpr Uint128 kMinMagnitude = Uint128{1} << 127;  // |smallest Int128|
constexpr std::array<std::int64_t, 10> kPowers{
    1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000};

Uint128 magnitude(Int128 v) noexcept {
    return v < 0 ? Uint128{0} - static_cast<Uint128>(v) : static_cast<Uint128>(v);
}
bool fits_int64(Int128 v) noexcept {
    return v == static_cast<std::int64_t>(v);
}
std::uint64_t gcd64(std::uint64_t a, std::uint64_t b) noexcept {
    while (b != 0) {
        const std::uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}
// gcd of any number and a positive 64-bit one.
std::int64_t gcd_with(Uint128 a, std::int64_t b) noexcept {
    const auto small = static_cast<std::uint64_t>(b);
    return static_cast<std::int64_t>(gcd64(small, static_cast<std::uint64_t>(a % small)));
}

// A signed value of 192 bits as sign and three limbs, lowest first: what num * den needs.
struct Wide {
    bool negative = false;
    std::array<std::uint64_t, 3> limbs{};
};

Wide product(Int128 a, std::int64_t b) noexcept {
    const Uint128 m = magnitude(a);
    const auto factor = static_cast<Uint128>(b);
    const Uint128 low = (m & 0xFFFF'FFFF'FFFF'FFFFU) * factor;
    const Uint128 high = (m >> 64U) * factor + (low >> 64U);
    return {a < 0,
            {static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high),
             static_cast<std::uint64_t>(high >> 64U)}};
}

bool less_magnitude(const Wide& a, const Wide& b) noexcept {
    for (std::size_t i = 3; i-- > 0;) {
        if (a.limbs[i] != b.limbs[i]) {
            return a.limbs[i] < b.limbs[i];
        }
    }
    return false;
}

// Products are below 2^190, so the sum of two cannot carry out of the third limb.
Wide sum(const Wide& a, const Wide& b) noexcept {
    Wide out;
    if (a.negative == b.negative) {
        out.negative = a.negative;
        Uint128 carry = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            carry += Uint128{a.limbs[i]} + b.limbs[i];
            out.limbs[i] = static_cast<std::uint64_t>(carry);
            carry >>= 64U;
        }
        return out;
    }
    const bool swap = less_magnitude(a, b);
    const Wide& large = swap ? b : a;
    const Wide& small = swap ? a : b;
    out.negative = large.negative;
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        const Uint128 take = Uint128{small.limbs[i]} + borrow;
        borrow = Uint128{large.limbs[i]} < take ? 1 : 0;
        out.limbs[i] = static_cast<std::uint64_t>(Uint128{large.limbs[i]} - take);
    }
    return out;
}

// Divides in place, returns the remainder.
std::uint64_t divide_by(Wide& a, std::uint64_t d) noexcept {
    Uint128 rest = 0;
    for (std::size_t i = 3; i-- > 0;) {
        rest = (rest << 64U) | a.limbs[i];
        a.limbs[i] = static_cast<std::uint64_t>(rest / d);
        rest %= d;
    }
    return static_cast<std::uint64_t>(rest);
}

std::optional<Int128> narrow(const Wide& a) noexcept {
    const Uint128 m = (Uint128{a.limbs[1]} << 64U) | a.limbs[0];
    if (a.limbs[2] != 0 || m > kMinMagnitude || (m == kMinMagnitude && !a.negative)) {
        return std::nullopt;
    }
    return static_cast<Int128>(a.negative ? Uint128{0} - m : m);
}

// Knuth, The Art of Computer Programming, volume 2, section 4.5.1: only one further gcd is needed,
// with the dens' gcd.
std::optional<Number> add_wide(const Number& left, const Number& right) noexcept {
    const Number a = reduced(left);
    const Number b = reduced(right);
    const std::int64_t g = gcd_with(static_cast<Uint128>(a.den), b.den);
    Wide t = sum(product(a.num, b.den / g), product(b.num, a.den / g));
    Wide copy = t;
    const std::uint64_t rest = divide_by(copy, static_cast<std::uint64_t>(g));
    const auto g2 = static_cast<std::int64_t>(gcd64(static_cast<std::uint64_t>(g), rest));
    (void)divide_by(t, static_cast<std::uint64_t>(g2));
    const Int128 den = Int128{a.den / g} * (b.den / g2);
    const auto num = narrow(t);
    if (!num || den > kMaxDen) {
        return std::nullopt;
    }
    return Number{*num, static_cast<std::int64_t>(den)};
}

// The product of the dens when it fits and both nums are 64-bit numbers: then no step can overflow
// and no gcd is needed. What grows this way is reduced by the first step that needs it.
std::optional<std::int64_t> small_product(const Number& a, const Number& b) noexcept {
    std::int64_t den = 0;
    if (!fits_int64(a.num) || !fits_int64(b.num) || __builtin_mul_overflow(a.den, b.den, &den)) {
        return std::nullopt;
    }
    return den;
}

std::optional<Int128> checked_multiply(Int128 a, Int128 b) noexcept {
    Int128 out = 0;
    if (__builtin_mul_overflow(a, b, &out)) {
        return std::nullopt;
    }
    return out;
}

void append_digits(std::string& out, Uint128 v, std::size_t least) {
    std::array<char, 40> text{};
    std::size_t at = text.size();
    do {
        text[--at] = static_cast<char>('0' + static_cast<int>(v % 10));
        v /= 10;
    } while (v != 0);
    while (text.size() - at < least) {
        text[--at] = '0';
    }
    out.append(text.data() + at, text.size() - at);
}

// 1..18 digits, no leading zero unless alone; advances `text`.
std::optional<std::int64_t> take_digits(std::string_view& text, bool leading_zeros,
                                        std::size_t& count) noexcept {
    std::int64_t v = 0;
    count = 0;
    while (count < text.size() && text[count] >= '0' && text[count] <= '9') {
        if (count == 18) {
            return std::nullopt;
        }
        v = v * 10 + (text[count] - '0');
        ++count;
    }
    if (count == 0 || (!leading_zeros && count > 1 && text[0] == '0')) {
        return std::nullopt;
    }
    text.remove_prefix(count);
    return v;
}

}  // namespace

std::optional<Number> add(const Number& a, const Number& b) noexcept {
    if (a.den == b.den) {
        Int128 num = 0;
        if (!__builtin_add_overflow(a.num, b.num, &num)) {
            return Number{num, a.den};
        }
    }
    if (const auto den = small_product(a, b)) {
        return Number{a.num * b.den + b.num * a.den, *den};
    }
    return add_wide(a, b);
}

std::optional<Number> subtract(const Number& a, const Number& b) noexcept {
    if (a.den == b.den) {
        Int128 num = 0;
        if (!__builtin_sub_overflow(a.num, b.num, &num)) {
            return Number{num, a.den};
        }
    }
    if (const auto den = small_product(a, b)) {
        return Number{a.num * b.den - b.num * a.den, *den};
    }
    if (magnitude(b.num) == kMinMagnitude) {
        // -b does not fit; a - b = (a + 1/den) + (-(b + 1/den)) keeps both steps in range or fails.
        const auto up = add(a, {1, b.den});
        return up ? add_wide(*up, {-(b.num + 1), b.den}) : std::nullopt;
    }
    return add_wide(a, {-b.num, b.den});
}

std::optional<Number> multiply(const Number& a, const Number& b) noexcept {
    if (a.den == 1 && b.den == 1) {
        const auto num = checked_multiply(a.num, b.num);
        return num ? std::optional(Number{*num, 1}) : std::nullopt;
    }
    if (const auto den = small_product(a, b)) {
        return Number{a.num * b.num, *den};
    }
    const Number x = reduced(a);
    const Number y = reduced(b);
    const std::int64_t g1 = gcd_with(magnitude(x.num), y.den);
    const std::int64_t g2 = gcd_with(magnitude(y.num), x.den);
    const auto num = checked_multiply(x.num / g1, y.num / g2);
    const Int128 den = Int128{x.den / g2} * (y.den / g1);
    if (!num || den > kMaxDen) {
        return std::nullopt;
    }
    return Number{*num, static_cast<std::int64_t>(den)};
}

std::optional<Number> divide(const Number& a, const Number& b) noexcept {
    if (b.num == 0) {
        return std::nullopt;
    }
    std::int64_t small_den = 0;
    if (fits_int64(a.num) && fits_int64(b.num) &&
        b.num != std::numeric_limits<std::int64_t>::min() &&
        !__builtin_mul_overflow(a.den, static_cast<std::int64_t>(b.num < 0 ? -b.num : b.num),
                                &small_den)) {
        return Number{(b.num < 0 ? -a.num : a.num) * b.den, small_den};
    }
    const Number x = reduced(a);
    const Number y = reduced(b);
    // x / y = (x.num * y.den) / (x.den * y.num), both gcds taken first. The divisor's numerator has
    // to fit the result's den, so after the gcd it must be a 64-bit number.
    Uint128 p = magnitude(x.num);
    Uint128 q = magnitude(y.num);
    Uint128 u = p;
    Uint128 v = q;
    while (v != 0) {
        const Uint128 r = u % v;
        u = v;
        v = r;
    }
    if (u != 0) {
        p /= u;
        q /= u;
    }
    const std::int64_t g = gcd_with(static_cast<Uint128>(x.den), y.den);
    Uint128 num = 0;
    Uint128 den = 0;
    if (__builtin_mul_overflow(p, static_cast<Uint128>(y.den / g), &num) ||
        __builtin_mul_overflow(q, static_cast<Uint128>(x.den / g), &den) ||
        den > static_cast<Uint128>(kMaxDen)) {
        return std::nullopt;
    }
    const bool negative = (x.num < 0) != (y.num < 0);
    if (num > kMinMagnitude || (num == kMinMagnitude && !negative)) {
        return std::nullopt;
    }
    return Number{static_cast<Int128>(negative ? Uint128{0} - num : num),
                  static_cast<std::int64_t>(den)};
}

Number reduced(const Number& a) noexcept {
    if (a.den == 1) {
        return a;
    }
    const std::int64_t g = gcd_with(magnitude(a.num), a.den);
    return g == 1 ? a : Number{a.num / g, a.den / g};
}

std::strong_ordering compare(const Number& a, const Number& b) noexcept {
    if (a.den == b.den) {
        return a.num <=> b.num;
    }
    if (fits_int64(a.num) && fits_int64(b.num)) {
        return a.num * b.den <=> b.num * a.den;
    }
    // Whole parts first (rounded down); the rests are below their dens, so the cross products fit.
    const auto floor_div = [](const Number& n, Int128& rest) {
        Int128 q = n.num / n.den;
        rest = n.num % n.den;
        if (rest < 0) {
            rest += n.den;
            --q;
        }
        return q;
    };
    Int128 rest_a = 0;
    Int128 rest_b = 0;
    const Int128 whole_a = floor_div(a, rest_a);
    const Int128 whole_b = floor_div(b, rest_b);
    if (whole_a != whole_b) {
        return whole_a <=> whole_b;
    }
    return rest_a * b.den <=> rest_b * a.den;
}

double to_double(const Number& a) noexcept {
    return static_cast<double>(a.num) / static_cast<double>(a.den);
}

std::optional<std::int64_t> to_scaled(const Number& a, int scale) noexcept {
    if (scale < 0 || scale > 9) {
        return std::nullopt;
    }
    const std::int64_t power = kPowers[static_cast<std::size_t>(scale)];
    Int128 whole = a.num / a.den;
    Int128 rest = a.num % a.den;
    if (rest < 0) {
        rest += a.den;
        --whole;
    }
    if (!fits_int64(whole)) {
        return std::nullopt;
    }
    const Int128 scaled = rest * power;
    Int128 out = whole * power + scaled / a.den;
    const Int128 twice = (scaled % a.den) * 2;
    if (twice > a.den || (twice == a.den && (out & 1) != 0)) {
        ++out;
    }
    return fits_int64(out) ? std::optional(static_cast<std::int64_t>(out)) : std::nullopt;
}

void append_text(std::string& out, const Number& a) {
    const Number n = reduced(a);
    const Uint128 m = magnitude(n.num);
    if (n.num < 0) {
        out += '-';
    }
    if (n.den == 1) {
        append_digits(out, m, 1);
        return;
    }
    const auto den = static_cast<Uint128>(n.den);
    for (std::size_t digits = 1; digits < kPowers.size(); ++digits) {
        const auto power = static_cast<Uint128>(kPowers[digits]);
        if (power % den == 0) {
            append_digits(out, m / den, 1);
            out += '.';
            append_digits(out, (m % den) * (power / den), digits);
            return;
        }
    }
    append_digits(out, m, 1);
    out += '/';
    append_digits(out, den, 1);
}

std::string to_text(const Number& a) {
    std::string out;
    append_text(out, a);
    return out;
}

std::optional<Number> parse_number(std::string_view text) noexcept {
    const bool negative = !text.empty() && text[0] == '-';
    if (negative) {
        text.remove_prefix(1);
    }
    std::size_t count = 0;
    const auto whole = take_digits(text, false, count);
    if (!whole) {
        return std::nullopt;
    }
    Number n{*whole, 1};
    if (!text.empty()) {
        const char mark = text[0];
        text.remove_prefix(1);
        const auto second = take_digits(text, mark == '.', count);
        if (!second || !text.empty() || (mark != '.' && mark != '/')) {
            return std::nullopt;
        }
        if (mark == '/') {
            if (*second == 0) {
                return std::nullopt;
            }
            n.den = *second;
        } else {
            for (std::size_t i = 0; i < count; ++i) {
                n.den *= 10;
            }
            n.num = n.num * n.den + *second;
        }
    }
    if (negative) {
        n.num = -n.num;
    }
    return reduced(n);
}

}  // namespace tollgate
