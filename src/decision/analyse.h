// Static analysis: conditions that can never or always hold, and rules that an earlier one makes
// pointless.
#pragma once

#include <cstddef>
#include <span>

#include "decision/ast.h"
#include "decision/compile_report.h"
#include "decision/typecheck.h"

namespace tollgate {

struct AnalysedRule {
    const RuleAst* ast = nullptr;
    std::size_t ruleset = 0;
};

// Error never-true, warning always-true; each names the smallest part that is to blame. Sound: what
// it reports is so; it does not find everything (bounded to 256 alternatives of conjunctions over
// comparisons with constants).
void analyse_condition(const Expr& condition, const Symbols& symbols, Reporter& report);

// Warning shadowed: an earlier rule of at least the same severity of action fires whenever the
// later one does.
void analyse_shadowing(std::span<const AnalysedRule> rules, const Symbols& symbols,
                       Reporter& report);

}  // namespace tollgate
