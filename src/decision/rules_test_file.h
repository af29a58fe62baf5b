// Rule tests beside the rules: cases an analyst writes (an event, its history or window values,
// what should fire), and their runner. The format is in docs/rules.md.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "decision/lists.h"
#include "decision/rules.h"
#include "decision/schema.h"

namespace tollgate {

// An event of a case: its row of field values, and for history what became known of it.
struct RuleTestEvent {
    EventTime at;
    std::vector<Value> fields;  // by FieldId; texts live as long as the run
    Label label = Label::kNone;
    EventTime label_known_at;
};

// Fills one value per window for `event` after `history` (in order of time) was recorded.
using RuleTestWindows = std::function<Status(
    const CompiledRules& rules, const ListSet& lists, std::span<const RuleTestEvent> history,
    const RuleTestEvent& event, std::vector<Value>& windows)>;
// Through a WindowStore of its own for every case.
Status windows_from_store(const CompiledRules& rules, const ListSet& lists,
                          std::span<const RuleTestEvent> history, const RuleTestEvent& event,
                          std::vector<Value>& windows);

struct RuleTestFailure {
    std::string name;  // of the case
    int line = 0;      // of the expectation
    std::string message;
};
struct RuleTestReport {
    std::size_t cases = 0;
    std::size_t expectations = 0;
    std::vector<RuleTestFailure> failures;
    std::vector<std::string> never_fired;  // ids of rules that no case expects to fire
};

// kBadInput with all findings as text when the file cannot be read. Bounds: 1 MiB, 1,000 cases,
// 1,000 history events a case.
Result<RuleTestReport> run_rule_tests(std::string_view text, std::string_view file,
                                      const CompiledRules& rules, const FieldTable& fields,
                                      const ListSet& lists,
                                      const RuleTestWindows& windows = windows_from_store);
// One line a failure, then the count: what `tollgate rules test` prints.
std::string format(const RuleTestReport& report, std::string_view file);

}  // namespace tollgate
