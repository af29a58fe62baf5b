// Type rules: strict, nothing converts; money keeps its currency; text is equal or not and has no
// order.
#include "decision/typecheck.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "decision/describe.h"
#include "decision/money.h"

namespace tollgate {
namespace {

constexpr std::array<std::string_view, 3> kEventTypes{"payment", "transfer", "credit_application"};
constexpr std::array<std::string_view, 2> kLabels{"fraud", "legit"};
constexpr std::size_t kMaxPattern = 512;
// A pattern's program is bounded so that even RE2's slow path over a 4,096-byte memo stays within 2
// ms.
constexpr int kMaxPatternProgram = 500;

std::string brief(const Expr& e) {
    std::string text = to_text(e);
    if (text.size() > 60) {
        text = "this expression";
    }
    return text;
}
std::string described(const Expr& e) {
    return brief(e) + " (" + type_name(e.type) + ")";
}
bool ordered(ValueKind kind) {
    return kind != ValueKind::kString && kind != ValueKind::kBool;
}
bool poisoned(const Expr& e) {
    return e.type.kind == ValueKind::kUnknown;
}
const Type kBool{ValueKind::kBool, {}};
const Type kNumber{ValueKind::kNumber, {}};
const Type kNone{};

// "write USD 50.00" for a number beside money, and the like.
std::string conversion_help(const Expr& wanted, const Expr& literal) {
    if (literal.kind != ExprKind::kLiteral) {
        return wanted.type.kind == ValueKind::kMoney && literal.type.kind == ValueKind::kNumber
                   ? "multiply a number with an amount, or divide two amounts"
                   : "";
    }
    if (wanted.type.kind == ValueKind::kMoney && literal.type.kind == ValueKind::kNumber) {
        const auto money = parse_money("amount", literal.text, wanted.type.currency);
        const std::string code(alpha3_of(wanted.type.currency));
        return money ? "write " + code + " " + to_text(*money)
                     : "write the amount as " + code + " and digits";
    }
    if (wanted.type.kind == ValueKind::kString) {
        return "put text in quotes: " + quoted(literal.text);
    }
    if (wanted.type.kind == ValueKind::kNumber && literal.type.kind == ValueKind::kString &&
        parse_number(literal.literal.text)) {
        return "write " + std::string(literal.literal.text) + " without quotes";
    }
    return "";
}

}  // namespace

std::string type_name(const Type& type) {
    switch (type.kind) {
        case ValueKind::kBool:
            return "true or false";
        case ValueKind::kNumber:
            return "a number";
        case ValueKind::kMoney:
            return "money in " + std::string(alpha3_of(type.currency));
        case ValueKind::kString:
            return "text";
        case ValueKind::kTime:
            return "a time";
        case ValueKind::kDuration:
            return "a duration";
        case ValueKind::kTimeOfDay:
            return "a time of day";
        case ValueKind::kUnknown:
        case ValueKind::kError:
            break;
    }
    return "nothing";
}

std::span<const std::string_view> choices_of(const Expr& subject) {
    if (subject.kind == ExprKind::kLabel) {
        return kLabels;
    }
    const bool field = subject.kind == ExprKind::kField || subject.kind == ExprKind::kSlot;
    if (field && (subject.text == "event_type" || subject.text == "current.event_type")) {
        return kEventTypes;
    }
    return {};
}

std::string pattern_fault(std::string_view pattern) {
    if (pattern.size() > kMaxPattern) {
        return "the pattern has " + std::to_string(pattern.size()) +
               " bytes; at most 512 are allowed";
    }
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(std::int64_t{1} << 20U);
    const re2::RE2 compiled(re2::StringPiece(pattern.data(), pattern.size()), options);
    if (!compiled.ok()) {
        return "the pattern is not allowed: " + compiled.error();
    }
    if (compiled.ProgramSize() > kMaxPatternProgram) {
        return "the pattern is too large: " + std::to_string(compiled.ProgramSize()) +
               " steps, at most 500 are allowed";
    }
    return "";
}

Type TypeChecker::fault(const Expr& at, std::string code, std::string message, std::string help) {
    report_.error(at.span, {std::move(code), std::move(message), std::move(help)});
    return {};
}

bool TypeChecker::check_condition(Expr& e) {
    const Type type = check(e);
    if (type.kind == ValueKind::kUnknown) {
        return false;
    }
    if (type.kind != ValueKind::kBool) {
        (void)fault(e, "type", "a condition must be true or false; " + described(e) + " is not");
        return false;
    }
    return true;
}

Type TypeChecker::check(Expr& e) {
    if (e.kind == ExprKind::kLiteral) {
        e.type = check_literal(e);
        return e.type;
    }
    if (e.kind == ExprKind::kName) {
        e.type = name(e);
    } else {
        take_label_words(e);
        for (const ExprPtr& arg : e.args) {
            (void)check(*arg);
        }
    }
    std::uint16_t below = 0;
    for (const ExprPtr& arg : e.args) {
        below = std::max(below, arg->depth);
    }
    e.depth = static_cast<std::uint16_t>(below + 1);
    if (e.depth > context_.max_depth) {
        e.type = fault(
            e, "too-deep",
            "the expression is nested more than " + std::to_string(context_.max_depth) + " deep");
        return e.type;
    }
    switch (e.kind) {
        case ExprKind::kNot:
        case ExprKind::kAnd:
        case ExprKind::kOr:
            return e.type = logic(e);
        case ExprKind::kCompare:
            return e.type = comparison(e);
        case ExprKind::kBetween:
            return e.type = between(e);
        case ExprKind::kInSet:
            return e.type = in_set(e);
        case ExprKind::kInList:
            return e.type = in_list(e);
        case ExprKind::kArith:
        case ExprKind::kNegate:
            return e.type = arithmetic(e);
        case ExprKind::kCall:
            return e.type = call(e);
        default:
            return e.type;
    }
}

// `label = fraud`: the two words stand for texts beside the label.
void TypeChecker::take_label_words(Expr& e) {
    if (e.kind != ExprKind::kCompare || context_.place != Context::Place::kWhere) {
        return;
    }
    for (std::size_t i = 0; i < 2; ++i) {
        Expr& word = *e.args[i];
        const Expr& other = *e.args[1 - i];
        const bool is_label = other.kind == ExprKind::kName && other.text == "label";
        if (is_label && word.kind == ExprKind::kName &&
            std::find(kLabels.begin(), kLabels.end(), word.text) != kLabels.end()) {
            word.kind = ExprKind::kLiteral;
            word.string = std::make_unique<std::string>(word.text);
            word.literal = Value::of_string(*word.string);
            word.type.kind = ValueKind::kString;
        }
    }
}

Type TypeChecker::logic(Expr& e) {
    bool good = true;
    for (const ExprPtr& arg : e.args) {
        if (!poisoned(*arg) && arg->type.kind != ValueKind::kBool) {
            (void)fault(*arg, "type",
                        std::string("\"") +
                            (e.kind == ExprKind::kNot   ? "not"
                             : e.kind == ExprKind::kAnd ? "and"
                                                        : "or") +
                            "\" joins conditions; " + described(*arg) + " is not one");
            good = false;
        }
        good = good && !poisoned(*arg);
    }
    return good ? kBool : kNone;
}

// Reports when the two cannot be compared.
bool TypeChecker::comparable(const Expr& left, const Expr& right) {
    if (poisoned(left) || poisoned(right)) {
        return false;
    }
    if (left.type == right.type) {
        return known_choice(left, right) && known_choice(right, left);
    }
    const bool left_literal = left.kind == ExprKind::kLiteral;
    const Expr& literal = left_literal ? left : right;
    const Expr& other = left_literal ? right : left;
    (void)fault(literal, "type", "cannot compare " + described(left) + " with " + described(right),
                conversion_help(other, literal));
    return false;
}

bool TypeChecker::known_choice(const Expr& subject, const Expr& value) {
    const auto choices = choices_of(subject);
    if (choices.empty() || value.kind != ExprKind::kLiteral ||
        std::find(choices.begin(), choices.end(), value.literal.text) != choices.end()) {
        return true;
    }
    std::string all;
    for (const std::string_view choice : choices) {
        all += (all.empty() ? "" : ", ") + std::string(choice);
    }
    const std::string_view near = nearest_name(value.literal.text, choices);
    (void)fault(value, "never-true",
                brief(subject) + " is never " + value.text + "; it is one of " + all,
                near.empty() ? "" : "did you mean " + quoted(near) + "?");
    return false;
}

Type TypeChecker::comparison(Expr& e) {
    if (!comparable(*e.args[0], *e.args[1])) {
        return kNone;
    }
    const bool equality = e.compare == Comparison::kEqual || e.compare == Comparison::kNotEqual;
    if (!equality && !ordered(e.args[0]->type.kind)) {
        return fault(e, "type", described(*e.args[0]) + " has no order; only = and <> apply");
    }
    return kBool;
}

Type TypeChecker::between(Expr& e) {
    const bool low = comparable(*e.args[0], *e.args[1]);
    const bool high = comparable(*e.args[0], *e.args[2]);
    if (!low || !high) {
        return kNone;
    }
    if (!ordered(e.args[0]->type.kind)) {
        return fault(e, "type",
                     described(*e.args[0]) + " has no order; \"between\" does not apply");
    }
    return kBool;
}

Type TypeChecker::in_set(Expr& e) {
    bool good = !poisoned(*e.args[0]);
    for (std::size_t i = 1; i < e.args.size(); ++i) {
        good = comparable(*e.args[0], *e.args[i]) && good;
    }
    return good ? kBool : kNone;
}

Type TypeChecker::in_list(Expr& e) {
    const auto list = symbols_.lists.find(e.text);
    if (!list) {
        if (std::find(symbols_.broken.begin(), symbols_.broken.end(), e.text) !=
            symbols_.broken.end()) {
            return kNone;
        }
        const auto known = symbols_.lists.names();
        const std::string_view near = nearest_name(e.text, known);
        return fault(e, "unknown-list", "there is no list @" + e.text,
                     near.empty() ? "" : "did you mean @" + std::string(near) + "?");
    }
    symbols_.list_used[*list] = true;
    e.ref = static_cast<std::uint32_t>(*list);
    const Expr& subject = *e.args[0];
    if (poisoned(subject)) {
        return kNone;
    }
    if (subject.type.kind != ValueKind::kString) {
        return fault(subject, "type", "a list holds text; " + described(subject) + " is not");
    }
    const std::string& key = symbols_.lists.at(*list).key_field;
    if (subject.text != key && subject.text != "current." + key) {
        report_.warning(e.span, {"list-key",
                                 "the list @" + e.text + " holds " + key +
                                     ", here it is asked for " + brief(subject),
                                 ""});
    }
    return kBool;
}

Type TypeChecker::arithmetic(Expr& e) {
    const Type a = e.args[0]->type;
    if (e.kind == ExprKind::kNegate) {
        if (a.kind == ValueKind::kNumber || a.kind == ValueKind::kMoney || poisoned(*e.args[0])) {
            return a;
        }
        return fault(e, "type", described(*e.args[0]) + " has no negative");
    }
    if (poisoned(*e.args[0]) || poisoned(*e.args[1])) {
        return kNone;
    }
    const Type b = e.args[1]->type;
    const bool sum = e.sign == '+' || e.sign == '-';
    const bool countable = a.kind == ValueKind::kNumber || a.kind == ValueKind::kMoney;
    if (e.sign == '/' && e.args[1]->kind == ExprKind::kLiteral &&
        e.args[1]->literal.number.num == 0) {
        return fault(e, "division", "division by zero");
    }
    if (a == b && countable && (sum || a.kind == ValueKind::kNumber)) {
        return a;
    }
    if (e.sign == '/' && a == b && a.kind == ValueKind::kMoney) {
        return kNumber;
    }
    if (a.kind == ValueKind::kMoney && b == kNumber && !sum) {
        return a;
    }
    if (e.sign == '*' && a == kNumber && b.kind == ValueKind::kMoney) {
        return b;
    }
    if (e.sign == '-' && a.kind == ValueKind::kTime && b == a) {
        return {ValueKind::kDuration, {}};
    }
    if (sum && a.kind == ValueKind::kTime && b.kind == ValueKind::kDuration) {
        return a;
    }
    const bool left_literal = e.args[0]->kind == ExprKind::kLiteral;
    return fault(
        e, "type",
        "cannot compute " + described(*e.args[0]) + " " + e.sign + " " + described(*e.args[1]),
        sum ? conversion_help(*e.args[left_literal ? 1 : 0], *e.args[left_literal ? 0 : 1]) : "");
}

Type TypeChecker::call(Expr& e) {
    const bool many = e.call == Call::kMin || e.call == Call::kMax;
    const bool pair = e.call >= Call::kStartsWith && e.call <= Call::kMatches;
    const std::size_t least = many || pair ? 2 : 1;
    const std::size_t most = many ? 8 : least;
    if (e.args.size() < least || e.args.size() > most) {
        return fault(e, "arguments",
                     std::string(to_text(e.call)) + " takes " +
                         (many   ? "2 to 8 values"
                          : pair ? "2 values"
                                 : "1 value") +
                         ", not " + std::to_string(e.args.size()));
    }
    if (std::any_of(e.args.begin(), e.args.end(), [](const ExprPtr& a) { return poisoned(*a); })) {
        return kNone;
    }
    const Expr& first = *e.args[0];
    switch (e.call) {
        case Call::kIsMissing:
            if (first.kind != ExprKind::kField && first.kind != ExprKind::kSlot) {
                return fault(first, "type",
                             "is_missing asks about a field; " + brief(first) + " is none",
                             "use is_unknown(" + brief(first) + ")");
            }
            return kBool;
        case Call::kIsUnknown:
            return kBool;
        case Call::kAbs:
            if (first.type.kind == ValueKind::kNumber || first.type.kind == ValueKind::kMoney ||
                first.type.kind == ValueKind::kDuration) {
                return first.type;
            }
            return fault(first, "type",
                         "abs takes a number, money or a duration, not " + described(first));
        case Call::kMin:
        case Call::kMax:
            return extreme_call(e);
        default:
            return text_call(e);
    }
}

Type TypeChecker::extreme_call(Expr& e) {
    for (std::size_t i = 1; i < e.args.size(); ++i) {
        if (!comparable(*e.args[0], *e.args[i])) {
            return kNone;
        }
    }
    if (!ordered(e.args[0]->type.kind)) {
        return fault(e, "type",
                     std::string(to_text(e.call)) + " needs values with an order, not " +
                         described(*e.args[0]));
    }
    return e.args[0]->type;
}

Type TypeChecker::text_call(Expr& e) {
    for (const ExprPtr& arg : e.args) {
        if (arg->type.kind != ValueKind::kString) {
            return fault(*arg, "type",
                         std::string(to_text(e.call)) + " takes text, not " + described(*arg));
        }
    }
    if (e.call == Call::kMatches) {
        const Expr& pattern = *e.args[1];
        if (pattern.kind != ExprKind::kLiteral) {
            return fault(pattern, "pattern", "the pattern must be written out in quotes");
        }
        const std::string why = pattern_fault(pattern.literal.text);
        if (!why.empty()) {
            return fault(pattern, "pattern", why);
        }
    }
    return e.call == Call::kLength ? kNumber : kBool;
}

}  // namespace tollgate
