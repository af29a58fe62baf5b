// What the static analyser finds, what it must not claim, and how rules are explained.
#include <gtest/gtest.h>

#include <random>

#include "decision/testing/rules_fixture.h"

namespace tollgate {
namespace {

using testing::kHeader;
using testing::Pack;

bool finds(std::string_view condition, std::string_view code) {
    return Pack(testing::with_condition(condition)).has(code);
}

TEST(Analyser, FindsConditionsThatNeverHold) {
    for (const char* text :
         {"amount > USD 5.00 and amount < USD 5.00", "amount between USD 5.00 .. USD 4.00",
          "n > 3 and n < 4", "n < 0", "part > 1", "channel = \"a\" and channel = \"b\"",
          "channel = \"a\" and channel not in (\"a\", \"b\")",
          "attributes.is_new and not attributes.is_new",
          "attributes.is_new and attributes.is_new = false",
          "USD 5.00 > amount and amount > USD 6.00", "not (amount > USD 5.00 or amount < USD 9.00)",
          "local_weekday = 8", "length(memo) < 0",
          "local_time > 23:59:59 and local_time < 00:00:01",
          "local_time between 22:00 .. 06:00 and local_time between 08:00 .. 09:00", "2 > 3",
          "n = 1 and (channel = \"a\" or n = 2) and channel = \"b\"",
          "event_type not in (\"payment\", \"transfer\", \"credit_application\")"}) {
        EXPECT_TRUE(finds(text, "never-true")) << text;
    }
}

TEST(Analyser, FindsConditionsThatAlwaysHold) {
    for (const char* text : {"n >= 0", "part <= 1", "amount > USD 5.00 or amount <= USD 5.00",
                             "local_weekday < 8", "amount < USD 9.00 or amount > USD 3.00", "3 > 2",
                             "n > 1 and part >= 0", "not (channel = \"a\" and channel = \"b\")"}) {
        EXPECT_TRUE(finds(text, "always-true") || finds(text, "never-true")) << text;
    }
}

TEST(Analyser, SaysNothingOfConditionsThatCanGoEitherWay) {
    for (const char* text :
         {"amount >= USD 5.00 and amount <= USD 5.00", "n > 3 and n < 5",
          "amount between USD 5.00 .. USD 5.00", "mean > USD 3.33 and mean < USD 3.34",
          "channel = \"a\" or channel = \"b\"", "local_time between 22:00 .. 06:00",
          "amount > mean and amount < total", "part > 0.5 and part < 0.6",
          "channel <> \"a\" and channel <> \"b\"", "attributes.age < 0", "amount < USD 0.00"}) {
        EXPECT_FALSE(finds(text, "never-true")) << text;
        EXPECT_FALSE(finds(text, "always-true")) << text;
    }
}

TEST(Analyser, FindsRulesThatAnEarlierOneCovers) {
    const auto shadowed = [](std::string_view first, std::string_view second) {
        const Pack pack(
            std::string(kHeader) + "window n count() by account_id over 1h excluding current\n" +
            "rule A \"a\" " + std::string(first) + "\nrule B \"b\" " + std::string(second) + "\n");
        EXPECT_TRUE(pack.rules) << pack.report();
        return pack.has("shadowed");
    };
    EXPECT_TRUE(shadowed("decline if n > 3", "review if n > 4 and channel = \"x\""));
    EXPECT_TRUE(shadowed("review if n > 3", "review if n > 3"));
    EXPECT_TRUE(
        shadowed("review if n > 3 or channel = \"x\"", "review if channel = \"x\" and n = 1"));
    EXPECT_TRUE(shadowed("review if channel in (\"x\", \"y\")", "challenge if channel = \"y\""));
    EXPECT_TRUE(shadowed("review if is_missing(memo)", "review if n > 2 and is_missing(memo)"));
    EXPECT_TRUE(shadowed("review if n > 3", "mode fallback review if n > 3"));
    EXPECT_FALSE(shadowed("review if n > 3", "decline if n > 4")) << "more severe";
    EXPECT_FALSE(shadowed("review if n > 4", "review if n > 3")) << "wider";
    EXPECT_FALSE(shadowed("shadow decline if n > 3", "review if n > 4")) << "shadow does not count";
    EXPECT_FALSE(shadowed("mode fallback decline if n > 3", "review if n > 4"));
    EXPECT_FALSE(shadowed("decline if n > 3", "hard review if n > 4"));
    EXPECT_FALSE(shadowed("review if n > 3 and channel = \"x\"", "review if n > 4"));
    EXPECT_FALSE(shadowed("review if channel <> \"x\"", "review if n > 4"));
}

TEST(Analyser, WarnsOfTimesThatArePast) {
    CompileLimits limits;
    limits.now = from_micros(1'796'083'200'000'000);  // 2026-12-01
    const std::string text = std::string(kHeader) +
                             "list old file \"lists/old.csv\" key account_id\n"
                             "rule A \"a\" shadow until 2026-11-01 review if account_id in @old\n";
    FieldTable fields(testing::rules_schema());
    ListSet lists;
    lists.files["lists/old.csv"] = "value,expires\nA-1,2026-01-01\n";
    std::vector<Diagnostic> findings;
    const std::vector<RuleSource> sources{{"rules/a.rules", text}};
    ASSERT_TRUE(compile_rules(sources, fields, lists, limits, findings));
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].code, "expired-list");
    EXPECT_EQ(findings[1].code, "shadow-over");
}

// Windows and times only take values that they can have; the analyser builds on that.
void make_possible(testing::Row& row, std::mt19937_64& random) {
    testing::randomize(row, random);
    const auto small = [&random](std::uint64_t most) {
        return static_cast<std::int64_t>(random() % most);
    };
    row.window("n", Value::of_int(small(6)));
    row.window("part", Value::of_number({small(5), 4}));
    row.set("local_weekday", Value::of_int(1 + small(7)));
}

// Soundness: a part that is said never (always) to hold is never true (false) on random rows.
// Compared with true it is one opaque value to the analyser, so that it compiles.
TEST(Analyser, NeverClaimsWhatARowContradicts) {
    std::mt19937_64 random(11);
    std::size_t claims = 0;
    for (int i = 0; i < 3000; ++i) {
        const Pack pack(testing::with_condition(testing::random_condition(random, 2)));
        for (const Diagnostic& d : pack.findings) {
            if (d.code != "never-true" && d.code != "always-true") {
                continue;
            }
            const std::string part = d.source_line.substr(static_cast<std::size_t>(d.column - 1),
                                                          static_cast<std::size_t>(d.length));
            const Pack opaque(testing::with_condition("(" + part + ") = true"));
            if (!opaque.rules) {
                continue;  // "not x" of a part: the parenthesis belongs to it
            }
            ++claims;
            for (int r = 0; r < 50; ++r) {
                testing::Row row(opaque);
                make_possible(row, random);
                const Value v = row.eval();
                ASSERT_FALSE(v.kind == ValueKind::kBool && v.boolean == (d.code == "never-true"))
                    << d.code << ": " << part;
            }
        }
    }
    EXPECT_GT(claims, 100U);
}

TEST(Explanation, ReadsAsOneSentence) {
    const Pack pack(
        std::string(kHeader) +
        "list vip file \"lists/vip.csv\" key account_id\n"
        "window n count() by account_id over 10m excluding current\n"
        "window total sum(amount) by account_id over 1d including current where channel = "
        "\"ecom\"\n"
        "window risk share(fraud) by counterparty.id over 7d delayed 7d else 0\n"
        "rule R1 \"r\" decline if n >= 5 and total > USD 2000.00 and not account_id in @vip\n"
        "rule R2 \"r\" mode fallback review if risk > 0.5 or (is_missing(device.id) and not "
        "(amount < USD 9.00))\n");
    ASSERT_TRUE(pack.rules) << pack.report();
    EXPECT_EQ(
        explain(pack.rules->rules[0], *pack.rules, pack.fields),
        "Declines when the number of events of the account in the last 10 minutes (without this "
        "one) "
        "is at least 5 and the total of the amount over the events of the account in the last day "
        "(with this one; only those where channel = \"ecom\") is above USD 2000.00 and the account "
        "is "
        "not on the list \"vip\".");
    EXPECT_EQ(
        explain(pack.rules->rules[1], *pack.rules, pack.fields),
        "While the model is not available: Sends to review when the share known as fraud among the "
        "events of the counterparty in the 7 days that ended 7 days ago is above 0.5 or (the "
        "device is "
        "missing and the amount is at least USD 9.00).");
}

}  // namespace
}  // namespace tollgate
