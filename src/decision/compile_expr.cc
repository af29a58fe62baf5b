// Code generation: operands in place where a comparison needs no arithmetic, forward jumps out of
// decided and/or chains.
#include "decision/compile_expr.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "decision/program_ops.h"

namespace tollgate {
namespace {

constexpr std::size_t kMaxStack = 64;

// Worst cases in ns, measured on a 2.1 GHz Xeon and rounded up; text operations over 4,096 bytes.
std::uint32_t cost_of(Op op) {
    switch (op) {
        case Op::kDivide:
        case Op::kMultiply:
        case Op::kRound:
            return 120;
        case Op::kAdd:
        case Op::kSubtract:
            return 60;
        case Op::kContains:
        case Op::kLength:
            return 2'000;
        case Op::kInList:
            return 400;
        case Op::kInSet:
            return 60;
        case Op::kMatches:
            return 20'000;
        case Op::kJumpIfFalse:
        case Op::kJumpIfTrue:
            return 3;
        default:
            return 15;
    }
}

class Generator {
  public:
    explicit Generator(Program& out) : out_(out) {}
    void visit(const Expr& e);
    std::size_t max_stack() const { return max_; }

  private:
    void emit(Op op, std::size_t b = 0, unsigned flags = 0, std::size_t a = 0) {
        out_.code.push_back({op, static_cast<std::uint8_t>(flags), static_cast<std::uint16_t>(a),
                             static_cast<std::uint32_t>(b)});
        out_.cost_ns += cost_of(op);
        if (op <= Op::kCompareDirect) {
            max_ = std::max(max_, ++depth_);
        } else if (op < Op::kBetween) {
            depth_ -= 1;
        } else if (op < Op::kNot) {
            depth_ -= 2;
        }
    }
    std::size_t constant(const Value& value) {
        out_.constants.push_back(value);
        if (value.kind == ValueKind::kString) {
            out_.texts.push_back(std::make_unique<std::string>(value.text));
            out_.constants.back().text = *out_.texts.back();
        }
        return out_.constants.size() - 1;
    }
    std::size_t text_constant(std::string_view text) { return constant(Value::of_string(text)); }
    void chain(const Expr& e);
    void compare(const Expr& e);
    void set(const Expr& e);
    void call(const Expr& e);
    struct Place {
        Operand source = Operand::kConst;
        std::size_t index = 0;
    };
    std::optional<Place> in_place(const Expr& e);

    Program& out_;
    std::size_t depth_ = 0;
    std::size_t max_ = 0;
};

void Generator::visit(const Expr& e) {
    switch (e.kind) {
        case ExprKind::kLiteral:
            return emit(Op::kConst, constant(e.literal));
        case ExprKind::kField:
            return emit(Op::kField, e.ref);
        case ExprKind::kSlot:
            return emit(Op::kSlot, e.ref);
        case ExprKind::kWindow:
            return emit(Op::kWindow, e.ref);
        case ExprKind::kLabel: {
            const std::size_t base = text_constant("fraud");
            (void)text_constant("legit");
            return emit(Op::kLabel, base);
        }
        case ExprKind::kAnd:
        case ExprKind::kOr:
            return chain(e);
        case ExprKind::kCompare:
            return compare(e);
        case ExprKind::kInSet:
            return set(e);
        case ExprKind::kCall:
            return call(e);
        default:
            break;
    }
    for (const ExprPtr& arg : e.args) {
        visit(*arg);
    }
    switch (e.kind) {
        case ExprKind::kNot:
            return emit(Op::kNot);
        case ExprKind::kNegate:
            return emit(Op::kNegate);
        case ExprKind::kKept:
            return emit(Op::kRound);
        case ExprKind::kInList:
            return emit(Op::kInList, e.ref);
        case ExprKind::kBetween:
            return emit(e.args[0]->type.kind == ValueKind::kTimeOfDay ? Op::kClockBetween
                                                                      : Op::kBetween);
        default: {
            const Op op = e.sign == '+'   ? Op::kAdd
                          : e.sign == '-' ? Op::kSubtract
                          : e.sign == '*' ? Op::kMultiply
                                          : Op::kDivide;
            return emit(op, 0, static_cast<unsigned>(e.type.kind));
        }
    }
}

void Generator::chain(const Expr& e) {
    const bool both = e.kind == ExprKind::kAnd;
    std::vector<std::size_t> jumps;
    for (std::size_t i = 0; i < e.args.size(); ++i) {
        visit(*e.args[i]);
        if (i > 0) {
            emit(both ? Op::kAnd : Op::kOr);
        }
        if (i + 1 < e.args.size()) {
            jumps.push_back(out_.code.size());
            emit(both ? Op::kJumpIfFalse : Op::kJumpIfTrue);
        }
    }
    for (const std::size_t jump : jumps) {
        out_.code[jump].b = static_cast<std::uint32_t>(out_.code.size());
    }
}

std::optional<Generator::Place> Generator::in_place(const Expr& e) {
    switch (e.kind) {
        case ExprKind::kLiteral:
            return Place{Operand::kConst, constant(e.literal)};
        case ExprKind::kField:
            return Place{Operand::kField, e.ref};
        case ExprKind::kWindow:
            return Place{Operand::kWindow, e.ref};
        default:
            return std::nullopt;
    }
}

void Generator::compare(const Expr& e) {
    const auto flags = static_cast<unsigned>(e.compare);
    const auto left = in_place(*e.args[0]);
    const auto right = left && left->index <= 0xFFFF ? in_place(*e.args[1]) : std::nullopt;
    if (left && right) {
        emit(Op::kCompareDirect, right->index,
             flags | static_cast<unsigned>(left->source) << 3U |
                 static_cast<unsigned>(right->source) << 5U,
             left->index);
        return;
    }
    visit(*e.args[0]);
    visit(*e.args[1]);
    emit(Op::kCompare, 0, flags);
}

void Generator::set(const Expr& e) {
    if (e.args[0]->type.kind == ValueKind::kString) {
        std::vector<StringKey> keys;
        for (std::size_t i = 1; i < e.args.size(); ++i) {
            keys.push_back(e.args[i]->literal.key);
        }
        std::sort(keys.begin(), keys.end());
        out_.sets.push_back(std::move(keys));
        visit(*e.args[0]);
        return emit(Op::kInSet, out_.sets.size() - 1);
    }
    // Other kinds have few values: x = a or x = b ...
    for (std::size_t i = 1; i < e.args.size(); ++i) {
        visit(*e.args[0]);
        visit(*e.args[i]);
        emit(Op::kCompare, 0, static_cast<unsigned>(Comparison::kEqual));
        if (i > 1) {
            emit(Op::kOr);
        }
    }
}

void Generator::call(const Expr& e) {
    visit(*e.args[0]);
    switch (e.call) {
        case Call::kIsMissing:
        case Call::kIsUnknown:
            return emit(Op::kIsUnknown);
        case Call::kAbs:
            return emit(Op::kAbs);
        case Call::kLength:
            return emit(Op::kLength);
        case Call::kMin:
        case Call::kMax:
            for (std::size_t i = 1; i < e.args.size(); ++i) {
                visit(*e.args[i]);
                emit(e.call == Call::kMin ? Op::kMin : Op::kMax);
            }
            return;
        case Call::kMatches: {
            re2::RE2::Options options;
            options.set_log_errors(false);
            options.set_max_mem(std::int64_t{1} << 20U);
            const std::string_view pattern = e.args[1]->literal.text;
            out_.patterns.push_back(std::make_unique<re2::RE2>(
                re2::StringPiece(pattern.data(), pattern.size()), options));
            return emit(Op::kMatches, out_.patterns.size() - 1);
        }
        default:
            visit(*e.args[1]);
            return emit(e.call == Call::kStartsWith ? Op::kStartsWith
                        : e.call == Call::kEndsWith ? Op::kEndsWith
                                                    : Op::kContains);
    }
}

}  // namespace

std::unique_ptr<Program> compile_expr(const Expr& expr) {
    auto out = std::make_unique<Program>();
    Generator generator(*out);
    generator.visit(expr);
    if (generator.max_stack() > kMaxStack) {
        return nullptr;
    }
    out->max_stack = static_cast<std::uint16_t>(generator.max_stack());
    return out;
}

void remap(Expr& expr, const std::vector<std::uint32_t>& windows,
           const std::vector<std::uint32_t>& slots) {
    if (expr.kind == ExprKind::kWindow) {
        expr.ref = windows[expr.ref];
    } else if (expr.kind == ExprKind::kSlot) {
        expr.ref = slots[expr.ref];
    }
    for (const ExprPtr& arg : expr.args) {
        remap(*arg, windows, slots);
    }
}

void windows_of(const Expr& expr, std::vector<std::uint32_t>& out) {
    if (expr.kind == ExprKind::kWindow) {
        out.push_back(expr.ref);
    }
    for (const ExprPtr& arg : expr.args) {
        windows_of(*arg, out);
    }
}

void slots_of(const Expr& expr, std::vector<std::uint32_t>& out) {
    if (expr.kind == ExprKind::kSlot) {
        out.push_back(expr.ref);
    }
    for (const ExprPtr& arg : expr.args) {
        slots_of(*arg, out);
    }
}

}  // namespace tollgate
