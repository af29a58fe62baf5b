// Tests of base/time.h: the accepted forms, the refused ones, and a seeded round trip.
#include "base/time.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace tollgate {
namespace {

std::int64_t parsed(std::string_view text) {
    const auto t = parse_rfc3339("occurred_at", text);
    EXPECT_TRUE(t.has_value()) << text;
    return t ? to_micros(*t) : -1;
}

TEST(Rfc3339, ReadsOffsetsFractionsAndLowerCase) {
    EXPECT_EQ(parsed("1970-01-01T00:00:00Z"), 0);
    EXPECT_EQ(parsed("2026-11-30T08:15:30.123Z"), 1796026530123000);
    EXPECT_EQ(parsed("2026-11-30t17:15:30.123+09:00"), 1796026530123000);
    EXPECT_EQ(parsed("2026-11-30T03:45:30.123-04:30"), 1796026530123000);
    EXPECT_EQ(parsed("2026-11-30T08:15:30.123000z"), 1796026530123000);
    EXPECT_EQ(parsed("2026-11-30T08:15:30.1-00:00"), 1796026530100000);
    EXPECT_EQ(parsed("2024-02-29T00:00:00Z"), 1709164800000000);
    EXPECT_EQ(parsed("2199-12-31T23:59:59.999999Z"), 7258118399999999);
    EXPECT_EQ(parsed("1969-12-31T23:00:00-01:00"), 0);
}

TEST(Rfc3339, ALeapSecondIsTheFollowingSecond) {
    EXPECT_EQ(parsed("2016-12-31T23:59:60Z"), parsed("2017-01-01T00:00:00Z"));
    EXPECT_EQ(parsed("2017-01-01T08:59:60.5+09:00"), parsed("2017-01-01T00:00:00.5Z"));
    EXPECT_FALSE(parse_rfc3339("t", "2017-01-01T08:59:60Z"));
}

TEST(Rfc3339, RefusesEverythingElse) {
    for (const char* text : {"",
                             "2026-11-30",
                             "2026-11-30T08:15:30",
                             "2026-11-30 08:15:30Z",
                             "2026-11-30T08:15Z",
                             "2026-11-30T08:15:30.Z",
                             "2026-11-30T08:15:30.1234567Z",
                             "2026-11-30T24:00:00Z",
                             "2026-11-30T08:60:00Z",
                             "2026-11-30T08:15:61Z",
                             "2026-02-29T00:00:00Z",
                             "2026-13-01T00:00:00Z",
                             "2026-00-01T00:00:00Z",
                             "2026-11-31T00:00:00Z",
                             "2026-11-30T08:15:30+24:00",
                             "2026-11-30T08:15:30+0900",
                             "2026-11-30T08:15:30+09",
                             "2026-11-30T08:15:30ZZ",
                             " 2026-11-30T08:15:30Z",
                             "2026-11-30T08:15:30,5Z",
                             "1969-12-31T23:59:59Z",
                             "2200-01-01T00:00:00Z",
                             "+2026-11-30T08:15:30Z",
                             "2026-11-3OT08:15:30Z",
                             "2026-1-30T08:15:30Z"}) {
        EXPECT_FALSE(parse_rfc3339("t", text)) << text;
    }
}

TEST(Rfc3339, TheErrorNamesFieldTextAndRangeAndIsPrintable) {
    const auto t = parse_rfc3339("occurred_at",
                                 "yest\xC3"
                                 "erday\n" +
                                     std::string(100, 'x'));
    ASSERT_FALSE(t);
    EXPECT_EQ(t.error().fault, Fault::kBadInput);
    const std::string& message = t.error().message;
    EXPECT_EQ(message.find("occurred_at: \"yest?erday?xxx"), 0U) << message;
    EXPECT_NE(message.find("1970 to 2199"), std::string::npos);
    EXPECT_LT(message.size(), 250U);
}

TEST(Rfc3339, FormatsShortestOfThreeWidths) {
    EXPECT_EQ(format_rfc3339(from_micros(0)), "1970-01-01T00:00:00Z");
    EXPECT_EQ(format_rfc3339(from_micros(120000)), "1970-01-01T00:00:00.120Z");
    EXPECT_EQ(format_rfc3339(from_micros(1)), "1970-01-01T00:00:00.000001Z");
    EXPECT_EQ(format_rfc3339(from_micros(-1)), "1969-12-31T23:59:59.999999Z");
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(format_rfc3339(from_micros(kMax)), "9999-12-31T23:59:59.999999Z");
    EXPECT_EQ(format_rfc3339(from_micros(-kMax)), "0000-01-01T00:00:00Z");
}

TEST(Rfc3339, WhatIsFormattedReadsBackAsTheSameTime) {
    std::mt19937_64 random(7);
    for (int i = 0; i < 20000; ++i) {
        std::int64_t micros = static_cast<std::int64_t>(random() % 7258118400000000ULL);
        micros -= i % 3 == 0 ? micros % 1000000 : i % 3 == 1 ? micros % 1000 : 0;
        const std::string text = format_rfc3339(from_micros(micros));
        ASSERT_EQ(parsed(text), micros) << text;
        ASSERT_FALSE(parse_rfc3339("t", std::string_view(text).substr(0, random() % text.size())));
    }
}

}  // namespace
}  // namespace tollgate
