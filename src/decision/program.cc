// The evaluator: one loop over flat code on a fixed stack. Errors beat unknown; false and true decide `and` and `or` whatever
// the other side is.
#include "decision/program.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "decision/ast.h"
#include "decision/lists.h"
#include "decision/program_ops.h"
#include "decision/windows.h"

namespace tollgate {

Program::Program() = default;
Program::~Program() = default;

namespace {

constexpr std::size_t kStack = 64;
constexpr std::int64_t kMicro = 1'000'000;
const Value kNoValue{};

// Left uninitialised: only what was pushed is read.
struct Stack {
    union {
        std::array<Value, kStack> items;
    };
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init,modernize-use-equals-default)
    Stack() {}
};

bool faulty(const Value& a, const Value& b) noexcept {
    return a.is_error() || b.is_error();
}
Value missing(const Value& a, const Value& b) noexcept {
    return faulty(a, b) ? Value::error() : Value::unknown();
}
bool known(const Value& v) noexcept {
    return v.kind > ValueKind::kError;
}

std::strong_ordering order(const Number& a, const Number& b) noexcept {
    return a.den == b.den ? a.num <=> b.num : compare(a, b);
}

bool holds(Comparison c, std::strong_ordering o) noexcept {
    switch (c) {
        case Comparison::kEqual:
            return o == 0;
        case Comparison::kNotEqual:
            return o != 0;
        case Comparison::kLess:
            return o < 0;
        case Comparison::kLessEqual:
            return o <= 0;
        case Comparison::kGreater:
            return o > 0;
        case Comparison::kGreaterEqual:
            return o >= 0;
    }
    return false;
}

Value compared(Comparison c, const Value& a, const Value& b) noexcept {
    if (!known(a) || !known(b)) {
        return missing(a, b);
    }
    if (a.kind == ValueKind::kString) {
        return Value::of_bool((a.key == b.key) == (c == Comparison::kEqual));
    }
    if (a.kind == ValueKind::kBool) {
        return Value::of_bool((a.boolean == b.boolean) == (c == Comparison::kEqual));
    }
    return Value::of_bool(holds(c, order(a.number, b.number)));
}

Value conjunction(const Value& a, const Value& b) noexcept {
    if ((a.kind == ValueKind::kBool && !a.boolean) || (b.kind == ValueKind::kBool && !b.boolean)) {
        return Value::of_bool(false);
    }
    return known(a) && known(b) ? Value::of_bool(true) : missing(a, b);
}
Value disjunction(const Value& a, const Value& b) noexcept {
    if (a.is_true() || b.is_true()) {
        return Value::of_bool(true);
    }
    return known(a) && known(b) ? Value::of_bool(false) : missing(a, b);
}

Value arithmetic(Op op, ValueKind kind, const Value& a, const Value& b) noexcept {
    if (!known(a) || !known(b)) {
        return missing(a, b);
    }
    std::optional<Number> out;
    switch (op) {
        case Op::kAdd:
            out = add(a.number, b.number);
            break;
        case Op::kSubtract:
            out = subtract(a.number, b.number);
            break;
        case Op::kMultiply:
            out = multiply(a.number, b.number);
            break;
        default:
            out = divide(a.number, b.number);
            break;
    }
    if (!out) {
        return Value::error();
    }
    Value v;
    v.kind = kind;
    v.number = *out;
    return v;
}

Value extreme(bool want_larger, const Value& a, const Value& b) noexcept {
    if (!known(a) || !known(b)) {
        return missing(a, b);
    }
    return (order(a.number, b.number) < 0) == want_larger ? b : a;
}

// The text of a string value, when it is at hand: strings of stored events over 15 bytes are not.
bool text_of(const Value& v, std::string_view& out) noexcept {
    out = v.text;
    return !out.empty() || string_key_text(v.key, out);
}

Value text_test(Op op, const Value& a, const Value& b) noexcept {
    if (!known(a) || !known(b)) {
        return missing(a, b);
    }
    std::string_view text;
    std::string_view part;
    if (!text_of(a, text) || !text_of(b, part)) {
        return Value::unknown();
    }
    if (op == Op::kStartsWith) {
        return Value::of_bool(text.starts_with(part));
    }
    return Value::of_bool(op == Op::kEndsWith ? text.ends_with(part)
                                              : text.find(part) != std::string_view::npos);
}

Value length_of(const Value& v) noexcept {
    std::string_view text;
    if (!known(v)) {
        return v;
    }
    if (!text_of(v, text)) {
        return Value::unknown();
    }
    return Value::of_int(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned>(c) & 0xC0U) != 0x80U;  // bytes that start a character
    }));
}

Value matched(const re2::RE2& pattern, const Value& v) noexcept {
    std::string_view text;
    if (!known(v)) {
        return v;
    }
    if (!text_of(v, text)) {
        return Value::unknown();
    }
    return Value::of_bool(re2::RE2::PartialMatch({text.data(), text.size()}, pattern));
}

Value clock_between(const Value& x, const Value& low, const Value& high) noexcept {
    if (!known(x) || !known(low) || !known(high)) {
        return faulty(x, low) || high.is_error() ? Value::error() : Value::unknown();
    }
    const bool after = order(x.number, low.number) >= 0;
    const bool before = order(x.number, high.number) <= 0;
    const bool wraps = order(low.number, high.number) > 0;
    return Value::of_bool(wraps ? after || before : after && before);
}

Value signed_value(Op op, const Value& v) noexcept {
    if (!known(v) || (op == Op::kAbs && v.number.num >= 0)) {
        return v;
    }
    const auto negated = subtract({0, 1}, v.number);
    if (!negated) {
        return Value::error();
    }
    Value out = v;
    out.number = *negated;
    return out;
}

Value rounded(const Value& v) noexcept {
    if (!known(v)) {
        return Value::unknown();
    }
    const auto micro = to_scaled(v.number, 6);
    // The smallest value is the mark for unknown in stored rows.
    return micro && *micro != INT64_MIN ? Value::of_number({*micro, kMicro}) : Value::unknown();
}

const Value& at(std::span<const Value> values, std::size_t index) noexcept {
    return index < values.size() ? values[index] : kNoValue;
}

const Value& operand(const Program& program, const EvalInput& input, unsigned source,
                     std::size_t index) noexcept {
    switch (static_cast<Operand>(source)) {
        case Operand::kField:
            return at(input.fields, index);
        case Operand::kWindow:
            return at(input.windows, index);
        case Operand::kConst:
            break;
    }
    return program.constants[index];
}

Value label_of(const Program& program, const EvalInput& input, std::uint32_t base) noexcept {
    if (input.row_label == Label::kNone) {
        return Value::unknown();
    }
    return program.constants[base + (input.row_label == Label::kLegit ? 1U : 0U)];
}

Value pushed(const Program& program, const EvalInput& input, const Instruction& i) noexcept {
    switch (i.op) {
        case Op::kConst:
            return program.constants[i.b];
        case Op::kField:
            return at(input.fields, i.b);
        case Op::kWindow:
            return at(input.windows, i.b);
        case Op::kSlot:
            return input.row == nullptr ? Value::unknown()
                                        : read_slot(input.layout->slots[i.b], input.row);
        case Op::kLabel:
            return label_of(program, input, i.b);
        default:
            break;
    }
    const auto c = static_cast<Comparison>(i.flags & 7U);
    return compared(c, operand(program, input, (i.flags >> 3U) & 3U, i.a),
                    operand(program, input, (i.flags >> 5U) & 3U, i.b));
}

Value unary(const Program& program, const EvalInput& input, const Instruction& i,
            const Value& v) noexcept {
    switch (i.op) {
        case Op::kNot:
            return known(v) ? Value::of_bool(!v.boolean) : v;
        case Op::kRound:
            return rounded(v);
        case Op::kIsUnknown:
            return v.is_error() ? v : Value::of_bool(v.is_unknown());
        case Op::kLength:
            return length_of(v);
        case Op::kInSet:
            return known(v) ? Value::of_bool(std::binary_search(program.sets[i.b].begin(),
                                                                program.sets[i.b].end(), v.key))
                            : v;
        case Op::kInList:
            if (!known(v)) {
                return v;
            }
            return input.lists == nullptr
                       ? Value::unknown()
                       : Value::of_bool(input.lists->at(i.b).contains(v.key, input.now));
        case Op::kMatches:
            return matched(*program.patterns[i.b], v);
        default:
            return signed_value(i.op, v);
    }
}

Value binary(const Instruction& i, const Value& a, const Value& b) noexcept {
    switch (i.op) {
        case Op::kAnd:
            return conjunction(a, b);
        case Op::kOr:
            return disjunction(a, b);
        case Op::kCompare:
            return compared(static_cast<Comparison>(i.flags), a, b);
        case Op::kMin:
        case Op::kMax:
            return extreme(i.op == Op::kMax, a, b);
        case Op::kStartsWith:
        case Op::kEndsWith:
        case Op::kContains:
            return text_test(i.op, a, b);
        default:
            return arithmetic(i.op, static_cast<ValueKind>(i.flags), a, b);
    }
}

Value ternary(Op op, const Value& x, const Value& low, const Value& high) noexcept {
    if (op == Op::kClockBetween) {
        return clock_between(x, low, high);
    }
    return conjunction(compared(Comparison::kGreaterEqual, x, low),
                       compared(Comparison::kLessEqual, x, high));
}

}  // namespace

Value evaluate(const Program& program, const EvalInput& input) noexcept {
    Stack stack;
    Value* next = stack.items.data();  // one past the top
    const std::size_t size = program.code.size();
    for (std::size_t pc = 0; pc < size; ++pc) {
        const Instruction& i = program.code[pc];
        if (i.op <= Op::kCompareDirect) {
            *next++ = pushed(program, input, i);
        } else if (i.op >= Op::kJumpIfFalse) {
            const Value& top = next[-1];
            if (top.kind == ValueKind::kBool && top.boolean == (i.op == Op::kJumpIfTrue)) {
                pc = i.b - 1;
            }
        } else if (i.op >= Op::kNot) {
            next[-1] = unary(program, input, i, next[-1]);
        } else if (i.op >= Op::kBetween) {
            next -= 2;
            next[-1] = ternary(i.op, next[-1], next[0], next[1]);
        } else {
            --next;
            next[-1] = binary(i, next[-1], next[0]);
        }
    }
    TG_DCHECK(next == stack.items.data() + 1, "a program leaves one value");
    return next[-1];
}

}  // namespace tollgate
