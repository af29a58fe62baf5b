// Intervals over exact numbers, and the expansion of conditions into alternatives.
#include "decision/analyse_domain.h"

#include <algorithm>
#include <compare>
#include <utility>

#include "decision/compile_expr.h"

namespace tollgate {
namespace {

constexpr std::int64_t kDayUs = std::int64_t{86'400} * 1'000'000;

bool constant(const Expr& e) {
    switch (e.kind) {
        case ExprKind::kLiteral:
            return true;
        case ExprKind::kNegate:
        case ExprKind::kArith:
            return std::all_of(e.args.begin(), e.args.end(),
                               [](const ExprPtr& a) { return constant(*a); });
        default:
            return false;
    }
}
// A constant's value; unknown when it does not fit.
Value value_of(const Expr& e) {
    if (e.kind == ExprKind::kLiteral) {
        return e.literal;
    }
    const auto program = compile_expr(e);
    return program ? evaluate(*program, {}) : Value::unknown();
}

Comparison opposite(Comparison c) {
    switch (c) {
        case Comparison::kEqual:
            return Comparison::kNotEqual;
        case Comparison::kNotEqual:
            return Comparison::kEqual;
        case Comparison::kLess:
            return Comparison::kGreaterEqual;
        case Comparison::kLessEqual:
            return Comparison::kGreater;
        case Comparison::kGreater:
            return Comparison::kLessEqual;
        case Comparison::kGreaterEqual:
            break;
    }
    return Comparison::kLess;
}
// a < b read from b's side.
Comparison mirrored(Comparison c) {
    switch (c) {
        case Comparison::kLess:
            return Comparison::kGreater;
        case Comparison::kLessEqual:
            return Comparison::kGreaterEqual;
        case Comparison::kGreater:
            return Comparison::kLess;
        case Comparison::kGreaterEqual:
            return Comparison::kLessEqual;
        default:
            return c;
    }
}

// What a subject can be at all, by what it is.
Domain natural(const Expr& subject, const Symbols& symbols) {
    Domain d;
    const auto from_zero = [&d](bool whole) {
        d.low = Domain::End{{0, 1}, false};
        d.whole = whole;
    };
    if (subject.kind == ExprKind::kWindow) {
        const Symbols::Window& window = symbols.windows[subject.ref];
        const bool counts = window.fn == WindowFn::kCount || window.fn == WindowFn::kDistinct ||
                            window.fn == WindowFn::kRun;
        if (counts || window.fn == WindowFn::kShare) {
            from_zero(counts);
        }
        if (window.fn == WindowFn::kShare) {
            d.high = Domain::End{{1, 1}, false};
        } else if (counts && window.last_n > 0) {
            d.high = Domain::End{{window.last_n, 1}, false};
        }
    } else if (subject.kind == ExprKind::kCall && subject.call == Call::kLength) {
        from_zero(true);
    } else if (subject.kind == ExprKind::kCall && subject.call == Call::kAbs) {
        from_zero(false);
    } else if (subject.type.kind == ValueKind::kTimeOfDay) {
        from_zero(true);
        d.high = Domain::End{{kDayUs, 1}, true};
    } else if (subject.text == "local_weekday" || subject.text == "current.local_weekday") {
        d.low = Domain::End{{1, 1}, false};
        d.high = Domain::End{{7, 1}, false};
        d.whole = true;
    }
    const auto choices = choices_of(subject);
    if (!choices.empty()) {
        d.texts_bounded = true;
        d.texts.insert(choices.begin(), choices.end());
    }
    return d;
}

Int128 floor_of(const Number& n) {
    const Int128 q = n.num / n.den;
    return n.num % n.den < 0 ? q - 1 : q;
}

using Alternatives = std::vector<Conjunction>;

class Expansion {
  public:
    Expansion(const Symbols& symbols, std::size_t most) : symbols_(symbols), most_(most) {}

    // False when there are too many.
    bool expand(const Expr& e, bool negated, Alternatives& out) {
        switch (e.kind) {
            case ExprKind::kNot:
                return expand(*e.args[0], !negated, out);
            case ExprKind::kAnd:
            case ExprKind::kOr:
                return chain(e, negated, out);
            case ExprKind::kLiteral:
                if (e.literal.boolean != negated) {
                    out.emplace_back();
                }
                return true;
            case ExprKind::kCompare:
                return comparison(e, negated, out);
            case ExprKind::kBetween:
                return between(e, negated, out);
            case ExprKind::kInSet:
                return set(e, negated, out);
            default:
                return opaque(e, negated, out);
        }
    }

  private:
    Domain start(const Expr& subject) const { return natural(subject, symbols_); }

    static bool add(const Expr& subject, Domain domain, Alternatives& out) {
        if (!domain.empty()) {
            Conjunction c;
            c.emplace(to_text(subject), std::move(domain));
            out.push_back(std::move(c));
        }
        return true;
    }

    bool opaque(const Expr& e, bool negated, Alternatives& out) {
        Domain d;
        d.restrict_truth(!negated);
        return add(e, std::move(d), out);
    }

    bool number(const Expr& subject, Comparison compare, const Number& value, Alternatives& out) {
        Domain d = start(subject);
        d.restrict(compare, value);
        return add(subject, std::move(d), out);
    }

    bool comparison(const Expr& e, bool negated, Alternatives& out) {
        const bool left_constant = constant(*e.args[0]);
        if (left_constant == constant(*e.args[1])) {
            return left_constant ? both_constant(e, negated, out) : opaque(e, negated, out);
        }
        const Expr& subject = *e.args[left_constant ? 1 : 0];
        const Value value = value_of(*e.args[left_constant ? 0 : 1]);
        Comparison compare = left_constant ? mirrored(e.compare) : e.compare;
        if (value.kind <= ValueKind::kError) {
            return opaque(e, negated, out);
        }
        compare = negated ? opposite(compare) : compare;
        if (value.kind == ValueKind::kString) {
            Domain d = start(subject);
            d.restrict_texts({std::string(value.text)}, compare == Comparison::kEqual);
            return add(subject, std::move(d), out);
        }
        if (value.kind == ValueKind::kBool) {
            Domain d;
            d.restrict_truth(value.boolean == (compare == Comparison::kEqual));
            return add(subject, std::move(d), out);
        }
        return number(subject, compare, value.number, out);
    }

    bool both_constant(const Expr& e, bool negated, Alternatives& out) {
        const auto program = compile_expr(e);
        const Value v = program ? evaluate(*program, {}) : Value::unknown();
        if (v.kind != ValueKind::kBool) {
            return opaque(e, negated, out);
        }
        if (v.boolean != negated) {
            out.emplace_back();
        }
        return true;
    }

    bool between(const Expr& e, bool negated, Alternatives& out) {
        const Expr& subject = *e.args[0];
        if (constant(subject) || !constant(*e.args[1]) || !constant(*e.args[2])) {
            return opaque(e, negated, out);
        }
        const Value low = value_of(*e.args[1]);
        const Value high = value_of(*e.args[2]);
        if (low.kind <= ValueKind::kError || high.kind <= ValueKind::kError) {
            return opaque(e, negated, out);
        }
        const bool wraps = subject.type.kind == ValueKind::kTimeOfDay &&
                           std::is_gt(compare(low.number, high.number));
        const Comparison first = negated ? Comparison::kLess : Comparison::kGreaterEqual;
        const Comparison second = negated ? Comparison::kGreater : Comparison::kLessEqual;
        if (wraps != negated) {  // one of the two suffices
            return number(subject, first, low.number, out) &&
                   number(subject, second, high.number, out);
        }
        Domain d = start(subject);
        d.restrict(first, low.number);
        d.restrict(second, high.number);
        return add(subject, std::move(d), out);
    }

    bool set(const Expr& e, bool negated, Alternatives& out) {
        const Expr& subject = *e.args[0];
        if (constant(subject) || subject.type.kind == ValueKind::kBool) {
            return opaque(e, negated, out);
        }
        Domain d = start(subject);
        if (subject.type.kind == ValueKind::kString) {
            std::set<std::string> values;
            for (std::size_t i = 1; i < e.args.size(); ++i) {
                values.emplace(e.args[i]->literal.text);
            }
            d.restrict_texts(values, !negated);
            return add(subject, std::move(d), out);
        }
        for (std::size_t i = 1; i < e.args.size(); ++i) {
            const Number& value = e.args[i]->literal.number;
            if (negated) {
                d.restrict(Comparison::kNotEqual, value);
            } else if (!number(subject, Comparison::kEqual, value, out) || out.size() > most_) {
                return false;
            }
        }
        return !negated || add(subject, std::move(d), out);
    }

    bool chain(const Expr& e, bool negated, Alternatives& out) {
        if ((e.kind == ExprKind::kAnd) == negated) {  // any of them
            for (const ExprPtr& arg : e.args) {
                if (!expand(*arg, negated, out) || out.size() > most_) {
                    return false;
                }
            }
            return true;
        }
        Alternatives all(1);
        for (const ExprPtr& arg : e.args) {
            Alternatives next;
            if (!expand(*arg, negated, next) || !product(all, next)) {
                return false;
            }
        }
        out.insert(out.end(), std::make_move_iterator(all.begin()),
                   std::make_move_iterator(all.end()));
        return out.size() <= most_;
    }

    // all = all and next
    bool product(Alternatives& all, const Alternatives& next) {
        Alternatives out;
        for (const Conjunction& a : all) {
            for (const Conjunction& b : next) {
                Conjunction both = a;
                if (join(both, b)) {
                    out.push_back(std::move(both));
                }
                if (out.size() > most_ || ++work_ > 100'000) {
                    return false;
                }
            }
        }
        all = std::move(out);
        return true;
    }
    static bool join(Conjunction& into, const Conjunction& from);

    const Symbols& symbols_;
    std::size_t most_;
    std::size_t work_ = 0;
};

void meet(Domain& a, const Domain& b) {
    if (b.low) {
        a.restrict(b.low->open ? Comparison::kGreater : Comparison::kGreaterEqual, b.low->at);
    }
    if (b.high) {
        a.restrict(b.high->open ? Comparison::kLess : Comparison::kLessEqual, b.high->at);
    }
    a.whole = a.whole || b.whole;
    for (const Number& n : b.excluded) {
        a.restrict(Comparison::kNotEqual, n);
    }
    if (b.texts_bounded || !b.texts.empty()) {
        a.restrict_texts(b.texts, b.texts_bounded);
    }
    if (b.truth) {
        a.restrict_truth(*b.truth);
    }
    a.contradiction = a.contradiction || b.contradiction;
}

bool Expansion::join(Conjunction& into, const Conjunction& from) {
    for (const auto& [subject, domain] : from) {
        const auto [at, fresh] = into.emplace(subject, domain);
        if (!fresh) {
            meet(at->second, domain);
            if (at->second.empty()) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace

void Domain::restrict(Comparison c, const Number& value) {
    const auto raise = [this](End end) {
        const auto o = low ? compare(end.at, low->at) : std::strong_ordering::greater;
        if (std::is_gt(o) || (std::is_eq(o) && end.open)) {
            low = end;
        }
    };
    const auto lower = [this](End end) {
        const auto o = high ? compare(end.at, high->at) : std::strong_ordering::less;
        if (std::is_lt(o) || (std::is_eq(o) && end.open)) {
            high = end;
        }
    };
    switch (c) {
        case Comparison::kEqual:
            raise({value, false});
            lower({value, false});
            return;
        case Comparison::kNotEqual:
            excluded.push_back(value);
            return;
        case Comparison::kLess:
            return lower({value, true});
        case Comparison::kLessEqual:
            return lower({value, false});
        case Comparison::kGreater:
            return raise({value, true});
        case Comparison::kGreaterEqual:
            return raise({value, false});
    }
}

void Domain::restrict_texts(const std::set<std::string>& values, bool inside) {
    std::set<std::string> out;
    if (texts_bounded) {
        for (const std::string& text : texts) {
            if (values.contains(text) == inside) {
                out.insert(text);
            }
        }
    } else if (inside) {
        for (const std::string& text : values) {
            if (!texts.contains(text)) {
                out.insert(text);
            }
        }
    } else {
        out = texts;
        out.insert(values.begin(), values.end());
    }
    texts_bounded = texts_bounded || inside;
    texts = std::move(out);
}

void Domain::restrict_truth(bool value) {
    contradiction = contradiction || (truth && *truth != value);
    truth = value;
}

bool Domain::empty() const {
    if (contradiction || (texts_bounded && texts.empty())) {
        return true;
    }
    if (!low || !high) {
        return false;
    }
    if (whole) {
        Int128 first = floor_of(low->at);
        if (low->open || std::is_lt(compare(Number{first, 1}, low->at))) {
            ++first;
        }
        Int128 last = floor_of(high->at);
        if (high->open && std::is_eq(compare(Number{last, 1}, high->at))) {
            --last;
        }
        if (first > last) {
            return true;
        }
    }
    const auto o = compare(low->at, high->at);
    if (std::is_gt(o) || (std::is_eq(o) && (low->open || high->open))) {
        return true;
    }
    return std::is_eq(o) && std::any_of(excluded.begin(), excluded.end(), [&](const Number& n) {
               return std::is_eq(compare(n, low->at));
           });
}

bool Domain::inside(const Domain& other) const {
    if (other.truth && truth != other.truth) {
        return false;
    }
    if (other.low) {
        const auto o = low ? compare(low->at, other.low->at) : std::strong_ordering::less;
        if (std::is_lt(o) || (std::is_eq(o) && other.low->open && !low->open)) {
            return false;
        }
    }
    if (other.high) {
        const auto o = high ? compare(high->at, other.high->at) : std::strong_ordering::greater;
        if (std::is_gt(o) || (std::is_eq(o) && other.high->open && !high->open)) {
            return false;
        }
    }
    for (const Number& n : other.excluded) {
        Domain here = *this;
        here.restrict(Comparison::kEqual, n);
        if (!here.empty()) {
            return false;
        }
    }
    if (other.texts_bounded) {
        return texts_bounded &&
               std::includes(other.texts.begin(), other.texts.end(), texts.begin(), texts.end());
    }
    return std::all_of(other.texts.begin(), other.texts.end(), [&](const std::string& text) {
        return texts_bounded != texts.contains(text);
    });
}

std::optional<std::vector<Conjunction>> alternatives(const Expr& condition, bool negated,
                                                     const Symbols& symbols, std::size_t most) {
    std::vector<Conjunction> out;
    if (!Expansion(symbols, most).expand(condition, negated, out) || out.size() > most) {
        return std::nullopt;
    }
    return out;
}

bool implies(const Conjunction& b, const Conjunction& a) {
    return std::all_of(a.begin(), a.end(), [&](const auto& wanted) {
        const auto found = b.find(wanted.first);
        return found != b.end() && found->second.inside(wanted.second);
    });
}

}  // namespace tollgate
