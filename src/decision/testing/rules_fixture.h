// What tests of the rule language share: a small schema, a pack compiled from text, and rows of
// values by field name.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "decision/rules.h"

namespace tollgate::testing {

// Attributes home_country (text), age (integer), ratio (decimal), is_new (boolean), opened (time),
// income (money).
Schema rules_schema();

// One compiled pack; `rules` is null when there was an error.
struct Pack {
    explicit Pack(std::string_view text);
    Pack(std::vector<RuleSource> sources, const CompileLimits& limits);
    std::string report() const;  // all findings as text
    bool has(std::string_view code) const;
    const Diagnostic* find(std::string_view code) const;
    FieldId field(std::string_view name) const;  // as the first rule set sees it
    WindowId window(std::string_view name) const;

    FieldTable fields;
    ListSet lists;
    std::vector<Diagnostic> findings;
    std::unique_ptr<CompiledRules> rules;
};

// The usual first line, in USD and UTC.
extern const std::string_view kHeader;
// A header, windows n (count), total (sum), mean (avg), part (share), seen (first_seen), and `rule
// R1 ... if CONDITION`.
std::string with_condition(std::string_view condition);

// Values for one evaluation; unset ones are unknown.
struct Row {
    explicit Row(const Pack& pack);
    void set(std::string_view field, const Value& value);
    void window(std::string_view name, const Value& value);
    EvalInput input() const;
    Value eval(std::size_t rule = 0) const;

    const Pack& pack;
    std::vector<Value> fields;
    std::vector<Value> windows;
    EventTime now{};
};

// Fills a row with random values of the right kinds, now and then none.
void randomize(Row& row, std::mt19937_64& random);

// A random well-typed condition over the fields and windows of with_condition, as text.
std::string random_condition(std::mt19937_64& random, int depth);

}  // namespace tollgate::testing
