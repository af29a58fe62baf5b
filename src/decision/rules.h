// Rules: what a compiled rule set is, how it is compiled from text and how it is evaluated on one
// event.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "decision/lists.h"
#include "decision/program.h"
#include "decision/schema.h"
#include "decision/window_def.h"

namespace tollgate {

// In order of severity.
enum class Verdict : std::uint8_t { kApprove, kChallenge, kReview, kDecline };
std::string_view to_text(Verdict verdict);
std::optional<Verdict> verdict_of(std::string_view text);

enum class RuleMode : std::uint8_t { kLive, kShadow, kFallback };
enum class Severity : std::uint8_t { kLow, kMedium, kHigh, kCritical };

struct Expr;  // decision/ast.h: kept for explanations and the column evaluator

struct RuleDef {
    RuleDef();
    ~RuleDef();
    RuleDef(RuleDef&&) noexcept;
    RuleDef& operator=(RuleDef&&) noexcept;
    std::string id;  // R017: [A-Z][A-Z0-9_]{0,15}, unique in the pack
    std::string title;
    Severity severity = Severity::kMedium;
    std::string owner;
    Verdict action = Verdict::kReview;
    RuleMode mode = RuleMode::kLive;
    bool hard = false;                      // beats everything but a block
    std::optional<EventTime> shadow_until;  // shadow until then, live after it
    std::string reason;
    std::unique_ptr<Program> when;
    std::unique_ptr<Expr> tree;
    std::uint16_t ruleset = 0;
    std::string file;
    int line = 0;
    std::string text;  // as written
};

struct Ruleset {
    std::string name;
    std::uint32_t version = 0;
    Currency currency;
    std::string zone;                 // IANA name
    std::optional<Verdict> on_error;  // nullopt: an erroring rule counts as not fired but is listed
    std::string file;
};

// One finding of the compiler or the static analyser. A pack with an error is refused whole.
struct Diagnostic {
    enum class Level : std::uint8_t { kError, kWarning } level = Level::kError;
    std::string code;  // stable: "unknown-name", "type", "never-true", "shadowed", "cycle", ...
    std::string file;
    int line = 0;  // 1-based
    int column = 0;
    int length = 1;
    std::string message;
    std::string suggestion;  // "did you mean acct_n_10m?"; may be empty
    std::string source_line;
};
// "rules/card.rules:12:8: error: ...", the line, a caret line, the suggestion.
std::string format(const Diagnostic& diagnostic);

struct CompiledRules {
    std::vector<Ruleset> rulesets;
    std::vector<RuleDef> rules;  // in file, then line order
    WindowPlan plan;
    std::vector<std::string> window_conditions;  // by WindowId: `where` as text, for explanations
    std::uint64_t worst_case_ns = 0;  // all rules and windows of one event, by the cost table
    std::uint64_t window_bytes_per_event = 0;  // stored row bytes over all keys
};

struct RuleSource {
    std::string file;  // "rules/card.rules"
    std::string text;
};
struct CompileLimits {
    std::size_t max_rules = 500;
    std::size_t max_windows = 200;
    std::size_t max_depth = 64;
    std::uint64_t max_cost_ns = 2'000'000;  // rules: under 2 ms
    std::size_t max_file_bytes = 1 << 20;
    // For findings about the past (expired list entries, shadow dates): nullopt leaves them out.
    std::optional<EventTime> now{};
};

// Compiles all files of a pack together (one namespace of windows, keeps, rule ids). `fields` gains
// the rule sets' currencies and zones, `lists` (whose `files` the caller filled) the declared
// lists. Findings go to `out`, errors too; nullptr when there is an error.
std::unique_ptr<CompiledRules> compile_rules(std::span<const RuleSource> sources,
                                             FieldTable& fields, ListSet& lists,
                                             const CompileLimits& limits,
                                             std::vector<Diagnostic>& out);

// One plain English sentence: "Declines when the number of events of the account in the last 10
// minutes (without this one) is at least 5 and ..."
std::string explain(const RuleDef& rule, const CompiledRules& rules, const FieldTable& fields);

// What the rules said of one event. Fixed capacity: nothing is allocated; `hits` holds rule indexes
// in pack order.
constexpr std::size_t kMaxRules = 500;
struct RuleResults {
    std::array<std::uint16_t, kMaxRules> hits{};
    std::array<std::uint16_t, kMaxRules> unknown{};
    std::array<std::uint16_t, kMaxRules> errors{};
    std::uint16_t hit_count = 0;
    std::uint16_t unknown_count = 0;
    std::uint16_t error_count = 0;
    void clear() noexcept { hit_count = unknown_count = error_count = 0; }
};

// Evaluates every rule (shadow ones too; kFallback ones only when `model_fault`). A rule fires only
// on true. An error in a rule is listed in `errors`; combining honours its rule set's on_error.
void evaluate_rules(const CompiledRules& rules, const EvalInput& input, bool model_fault,
                    RuleResults& out) noexcept;
// Live at that moment: not shadow (or past its shadow_until).
bool counts(const RuleDef& rule, EventTime now) noexcept;

// Column-wise evaluator for back-tests: evaluates one rule on many rows at once; out[i] is 0 false,
// 1 true, 2 unknown, 3 error. Must agree with evaluate() on every row.
struct ColumnBatch {
    std::size_t rows = 0;
    std::vector<std::vector<Value>> fields;   // [field][row]
    std::vector<std::vector<Value>> windows;  // [window][row]
    std::vector<EventTime> now;
};
void evaluate_column(const RuleDef& rule, const CompiledRules& rules, const ListSet& lists,
                     const ColumnBatch& batch, std::span<std::uint8_t> out);

}  // namespace tollgate
