// The second evaluator, for back-tests: walks the tree once and works a whole column at each node.
// Written apart from the bytecode evaluator, with truth tables in place of its branches, so that
// each is a check of the other.
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <compare>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/utf8_char.h"
#include "decision/ast.h"
#include "decision/lists.h"
#include "decision/rules.h"

namespace tollgate {
namespace {

constexpr std::uint8_t kFalse = 0;
constexpr std::uint8_t kTrue = 1;
constexpr std::uint8_t kUnknown = 2;
constexpr std::uint8_t kError = 3;

using Truths = std::vector<std::uint8_t>;
using Table = std::array<std::array<std::uint8_t, 4>, 4>;
constexpr Table kAndTable{{{kFalse, kFalse, kFalse, kFalse},
                           {kFalse, kTrue, kUnknown, kError},
                           {kFalse, kUnknown, kUnknown, kError},
                           {kFalse, kError, kError, kError}}};
constexpr Table kOrTable{{{kFalse, kTrue, kUnknown, kError},
                          {kTrue, kTrue, kTrue, kTrue},
                          {kUnknown, kTrue, kUnknown, kError},
                          {kError, kTrue, kError, kError}}};
constexpr std::array<std::uint8_t, 4> kNotTable{kTrue, kFalse, kUnknown, kError};

// One value for all rows, rows of the batch, or rows computed here.
struct Column {
    const Value* rows = nullptr;
    Value same;
    std::vector<Value> own;
    const Value& at(std::size_t row) const {
        if (rows != nullptr) {
            return rows[row];
        }
        return own.empty() ? same : own[row];
    }
};

std::uint8_t code_of(const Value& v) {
    switch (v.kind) {
        case ValueKind::kError:
            return kError;
        case ValueKind::kBool:
            return v.boolean ? kTrue : kFalse;
        default:
            return kUnknown;
    }
}
Value value_of(std::uint8_t code) {
    return code == kError     ? Value::error()
           : code == kUnknown ? Value::unknown()
                              : Value::of_bool(code == kTrue);
}
// kTrue when both are known, else which of the two faults counts.
std::uint8_t readiness(const Value& a, const Value& b) {
    if (a.kind == ValueKind::kError || b.kind == ValueKind::kError) {
        return kError;
    }
    return a.kind == ValueKind::kUnknown || b.kind == ValueKind::kUnknown ? kUnknown : kTrue;
}

bool text_at_hand(const Value& v, std::string_view& out) {
    if (!v.text.empty()) {
        out = v.text;
        return true;
    }
    return string_key_text(v.key, out);
}

class ColumnEvaluator {
  public:
    ColumnEvaluator(const ListSet& lists, const ColumnBatch& batch)
        : lists_(lists), batch_(batch) {}

    Truths truths(const Expr& e);

  private:
    Column values(const Expr& e);
    template <class F>
    Truths each(F&& f) const {
        Truths out(batch_.rows);
        for (std::size_t r = 0; r < batch_.rows; ++r) {
            out[r] = f(r);
        }
        return out;
    }
    template <class F>
    Column computed(F&& f) const {
        Column out;
        out.own.resize(batch_.rows);
        for (std::size_t r = 0; r < batch_.rows; ++r) {
            out.own[r] = f(r);
        }
        return out;
    }
    Truths chain(const Expr& e);
    Truths comparison(Comparison compare, const Column& a, const Column& b) const;
    Truths between(const Expr& e);
    Truths in_set(const Expr& e);
    Truths in_list(const Expr& e);
    Truths test(const Expr& e);
    Truths text_test(const Expr& e);
    Truths pattern_test(const Expr& e);
    Column arithmetic(const Expr& e);
    Column negated(const Expr& e);
    Column kept(const Expr& e);
    Column call(const Expr& e);
    Column source(const std::vector<std::vector<Value>>& columns, std::size_t index) const;

    const ListSet& lists_;
    const ColumnBatch& batch_;
};

Truths ColumnEvaluator::truths(const Expr& e) {
    switch (e.kind) {
        case ExprKind::kAnd:
        case ExprKind::kOr:
            return chain(e);
        case ExprKind::kNot: {
            Truths out = truths(*e.args[0]);
            for (std::uint8_t& t : out) {
                t = kNotTable[t];
            }
            return out;
        }
        case ExprKind::kCompare:
            return comparison(e.compare, values(*e.args[0]), values(*e.args[1]));
        case ExprKind::kBetween:
            return between(e);
        case ExprKind::kInSet:
            return in_set(e);
        case ExprKind::kInList:
            return in_list(e);
        case ExprKind::kCall:
            return test(e);
        default: {
            const Column column = values(e);
            return each([&](std::size_t r) { return code_of(column.at(r)); });
        }
    }
}

Truths ColumnEvaluator::chain(const Expr& e) {
    const Table& table = e.kind == ExprKind::kAnd ? kAndTable : kOrTable;
    Truths out = truths(*e.args[0]);
    for (std::size_t i = 1; i < e.args.size(); ++i) {
        const Truths next = truths(*e.args[i]);
        for (std::size_t r = 0; r < batch_.rows; ++r) {
            out[r] = table[out[r]][next[r]];
        }
    }
    return out;
}

Truths ColumnEvaluator::comparison(Comparison c, const Column& a, const Column& b) const {
    // Which of less, equal, greater satisfies the comparison.
    constexpr std::array<std::array<bool, 3>, 6> kHolds{{{false, true, false},
                                                         {true, false, true},
                                                         {true, false, false},
                                                         {true, true, false},
                                                         {false, false, true},
                                                         {false, true, true}}};
    const auto& holds = kHolds[static_cast<std::size_t>(c)];
    return each([&](std::size_t r) -> std::uint8_t {
        const Value& x = a.at(r);
        const Value& y = b.at(r);
        const std::uint8_t ready = readiness(x, y);
        if (ready != kTrue) {
            return ready;
        }
        std::size_t order = 1;
        if (x.kind == ValueKind::kString) {
            order = x.key == y.key ? 1 : 0;
        } else if (x.kind == ValueKind::kBool) {
            order = x.boolean == y.boolean ? 1 : 0;
        } else {
            const auto o = compare(x.number, y.number);
            order = std::is_lt(o) ? 0 : std::is_gt(o) ? 2 : 1;
        }
        return holds[order] ? kTrue : kFalse;
    });
}

Truths ColumnEvaluator::between(const Expr& e) {
    const Column x = values(*e.args[0]);
    const Column low = values(*e.args[1]);
    const Column high = values(*e.args[2]);
    const Truths above = comparison(Comparison::kGreaterEqual, x, low);
    const Truths below = comparison(Comparison::kLessEqual, x, high);
    const bool clock = e.args[0]->type.kind == ValueKind::kTimeOfDay;
    const Truths wraps =
        clock ? comparison(Comparison::kGreater, low, high) : Truths(batch_.rows, kFalse);
    return each([&](std::size_t r) -> std::uint8_t {
        if (clock && (wraps[r] > kTrue || above[r] > kTrue || below[r] > kTrue)) {
            return std::max({wraps[r], above[r], below[r]});  // the error code is the largest
        }
        return wraps[r] == kTrue ? kOrTable[above[r]][below[r]] : kAndTable[above[r]][below[r]];
    });
}

Truths ColumnEvaluator::in_set(const Expr& e) {
    const Column x = values(*e.args[0]);
    Truths out(batch_.rows, kFalse);
    for (std::size_t i = 1; i < e.args.size(); ++i) {
        const Truths equal = comparison(Comparison::kEqual, x, values(*e.args[i]));
        for (std::size_t r = 0; r < batch_.rows; ++r) {
            out[r] = kOrTable[out[r]][equal[r]];
        }
    }
    return out;
}

Truths ColumnEvaluator::in_list(const Expr& e) {
    const Column x = values(*e.args[0]);
    const NamedList& list = lists_.at(e.ref);
    return each([&](std::size_t r) -> std::uint8_t {
        const Value& v = x.at(r);
        if (v.kind != ValueKind::kString) {
            return code_of(v);
        }
        return list.contains(v.key, batch_.now[r]) ? kTrue : kFalse;
    });
}

Truths ColumnEvaluator::test(const Expr& e) {
    if (e.call == Call::kMatches) {
        return pattern_test(e);
    }
    if (e.call != Call::kIsMissing && e.call != Call::kIsUnknown) {
        return text_test(e);
    }
    const Column x = values(*e.args[0]);
    return each([&](std::size_t r) -> std::uint8_t {
        const ValueKind kind = x.at(r).kind;
        return kind == ValueKind::kError ? kError : kind == ValueKind::kUnknown ? kTrue : kFalse;
    });
}

Truths ColumnEvaluator::text_test(const Expr& e) {
    const Column a = values(*e.args[0]);
    const Column b = values(*e.args[1]);
    return each([&](std::size_t r) -> std::uint8_t {
        const std::uint8_t ready = readiness(a.at(r), b.at(r));
        std::string_view text;
        std::string_view part;
        if (ready != kTrue) {
            return ready;
        }
        if (!text_at_hand(a.at(r), text) || !text_at_hand(b.at(r), part)) {
            return kUnknown;
        }
        if (part.size() > text.size()) {
            return kFalse;
        }
        if (e.call == Call::kStartsWith) {
            return text.substr(0, part.size()) == part ? kTrue : kFalse;
        }
        if (e.call == Call::kEndsWith) {
            return text.substr(text.size() - part.size()) == part ? kTrue : kFalse;
        }
        return std::search(text.begin(), text.end(), part.begin(), part.end()) != text.end() ||
                       part.empty()
                   ? kTrue
                   : kFalse;
    });
}

Truths ColumnEvaluator::pattern_test(const Expr& e) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    const std::string_view text = e.args[1]->literal.text;
    const re2::RE2 pattern(re2::StringPiece(text.data(), text.size()), options);
    const Column x = values(*e.args[0]);
    return each([&](std::size_t r) -> std::uint8_t {
        const Value& v = x.at(r);
        std::string_view subject;
        if (v.kind != ValueKind::kString) {
            return code_of(v);
        }
        if (!text_at_hand(v, subject)) {
            return kUnknown;
        }
        return re2::RE2::PartialMatch(re2::StringPiece(subject.data(), subject.size()), pattern)
                   ? kTrue
                   : kFalse;
    });
}

Column ColumnEvaluator::source(const std::vector<std::vector<Value>>& columns,
                               std::size_t index) const {
    Column out;
    if (index < columns.size() && columns[index].size() >= batch_.rows && batch_.rows > 0) {
        out.rows = columns[index].data();
    }
    return out;
}

Column ColumnEvaluator::values(const Expr& e) {
    switch (e.kind) {
        case ExprKind::kLiteral: {
            Column out;
            out.same = e.literal;
            return out;
        }
        case ExprKind::kField:
            return source(batch_.fields, e.ref);
        case ExprKind::kWindow:
            return source(batch_.windows, e.ref);
        case ExprKind::kArith:
            return arithmetic(e);
        case ExprKind::kNegate:
            return negated(e);
        case ExprKind::kKept:
            return kept(e);
        case ExprKind::kCall:
            if (e.type.kind != ValueKind::kBool) {
                return call(e);
            }
            [[fallthrough]];
        default: {
            const Truths t = truths(e);
            return computed([&](std::size_t r) { return value_of(t[r]); });
        }
    }
}

Column ColumnEvaluator::negated(const Expr& e) {
    const Column x = values(*e.args[0]);
    return computed([&](std::size_t r) {
        Value v = x.at(r);
        if (v.kind > ValueKind::kError) {
            const auto negative = multiply(v.number, {-1, 1});
            v.number = negative.value_or(Number{});
            v.kind = negative ? v.kind : ValueKind::kError;
        }
        return v;
    });
}

// As it would be stored: 6 digits, anything else unknown.
Column ColumnEvaluator::kept(const Expr& e) {
    const Column x = values(*e.args[0]);
    return computed([&](std::size_t r) {
        const Value& v = x.at(r);
        const auto micro = v.kind == ValueKind::kNumber ? to_scaled(v.number, 6) : std::nullopt;
        return micro && *micro != INT64_MIN ? Value::of_number({*micro, 1'000'000})
                                            : Value::unknown();
    });
}

Column ColumnEvaluator::arithmetic(const Expr& e) {
    const Column a = values(*e.args[0]);
    const Column b = values(*e.args[1]);
    return computed([&](std::size_t r) {
        const Value& x = a.at(r);
        const Value& y = b.at(r);
        const std::uint8_t ready = readiness(x, y);
        if (ready != kTrue) {
            return value_of(ready);
        }
        const auto n = e.sign == '+'   ? add(x.number, y.number)
                       : e.sign == '-' ? subtract(x.number, y.number)
                       : e.sign == '*' ? multiply(x.number, y.number)
                                       : divide(x.number, y.number);
        Value v = n ? Value::of_number(*n) : Value::error();
        v.kind = n ? e.type.kind : v.kind;
        return v;
    });
}

Column ColumnEvaluator::call(const Expr& e) {
    std::vector<Column> args;
    for (const ExprPtr& arg : e.args) {
        args.push_back(values(*arg));
    }
    return computed([&](std::size_t r) {
        Value out = args[0].at(r);
        for (std::size_t i = 1; i < args.size(); ++i) {
            const Value& next = args[i].at(r);
            const std::uint8_t ready = readiness(out, next);
            if (ready != kTrue) {
                out = value_of(ready);
                continue;
            }
            const auto o = compare(next.number, out.number);
            if (e.call == Call::kMin ? std::is_lt(o) : std::is_gt(o)) {
                out = next;
            }
        }
        if (e.call == Call::kAbs && out.kind > ValueKind::kError && out.number.num < 0) {
            const auto positive = multiply(out.number, {-1, 1});
            out.kind = positive ? out.kind : ValueKind::kError;
            out.number = positive.value_or(Number{});
        }
        if (e.call == Call::kLength && out.kind == ValueKind::kString) {
            std::string_view text;
            if (!text_at_hand(out, text)) {
                return Value::unknown();
            }
            std::int64_t count = 0;
            for (; !text.empty(); ++count) {
                text.remove_prefix(std::max<std::size_t>(1, utf8_char_size(text)));
            }
            return Value::of_int(count);
        }
        return out;
    });
}

}  // namespace

void evaluate_column(const RuleDef& rule, const CompiledRules& /*rules*/, const ListSet& lists,
                     const ColumnBatch& batch, std::span<std::uint8_t> out) {
    TG_CHECK(out.size() == batch.rows, "one result per row");
    TG_CHECK(batch.now.size() == batch.rows, "one time per row");
    const Truths truths = ColumnEvaluator(lists, batch).truths(*rule.tree);
    std::copy(truths.begin(), truths.end(), out.begin());
}

}  // namespace tollgate
