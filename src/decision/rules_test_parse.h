// The cases of a rule test file as read, before their names are looked up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decision/ast.h"
#include "decision/compile_report.h"

namespace tollgate {

// `name = value`; no value means "unknown".
struct TestSetting {
    Word name;
    ExprPtr value;
};
struct TestHistory {
    std::int64_t before_us = 0;  // before the event
    std::uint32_t times = 1;
    std::int64_t every_us = 0;
    std::vector<TestSetting> settings;
    Label label = Label::kNone;
    std::int64_t known_before_us = -1;  // before the event; -1: at the history event's own time
};
struct TestExpectation {
    enum class Kind : std::uint8_t {
        kFires,
        kNot,
        kUnknown,
        kError,
        kDecision
    } kind = Kind::kFires;
    Word what;
};
struct TestCase {
    Word name;
    std::int64_t at_us = 0;
    std::vector<TestSetting> settings;
    std::vector<TestSetting> windows;
    std::vector<TestHistory> history;
    std::vector<TestExpectation> expectations;
    bool model_fault = false;
};
struct TestFile {
    std::vector<TestSetting> defaults;
    std::vector<TestCase> cases;
};

TestFile parse_rule_tests(std::string_view text, Reporter& report);

}  // namespace tollgate
