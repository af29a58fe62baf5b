// Tests of account states: changes, sequence numbers, expiry, bounds and stored forms.
#include "decision/account.h"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

const EventTime kNow = from_micros(1'764'547'200'000'000);
const Currency kUsd{840};

AccountChange set_limit(const std::string& account, std::int64_t minor, std::uint64_t sequence) {
    return {.account_id = account,
            .action = AccountAction::kSetLimit,
            .amount = Money{minor, kUsd},
            .expires_at = kNow + std::chrono::hours(1),
            .set_by = "an_1",
            .reason = "card testing",
            .sequence = sequence};
}

TEST(AccountTable, ChangesApplyInSequenceAndExpireByTheGivenClock) {
    AccountTable table;
    EXPECT_EQ(table.find("A"), nullptr);
    ASSERT_TRUE(table.apply(set_limit("A", 30'000, 5), kNow));
    const AccountState* state = table.find("A");
    ASSERT_NE(state, nullptr);
    ASSERT_NE(state->limit_at(kNow), nullptr);
    EXPECT_EQ(state->limit_at(kNow)->amount.minor_units, 30'000);
    EXPECT_EQ(state->limit_at(kNow)->sequence, 5U);
    EXPECT_NE(state->limit_at(kNow + std::chrono::minutes(59)), nullptr);
    EXPECT_EQ(state->limit_at(kNow + std::chrono::hours(1)), nullptr);
    const auto stale = table.apply(set_limit("A", 1, 5), kNow);
    ASSERT_FALSE(stale);
    EXPECT_EQ(stale.error().fault, Fault::kConflict);
    EXPECT_EQ(table.find("A")->limit->amount.minor_units, 30'000);
}

TEST(AccountTable, BlockAndLimitAreSeparate) {
    AccountTable table;
    ASSERT_TRUE(table.apply(set_limit("A", 100, 1), kNow));
    ASSERT_TRUE(
        table.apply({.account_id = "A", .action = AccountAction::kBlock, .sequence = 2}, kNow));
    EXPECT_NE(table.find("A")->block_at(kNow), nullptr);
    ASSERT_TRUE(table.apply(
        {.account_id = "A", .action = AccountAction::kClearLimit, .sequence = 3}, kNow));
    EXPECT_EQ(table.find("A")->limit_at(kNow), nullptr);
    EXPECT_NE(table.find("A")->block_at(kNow), nullptr);
    ASSERT_TRUE(
        table.apply({.account_id = "A", .action = AccountAction::kUnblock, .sequence = 4}, kNow));
    EXPECT_EQ(table.find("A")->block_at(kNow), nullptr);
    EXPECT_EQ(table.find("A")->sequence, 4U);
}

TEST(AccountTable, FullTableMakesRoomFromExpiredStatesOrRefuses) {
    AccountTable table(2);
    ASSERT_TRUE(table.apply(set_limit("A", 1, 1), kNow));
    ASSERT_TRUE(table.apply(set_limit("B", 1, 2), kNow));
    const auto full = table.apply(set_limit("C", 1, 3), kNow);
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().fault, Fault::kOverloaded);
    EXPECT_TRUE(table.apply(set_limit("C", 1, 3), kNow + std::chrono::hours(2)));
    EXPECT_EQ(table.size(), 1U);
    EXPECT_FALSE(AccountTable(0).put("x", {}));
}

TEST(AccountState, StoredFormRoundTripsAndCutFormsAreCorrupt) {
    AccountTable table;
    ASSERT_TRUE(table.apply(set_limit("A", 30'000, 1), kNow));
    const AccountState state = table
                                   .apply({.account_id = "A",
                                           .action = AccountAction::kBlock,
                                           .set_by = "ana",
                                           .sequence = 2},
                                          kNow)
                                   .value_or_die();
    const std::string bytes = encode(state);
    EXPECT_EQ(decode_account_state(bytes).value_or_die(), state);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(decode_account_state(bytes.substr(0, size)));
    }
    EXPECT_FALSE(decode_account_state(bytes + "x"));
}

TEST(AccountChange, JsonRoundTripsAndBadOnesNameTheField) {
    const AccountChange change = set_limit("A-1", 30'000, 7);
    std::string text;
    JsonWriter writer(text);
    append_account_change(writer, change);
    JsonDocument document;
    EXPECT_EQ(parse_account_change(document.parse(text).value_or_die()).value_or_die(), change);

    const auto message = [](const AccountChange& bad) {
        const Status status = validate(bad, kUsd);
        return status ? std::string("accepted") : status.error().message;
    };
    EXPECT_EQ(message(change), "accepted");
    AccountChange bad = change;
    bad.amount->currency = Currency{978};
    EXPECT_EQ(message(bad).rfind("amount.currency EUR", 0), 0U);
    bad = change;
    bad.amount.reset();
    EXPECT_EQ(message(bad).rfind("amount is required", 0), 0U);
    bad = change;
    bad.action = AccountAction::kUnblock;
    EXPECT_EQ(message(bad).rfind("amount is allowed", 0), 0U);
    bad = change;
    bad.reason = std::string(513, 'r');
    EXPECT_EQ(message(bad).rfind("reason has 513", 0), 0U);
    const auto unknown = parse_account_change(
        document.parse(R"({"account_id":"A","action":"blok"})").value_or_die());
    ASSERT_FALSE(unknown);
    EXPECT_NE(unknown.error().message.find("did you mean \"block\"?"), std::string::npos);
}

}  // namespace
}  // namespace tollgate
