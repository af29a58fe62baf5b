// Packs, rows and random conditions for tests of the rule language.
#include "decision/testing/rules_fixture.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace tollgate::testing {
namespace {

constexpr std::array<std::string_view, 9> kTexts{
    "", "ecom", "pos", "KR", "US", "a longer text than fifteen bytes", "é€", "A-17", "A-1"};

std::size_t pick(std::mt19937_64& random, std::size_t count) {
    return static_cast<std::size_t>(random() % count);
}

// Small, equal, huge and fractional numbers meet often.
Number random_number(std::mt19937_64& random) {
    switch (pick(random, 6)) {
        case 0:
            return {static_cast<std::int64_t>(pick(random, 4)), 1};
        case 1:
            return {static_cast<std::int64_t>(pick(random, 9)) - 4, 2};
        case 2:
            return {static_cast<std::int64_t>(pick(random, 2000)) * 100, 100};
        case 3:
            return {static_cast<std::int64_t>(random()),
                    static_cast<std::int64_t>(1 + pick(random, 1000))};
        case 4:
            return {Int128{static_cast<std::int64_t>(random())} *
                        static_cast<std::int64_t>(random() >> 2U),
                    static_cast<std::int64_t>(1 + pick(random, 7))};
        default:
            return {static_cast<std::int64_t>(pick(random, 20'000)), 1};
    }
}

Value random_value(ValueKind kind, std::mt19937_64& random) {
    Value v;
    v.kind = kind;
    switch (kind) {
        case ValueKind::kBool:
            return Value::of_bool(random() % 2 == 0);
        case ValueKind::kString: {
            const std::string_view text = kTexts[pick(random, kTexts.size())];
            // As of a stored event: the key only.
            return random() % 4 == 0 ? Value::of_key(make_string_key(text))
                                     : Value::of_string(text);
        }
        case ValueKind::kTime:
            v.number = {
                static_cast<std::int64_t>(pick(random, 4)) * 1'800'000'000 + 1'796'000'000'000'000,
                1};
            return v;
        case ValueKind::kTimeOfDay:
            v.number = {static_cast<std::int64_t>(pick(random, 25)) * 3'599'000'000, 1};
            return v;
        default:
            v.number = random_number(random);
            return v;
    }
}

Value random_cell(ValueKind kind, std::mt19937_64& random) {
    const std::size_t chance = pick(random, 10);
    return chance == 0   ? Value::unknown()
           : chance == 1 ? Value::error()
                         : random_value(kind, random);
}

template <std::size_t N>
std::string one(const std::array<std::string_view, N>& items, std::mt19937_64& random) {
    return std::string(items[pick(random, N)]);
}

std::string expression(ValueKind kind, std::mt19937_64& random, int depth);

std::string number_expression(std::mt19937_64& random, int depth) {
    constexpr std::array<std::string_view, 9> kLeaves{
        "n",   "part", "attributes.age", "attributes.ratio", "3", "-2", "0.5", "local_weekday",
        "kept"};
    const auto sub = [&](ValueKind kind) {
        return "(" + expression(kind, random, depth - 1) + ")";
    };
    switch (depth <= 0 ? 0 : pick(random, 8)) {
        case 1:
            return sub(ValueKind::kNumber) + " + " + sub(ValueKind::kNumber);
        case 2:
            return sub(ValueKind::kNumber) + " * " + sub(ValueKind::kNumber);
        case 3:
            return sub(ValueKind::kMoney) + " / " + sub(ValueKind::kMoney);
        case 4:
            return "abs(" + expression(ValueKind::kNumber, random, depth - 1) + ")";
        case 5:
            return "max(" + expression(ValueKind::kNumber, random, depth - 1) + ", " +
                   expression(ValueKind::kNumber, random, depth - 1) + ", 1)";
        case 6:
            return "length(" + expression(ValueKind::kString, random, 0) + ")";
        case 7:
            return "-" + sub(ValueKind::kNumber);
        default:
            return one(kLeaves, random);
    }
}

std::string money_expression(std::mt19937_64& random, int depth) {
    constexpr std::array<std::string_view, 6> kLeaves{"amount",   "total",     "mean",
                                                      "USD 2.00", "-USD 0.50", "attributes.income"};
    const auto sub = [&](ValueKind kind) {
        return "(" + expression(kind, random, depth - 1) + ")";
    };
    switch (depth <= 0 ? 0 : pick(random, 5)) {
        case 1:
            return sub(ValueKind::kMoney) + " - " + sub(ValueKind::kMoney);
        case 2:
            return sub(ValueKind::kNumber) + " * " + sub(ValueKind::kMoney);
        case 3:
            return sub(ValueKind::kMoney) + " / " + sub(ValueKind::kNumber);
        case 4:
            return "min(" + expression(ValueKind::kMoney, random, depth - 1) + ", amount)";
        default:
            return one(kLeaves, random);
    }
}

std::string expression(ValueKind kind, std::mt19937_64& random, int depth) {
    constexpr std::array<std::string_view, 5> kText{"account_id", "channel", "counterparty.country",
                                                    "\"KR\"", "attributes.home_country"};
    constexpr std::array<std::string_view, 3> kTimes{"occurred_at", "seen", "attributes.opened"};
    switch (kind) {
        case ValueKind::kNumber:
            return number_expression(random, depth);
        case ValueKind::kMoney:
            return money_expression(random, depth);
        case ValueKind::kTime:
            return one(kTimes, random) + (random() % 3 == 0 ? " - 30m" : "");
        case ValueKind::kDuration:
            return one(kTimes, random) + " - " + one(kTimes, random);
        default:
            return one(kText, random);
    }
}

std::string leaf(std::mt19937_64& random) {
    constexpr std::array<std::string_view, 15> kLeaves{
        "channel = \"ecom\"",
        "account_id in @vip",
        "channel in (\"ecom\", \"pos\")",
        "counterparty.country not in (\"KR\")",
        "local_time between 22:00 .. 06:00",
        "local_time between 08:00 .. 18:00",
        "local_weekday in (6, 7)",
        "is_missing(device.id)",
        "attributes.is_new",
        "attributes.is_new = false",
        "starts_with(account_id, \"A-1\")",
        "ends_with(channel, \"m\")",
        "contains(memo, \"long\")",
        "matches(memo, \"^a.*\\s[a-f]{4}\")",
        "counterparty.country <> attributes.home_country"};
    return one(kLeaves, random);
}

}  // namespace

const std::string_view kHeader =
    "ruleset \"test\" version 1 currency USD tz \"UTC\" on_error review\n";

Schema rules_schema() {
    Schema schema;
    schema.attributes = {
        {"home_country", AttributeType::kString, false}, {"age", AttributeType::kInteger, false},
        {"ratio", AttributeType::kDecimal, false},       {"is_new", AttributeType::kBoolean, false},
        {"opened", AttributeType::kTimestamp, false},    {"income", AttributeType::kMoney, false}};
    return schema;
}

Pack::Pack(std::string_view text)
    : Pack(std::vector<RuleSource>{{"rules/test.rules", std::string(text)}}, CompileLimits{}) {}

Pack::Pack(std::vector<RuleSource> sources, const CompileLimits& limits) : fields(rules_schema()) {
    lists.files["lists/vip.csv"] = "value,expires\nA-17,\nA-1,2026-01-01\n";
    lists.files["lists/empty.csv"] = "value\n";
    rules = compile_rules(sources, fields, lists, limits, findings);
}

std::string Pack::report() const {
    std::string out;
    for (const Diagnostic& d : findings) {
        out += format(d);
    }
    return out;
}
const Diagnostic* Pack::find(std::string_view code) const {
    const auto found = std::find_if(findings.begin(), findings.end(),
                                    [&](const Diagnostic& d) { return d.code == code; });
    return found == findings.end() ? nullptr : &*found;
}
bool Pack::has(std::string_view code) const {
    return find(code) != nullptr;
}
FieldId Pack::field(std::string_view name) const {
    const Ruleset& set = rules->rulesets[0];
    const auto found = fields.find(name, set.currency, set.zone);
    TG_CHECK(found.has_value(), "no such field in the test's schema");
    return *found;
}
WindowId Pack::window(std::string_view name) const {
    const auto& windows = rules->plan.windows;
    const auto found = std::find_if(windows.begin(), windows.end(),
                                    [&](const WindowDef& w) { return w.name == name; });
    TG_CHECK(found != windows.end(), "no such window in the test's pack");
    return static_cast<WindowId>(found - windows.begin());
}

std::string with_condition(std::string_view condition) {
    return std::string(kHeader) +
           "list vip file \"lists/vip.csv\" key account_id\n"
           "window n count() by account_id over 1h excluding current\n"
           "window total sum(amount) by account_id over 1d including current\n"
           "window mean avg(amount) by account_id over 30d excluding current\n"
           "window part share(fraud) by counterparty.id over 7d delayed 7d\n"
           "window seen first_seen() by account_id over 90d excluding current\n"
           "keep kept = amount / mean\n"
           "rule R1 \"one\"\n  review if " +
           std::string(condition) + "\n";
}

Row::Row(const Pack& of)
    : pack(of), fields(of.fields.size()), windows(of.rules->plan.windows.size()) {}
void Row::set(std::string_view field, const Value& value) {
    fields[static_cast<std::size_t>(pack.field(field))] = value;
}
void Row::window(std::string_view name, const Value& value) {
    windows[static_cast<std::size_t>(pack.window(name))] = value;
}
EvalInput Row::input() const {
    EvalInput in;
    in.fields = fields;
    in.windows = windows;
    in.lists = &pack.lists;
    in.now = now;
    return in;
}
Value Row::eval(std::size_t rule) const {
    return evaluate(*pack.rules->rules[rule].when, input());
}

void randomize(Row& row, std::mt19937_64& random) {
    for (std::size_t i = 0; i < row.fields.size(); ++i) {
        row.fields[i] = random_cell(row.pack.fields.at(static_cast<FieldId>(i)).kind, random);
    }
    for (std::size_t i = 0; i < row.windows.size(); ++i) {
        row.windows[i] = random_cell(row.pack.rules->plan.windows[i].type, random);
    }
    row.now = from_micros(1'700'000'000'000'000 +
                          static_cast<std::int64_t>(random() % 4) * 86'400'000'000 * 200);
}

std::string random_condition(std::mt19937_64& random, int depth) {
    constexpr std::array<std::string_view, 6> kSigns{" = ", " <> ", " < ", " <= ", " > ", " >= "};
    constexpr std::array<ValueKind, 5> kKinds{ValueKind::kNumber, ValueKind::kMoney,
                                              ValueKind::kTime, ValueKind::kDuration,
                                              ValueKind::kMoney};
    const auto sub = [&] { return "(" + random_condition(random, depth - 1) + ")"; };
    const ValueKind kind = kKinds[pick(random, kKinds.size())];
    switch (depth <= 0 ? pick(random, 3) : pick(random, 8)) {
        case 0:
            return leaf(random);
        case 1:
        case 2:
            return expression(kind, random, depth) + one(kSigns, random) +
                   expression(kind, random, depth);
        case 3:
            return sub() + " and " + sub();
        case 4:
            return sub() + " or " + sub() + " or " + sub();
        case 5:
            return "not " + sub();
        case 6:
            return "is_unknown(" + expression(kind, random, depth - 1) + ")";
        default:
            return expression(ValueKind::kMoney, random, depth - 1) + " between " +
                   expression(ValueKind::kMoney, random, 0) + " .. " +
                   expression(ValueKind::kMoney, random, 0);
    }
}

}  // namespace tollgate::testing
