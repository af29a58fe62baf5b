// Tests of the field table: what a rule set sees under which name.
#include "decision/schema.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "decision/describe.h"

namespace tollgate {
namespace {

Schema schema() {
    return {{{"home_country", AttributeType::kString, false},
             {"income", AttributeType::kMoney, true},
             {"age", AttributeType::kInteger, false}},
            {"memo"}};
}
const Currency kUsd{840};
const Currency kJpy{392};

TEST(FieldTable, GivesEachRulesetItsOwnAmountAndLocalTime) {
    FieldTable table(schema());
    EXPECT_FALSE(table.find("amount", kUsd, "UTC"));
    table.add_ruleset(kUsd, "UTC");
    table.add_ruleset(kJpy, "Asia/Seoul");
    const std::size_t size = table.size();
    table.add_ruleset(kUsd, "Asia/Seoul");
    EXPECT_EQ(table.size(), size);
    const auto usd = table.find("amount", kUsd, "UTC");
    const auto jpy = table.find("amount", kJpy, "Asia/Seoul");
    ASSERT_TRUE(usd && jpy);
    EXPECT_NE(*usd, *jpy);
    EXPECT_EQ(table.currencies()[table.at(*jpy).index], kJpy);
    const auto seoul = table.find("local_time", kUsd, "Asia/Seoul");
    ASSERT_TRUE(seoul);
    EXPECT_EQ(table.zones()[table.at(*seoul).index], "Asia/Seoul");
    EXPECT_FALSE(table.find("local_time", kUsd, "Europe/Paris"));
}

TEST(FieldTable, MoneyAttributesAreConvertedPerCurrency) {
    FieldTable table(schema());
    table.add_ruleset(kUsd, "UTC");
    table.add_ruleset(kJpy, "UTC");
    const auto field = table.find("attributes.income", kJpy, "UTC");
    ASSERT_TRUE(field);
    EXPECT_EQ(table.at(*field).kind, ValueKind::kMoney);
    EXPECT_EQ(table.at(*field).index, 1);
    EXPECT_EQ(table.currencies()[table.at(*field).currency], kJpy);
    EXPECT_EQ(table.at(*table.find("attributes.age", kUsd, "UTC")).kind, ValueKind::kNumber);
}

TEST(FieldTable, NamesAreUniqueAndCompleteBeforeAnyRuleset) {
    const auto names = FieldTable(schema()).names();
    EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
    for (const char* name : {"amount", "local_time", "attributes.income", "device.ip_country"}) {
        EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
    }
}

TEST(DidYouMean, NamesTheNearestOrNothing) {
    const std::vector<std::string> known{"event_id", "account_id", "amount", "memo"};
    EXPECT_EQ(did_you_mean("acount_id", known), " (did you mean \"account_id\"?)");
    EXPECT_EQ(did_you_mean("zzzzzz", known), "");
}

TEST(ShortQuote, ShortensAndShowsControlCharacters) {
    EXPECT_EQ(short_quote("a\nb"), "\"a\\x0Ab\"");
    EXPECT_LE(short_quote(std::string(1000, 'x')).size(), 42U);
}

}  // namespace
}  // namespace tollgate
