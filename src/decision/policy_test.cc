// Tests of policy.toml: defaults, every key, and each bad input with its line, value and range.
#include "decision/policy.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace tollgate {
namespace {

const std::string kPack = "[pack]\nname = \"t\"\ncurrency = \"USD\"\n";

std::string message(const std::string& rest) {
    const auto policy = parse_policy(kPack + rest);
    return policy ? "accepted" : policy.error().message;
}

TEST(Policy, SmallestFileHasTheDefaultsOfTheDesign) {
    const Policy policy = parse_policy(kPack).value_or_die();
    EXPECT_EQ(policy.timeouts.model.count(), 15);
    EXPECT_EQ(policy.timeouts.decide.count(), 50);
    EXPECT_EQ(policy.timeouts.deep.count(), 500);
    EXPECT_EQ(policy.timeouts.store_confirm.count(), 5);
    EXPECT_EQ(policy.timeouts.cold_key.count(), 2);
    EXPECT_EQ(policy.bands.low, 0.3);
    EXPECT_EQ(policy.bands.high, 0.7);
    EXPECT_EQ(policy.bands.grey_share, 0.02);
    EXPECT_EQ(policy.time_zone, "UTC");
    EXPECT_EQ(policy.clock.max_ahead, std::chrono::minutes(5));
    EXPECT_EQ(policy.clock.lateness, std::chrono::hours(24));
    EXPECT_EQ(policy.limits.action, Verdict::kChallenge);
    EXPECT_EQ(policy.fallback, Verdict::kApprove);
    EXPECT_EQ(policy.store.durability, StoreDurability::kOs);
}

TEST(Policy, EveryKeyIsRead) {
    const Policy policy = parse_policy(R"(
[pack]
name = "card"
currency = "EUR"
time_zone = "Asia/Seoul"
[timeouts]
model_ms = 10
decide_ms = 40
[bands]
p_low = 0.02
p_high = 0.4
high_action = "review"
[limits]
payment = "500.00"
action = "review"
[fallback]
default = "challenge"
[store]
durability = "fsync"
on_store_lost = "decline"
[time]
stream_clock = "event"
max_ahead = "10m"
late_after = "30s"
lateness = "2d"
[attributes.income]
type = "money"
personal = true
[attributes.country]
type = "string"
[privacy]
personal = ["memo", "account_id"]
[rates.USD]
2026-01-01 = "0.92"
"2026-07-01" = "0.9"
[cost]
max_rules = 100
max_rules_us = 1500
[review]
hold_hours = 24
on_expiry = "approve"
)")
                              .value_or_die();
    EXPECT_EQ(policy.limits.by_type[0], (Money{50'000, policy.currency}));
    EXPECT_FALSE(policy.limits.by_type[1]);
    EXPECT_EQ(policy.bands.high_action, Verdict::kReview);
    EXPECT_EQ(policy.clock.mode, ClockMode::kEvent);
    EXPECT_EQ(policy.clock.lateness, std::chrono::hours(48));
    ASSERT_EQ(policy.schema.attributes.size(), 2U);
    EXPECT_EQ(policy.schema.attributes[0].name, "country");
    EXPECT_TRUE(policy.schema.attributes[1].personal);
    ASSERT_EQ(policy.rates.size(), 2U);
    EXPECT_EQ(to_text(policy.rates[0].rate), "0.92");
    EXPECT_EQ(policy.cost.max_cost_ns, 1'500'000U);
    EXPECT_EQ(policy.review.on_expiry, Verdict::kApprove);
    const auto keys = policy_keys(policy);
    EXPECT_EQ(keys.at("timeouts.model_ms"), "10");
    EXPECT_EQ(keys.at("rates.USD.2026-07-01"), "0.9");
    EXPECT_EQ(keys.at("attributes.income"), "money personal");
}

TEST(Policy, BadInputNamesLineKeyValueAndRange) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"[timeout]\n",
         "policy.toml:4: timeout is not a key of policy.toml (did you mean \"timeouts\"?)"},
        {"[timeouts]\nmodle_ms = 3\n",
         "policy.toml:5: timeouts.modle_ms is not a key of policy.toml (did you mean "
         "\"model_ms\"?)"},
        {"[timeouts]\nmodel_ms = 0\n", "policy.toml:5: timeouts.model_ms 0 is outside 1 to 1000"},
        {"[timeouts]\nmodel_ms = \"15\"\n",
         "policy.toml:5: timeouts.model_ms must be a whole number"},
        {"[timeouts]\nmodel_ms = -5\n",
         "policy.toml:5: timeouts.model_ms -5 is outside 0 to 1000000000"},
        {"[timeouts]\nmodel_ms = 60\n",
         "policy.toml:5: timeouts.model_ms 60 is above timeouts.decide_ms 50"},
        {"[bands]\nlow = nan\n", "policy.toml:5: bands.low"},
        {"[bands]\nlow = 0.8\n", "policy.toml:5: bands.low 0.8 must be below bands.high 0.7"},
        {"[bands]\ngrey_share = 1e999\n", "policy.toml:5"},
        {"[limits]\npayment = 500\n", "policy.toml:5: limits.payment must be a string"},
        {"[limits]\npayment = \"1.234\"\n",
         "policy.toml: limits.payment \"1.234\" is not an amount of USD"},
        {"[limits]\naction = \"approve\"\n", "policy.toml:5: limits.action"},
        {"[limits]\naction = \"deny\"\n",
         "policy.toml:5: limits.action \"deny\" is not one of approve, challenge, review, decline"},
        {"[time]\nlateness = \"24\"\n", "policy.toml:5: time.lateness \"24\" is not a span"},
        {"[time]\nlateness = \"90d\"\n",
         "policy.toml:5: time.lateness (seconds) 7776000 is outside 1 to 2592000"},
        {"[attributes.Big]\ntype = \"string\"\n", "policy.toml:4: attributes"},
        {"[attributes.x]\n", "policy.toml:4: attributes.x.type is required"},
        {"[attributes.x]\ntype = \"float\"\n",
         "policy.toml:5: attributes.x.type \"float\" is not one of string, integer"},
        {"[privacy]\npersonal = [\"amount\"]\n",
         "policy.toml:5: privacy.personal \"amount\" cannot be marked personal"},
        {"[rates.QQQ]\n", "policy.toml:4: rates.QQQ"},
        {"[rates.USD]\n", "policy.toml:4: rates.USD is the pack's own currency"},
        {"[rates.EUR]\n2026-01-01 = 1.1\n",
         "policy.toml:5: rates.EUR.2026-01-01 must be a decimal string"},
        {"[rates.EUR]\n2026-01-01 = \"0\"\n", "policy.toml:5: rates.EUR.2026-01-01 must be"},
        {"[rates.EUR]\n2026-13-01 = \"1.1\"\n",
         "policy.toml:5: rates.EUR.2026-13-01 is not a date"},
        {"[rates.EUR]\n20000-01-01 = \"1.1\"\n", "policy.toml:5"},
        {"[review]\non_expiry = \"review\"\n", "policy.toml:5: review.on_expiry"},
        {"[cost]\nmax_rules = 501\n", "policy.toml:5: cost.max_rules 501 is outside 1 to 500"},
        {"[store\n", "policy.toml:4: "},
        {"[store]\n[store]\n", "policy.toml:5: "},
        {"store = 1\n", "policy.toml:4"},
    };
    for (const auto& [toml, begins] : cases) {
        EXPECT_EQ(message(toml).rfind(begins, 0), 0U) << toml << " -> " << message(toml);
    }
    EXPECT_NE(parse_policy("").error().message.find("pack.name is required"), std::string::npos);
    EXPECT_NE(
        parse_policy("[pack]\nname=\"t\"\ncurrency=\"usd\"\n").error().message.find("ISO 4217"),
        std::string::npos);
    EXPECT_FALSE(parse_policy(kPack + "x = " + std::string(10'000, '[')));
    EXPECT_EQ(parse_policy(std::string((1 << 20) + 1, '#')).error().fault, Fault::kTooLarge);
}

// The commented example of docs/policy.md is a whole policy.toml.
TEST(Policy, ExampleOfTheDocumentationIsValid) {
    std::ifstream in(std::string(TG_SOURCE_DIR) + "/docs/policy.md");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::size_t begin = text.find("```toml\n");
    ASSERT_NE(begin, std::string::npos);
    const std::size_t end = text.find("```", begin + 8);
    const auto policy = parse_policy(text.substr(begin + 8, end - begin - 8));
    ASSERT_TRUE(policy) << policy.error().message;
    // Every key that exists is shown.
    for (const auto& [key, value] : policy_keys(*policy)) {
        const std::string last = key.substr(key.rfind('.') + 1);
        EXPECT_NE(text.find(last, begin), std::string::npos) << key;
    }
}

}  // namespace
}  // namespace tollgate
