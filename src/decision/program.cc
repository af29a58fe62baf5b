// The evaluator: one loop over flat code on a fixed stack. Errors beat unknown; false and true
// decide `and` and `or` whatever the other side is.
#include "decision/program.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <compare>

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

// The outcome of a test. Steps write it into a value's first two bytes: whole values built beside
// the stack and copied cost more than all the comparing (16-byte loads of freshly written 8-byte
// parts stall).
struct Truth {
    ValueKind kind = ValueKind::kBool;
    bool boolean = false;
};
Truth truth_of(bool b) noexcept {
    return {ValueKind::kBool, b};
}
Truth truth_of(const Value& v) noexcept {
    return {v.kind, v.boolean};
}
void put(Value& out, Truth truth) noexcept {
    out.kind = truth.kind;
    out.boolean = truth.boolean;
}
bool known(ValueKind kind) noexcept {
    return kind > ValueKind::kError;
}
bool known(const Value& v) noexcept {
    return known(v.kind);
}
Truth missing(ValueKind a, ValueKind b) noexcept {
    return {
        a == ValueKind::kError || b == ValueKind::kError ? ValueKind::kError : ValueKind::kUnknown,
        false};
}
Truth missing(const Value& a, const Value& b) noexcept {
    return missing(a.kind, b.kind);
}

std::strong_ordering order(const Number& a, const Number& b) noexcept {
    return a.den == b.den ? a.num <=> b.num : compare(a, b);
}

bool holds(Comparison c, std::strong_ordering o) noexcept {
    switch (c) {
        case Comparison::kEqual:
            return std::is_eq(o);
        case Comparison::kNotEqual:
            return std::is_neq(o);
        case Comparison::kLess:
            return std::is_lt(o);
        case Comparison::kLessEqual:
            return std::is_lteq(o);
        case Comparison::kGreater:
            return std::is_gt(o);
        case Comparison::kGreaterEqual:
            return std::is_gteq(o);
    }
    return false;
}

Truth compared(Comparison c, const Value& a, const Value& b) noexcept {
    if (!known(a) || !known(b)) {
        return missing(a, b);
    }
    if (a.kind == ValueKind::kString) {
        return truth_of((a.key == b.key) == (c == Comparison::kEqual));
    }
    if (a.kind == ValueKind::kBool) {
        return truth_of((a.boolean == b.boolean) == (c == Comparison::kEqual));
    }
    return truth_of(holds(c, order(a.number, b.number)));
}

// `decisive` false is "and", true is "or".
Truth joined(bool decisive, Truth a, Truth b) noexcept {
    if ((a.kind == ValueKind::kBool && a.boolean == decisive) ||
        (b.kind == ValueKind::kBool && b.boolean == decisive)) {
        return truth_of(decisive);
    }
    return known(a.kind) && known(b.kind) ? truth_of(!decisive) : missing(a.kind, b.kind);
}

void arithmetic(Op op, ValueKind kind, Value& a, const Value& b) noexcept {
    if (!known(a) || !known(b)) {
        return put(a, missing(a, b));
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
    a.kind = out ? kind : ValueKind::kError;
    a.number = out.value_or(Number{});
}

void extreme(bool want_larger, Value& a, const Value& b) noexcept {
    if (!known(a) || !known(b)) {
        return put(a, missing(a, b));
    }
    const auto o = order(b.number, a.number);
    if (want_larger ? std::is_gt(o) : std::is_lt(o)) {
        a = b;
    }
}

// The text of a string value, when it is at hand: strings of stored events over 15 bytes are not.
bool text_of(const Value& v, std::string_view& out) noexcept {
    out = v.text;
    return !out.empty() || string_key_text(v.key, out);
}

Truth text_test(Op op, const Value& a, const Value& b) noexcept {
    if (!known(a) || !known(b)) {
        return missing(a, b);
    }
    std::string_view text;
    std::string_view part;
    if (!text_of(a, text) || !text_of(b, part)) {
        return {ValueKind::kUnknown, false};
    }
    if (op == Op::kStartsWith) {
        return truth_of(text.starts_with(part));
    }
    return truth_of(op == Op::kEndsWith ? text.ends_with(part)
                                        : text.find(part) != std::string_view::npos);
}

void length_of(Value& v) noexcept {
    std::string_view text;
    if (!known(v)) {
        return;
    }
    if (!text_of(v, text)) {
        v.kind = ValueKind::kUnknown;
        return;
    }
    const auto count = std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned>(c) & 0xC0U) != 0x80U;  // bytes that start a character
    });
    v.kind = ValueKind::kNumber;
    v.number = {count, 1};
}

Truth matched(const re2::RE2& pattern, const Value& v) noexcept {
    std::string_view text;
    if (!text_of(v, text)) {
        return {ValueKind::kUnknown, false};
    }
    return truth_of(re2::RE2::PartialMatch({text.data(), text.size()}, pattern));
}

Truth clock_between(const Value& x, const Value& low, const Value& high) noexcept {
    if (!known(x) || !known(low) || !known(high)) {
        return high.is_error() ? Truth{ValueKind::kError, false} : missing(x, low);
    }
    const bool after = std::is_gteq(order(x.number, low.number));
    const bool before = std::is_lteq(order(x.number, high.number));
    const bool wraps = std::is_gt(order(low.number, high.number));
    return truth_of(wraps ? after || before : after && before);
}

void make_signed(Op op, Value& v) noexcept {
    if (!known(v) || (op == Op::kAbs && v.number.num >= 0)) {
        return;
    }
    const auto negated = subtract({0, 1}, v.number);
    v.kind = negated ? v.kind : ValueKind::kError;
    v.number = negated.value_or(Number{});
}

void make_rounded(Value& v) noexcept {
    const auto micro = known(v) ? to_scaled(v.number, 6) : std::nullopt;
    // The smallest value is the mark for unknown in stored rows.
    const bool fits = micro && *micro != INT64_MIN;
    v.kind = fits ? ValueKind::kNumber : ValueKind::kUnknown;
    v.number = {fits ? *micro : 0, kMicro};
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

const Value& label_of(const Program& program, const EvalInput& input, std::uint32_t base) noexcept {
    if (input.row_label == Label::kNone) {
        return kNoValue;
    }
    return program.constants[base + (input.row_label == Label::kLegit ? 1U : 0U)];
}

void push(const Program& program, const EvalInput& input, const Instruction& i,
          Value& out) noexcept {
    switch (i.op) {
        case Op::kConst:
            out = program.constants[i.b];
            return;
        case Op::kField:
            out = at(input.fields, i.b);
            return;
        case Op::kWindow:
            out = at(input.windows, i.b);
            return;
        case Op::kSlot:
            out = input.row == nullptr ? kNoValue : read_slot(input.layout->slots[i.b], input.row);
            return;
        case Op::kLabel:
            out = label_of(program, input, i.b);
            return;
        default:
            break;
    }
    const auto c = static_cast<Comparison>(i.flags & 7U);
    put(out, compared(c, operand(program, input, (i.flags >> 3U) & 3U, i.a),
                      operand(program, input, (i.flags >> 5U) & 3U, i.b)));
}

void unary(const Program& program, const EvalInput& input, const Instruction& i,
           Value& v) noexcept {
    switch (i.op) {
        case Op::kNot:
            v.boolean = !v.boolean;
            return;
        case Op::kRound:
            return make_rounded(v);
        case Op::kIsUnknown:
            return v.is_error() ? void() : put(v, truth_of(v.is_unknown()));
        case Op::kLength:
            return length_of(v);
        case Op::kNegate:
        case Op::kAbs:
            return make_signed(i.op, v);
        default:
            break;
    }
    if (!known(v)) {
        return;
    }
    if (i.op == Op::kMatches) {
        return put(v, matched(*program.patterns[i.b], v));
    }
    if (i.op == Op::kInSet) {
        const auto& set = program.sets[i.b];
        return put(v, truth_of(std::binary_search(set.begin(), set.end(), v.key)));
    }
    if (input.lists == nullptr) {
        v.kind = ValueKind::kUnknown;
        return;
    }
    put(v, truth_of(input.lists->at(i.b).contains(v.key, input.now)));
}

void binary(const Instruction& i, Value& a, const Value& b) noexcept {
    switch (i.op) {
        case Op::kAnd:
        case Op::kOr:
            return put(a, joined(i.op == Op::kOr, truth_of(a), truth_of(b)));
        case Op::kCompare:
            return put(a, compared(static_cast<Comparison>(i.flags), a, b));
        case Op::kMin:
        case Op::kMax:
            return extreme(i.op == Op::kMax, a, b);
        case Op::kStartsWith:
        case Op::kEndsWith:
        case Op::kContains:
            return put(a, text_test(i.op, a, b));
        default:
            return arithmetic(i.op, static_cast<ValueKind>(i.flags), a, b);
    }
}

void ternary(Op op, Value& x, const Value& low, const Value& high) noexcept {
    put(x, op == Op::kClockBetween ? clock_between(x, low, high)
                                   : joined(false, compared(Comparison::kGreaterEqual, x, low),
                                            compared(Comparison::kLessEqual, x, high)));
}

}  // namespace

Value evaluate(const Program& program, const EvalInput& input) noexcept {
    Stack stack;
    Value* next = stack.items.data();  // one past the top
    const std::size_t size = program.code.size();
    for (std::size_t pc = 0; pc < size; ++pc) {
        const Instruction& i = program.code[pc];
        if (i.op <= Op::kCompareDirect) {
            push(program, input, i, *next++);
        } else if (i.op >= Op::kJumpIfFalse) {
            const Value& top = next[-1];
            if (top.kind == ValueKind::kBool && top.boolean == (i.op == Op::kJumpIfTrue)) {
                pc = i.b - 1;
            }
        } else if (i.op >= Op::kNot) {
            unary(program, input, i, next[-1]);
        } else if (i.op >= Op::kBetween) {
            next -= 2;
            ternary(i.op, next[-1], next[0], next[1]);
        } else {
            --next;
            binary(i, next[-1], next[0]);
        }
    }
    TG_DCHECK(next == stack.items.data() + 1, "a program leaves one value");
    const Value& top = next[-1];
    // A test wrote two bytes only: what else lies in its place is of no one's concern.
    return top.kind == ValueKind::kBool      ? Value::of_bool(top.boolean)
           : top.kind == ValueKind::kError   ? Value::error()
           : top.kind == ValueKind::kUnknown ? Value::unknown()
                                             : top;
}

}  // namespace tollgate
