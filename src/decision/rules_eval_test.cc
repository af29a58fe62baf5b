// What rules mean on an event: three-valued logic, money, midnight, lists, patterns; and that
// evaluation allocates nothing.
#include <gtest/gtest.h>

#include <random>

#include "base/testing/alloc_counter.h"
#include "decision/testing/rules_fixture.h"

namespace tollgate {
namespace {

using testing::Pack;
using testing::Row;

// 'T', 'F', 'U' or 'E' of a condition on a row that `fill` sets up.
template <class F>
char outcome(std::string_view condition, F&& fill) {
    const Pack pack(testing::with_condition(condition));
    if (!pack.rules) {
        ADD_FAILURE() << pack.report();
        return '?';
    }
    Row row(pack);
    fill(row);
    const Value v = row.eval();
    return v.is_error() ? 'E' : v.is_unknown() ? 'U' : v.is_true() ? 'T' : 'F';
}
char outcome(std::string_view condition) {
    return outcome(condition, [](Row&) {});
}

TEST(RuleEvaluation, FalseAndTrueDecideWhateverTheOtherSideIs) {
    const auto fill = [](Row& row) {
        row.window("n", Value::of_int(0));
        row.window("part", Value::of_int(1));
        row.set("attributes.age", Value::unknown());
    };
    // 1 / n divides by zero: an error. The age is unknown.
    EXPECT_EQ(outcome("1 / n > 1", fill), 'E');
    EXPECT_EQ(outcome("attributes.age > 1", fill), 'U');
    EXPECT_EQ(outcome("part < 1 and 1 / n > 1", fill), 'F');
    EXPECT_EQ(outcome("1 / n > 1 and part = 0", fill), 'F');
    EXPECT_EQ(outcome("1 / n > 1 or part = 1", fill), 'T');
    EXPECT_EQ(outcome("1 / n > 1 and attributes.age > 1", fill), 'E');
    EXPECT_EQ(outcome("attributes.age > 1 or 1 / n > 1", fill), 'E');
    EXPECT_EQ(outcome("not (attributes.age > 1)", fill), 'U');
    EXPECT_EQ(outcome("attributes.age > 1 and part = 0", fill), 'F');
    EXPECT_EQ(outcome("is_unknown(attributes.age)", fill), 'T');
    EXPECT_EQ(outcome("is_unknown(n)", fill), 'F');
    EXPECT_EQ(outcome("is_unknown(1 / n)", fill), 'E');
}

TEST(RuleEvaluation, MissingValuesAreUnknownNotZero) {
    EXPECT_EQ(outcome("attributes.age = 0"), 'U');
    EXPECT_EQ(outcome("attributes.age <> 0"), 'U');
    EXPECT_EQ(outcome("channel <> \"ecom\""), 'U');
    EXPECT_EQ(outcome("channel in (\"ecom\", \"pos\")"), 'U');
    EXPECT_EQ(outcome("account_id in @vip"), 'U');
    EXPECT_EQ(outcome("is_missing(device.id)"), 'T');
    EXPECT_EQ(outcome("length(memo) > 3"), 'U');
    EXPECT_EQ(outcome("local_time between 22:00 .. 06:00"), 'U');
    // Half a range can already say no.
    const auto fill = [](Row& row) { row.set("amount", Value::of_money({100, 1})); };
    EXPECT_EQ(outcome("amount between USD 2.00 .. mean", fill), 'F');
    EXPECT_EQ(outcome("amount between USD 1.00 .. mean", fill), 'U');
}

TEST(RuleEvaluation, NumbersAreExactAndOneIsOne) {
    EXPECT_EQ(outcome("attributes.ratio = 1",
                      [](Row& r) {
                          r.set("attributes.ratio", Value::of_number({1'000'000, 1'000'000}));
                      }),
              'T');
    EXPECT_EQ(outcome("attributes.ratio = 0.3 and attributes.ratio = 0.1 + 0.2",
                      [](Row& r) {
                          r.set("attributes.ratio", Value::of_number({3, 10}));
                      }),
              'T');
    // An average of thirds compares exactly: 10.00 / 3 is above 3.33.
    const auto third = [](Row& r) { r.window("mean", Value::of_money({1000, 3})); };
    EXPECT_EQ(outcome("mean > USD 3.33", third), 'T');
    EXPECT_EQ(outcome("3 * mean = USD 10.00", third), 'T');
}

TEST(RuleEvaluation, ArithmeticThatDoesNotFitIsAnErrorNeverAWrongNumber) {
    const Int128 huge = ~(Int128{1} << 127);
    const auto fill = [&](Row& r) {
        r.window("total", Value::of_money({huge, 1}));
        r.window("mean", Value::of_money({-huge, 1}));
    };
    EXPECT_EQ(outcome("2 * total > USD 1.00", fill), 'E');
    EXPECT_EQ(outcome("total - mean > USD 1.00", fill), 'E');
    EXPECT_EQ(outcome("total > mean", fill), 'T');
}

TEST(RuleEvaluation, ClockRangesWrapMidnight) {
    const auto at = [](std::int64_t minutes) {
        return [minutes](Row& r) {
            Value v;
            v.kind = ValueKind::kTimeOfDay;
            v.number = {minutes * 60'000'000, 1};
            r.set("local_time", v);
        };
    };
    const std::string_view night = "local_time between 22:00 .. 06:00";
    EXPECT_EQ(outcome(night, at(22 * 60)), 'T');
    EXPECT_EQ(outcome(night, at(0)), 'T');
    EXPECT_EQ(outcome(night, at(6 * 60)), 'T');
    EXPECT_EQ(outcome(night, at(6 * 60 + 1)), 'F');
    EXPECT_EQ(outcome(night, at(21 * 60 + 59)), 'F');
    EXPECT_EQ(outcome("local_time between 08:00 .. 18:00", at(12 * 60)), 'T');
    EXPECT_EQ(outcome("local_time not between 08:00 .. 18:00", at(12 * 60)), 'F');
}

// Case U5: 50.00 of the major unit, in minor units of 2, 0 and 3 digits.
TEST(RuleEvaluation, AmountsCountInTheCurrencysOwnDigits) {
    const auto fires = [](std::string_view currency, std::string_view limit, std::int64_t minor) {
        const Pack pack("ruleset \"t\" version 1 currency " + std::string(currency) +
                        " tz \"UTC\" on_error review\nrule R1 \"t\" review if amount >= " +
                        std::string(limit) + "\n");
        EXPECT_TRUE(pack.rules) << pack.report();
        Row row(pack);
        row.set("amount", Value::of_money({minor, 1}));
        return row.eval().is_true();
    };
    EXPECT_TRUE(fires("USD", "USD 50.00", 6000));
    EXPECT_TRUE(fires("JPY", "JPY 50", 6000));
    EXPECT_FALSE(fires("KWD", "KWD 50.000", 6000));
    EXPECT_FALSE(fires("JPY", "JPY 50", 49));
    EXPECT_TRUE(fires("KWD", "KWD 50", 50000));
}

// Case U11: what a backtracking engine never finishes is a plain "no match".
TEST(RuleEvaluation, PatternsRunInLinearTime) {
    const std::string trap = std::string(30, 'a') + "!";
    const std::string digits(40, '7');
    const std::string story(1 << 20, 'x');
    const auto memo = [](const std::string& text) {
        return [&text](Row& r) { r.set("memo", Value::of_string(text)); };
    };
    EXPECT_EQ(outcome("matches(memo, \"^(a+)+$\")", memo(trap)), 'F');
    EXPECT_EQ(outcome("matches(memo, \"(\\d+)*x\")", memo(digits)), 'F');
    EXPECT_EQ(outcome("matches(memo, \"^(x+x+)+y$\")", memo(story)), 'F');
    EXPECT_EQ(outcome("matches(memo, \"^a+!$\")", memo(trap)), 'T');
}

TEST(RuleEvaluation, ListsHonourExpiry) {
    const auto account = [](std::string_view id, std::int64_t now) {
        return [id, now](Row& r) {
            r.set("account_id", Value::of_string(id));
            r.now = from_micros(now);
        };
    };
    const std::int64_t before = 1'760'000'000'000'000;
    const std::int64_t after = 1'770'000'000'000'000;  // A-1 expired on 2026-01-01
    EXPECT_EQ(outcome("account_id in @vip", account("A-17", after)), 'T');
    EXPECT_EQ(outcome("account_id in @vip", account("A-1", before)), 'T');
    EXPECT_EQ(outcome("account_id in @vip", account("A-1", after)), 'F');
    EXPECT_EQ(outcome("account_id not in @vip", account("A-2", after)), 'T');
}

TEST(RuleEvaluation, TimesSubtractToDurations) {
    const auto fill = [](Row& r) {
        r.set("occurred_at", Value::of_time(from_micros(3'600'000'000)));
        r.window("seen", Value::of_time(from_micros(1)));
    };
    EXPECT_EQ(outcome("occurred_at - seen < 1h", fill), 'T');
    EXPECT_EQ(outcome("occurred_at - 1h < seen", fill), 'T');
    EXPECT_EQ(outcome("occurred_at > 1970-01-01", fill), 'T');
}

TEST(RuleEvaluation, LongTextsOfStoredEventsAreUnknownToTextFunctions) {
    const auto fill = [](Row& r) {
        r.set("memo", Value::of_key(make_string_key("a longer text than fifteen")));
        r.set("channel", Value::of_key(make_string_key("ecom")));
    };
    EXPECT_EQ(outcome("starts_with(memo, \"a\")", fill), 'U');
    EXPECT_EQ(outcome("memo = \"a longer text than fifteen\"", fill), 'T');
    EXPECT_EQ(outcome("starts_with(channel, \"ec\")", fill), 'T');
}

TEST(RuleSetEvaluation, SeparatesHitsUnknownAndErrorsAndHoldsFallbackBack) {
    const Pack pack(std::string(testing::kHeader) +
                    "window n count() by account_id over 1h excluding current\n"
                    "rule HIT \"a\" review if channel = \"ecom\"\n"
                    "rule NO \"b\" review if channel = \"pos\"\n"
                    "rule UNK \"c\" review if attributes.age > 3\n"
                    "rule ERR \"d\" review if 1 / n > 2\n"
                    "rule FALL \"e\" mode fallback challenge if amount > USD 1.00\n"
                    "rule SHADE \"f\" shadow until 2027-03-01 decline if amount > USD 1.00\n");
    ASSERT_TRUE(pack.rules) << pack.report();
    Row row(pack);
    row.set("channel", Value::of_string("ecom"));
    row.set("amount", Value::of_money({500, 1}));
    row.window("n", Value::of_int(0));
    RuleResults results;
    evaluate_rules(*pack.rules, row.input(), false, results);
    ASSERT_EQ(results.hit_count, 2);
    EXPECT_EQ(results.hits[0], 0);
    EXPECT_EQ(results.hits[1], 5);
    ASSERT_EQ(results.unknown_count, 1);
    EXPECT_EQ(results.unknown[0], 2);
    ASSERT_EQ(results.error_count, 1);
    EXPECT_EQ(results.errors[0], 3);
    evaluate_rules(*pack.rules, row.input(), true, results);
    EXPECT_EQ(results.hit_count, 3);
    const RuleDef& shade = pack.rules->rules[5];
    EXPECT_FALSE(counts(shade, from_micros(to_micros(*shade.shadow_until) - 1)));
    EXPECT_TRUE(counts(shade, *shade.shadow_until));
}

TEST(RuleSetEvaluation, AllocatesNothing) {
    std::mt19937_64 random(3);
    std::string text = testing::with_condition("amount > 3 * mean and account_id in @vip");
    for (int i = 0; i < 100; ++i) {
        std::string condition = testing::random_condition(random, 2);
        while (condition.find("matches") != std::string::npos ||
               !Pack(testing::with_condition(condition)).rules) {
            condition = testing::random_condition(random, 2);  // RE2 builds its states on first use
        }
        text += "rule X" + std::to_string(i) + " \"x\" review if " + condition +
                " or n = " + std::to_string(i) + "\n";
    }
    const Pack pack(text);
    ASSERT_TRUE(pack.rules) << pack.report();
    std::vector<Row> rows(20, Row(pack));
    RuleResults results;
    for (Row& row : rows) {
        testing::randomize(row, random);
        evaluate_rules(*pack.rules, row.input(), true, results);
    }
    const std::size_t before = testing::allocations();
    for (const Row& row : rows) {
        evaluate_rules(*pack.rules, row.input(), true, results);
    }
    EXPECT_EQ(testing::allocations(), before);
    EXPECT_GT(results.hit_count + results.unknown_count + results.error_count, 0);
}

}  // namespace
}  // namespace tollgate
