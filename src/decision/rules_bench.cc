// Evaluation of a typical set of 100 rules, by the bytecode for one event and by columns for a
// back-test.
#include <benchmark/benchmark.h>

#include <random>
#include <string>

#include "base/check.h"
#include "decision/testing/rules_fixture.h"

namespace tollgate {
namespace {

constexpr int kRules = 100;

// Shapes as in fraud teams' sets: thresholds on windows, ratios, countries, lists, times of day, a
// few texts.
std::string typical_rules() {
    std::string text = testing::with_condition("n >= 90 and total > USD 2000.00");
    for (int i = 1; i < kRules; ++i) {
        const std::string k = std::to_string(i);
        std::string condition;
        switch (i % 6) {
            case 0:
                condition =
                    "n >= " + k + " and total > USD " + k + "00.00 and not account_id in @vip";
                break;
            case 1:
                condition =
                    "amount > " + k + " * mean and counterparty.country <> attributes.home_country";
                break;
            case 2:
                condition = "local_time between 22:00 .. 06:00 and amount > USD " + k +
                            ".50 and part > 0.1";
                break;
            case 3:
                condition =
                    "counterparty.category in (\"5411\", \"5812\", \"" + k + "\") and n > " + k;
                break;
            case 4:
                condition = "occurred_at - seen < " + k + "h and amount / mean > 2.5";
                break;
            default:
                condition = "is_missing(device.id) and channel = \"c" + k +
                            "\" or part >= 0.9 and n = " + k;
                break;
        }
        text += "rule X" + k + " \"x\" review if " + condition + "\n";
    }
    return text;
}

void fill(testing::Row& row, std::mt19937_64& random) {
    const auto below = [&random](std::uint64_t n) {
        return static_cast<std::int64_t>(random() % n);
    };
    row.set("account_id", Value::of_string("A-2041"));
    row.set("amount", Value::of_money({below(50'000), 1}));
    row.set("channel", Value::of_string("ecom"));
    row.set("counterparty.country", Value::of_string("US"));
    row.set("counterparty.category", Value::of_string("5411"));
    row.set("attributes.home_country", Value::of_string("KR"));
    Value clock;
    clock.kind = ValueKind::kTimeOfDay;
    clock.number = {below(86'400'000'000), 1};
    row.set("local_time", clock);
    row.now = from_micros(1'796'083'200'000'000);
    row.set("occurred_at", Value::of_time(row.now));
    row.window("n", Value::of_int(below(40)));
    row.window("total", Value::of_money({below(500'000), 1}));
    row.window("mean", Value::of_money({below(500'000), 37}));
    row.window("part", Value::of_number({below(9), 31}));
    row.window("seen",
               Value::of_time(from_micros(to_micros(row.now) - below(90) * 86'400'000'000)));
}

void rules_by_event(benchmark::State& state) {
    const testing::Pack pack(typical_rules());
    TG_CHECK(pack.rules != nullptr, "the benchmark's rules compile");
    std::mt19937_64 random(1);
    std::vector<testing::Row> rows(64, testing::Row(pack));
    for (testing::Row& row : rows) {
        fill(row, random);
    }
    RuleResults results;
    std::size_t next = 0;
    for (auto _ : state) {
        evaluate_rules(*pack.rules, rows[next++ % rows.size()].input(), false, results);
        benchmark::DoNotOptimize(results.hit_count);
    }
    state.SetItemsProcessed(state.iterations() * kRules);
}

void rules_by_column(benchmark::State& state) {
    const testing::Pack pack(typical_rules());
    TG_CHECK(pack.rules != nullptr, "the benchmark's rules compile");
    std::mt19937_64 random(1);
    ColumnBatch batch;
    batch.rows = 4096;
    batch.fields.resize(pack.fields.size());
    batch.windows.resize(pack.rules->plan.windows.size());
    for (std::size_t r = 0; r < batch.rows; ++r) {
        testing::Row row(pack);
        fill(row, random);
        for (std::size_t i = 0; i < row.fields.size(); ++i) {
            batch.fields[i].push_back(row.fields[i]);
        }
        for (std::size_t i = 0; i < row.windows.size(); ++i) {
            batch.windows[i].push_back(row.windows[i]);
        }
        batch.now.push_back(row.now);
    }
    std::vector<std::uint8_t> out(batch.rows);
    for (auto _ : state) {
        for (const RuleDef& rule : pack.rules->rules) {
            evaluate_column(rule, *pack.rules, pack.lists, batch, out);
        }
        benchmark::DoNotOptimize(out.data());
    }
    state.SetItemsProcessed(state.iterations() * kRules * static_cast<std::int64_t>(batch.rows));
}

BENCHMARK(rules_by_event)->Name("rules/bytecode/rules:100");
BENCHMARK(rules_by_column)->Name("rules/columns/rules:100/rows:4096");

}  // namespace
}  // namespace tollgate
