// Arithmetic of one rendering: Python's rules, 64-bit integers, nothing that wraps or grows without
// bound.
#include <cmath>

#include "text/template_format.h"
#include "text/template_interpreter.h"

namespace tollgate::jinja {

using Kind = TemplateValue::Kind;

namespace {

bool whole_number(const TemplateValue& value, std::int64_t& out) {
    if (value.is(Kind::kInteger)) {
        out = value.integer();
        return true;
    }
    if (value.is(Kind::kBool)) {
        out = value.boolean() ? 1 : 0;
        return true;
    }
    return false;
}

std::string no_meaning(std::string_view what, const TemplateValue& a, const TemplateValue& b) {
    return std::string(what) + " has no meaning for " + std::string(kind_name(a)) + " and " +
           std::string(kind_name(b));
}

constexpr const char* kTooWide = "a number does not fit 64 bits";

}  // namespace

TemplateValue Interpreter::arithmetic(const Expr& expr) {
    const TemplateValue a = eval(expr.kids[0]);
    const TemplateValue b = eval(expr.kids[1]);
    line_ = expr.line;
    if (failed_) {
        return {};
    }
    std::int64_t x = 0;
    std::int64_t y = 0;
    double p = 0.0;
    double q = 0.0;
    switch (expr.op) {
        case Op::kAdd:
            return add(a, b);
        case Op::kSubtract:
            if (whole_number(a, x) && whole_number(b, y)) {
                return __builtin_sub_overflow(x, y, &x) ? fail(kTooWide)
                                                        : TemplateValue::integer(x);
            }
            return a.to_number(p) && b.to_number(q) ? TemplateValue::real(p - q)
                                                    : fail(no_meaning("-", a, b));
        case Op::kMultiply:
            return multiply(a, b);
        case Op::kPower:
            return power(a, b);
        case Op::kModulo:
            if (a.is(Kind::kString)) {
                const std::vector<TemplateValue> one{b};
                return take(format_text(a.string(),
                                        b.is(Kind::kList) ? std::span<const TemplateValue>(b.list())
                                                          : std::span<const TemplateValue>(one),
                                        budget_));
            }
            return divide(expr.op, a, b);
        default:
            return divide(expr.op, a, b);
    }
}

TemplateValue Interpreter::add(const TemplateValue& a, const TemplateValue& b) {
    std::int64_t x = 0;
    std::int64_t y = 0;
    double p = 0.0;
    double q = 0.0;
    if (whole_number(a, x) && whole_number(b, y)) {
        return __builtin_add_overflow(x, y, &x) ? fail(kTooWide) : TemplateValue::integer(x);
    }
    if (a.to_number(p) && b.to_number(q)) {
        return TemplateValue::real(p + q);
    }
    if (a.is(Kind::kString) && b.is(Kind::kString)) {
        const std::size_t size = a.string().size() + b.string().size();
        return fits(size) && spend(size / 64) ? TemplateValue::string(a.string() + b.string())
                                              : TemplateValue();
    }
    if (a.is(Kind::kList) && b.is(Kind::kList)) {
        if (!spend(a.list().size() + b.list().size())) {
            return {};
        }
        TemplateValue::List all = a.list();
        all.insert(all.end(), b.list().begin(), b.list().end());
        return TemplateValue::list(std::move(all));
    }
    return fail(no_meaning("+", a, b));
}

TemplateValue Interpreter::repeat(const TemplateValue& what, std::int64_t times) {
    const std::size_t size = what.is(Kind::kString) ? what.string().size() : what.list().size();
    const std::uint64_t count = times < 0 ? 0 : static_cast<std::uint64_t>(times);
    if (size != 0 && count > limits_.output_bytes / size) {
        return fail(Error{Fault::kTooLarge, "a repeated value would be too long"});
    }
    if (!spend(what.is(Kind::kString) ? size * count / 64 : size * count)) {
        return {};
    }
    if (what.is(Kind::kString)) {
        std::string text;
        text.reserve(size * count);
        for (std::uint64_t i = 0; size > 0 && i < count; ++i) {
            text += what.string();
        }
        return TemplateValue::string(std::move(text));
    }
    TemplateValue::List items;
    for (std::uint64_t i = 0; size > 0 && i < count; ++i) {
        items.insert(items.end(), what.list().begin(), what.list().end());
    }
    return TemplateValue::list(std::move(items));
}

TemplateValue Interpreter::multiply(const TemplateValue& a, const TemplateValue& b) {
    std::int64_t x = 0;
    std::int64_t y = 0;
    double p = 0.0;
    double q = 0.0;
    if (whole_number(a, x) && whole_number(b, y)) {
        return __builtin_mul_overflow(x, y, &x) ? fail(kTooWide) : TemplateValue::integer(x);
    }
    if (a.to_number(p) && b.to_number(q)) {
        return TemplateValue::real(p * q);
    }
    if ((a.is(Kind::kString) || a.is(Kind::kList)) && whole_number(b, y)) {
        return repeat(a, y);
    }
    if ((b.is(Kind::kString) || b.is(Kind::kList)) && whole_number(a, x)) {
        return repeat(b, x);
    }
    return fail(no_meaning("*", a, b));
}

// /, // and %: the quotient is rounded down, the remainder has the divisor's sign.
TemplateValue Interpreter::divide(Op op, const TemplateValue& a, const TemplateValue& b) {
    double p = 0.0;
    double q = 0.0;
    if (!a.to_number(p) || !b.to_number(q)) {
        return fail(no_meaning(op == Op::kModulo ? "%" : "/", a, b));
    }
    if (q == 0.0) {
        return fail("division by zero");
    }
    std::int64_t x = 0;
    std::int64_t y = 0;
    if (op != Op::kDivide && whole_number(a, x) && whole_number(b, y)) {
        if (y == -1) {
            return op == Op::kModulo ? TemplateValue::integer(0)
                   : x == INT64_MIN  ? fail(kTooWide)
                                     : TemplateValue::integer(-x);
        }
        const std::int64_t remainder = x % y;
        const bool down = remainder != 0 && (remainder < 0) != (y < 0);
        return TemplateValue::integer(op == Op::kModulo ? remainder + (down ? y : 0)
                                                        : x / y - (down ? 1 : 0));
    }
    if (op == Op::kDivide) {
        return TemplateValue::real(p / q);
    }
    double remainder = std::fmod(p, q);
    if (remainder != 0.0 && (remainder < 0.0) != (q < 0.0)) {
        remainder += q;
    }
    return TemplateValue::real(op == Op::kModulo ? remainder
                                                 : std::floor((p - remainder) / q + 0.5));
}

TemplateValue Interpreter::power(const TemplateValue& a, const TemplateValue& b) {
    std::int64_t x = 0;
    std::int64_t y = 0;
    double p = 0.0;
    double q = 0.0;
    if (whole_number(a, x) && whole_number(b, y) && y >= 0) {
        std::int64_t result = 1;
        for (; y > 0; y /= 2) {
            if (y % 2 != 0 && __builtin_mul_overflow(result, x, &result)) {
                return fail(kTooWide);
            }
            if (y > 1 && __builtin_mul_overflow(x, x, &x)) {
                return fail(kTooWide);
            }
        }
        return TemplateValue::integer(result);
    }
    if (!a.to_number(p) || !b.to_number(q)) {
        return fail(no_meaning("**", a, b));
    }
    const double result = std::pow(p, q);
    return std::isfinite(result) ? TemplateValue::real(result) : fail("a power is out of range");
}

}  // namespace tollgate::jinja
