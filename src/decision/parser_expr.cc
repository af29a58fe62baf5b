// Pratt parser of expressions. Bindings: or 1, and 2, not 3, comparison 4, + and - 5, * and / 6,
// unary minus 7.
#include <algorithm>
#include <array>
#include <utility>

#include "decision/describe.h"
#include "decision/money.h"
#include "decision/parser.h"

namespace tollgate {
namespace {

constexpr std::size_t kMaxArguments = 1000;
constexpr std::array<std::string_view, 24> kReserved{
    "and",  "or",     "not",       "in",        "between", "if",    "where",  "else",
    "over", "last",   "delayed",   "excluding", "by",      "rule",  "window", "keep",
    "list", "reason", "including", "ruleset",   "shadow",  "owner", "hard",   "severity"};

bool is_currency_code(std::string_view text) {
    return text.size() == 3 &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::optional<Comparison> comparison_of(const Token& token) {
    if (token.kind != TokenKind::kSign) {
        return std::nullopt;
    }
    for (int i = 0; i < 6; ++i) {
        const auto c = static_cast<Comparison>(i);
        if (to_text(c) == token.text) {
            return c;
        }
    }
    return std::nullopt;
}

}  // namespace

std::string shown(const Token& token) {
    if (token.kind == TokenKind::kEnd) {
        return "the end of the file";
    }
    return token.kind == TokenKind::kString ? "the string " + short_quote(token.text)
                                            : short_quote(token.text);
}

const Token& ExprParser::peek(std::size_t ahead) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}
bool ExprParser::is_sign(std::string_view sign) const {
    return peek().kind == TokenKind::kSign && peek().text == sign;
}
bool ExprParser::is_word(std::string_view word) const {
    return peek().kind == TokenKind::kName && peek().text == word;
}

ExprPtr ExprParser::fail(const Token& at, std::string message, std::string suggestion) {
    if (at.kind != TokenKind::kBad) {  // that one is reported already
        report_.error(at.span, {"syntax", std::move(message), std::move(suggestion)});
    }
    return nullptr;
}

bool ExprParser::expect(std::string_view sign, std::string_view where) {
    if (is_sign(sign)) {
        ++at_;
        return true;
    }
    (void)fail(peek(), "expected \"" + std::string(sign) + "\" " + std::string(where) + ", found " +
                           shown(peek()));
    return false;
}

ExprPtr ExprParser::node(ExprKind kind, SourceSpan from) {
    auto e = std::make_unique<Expr>();
    e->kind = kind;
    e->span = from;
    return e;
}

// Sets span and depth from what was read; null when the tree grew too deep.
ExprPtr ExprParser::finish(ExprPtr expr) {
    std::uint16_t below = 0;
    for (const ExprPtr& arg : expr->args) {
        if (!arg) {
            return nullptr;
        }
        below = std::max(below, arg->depth);
    }
    expr->depth = static_cast<std::uint16_t>(below + 1);
    expr->span = joined(expr->span, tokens_[at_ - 1].span);
    if (expr->depth > max_depth_) {
        report_.error(expr->span,
                      {"too-deep",
                       "the expression is nested more than " + std::to_string(max_depth_) + " deep",
                       "split it over several rules or windows"});
        return nullptr;
    }
    return expr;
}

ExprPtr ExprParser::parse() {
    nesting_ = 0;
    return expression(1);
}

ExprPtr ExprParser::expression(int least) {
    if (++nesting_ > max_depth_) {
        report_.error(peek().span,
                      {"too-deep",
                       "the expression is nested more than " + std::to_string(max_depth_) + " deep",
                       "split it over several rules or windows"});
        return nullptr;
    }
    ExprPtr left = prefix(least);
    bool done = false;
    while (left && !done) {
        left = infix(std::move(left), least, done);
    }
    --nesting_;
    return left;
}

ExprPtr ExprParser::infix(ExprPtr left, int least, bool& done) {
    if (least <= 1 && is_word("or")) {
        return chain(std::move(left), ExprKind::kOr, "or", 2);
    }
    if (least <= 2 && is_word("and")) {
        return chain(std::move(left), ExprKind::kAnd, "and", 3);
    }
    if (least <= 4 && (comparison_of(peek()) || is_word("in") || is_word("between") ||
                       (is_word("not") && (peek(1).text == "in" || peek(1).text == "between")))) {
        ExprPtr e = negatable(std::move(left));
        if (e && (comparison_of(peek()) || is_word("in") || is_word("between"))) {
            return fail(peek(), "comparisons do not chain",
                        "write x >= a and x <= b, or x between a .. b");
        }
        return e;
    }
    const bool sum = is_sign("+") || is_sign("-");
    if ((least <= 5 && sum) || (least <= 6 && (is_sign("*") || is_sign("/")))) {
        ExprPtr e = node(ExprKind::kArith, left->span);
        e->sign = peek().text[0];
        ++at_;
        e->args.push_back(std::move(left));
        e->args.push_back(expression(sum ? 6 : 7));
        return finish(std::move(e));
    }
    done = true;
    return left;
}

ExprPtr ExprParser::chain(ExprPtr first, ExprKind kind, std::string_view word, int least) {
    ExprPtr e = node(kind, first->span);
    e->args.push_back(std::move(first));
    while (is_word(word)) {
        ++at_;
        e->args.push_back(expression(least));
        if (!e->args.back()) {
            return nullptr;
        }
    }
    return finish(std::move(e));
}

// x in, x not in, x between, x not between, x < y.
ExprPtr ExprParser::negatable(ExprPtr left) {
    if (comparison_of(peek())) {
        return comparison(std::move(left));
    }
    const SourceSpan from = left->span;
    const bool negated = is_word("not");
    if (negated) {
        ++at_;
    }
    ExprPtr e = is_word("in") ? membership(std::move(left)) : between(std::move(left));
    if (!e || !negated) {
        return e;
    }
    ExprPtr out = node(ExprKind::kNot, from);
    out->args.push_back(std::move(e));
    return finish(std::move(out));
}

ExprPtr ExprParser::comparison(ExprPtr left) {
    ExprPtr e = node(ExprKind::kCompare, left->span);
    e->compare = *comparison_of(peek());
    ++at_;
    e->args.push_back(std::move(left));
    e->args.push_back(expression(5));
    return finish(std::move(e));
}

ExprPtr ExprParser::between(ExprPtr left) {
    ExprPtr e = node(ExprKind::kBetween, left->span);
    ++at_;
    e->args.push_back(std::move(left));
    e->args.push_back(expression(5));
    if (!e->args.back() || !expect("..", "between the two ends of a range")) {
        return nullptr;
    }
    e->args.push_back(expression(5));
    return finish(std::move(e));
}

ExprPtr ExprParser::membership(ExprPtr left) {
    ExprPtr e = node(ExprKind::kInSet, left->span);
    ++at_;
    e->args.push_back(std::move(left));
    if (is_sign("@")) {
        ++at_;
        if (peek().kind != TokenKind::kName) {
            return fail(peek(), "expected a list's name after \"@\", found " + shown(peek()));
        }
        e->kind = ExprKind::kInList;
        e->text = peek().text;
        ++at_;
        return finish(std::move(e));
    }
    if (!expect("(", "or @list after \"in\"")) {
        return nullptr;
    }
    do {
        e->args.push_back(literal());
        if (!e->args.back() || e->args.size() > kMaxArguments) {
            return e->args.back() ? fail(peek(), "more than 999 values in a set", "use a list file")
                                  : nullptr;
        }
    } while (is_sign(",") && ++at_ != 0);
    return expect(")", "at the end of the set") ? finish(std::move(e)) : nullptr;
}

ExprPtr ExprParser::prefix(int least) {
    const Token& t = peek();
    if (t.kind == TokenKind::kName && t.text == "not") {
        if (least > 3) {
            return fail(t, "\"not\" needs parentheses here", "(not ...)");
        }
        ExprPtr e = node(ExprKind::kNot, t.span);
        ++at_;
        e->args.push_back(expression(3));
        return finish(std::move(e));
    }
    if (is_sign("(")) {
        ++at_;
        ExprPtr e = expression(1);
        return e && expect(")", "to close the parenthesis") ? std::move(e) : nullptr;
    }
    const Token& second = peek(1);
    if (is_sign("-") && second.kind != TokenKind::kNumber &&
        !(is_currency_code(second.text) && peek(2).kind == TokenKind::kNumber)) {
        ExprPtr e = node(ExprKind::kNegate, t.span);
        ++at_;
        e->args.push_back(expression(7));
        return finish(std::move(e));
    }
    const bool money = is_currency_code(t.text) && second.kind == TokenKind::kNumber;
    if (t.kind == TokenKind::kName && !money && t.text != "true" && t.text != "false") {
        return named();
    }
    return literal();
}

ExprPtr ExprParser::named() {
    const Token& t = peek();
    if (std::find(kReserved.begin(), kReserved.end(), t.text) != kReserved.end()) {
        return fail(t, "expected a value, found the word " + short_quote(t.text));
    }
    ++at_;
    if (is_sign("(")) {
        return call(t);
    }
    ExprPtr e = node(ExprKind::kName, t.span);
    e->text = t.text;
    return finish(std::move(e));
}

ExprPtr ExprParser::call(const Token& name) {
    const auto function = call_of(name.text);
    if (!function) {
        std::vector<std::string_view> known;
        known.reserve(10);
        for (int i = 0; i < 10; ++i) {
            known.push_back(to_text(static_cast<Call>(i)));
        }
        const std::string_view near = nearest_name(name.text, known);
        std::string help = near.empty() ? "" : "did you mean " + std::string(near) + "?";
        if (name.text == "count" || name.text == "sum" || name.text == "avg") {
            help = "declare a window and use its name";
        }
        report_.error(name.span,
                      {"unknown-function", "there is no function " + short_quote(name.text), help});
        return nullptr;
    }
    ExprPtr e = node(ExprKind::kCall, name.span);
    e->call = *function;
    ++at_;
    do {
        e->args.push_back(expression(1));
        if (!e->args.back() || e->args.size() > kMaxArguments) {
            return nullptr;
        }
    } while (is_sign(",") && ++at_ != 0);
    return expect(")", "after the arguments of " + name.text) ? finish(std::move(e)) : nullptr;
}

ExprPtr ExprParser::money(bool negative) {
    const Token& code = peek();
    const Token& digits = peek(1);
    const auto currency = currency_of(code.text);
    if (!currency) {
        report_.error(code.span, {"currency", currency.error().message, ""});
        return nullptr;
    }
    const auto value = parse_money(code.text, digits.text, *currency);
    if (!value) {
        report_.error(joined(code.span, digits.span), {"money", value.error().message, ""});
        return nullptr;
    }
    ExprPtr e = node(ExprKind::kLiteral, negative ? tokens_[at_ - 1].span : code.span);
    at_ += 2;
    const std::int64_t minor = negative ? -value->minor_units : value->minor_units;
    e->literal = Value::of_money({minor, 1});
    e->type = {ValueKind::kMoney, *currency};
    e->text = (negative ? "-" : "") + code.text + " " + to_text(*value);
    return finish(std::move(e));
}

ExprPtr ExprParser::number(bool negative) {
    const Token& t = peek();
    ExprPtr e = node(ExprKind::kLiteral, negative ? tokens_[at_ - 1].span : t.span);
    ++at_;
    e->literal = Value::of_number({negative ? -t.number.num : t.number.num, t.number.den});
    e->type.kind = ValueKind::kNumber;
    e->text = (negative ? "-" : "") + t.text;
    return finish(std::move(e));
}

ExprPtr ExprParser::literal() {
    const bool negative = is_sign("-");
    if (negative) {
        ++at_;
    }
    const Token& t = peek();
    if (is_currency_code(t.text) && peek(1).kind == TokenKind::kNumber) {
        return money(negative);
    }
    if (t.kind == TokenKind::kNumber) {
        return number(negative);
    }
    if (negative) {
        return fail(t, "expected a number after \"-\", found " + shown(t));
    }
    ExprPtr e = node(ExprKind::kLiteral, t.span);
    e->text = t.text;
    e->literal.number = t.number;
    switch (t.kind) {
        case TokenKind::kString:
            e->string = std::make_unique<std::string>(t.text);
            e->literal = Value::of_string(*e->string);
            e->text = quoted(t.text);
            e->type.kind = ValueKind::kString;
            break;
        case TokenKind::kDuration:
            e->literal.kind = e->type.kind = ValueKind::kDuration;
            break;
        case TokenKind::kClock:
            e->literal.kind = e->type.kind = ValueKind::kTimeOfDay;
            break;
        case TokenKind::kInstant:
            e->literal.kind = e->type.kind = ValueKind::kTime;
            break;
        case TokenKind::kDate:  // days, until the type checker knows the rule set's zone
            e->literal.kind = e->type.kind = ValueKind::kTime;
            e->ref = 1;
            break;
        default:
            if (t.kind == TokenKind::kName && (t.text == "true" || t.text == "false")) {
                e->literal = Value::of_bool(t.text == "true");
                e->type.kind = ValueKind::kBool;
                break;
            }
            return fail(t, "expected a value, found " + shown(t),
                        t.kind == TokenKind::kName ? "put text in quotes: " + quoted(t.text) : "");
    }
    ++at_;
    return finish(std::move(e));
}

}  // namespace tollgate
