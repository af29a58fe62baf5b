// Copies and canonical text of expressions.
#include "decision/ast.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tollgate {
namespace {

constexpr std::array<std::string_view, 6> kComparisons{"=", "<>", "<", "<=", ">", ">="};
constexpr std::array<std::string_view, 10> kCalls{
    "is_missing",  "is_unknown", "abs",      "min",     "max",
    "starts_with", "ends_with",  "contains", "matches", "length"};

// How tightly a node binds; a child that binds less than its place asks gets parentheses.
int binding(const Expr& e) {
    switch (e.kind) {
        case ExprKind::kOr:
            return 1;
        case ExprKind::kAnd:
            return 2;
        case ExprKind::kNot:
            return 3;
        case ExprKind::kCompare:
        case ExprKind::kBetween:
        case ExprKind::kInSet:
        case ExprKind::kInList:
            return 4;
        case ExprKind::kArith:
            return e.sign == '+' || e.sign == '-' ? 5 : 6;
        case ExprKind::kNegate:
            return 7;
        default:
            return 8;
    }
}

void print(const Expr& e, std::string& out);

void print_at(const Expr& e, int least, std::string& out) {
    const bool wrap = binding(e) < least;
    if (wrap) {
        out += '(';
    }
    print(e, out);
    if (wrap) {
        out += ')';
    }
}

void print_list(const Expr& e, std::size_t first, int least, std::string_view between,
                std::string& out) {
    for (std::size_t i = first; i < e.args.size(); ++i) {
        if (i > first) {
            out += between;
        }
        print_at(*e.args[i], least, out);
    }
}

void print(const Expr& e, std::string& out) {
    switch (e.kind) {
        case ExprKind::kLiteral:
        case ExprKind::kName:
        case ExprKind::kField:
        case ExprKind::kSlot:
        case ExprKind::kWindow:
        case ExprKind::kKept:
        case ExprKind::kLabel:
            out += e.text;
            return;
        case ExprKind::kNot:
            out += "not ";
            print_at(*e.args[0], 3, out);
            return;
        case ExprKind::kNegate:
            // A bare "-5" would read back as one literal.
            out += "-";
            print_at(*e.args[0], e.args[0]->kind == ExprKind::kLiteral ? 9 : 8, out);
            return;
        case ExprKind::kAnd:
            print_list(e, 0, 3, " and ", out);
            return;
        case ExprKind::kOr:
            print_list(e, 0, 2, " or ", out);
            return;
        case ExprKind::kCompare:
            print_at(*e.args[0], 5, out);
            out += ' ';
            out += to_text(e.compare);
            out += ' ';
            print_at(*e.args[1], 5, out);
            return;
        case ExprKind::kArith:
            print_at(*e.args[0], binding(e), out);
            out += ' ';
            out += e.sign;
            out += ' ';
            print_at(*e.args[1], binding(e) + 1, out);
            return;
        case ExprKind::kBetween:
            print_at(*e.args[0], 5, out);
            out += " between ";
            print_at(*e.args[1], 5, out);
            out += " .. ";
            print_at(*e.args[2], 5, out);
            return;
        case ExprKind::kInSet:
            print_at(*e.args[0], 5, out);
            out += " in (";
            print_list(e, 1, 0, ", ", out);
            out += ')';
            return;
        case ExprKind::kInList:
            print_at(*e.args[0], 5, out);
            out += " in @" + e.text;
            return;
        case ExprKind::kCall:
            out += to_text(e.call);
            out += '(';
            print_list(e, 0, 0, ", ", out);
            out += ')';
            return;
    }
}

}  // namespace

std::string_view to_text(Comparison compare) {
    return kComparisons[static_cast<std::size_t>(compare)];
}
std::string_view to_text(Call call) {
    return kCalls[static_cast<std::size_t>(call)];
}
std::optional<Call> call_of(std::string_view name) {
    const auto* found = std::find(kCalls.begin(), kCalls.end(), name);
    return found == kCalls.end() ? std::nullopt
                                 : std::optional(static_cast<Call>(found - kCalls.begin()));
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (c == '"' || c == '\\') {
            out += '\\';
        }
        out += c;
    }
    out += '"';
    return out;
}

ExprPtr clone(const Expr& expr) {
    auto out = std::make_unique<Expr>();
    out->kind = expr.kind;
    out->compare = expr.compare;
    out->call = expr.call;
    out->sign = expr.sign;
    out->depth = expr.depth;
    out->ref = expr.ref;
    out->text = expr.text;
    out->literal = expr.literal;
    if (expr.string) {
        out->string = std::make_unique<std::string>(*expr.string);
        out->literal.text = *out->string;
    }
    for (const ExprPtr& arg : expr.args) {
        out->args.push_back(clone(*arg));
    }
    out->span = expr.span;
    out->type = expr.type;
    return out;
}

std::string to_text(const Expr& expr) {
    std::string out;
    print(expr, out);
    return out;
}

}  // namespace tollgate
