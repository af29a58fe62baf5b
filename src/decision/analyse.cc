// Findings from the alternatives of each condition.
#include "decision/analyse.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "decision/analyse_domain.h"

namespace tollgate {
namespace {

constexpr std::size_t kMostAlternatives = 256;
constexpr std::size_t kMostShadowAlternatives = 16;
constexpr std::size_t kShadowWork = 1'000'000;

std::string shortened(const Expr& e) {
    std::string text = to_text(e);
    if (text.size() > 80) {
        text = "this condition";
    }
    return text;
}

enum class Reported : std::uint8_t { kNothing, kWarning, kError };

// The worst that was reported in or below `e`. A part that can never hold is enough for its whole;
// one that always holds may still sit in a whole that never does.
Reported analyse_part(const Expr& e, const Symbols& symbols, Reporter& report) {
    Reported below = Reported::kNothing;
    if (e.kind == ExprKind::kAnd || e.kind == ExprKind::kOr || e.kind == ExprKind::kNot) {
        for (const ExprPtr& arg : e.args) {
            below = std::max(below, analyse_part(*arg, symbols, report));
        }
    }
    if (below == Reported::kError || e.kind == ExprKind::kKept) {
        return below;
    }
    const auto holds = alternatives(e, false, symbols, kMostAlternatives);
    if (holds && holds->empty()) {
        report.error(e.span, {"never-true", shortened(e) + " can never hold", ""});
        return Reported::kError;
    }
    const auto fails = alternatives(e, true, symbols, kMostAlternatives);
    if (below == Reported::kNothing && fails && fails->empty()) {
        report.warning(e.span, {"always-true", shortened(e) + " holds whenever it is known", ""});
        return Reported::kWarning;
    }
    return below;
}

bool outranks(const RuleAst& early, const RuleAst& late) {
    return early.action >= late.action && early.mode != RuleMode::kShadow &&
           (early.mode == RuleMode::kLive || late.mode == RuleMode::kFallback) &&
           (early.hard || !late.hard);
}

}  // namespace

void analyse_condition(const Expr& condition, const Symbols& symbols, Reporter& report) {
    (void)analyse_part(condition, symbols, report);
}

void analyse_shadowing(std::span<const AnalysedRule> rules, const Symbols& symbols,
                       Reporter& report) {
    std::vector<std::optional<std::vector<Conjunction>>> forms;
    forms.reserve(rules.size());
    for (const AnalysedRule& rule : rules) {
        forms.push_back(alternatives(*rule.ast->when, false, symbols, kMostShadowAlternatives));
    }
    std::size_t work = 0;
    const auto covered = [&](const std::vector<Conjunction>& late,
                             const std::vector<Conjunction>& early) {
        work += late.size() * early.size();
        return std::all_of(late.begin(), late.end(), [&](const Conjunction& b) {
            return std::any_of(early.begin(), early.end(),
                               [&](const Conjunction& a) { return implies(b, a); });
        });
    };
    for (std::size_t j = 1; j < rules.size(); ++j) {
        for (std::size_t i = 0; i < j && work < kShadowWork; ++i) {
            if (!forms[i] || !forms[j] || forms[j]->empty() ||
                rules[i].ruleset != rules[j].ruleset || !outranks(*rules[i].ast, *rules[j].ast) ||
                !covered(*forms[j], *forms[i])) {
                continue;
            }
            report.warning(rules[j].ast->id.span,
                           {"shadowed",
                            rules[j].ast->id.text + " changes nothing: whenever it fires, " +
                                rules[i].ast->id.text + " fires too, with " +
                                std::string(to_text(rules[i].ast->action)),
                            ""});
            break;
        }
    }
}

}  // namespace tollgate
