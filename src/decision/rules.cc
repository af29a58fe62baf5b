// Verdict names, the text of findings, and the evaluation of a compiled rule set.
#include "decision/rules.h"

#include <array>

#include "base/check.h"
#include "decision/ast.h"

namespace tollgate {
namespace {

constexpr std::array<std::string_view, 4> kVerdicts{"approve", "challenge", "review", "decline"};

}  // namespace

RuleDef::RuleDef() = default;
RuleDef::~RuleDef() = default;
RuleDef::RuleDef(RuleDef&&) noexcept = default;
RuleDef& RuleDef::operator=(RuleDef&&) noexcept = default;

std::string_view to_text(Verdict verdict) {
    return kVerdicts[static_cast<std::size_t>(verdict)];
}
std::optional<Verdict> verdict_of(std::string_view text) {
    for (std::size_t i = 0; i < kVerdicts.size(); ++i) {
        if (kVerdicts[i] == text) {
            return static_cast<Verdict>(i);
        }
    }
    return std::nullopt;
}

std::string format(const Diagnostic& d) {
    std::string out = d.file + ":" + std::to_string(d.line) + ":" + std::to_string(d.column) +
                      (d.level == Diagnostic::Level::kError ? ": error: " : ": warning: ") +
                      d.message + " [" + d.code + "]\n";
    if (!d.source_line.empty()) {
        out += "  " + d.source_line + "\n  ";
        // Tabs stay tabs, so that the caret stands under its place.
        int column = 1;
        for (std::size_t i = 0; i < d.source_line.size() && column < d.column; ++i) {
            const char c = d.source_line[i];
            if ((static_cast<unsigned>(c) & 0xC0U) != 0x80U) {
                out += c == '\t' ? '\t' : ' ';
                ++column;
            }
        }
        out += '^';
        out.append(static_cast<std::size_t>(d.length > 1 ? d.length - 1 : 0), '~');
        out += '\n';
    }
    if (!d.suggestion.empty()) {
        out += "  " + d.suggestion + "\n";
    }
    return out;
}

bool counts(const RuleDef& rule, EventTime now) noexcept {
    return rule.mode != RuleMode::kShadow || (rule.shadow_until && now >= *rule.shadow_until);
}

void evaluate_rules(const CompiledRules& rules, const EvalInput& input, bool model_fault,
                    RuleResults& out) noexcept {
    out.clear();
    TG_CHECK(rules.rules.size() <= kMaxRules, "more rules than a result holds");
    for (std::size_t i = 0; i < rules.rules.size(); ++i) {
        const RuleDef& rule = rules.rules[i];
        if (rule.mode == RuleMode::kFallback && !model_fault) {
            continue;
        }
        const Value v = evaluate(*rule.when, input);
        const auto index = static_cast<std::uint16_t>(i);
        if (v.is_true()) {
            out.hits[out.hit_count++] = index;
        } else if (v.is_unknown()) {
            out.unknown[out.unknown_count++] = index;
        } else if (v.is_error()) {
            out.errors[out.error_count++] = index;
        }
    }
}

}  // namespace tollgate
