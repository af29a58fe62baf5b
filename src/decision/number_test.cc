// Tests of exact rationals and string keys.
#include "decision/number.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "decision/value.h"

namespace tollgate {
namespace {

constexpr Int128 kMax128 = ~(Int128{1} << 127);
constexpr Int128 kMin128 = Int128{1} << 127;
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();

std::string text(const std::optional<Number>& n) {
    return n ? to_text(*n) : "none";
}

TEST(Number, DecimalsAddAndMultiplyExactly) {
    EXPECT_EQ(text(add({1, 10}, {2, 10})), "0.3");
    EXPECT_EQ(text(add({1, 3}, {1, 6})), "0.5");
    EXPECT_EQ(text(subtract({1, 3}, {1, 3})), "0");
    EXPECT_EQ(text(multiply({5, 2}, {401, 10})), "100.25");
    EXPECT_EQ(text(divide({1, 1}, {3, 1})), "1/3");
    EXPECT_EQ(text(divide({-5, 1}, {2, 1})), "-2.5");
    EXPECT_EQ(text(divide({-5, 1}, {-2, 1})), "2.5");
}

TEST(Number, DivisionByZeroAndOverflowGiveNothing) {
    EXPECT_FALSE(divide({1, 1}, {0, 1}));
    EXPECT_FALSE(divide({0, 1}, {0, 5}));
    EXPECT_FALSE(add({kMax128, 1}, {1, 1}));
    EXPECT_FALSE(subtract({kMin128, 1}, {1, 1}));
    EXPECT_FALSE(multiply({kMax128, 1}, {2, 1}));
    EXPECT_FALSE(multiply({1, kMax64}, {1, kMax64}));
    EXPECT_FALSE(divide({1, 1}, {Int128{kMax64} * 2 + 1, 1}));
}

TEST(Number, WhatFitsAfterReductionIsNotLost) {
    // The numerators' sum needs 129 bits; reduced it fits.
    const auto thirds = add({kMax128, 6}, {kMax128, 6});
    ASSERT_TRUE(thirds);
    EXPECT_EQ(compare(*thirds, {kMax128, 3}), std::strong_ordering::equal);
    const Number third{(kMax128 / 9) * 3 + 1, 3};
    const Number two{-((kMax128 / 9) * 3 + 1), 6};
    const auto half = add(third, two);
    ASSERT_TRUE(half);
    EXPECT_EQ(compare(*half, {(kMax128 / 9) * 3 + 1, 6}), std::strong_ordering::equal);
    EXPECT_EQ(text(multiply({kMax128, 7}, {7, 1})), to_text(Number{kMax128, 1}));
    EXPECT_EQ(text(subtract({-1, 1}, {kMin128, 1})), to_text(Number{kMax128, 1}));
    EXPECT_EQ(text(divide({kMax128, 1}, {kMax128, 1})), "1");
}

TEST(Number, ComparesLargeRatiosExactly) {
    EXPECT_EQ(compare({10, 10}, {1, 1}), std::strong_ordering::equal);  // 1.0 = 1
    EXPECT_EQ(compare({kMax128, kMax64}, {kMax128 - 1, kMax64 - 1}), std::strong_ordering::less);
    EXPECT_EQ(compare({kMin128, 3}, {kMin128 + 1, 3}), std::strong_ordering::less);
    EXPECT_EQ(compare({kMin128, 2}, {kMin128 / 2, 1}), std::strong_ordering::equal);
    EXPECT_EQ(compare({kMax128, 2}, {kMax128 / 2, 1}), std::strong_ordering::greater);
    EXPECT_EQ(compare({-1, 3}, {-333'333'333, 1'000'000'000}), std::strong_ordering::less);
}

TEST(Number, RoundsHalfToEven) {
    EXPECT_EQ(to_scaled({5, 1000}, 2), 0);
    EXPECT_EQ(to_scaled({15, 1000}, 2), 2);
    EXPECT_EQ(to_scaled({-5, 1000}, 2), 0);
    EXPECT_EQ(to_scaled({-15, 1000}, 2), -2);
    EXPECT_EQ(to_scaled({1, 3}, 6), 333'333);
    EXPECT_EQ(to_scaled({-2, 3}, 6), -666'667);
    EXPECT_EQ(to_scaled({kMax64, 1}, 0), kMax64);
    EXPECT_FALSE(to_scaled({kMax64, 1}, 1));
    EXPECT_FALSE(to_scaled({kMax128, 1}, 0));
}

TEST(Number, TextParsesBack) {
    for (const char* good : {"0", "12", "-0.5", "29.005", "1/3", "-7/11", "0.000000001", "2.5"}) {
        const auto n = parse_number(good);
        ASSERT_TRUE(n) << good;
        EXPECT_EQ(to_text(*n), good);
    }
    for (const char* bad : {"", "-", ".5", "5.", "007", "1e3", " 1", "1 ", "+1", "NaN", "-Inf",
                            "1/0", "1.2.3", "1/2/3", "1234567890123456789", "0x10", "1,5"}) {
        EXPECT_FALSE(parse_number(bad)) << bad;
    }
    EXPECT_EQ(to_text(Number{kMin128, 1}), "-170141183460469231731687303715884105728");
}

TEST(Number, ArithmeticAgreesWithCrossMultiplicationOnRandomRatios) {
    std::mt19937_64 random(7);
    const auto pick = [&random] {
        const auto bits = static_cast<int>(random() % 40);
        return static_cast<std::int64_t>(random() >> (24U + static_cast<unsigned>(bits))) -
               (std::int64_t{1} << 38U >> bits);
    };
    for (int i = 0; i < 20'000; ++i) {
        const Number a{pick(), 1 + static_cast<std::int64_t>(random() % 1000)};
        const Number b{pick(), 1 + static_cast<std::int64_t>(random() % 1000)};
        const auto total = add(a, b);
        ASSERT_TRUE(total);
        ASSERT_EQ(compare(*subtract(*total, b), a), std::strong_ordering::equal);
        ASSERT_EQ(compare(*total, {a.num * b.den + b.num * a.den, a.den * b.den}),
                  std::strong_ordering::equal);
        const auto times = multiply(a, b);
        ASSERT_TRUE(times);
        if (b.num != 0) {
            ASSERT_EQ(compare(*divide(*times, b), a), std::strong_ordering::equal);
        }
    }
}

TEST(StringKey, HoldsFifteenBytesAndHashesMore) {
    std::string_view out;
    const StringKey empty = make_string_key("");
    EXPECT_EQ(empty, StringKey{});
    EXPECT_TRUE(string_key_text(empty, out));
    EXPECT_TRUE(out.empty());
    const StringKey fifteen = make_string_key("123456789012345");
    ASSERT_TRUE(string_key_text(fifteen, out));
    EXPECT_EQ(out, "123456789012345");
    const StringKey sixteen = make_string_key("1234567890123456");
    EXPECT_FALSE(string_key_text(sixteen, out));
    EXPECT_EQ(sixteen, make_string_key("1234567890123456"));
    EXPECT_NE(sixteen, make_string_key("1234567890123457"));
    EXPECT_NE(make_string_key("a"), make_string_key(std::string_view("a\0", 2)));
}

}  // namespace
}  // namespace tollgate
