// Tests of text/suggest.h: typical slips, the bound, ties and odd sizes.
#include "text/suggest.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tollgate {
namespace {

constexpr std::array<std::string_view, 8> kNames{"amount",     "account_id", "acct_n_10m",
                                                 "acct_n_30m", "channel",    "counterparty.country",
                                                 "id",         "is_missing"};

std::string nearest(std::string_view word) {
    return std::string(nearest_name(word, kNames).value_or("-"));
}

TEST(NearestName, FindsTypicalSlips) {
    EXPECT_EQ(nearest("amuont"), "amount");  // swapped
    EXPECT_EQ(nearest("amout"), "amount");   // left out
    EXPECT_EQ(nearest("chanel"), "channel");
    EXPECT_EQ(nearest("chhannel"), "channel");  // doubled
    EXPECT_EQ(nearest("Account_ID"), "account_id");
    EXPECT_EQ(nearest("accountid"), "account_id");
    EXPECT_EQ(nearest("counterparty_contry"), "counterparty.country");
    EXPECT_EQ(nearest("ids"), "id");
    EXPECT_EQ(nearest("acct_n_31m"), "acct_n_30m");
}

TEST(NearestName, ATieGoesToTheFirst) {
    EXPECT_EQ(nearest("acct_n_20m"), "acct_n_10m");
}

TEST(NearestName, SaysNothingWhenNothingIsNear) {
    for (const std::string& word :
         std::vector<std::string>{"", "velocity", "xy", "d1", "amt", "country",
                                  std::string(65, 'a'), std::string(64, 'a')}) {
        EXPECT_EQ(nearest(word), "-") << word;
    }
    EXPECT_FALSE(nearest_name("a", std::span<const std::string_view>()));
}

TEST(NearestName, TakesOwnedStringsAndSkipsEndlessOnes) {
    const std::vector<std::string> names{std::string(10000, 'a'), "", std::string(60, 'a')};
    EXPECT_EQ(nearest_name(std::string(64, 'a'), names), std::string(60, 'a'));
}

}  // namespace
}  // namespace tollgate
