// Tests of currencies and of money's text form, bad input included.
#include "decision/money.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

namespace tollgate {
namespace {

Currency cur(std::string_view code) {
    return currency_of(code).value_or_die();
}

TEST(Currency, DigitsAreThoseOfIso4217) {
    EXPECT_EQ(digits_of(cur("USD")), 2);
    EXPECT_EQ(digits_of(cur("JPY")), 0);
    EXPECT_EQ(digits_of(cur("KWD")), 3);
    // CLDR says 0 for these, ISO 4217 does not.
    EXPECT_EQ(digits_of(cur("IQD")), 3);
    EXPECT_EQ(digits_of(cur("RSD")), 2);
    EXPECT_EQ(digits_of(cur("KRW")), 0);
}

TEST(Currency, CodeAndNumberAgreeBothWays) {
    EXPECT_EQ(cur("USD").numeric, 840);
    EXPECT_EQ(cur("EUR").numeric, 978);
    EXPECT_EQ(alpha3_of(cur("ALL")), "ALL");
    EXPECT_EQ(alpha3_of(Currency{1}), "???");
    EXPECT_EQ(alpha3_of(Currency{65535}), "???");
}

TEST(Currency, RefusesUnknownWithdrawnAndLowerCaseCodes) {
    for (const char* code :
         {"", "US", "usd", "USDX", "QQQ", "DEM", "HRK", "XXX", "U\0D", "\xC3\x28"}) {
        const auto got = currency_of(code);
        ASSERT_FALSE(got) << code;
        EXPECT_EQ(got.error().fault, Fault::kBadInput);
        EXPECT_NE(got.error().message.find("ISO 4217"), std::string::npos);
    }
}

TEST(Money, ReadsWhatIsExact) {
    EXPECT_EQ(parse_money("amount.value", "125.40", cur("USD")).value_or_die().minor_units, 12540);
    EXPECT_EQ(parse_money("amount.value", "12", cur("USD")).value_or_die().minor_units, 1200);
    EXPECT_EQ(parse_money("amount.value", "12.5", cur("USD")).value_or_die().minor_units, 1250);
    EXPECT_EQ(parse_money("amount.value", "0", cur("USD")).value_or_die().minor_units, 0);
    EXPECT_EQ(parse_money("amount.value", "0.01", cur("USD")).value_or_die().minor_units, 1);
    EXPECT_EQ(parse_money("amount.value", "6000", cur("JPY")).value_or_die().minor_units, 6000);
    EXPECT_EQ(parse_money("amount.value", "50.000", cur("KWD")).value_or_die().minor_units, 50000);
    EXPECT_EQ(parse_money("amount.value", "-3.07", cur("USD")).value_or_die().minor_units, -307);
    EXPECT_EQ(
        parse_money("amount.value", "90000000000000.00", cur("USD")).value_or_die().minor_units,
        9'000'000'000'000'000);
}

TEST(Money, RefusesWhatIsNotAPlainDecimalAndNamesIt) {
    for (const char* text : {"",
                             "-",
                             ".",
                             "1.",
                             ".5",
                             "+1",
                             " 1",
                             "1 ",
                             "007",
                             "00",
                             "1e3",
                             "1,5",
                             "NaN",
                             "Infinity",
                             "1e999",
                             "0x10",
                             "85.64999999999999",
                             "1.234",
                             "--1",
                             "1.2.3",
                             "\xD9\xA1",
                             "90000000000000.01",
                             "99999999999999999999999999999999999999"}) {
        const auto got = parse_money("amount.value", text, cur("USD"));
        ASSERT_FALSE(got) << text;
        EXPECT_NE(got.error().message.find("amount.value"), std::string::npos);
    }
    EXPECT_FALSE(parse_money("amount.value", "1.0", cur("JPY")));
    EXPECT_FALSE(parse_money("amount.value", "1.0000", cur("KWD")));
}

TEST(Money, TextHasTheCurrencysDigits) {
    EXPECT_EQ(to_text(Money{12540, cur("USD")}), "125.40");
    EXPECT_EQ(to_text(Money{5, cur("USD")}), "0.05");
    EXPECT_EQ(to_text(Money{-5, cur("USD")}), "-0.05");
    EXPECT_EQ(to_text(Money{0, cur("KWD")}), "0.000");
    EXPECT_EQ(to_text(Money{6000, cur("KWD")}), "6.000");
    EXPECT_EQ(to_text(Money{6000, cur("JPY")}), "6000");
    EXPECT_EQ(to_text(Money{INT64_MIN, cur("JPY")}), "-9223372036854775808");
}

TEST(Money, TextParsesBackToTheSameMoney) {
    std::mt19937_64 random(7);
    for (int i = 0; i < 20'000; ++i) {
        const Currency currency = cur(i % 3 == 0 ? "USD" : i % 3 == 1 ? "JPY" : "KWD");
        const auto minor =
            static_cast<std::int64_t>(random() % 9'000'000'000'000'001ULL) >> (random() % 50);
        const Money money{random() % 2 == 0 ? minor : -minor, currency};
        const auto back = parse_money("amount", to_text(money), currency);
        ASSERT_TRUE(back) << to_text(money);
        EXPECT_EQ(*back, money);
    }
}

}  // namespace
}  // namespace tollgate
