// Tests of rates, zones and the row of values of an event.
#include "decision/event_fields.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/testing/alloc_counter.h"

namespace tollgate {
namespace {

using std::chrono::local_days;

EventTime at(const std::string& text) {
    return parse_rfc3339("t", text).value_or_die();
}
Currency cur(std::string_view code) {
    return currency_of(code).value_or_die();
}
Zones zones(const std::vector<std::string>& names) {
    return Zones::load(names).value_or_die();
}

TEST(Rates, ConvertAtTheRateOfTheDateHalfToEven) {
    Rates rates(cur("USD"));
    ASSERT_TRUE(rates.add(cur("EUR"), at("2026-07-01T00:00:00Z"), {12, 10}));
    ASSERT_TRUE(rates.add(cur("EUR"), at("2026-01-01T00:00:00Z"), {11, 10}));
    ASSERT_TRUE(rates.add(cur("JPY"), at("2026-01-01T00:00:00Z"), {1, 150}));
    const Money ten{1'000, cur("EUR")};
    EXPECT_FALSE(rates.convert(ten, cur("USD"), at("2025-12-31T23:59:59Z")));
    EXPECT_EQ(rates.convert(ten, cur("USD"), at("2026-01-01T00:00:00Z")), 1'100);
    EXPECT_EQ(rates.convert(ten, cur("USD"), at("2026-06-30T23:59:59.999999Z")), 1'100);
    EXPECT_EQ(rates.convert(ten, cur("USD"), at("2026-07-01T00:00:00Z")), 1'200);
    EXPECT_EQ(rates.convert(ten, cur("JPY"), at("2026-08-01T00:00:00Z")), 1'800);
    EXPECT_EQ(rates.convert({1'800, cur("JPY")}, cur("EUR"), at("2026-08-01T00:00:00Z")), 1'000);
    // 0.5 and 1.5 cents: to the even neighbour.
    ASSERT_TRUE(rates.add(cur("GBP"), at("2026-01-01T00:00:00Z"), {1, 2}));
    EXPECT_EQ(rates.convert({1, cur("GBP")}, cur("USD"), at("2026-02-01T00:00:00Z")), 0);
    EXPECT_EQ(rates.convert({3, cur("GBP")}, cur("USD"), at("2026-02-01T00:00:00Z")), 2);
    EXPECT_EQ(rates.convert({-3, cur("GBP")}, cur("USD"), at("2026-02-01T00:00:00Z")), -2);
    EXPECT_FALSE(rates.convert({1, cur("KWD")}, cur("USD"), at("2026-02-01T00:00:00Z")));
}

TEST(Rates, RefuseWhatIsNoRateAndNeverOverflow) {
    Rates rates(cur("USD"));
    EXPECT_FALSE(rates.add(cur("USD"), {}, {1, 1}));
    EXPECT_FALSE(rates.add(cur("EUR"), {}, {0, 1}));
    EXPECT_FALSE(rates.add(cur("EUR"), {}, {-1, 2}));
    ASSERT_TRUE(rates.add(cur("EUR"), {}, {1'000'000'000, 1}));
    EXPECT_FALSE(rates.add(cur("EUR"), {}, {2, 1}));
    EXPECT_FALSE(rates.convert({INT64_MAX, cur("EUR")}, cur("USD"), at("2026-01-01T00:00:00Z")));
}

// Digits of the target differ from the source's: 6000 KWD minor units (6.000) and whole yen.
TEST(Rates, DigitsOfBothCurrenciesCount) {
    Rates rates(cur("USD"));
    ASSERT_TRUE(rates.add(cur("KWD"), {}, {325, 100}));
    EXPECT_EQ(rates.convert({6'000, cur("KWD")}, cur("USD"), at("2026-01-01T00:00:00Z")), 1'950);
    EXPECT_EQ(rates.convert({1'950, cur("USD")}, cur("KWD"), at("2026-01-01T00:00:00Z")), 6'000);
}

TEST(Zones, LocalTimeFollowsSummerTime) {
    const Zones z = zones({"America/New_York", "Asia/Seoul", "UTC"});
    const auto minutes = [&](std::size_t zone, const std::string& t) {
        return z.local(zone, at(t)).since_midnight.count() / 60'000'000;
    };
    EXPECT_EQ(minutes(0, "2026-03-08T06:59:00Z"), 60 + 59);  // EST, before the change
    EXPECT_EQ(minutes(0, "2026-03-08T07:00:00Z"), 3 * 60);   // EDT: 02:00 does not exist
    EXPECT_EQ(minutes(0, "2026-11-01T05:30:00Z"), 90);       // EDT 01:30
    EXPECT_EQ(minutes(0, "2026-11-01T06:30:00Z"), 90);       // EST 01:30 again
    EXPECT_EQ(minutes(1, "2026-11-30T15:00:00Z"), 0);
    EXPECT_EQ(z.local(1, at("2026-11-30T14:59:59Z")).weekday, 1);  // Monday in Seoul
    EXPECT_EQ(z.local(1, at("2026-11-30T15:00:00Z")).weekday, 2);
    EXPECT_EQ(z.local(2, at("1970-01-01T00:00:00Z")).weekday, 4);  // a Thursday
    EXPECT_EQ(z.local(2, at("2026-11-29T12:00:00Z")).weekday, 7);
}

TEST(Zones, ADayIsNotAlways24Hours) {
    const Zones z = zones({"America/New_York", "America/Sao_Paulo"});
    const local_days spring{std::chrono::year{2026} / 3 / 8};
    EXPECT_EQ(z.start_of_day(0, spring), at("2026-03-08T05:00:00Z"));
    EXPECT_EQ(z.start_of_day(0, spring + std::chrono::days(1)), at("2026-03-09T04:00:00Z"));
    // Midnight did not exist there on 2018-11-04: the day began at 01:00.
    const local_days gap{std::chrono::year{2018} / 11 / 4};
    EXPECT_EQ(z.start_of_day(1, gap), at("2018-11-04T03:00:00Z"));
}

TEST(Zones, RefuseAnUnknownName) {
    for (const char* name : {"Asia/Soul", "", "../etc/passwd", "EST5EDT4"}) {
        const std::vector<std::string> names{name};
        const auto got = Zones::load(names);
        ASSERT_FALSE(got) << name;
        EXPECT_EQ(got.error().fault, Fault::kBadInput);
    }
}

class Fields : public ::testing::Test {
  protected:
    Fields()
        : schema_{{{"country", AttributeType::kString, false},
                   {"income", AttributeType::kMoney, false},
                   {"new", AttributeType::kBoolean, false},
                   {"ratio", AttributeType::kDecimal, false}},
                  {}},
          table_(schema_),
          rates_(cur("USD")) {
        table_.add_ruleset(cur("USD"), "UTC");
        table_.add_ruleset(cur("EUR"), "Asia/Seoul");
        table_.add_ruleset(cur("KWD"), "UTC");
        (void)rates_.add(cur("EUR"), {}, {2, 1});
        zones_ = zones({"UTC", "Asia/Seoul"});
        event_.event_id = "e";
        event_.account_id = "A-17";
        event_.occurred_at = at("2026-11-30T20:30:00Z");
        event_.amount = {1'001, cur("USD")};
        event_.attributes.resize(4);
        row_.resize(table_.size());
    }
    Value get(std::string_view name, std::string_view currency = "USD",
              std::string_view zone = "UTC") {
        fill_fields(event_, table_, rates_, zones_, limit_, row_);
        return row_[static_cast<std::size_t>(*table_.find(name, cur(currency), zone))];
    }
    Schema schema_;
    FieldTable table_;
    Rates rates_;
    Zones zones_;
    Event event_;
    std::optional<Money> limit_;
    std::vector<Value> row_;
};

TEST_F(Fields, AbsentIsUnknownAndPresentHasItsKind) {
    EXPECT_TRUE(get("memo").is_unknown());
    EXPECT_TRUE(get("device.id").is_unknown());
    EXPECT_TRUE(get("counterparty.country").is_unknown());
    EXPECT_TRUE(get("attributes.income").is_unknown());
    EXPECT_TRUE(get("account.limit").is_unknown());
    event_.attributes[0] = AttributeValue{AttributeType::kString, "KR", 0};
    event_.attributes[2] = AttributeValue{AttributeType::kBoolean, {}, 1};
    event_.attributes[3] = AttributeValue{AttributeType::kDecimal, {}, 350'000};
    event_.device = Device{"d1", std::nullopt};
    EXPECT_EQ(get("attributes.country").text, "KR");
    EXPECT_TRUE(get("attributes.new").is_true());
    EXPECT_EQ(compare(get("attributes.ratio").number, {7, 20}), std::strong_ordering::equal);
    EXPECT_EQ(get("device.id").text, "d1");
    EXPECT_TRUE(get("device.ip_country").is_unknown());
    EXPECT_EQ(get("event_type").text, "payment");
    EXPECT_EQ(get("amount.currency").text, "USD");
}

TEST_F(Fields, MoneyIsInEachRulesetsCurrencyOrUnknown) {
    event_.attributes[1] = AttributeValue{AttributeType::kMoney, {}, 3'000};
    limit_ = Money{20'000, cur("USD")};
    EXPECT_EQ(get("amount").number.num, 1'001);
    EXPECT_EQ(get("amount", "EUR", "Asia/Seoul").number.num, 500);  // 500.5 to even
    EXPECT_TRUE(get("amount", "KWD").is_unknown());
    EXPECT_EQ(get("attributes.income", "EUR").number.num, 1'500);
    EXPECT_EQ(get("account.limit", "EUR").number.num, 10'000);
    EXPECT_TRUE(get("account.limit", "KWD").is_unknown());
}

TEST_F(Fields, LocalTimeIsThatOfTheRulesetsZone) {
    EXPECT_EQ(get("local_time").number.num, (20 * 60 + 30) * Int128{60'000'000});
    EXPECT_EQ(get("local_time", "EUR", "Asia/Seoul").number.num,
              (5 * 60 + 30) * Int128{60'000'000});
    EXPECT_EQ(get("local_weekday").number.num, 1);
    EXPECT_EQ(get("local_weekday", "EUR", "Asia/Seoul").number.num, 2);
}

TEST_F(Fields, FillingAllocatesNothing) {
    event_.memo = std::string(4'000, 'm');
    fill_fields(event_, table_, rates_, zones_, limit_, row_);
    const auto before = testing::thread_allocations();
    for (int i = 0; i < 100; ++i) {
        fill_fields(event_, table_, rates_, zones_, limit_, row_);
    }
    EXPECT_EQ(testing::thread_allocations(), before);
}

}  // namespace
}  // namespace tollgate
