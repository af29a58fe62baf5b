// Any bytes as a rules file: findings or a compiled set, never a crash; what compiles also
// evaluates, in both evaluators alike.
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "decision/ast.h"
#include "decision/rules.h"

namespace tollgate {
namespace {

Value random_value(ValueKind kind, std::mt19937_64& random) {
    Value v;
    const auto number = static_cast<std::int64_t>(random() >> (random() % 64));
    switch (random() % 8 == 0 ? ValueKind::kUnknown : kind) {
        case ValueKind::kUnknown:
            return v;
        case ValueKind::kString:
            return Value::of_string(random() % 2 == 0 ? "ecom"
                                                      : "a longer text than fifteen bytes");
        case ValueKind::kBool:
            return Value::of_bool(number % 2 == 0);
        default:
            v.kind = kind;
            v.number = {number, 1 + static_cast<std::int64_t>(random() % 7)};
            return v;
    }
}

std::uint8_t code_of(const Value& v) {
    return v.is_error() ? 3 : v.is_unknown() ? 2 : v.is_true() ? 1 : 0;
}

void evaluate_both(const CompiledRules& rules, const FieldTable& fields, const ListSet& lists,
                   std::uint64_t seed) {
    std::mt19937_64 random(seed);
    ColumnBatch batch;
    batch.rows = 1;
    batch.now.emplace_back();
    std::vector<Value> row;
    std::vector<Value> windows;
    for (const FieldInfo& field : fields.fields()) {
        row.push_back(random_value(field.kind, random));
        batch.fields.push_back({row.back()});
    }
    for (const WindowDef& window : rules.plan.windows) {
        windows.push_back(random_value(window.type, random));
        batch.windows.push_back({windows.back()});
    }
    EvalInput input;
    input.fields = row;
    input.windows = windows;
    input.lists = &lists;
    input.now = batch.now[0];
    for (const RuleDef& rule : rules.rules) {
        std::uint8_t column = 9;
        evaluate_column(rule, rules, lists, batch, {&column, 1});
        TG_CHECK(column == code_of(evaluate(*rule.when, input)), "the evaluators disagree");
        TG_CHECK(!explain(rule, rules, fields).empty(), "a rule without an explanation");
    }
}

}  // namespace
}  // namespace tollgate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tollgate;  // NOLINT(google-build-using-namespace)
    Schema schema;
    schema.attributes = {{"home_country", AttributeType::kString, false},
                         {"age", AttributeType::kInteger, false},
                         {"is_new", AttributeType::kBoolean, false},
                         {"income", AttributeType::kMoney, false}};
    FieldTable fields(schema);
    ListSet lists;
    lists.files["lists/vip.csv"] = "value\necom\nA-17\n";
    const std::vector<RuleSource> sources{
        {"rules/fuzz.rules", std::string(reinterpret_cast<const char*>(data), size)}};
    std::vector<Diagnostic> findings;
    CompileLimits limits;
    limits.now = from_micros(1'796'000'000'000'000);
    const auto rules = compile_rules(sources, fields, lists, limits, findings);
    for (const Diagnostic& finding : findings) {
        TG_CHECK(!format(finding).empty(), "a finding without text");
    }
    if (rules) {
        evaluate_both(*rules, fields, lists, size);
    } else {
        TG_CHECK(!findings.empty(), "refused without a finding");
    }
    return 0;
}
