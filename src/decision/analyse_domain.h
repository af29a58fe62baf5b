// What a conjunction of comparisons leaves of each subject's values: intervals, sets of texts,
// known truths.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "decision/ast.h"
#include "decision/typecheck.h"

namespace tollgate {

// The values that one subject (a field, a window, an expression as written) may still have.
struct Domain {
    struct End {
        Number at;
        bool open = false;
    };
    std::optional<End> low;
    std::optional<End> high;
    bool whole = false;            // whole numbers only
    std::vector<Number> excluded;  // numbers
    bool texts_bounded = false;    // only `texts` are possible, else all but `texts`
    std::set<std::string> texts;
    std::optional<bool> truth;  // of a condition that is not taken apart
    bool contradiction = false;

    void restrict(Comparison compare, const Number& value);
    void restrict_texts(const std::set<std::string>& values, bool inside);
    void restrict_truth(bool value);
    bool empty() const;
    // Every value of this is one of `other`.
    bool inside(const Domain& other) const;
};

// Subject as written -> what is left of it. All must hold.
using Conjunction = std::map<std::string, Domain>;

// The condition as alternatives of conjunctions, contradictory ones left out. nullopt when there
// would be more than `most` of them. `negated`: of "not condition".
std::optional<std::vector<Conjunction>> alternatives(const Expr& condition, bool negated,
                                                     const Symbols& symbols, std::size_t most);

// `b` implies `a`.
bool implies(const Conjunction& b, const Conjunction& a);

}  // namespace tollgate
