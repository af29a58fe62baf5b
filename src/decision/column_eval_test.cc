// The two evaluators against each other, and text against tree, on random rules and rows.
#include <gtest/gtest.h>

#include <random>

#include "decision/ast.h"
#include "decision/testing/rules_fixture.h"

namespace tollgate {
namespace {

using testing::Pack;
using testing::Row;

std::uint8_t code_of(const Value& v) {
    return v.is_error() ? 3 : v.is_unknown() ? 2 : v.is_true() ? 1 : 0;
}

// True when the text compiled; a random condition may be one that can never hold, which is refused.
bool check_one(std::mt19937_64& random, std::array<std::size_t, 4>& seen) {
    const std::string condition = testing::random_condition(random, 3);
    const Pack pack(testing::with_condition(condition));
    if (!pack.rules) {
        EXPECT_TRUE(pack.has("never-true")) << condition << "\n" << pack.report();
        return false;
    }
    const RuleDef& rule = pack.rules->rules[0];
    const std::string printed = to_text(*rule.tree);
    const Pack again(testing::with_condition(printed));
    EXPECT_TRUE(again.rules) << printed << "\n" << again.report();
    if (again.rules) {
        EXPECT_EQ(to_text(*again.rules->rules[0].tree), printed);
    }
    constexpr std::size_t kRows = 24;
    ColumnBatch batch;
    batch.rows = kRows;
    batch.fields.resize(pack.fields.size());
    batch.windows.resize(pack.rules->plan.windows.size());
    std::vector<std::uint8_t> expected;
    for (std::size_t r = 0; r < kRows; ++r) {
        Row row(pack);
        testing::randomize(row, random);
        for (std::size_t i = 0; i < row.fields.size(); ++i) {
            batch.fields[i].push_back(row.fields[i]);
        }
        for (std::size_t i = 0; i < row.windows.size(); ++i) {
            batch.windows[i].push_back(row.windows[i]);
        }
        batch.now.push_back(row.now);
        expected.push_back(code_of(row.eval()));
        ++seen[expected.back()];
    }
    std::vector<std::uint8_t> columns(kRows, 9);
    evaluate_column(rule, *pack.rules, pack.lists, batch, columns);
    EXPECT_EQ(columns, expected) << printed;
    return true;
}

TEST(ColumnEvaluator, AgreesWithTheBytecodeOnRandomRulesAndRows) {
    std::mt19937_64 random(20261201);
    std::array<std::size_t, 4> seen{};
    std::size_t compiled = 0;
    for (int i = 0; i < 3000 && !::testing::Test::HasFailure(); ++i) {
        compiled += check_one(random, seen) ? 1U : 0U;
    }
    EXPECT_GT(compiled, 2500U);
    for (const std::size_t count : seen) {
        EXPECT_GT(count, 1000U) << "an outcome that hardly occurs proves little";
    }
}

}  // namespace
}  // namespace tollgate
