// A rule as one plain sentence, for the console and for review by people who do not read the
// language.
#include <array>
#include <string>
#include <utility>

#include "decision/ast.h"
#include "decision/compile_pack.h"
#include "decision/rules.h"

namespace tollgate {
namespace {

// Field names as people say them.
std::string field_phrase(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kPhrases{{
        {"amount", "the amount"},
        {"amount.currency", "the amount's currency"},
        {"account_id", "the account"},
        {"account.limit", "the account's limit"},
        {"event_type", "the kind of event"},
        {"occurred_at", "the time of the event"},
        {"counterparty.id", "the counterparty"},
        {"counterparty.kind", "the counterparty's kind"},
        {"counterparty.category", "the counterparty's category"},
        {"counterparty.country", "the counterparty's country"},
        {"channel", "the channel"},
        {"device.id", "the device"},
        {"device.ip_country", "the country of the device's address"},
        {"memo", "the memo"},
        {"parent_id", "the parent event"},
        {"local_time", "the local time"},
        {"local_weekday", "the weekday (1 is Monday)"},
    }};
    for (const auto& [key, phrase] : kPhrases) {
        if (key == name) {
            return std::string(phrase);
        }
    }
    constexpr std::string_view kAttributes = "attributes.";
    std::string out(name.starts_with(kAttributes) ? name.substr(kAttributes.size()) : name);
    for (char& c : out) {
        c = c == '_' ? ' ' : c;
    }
    return "the " + out;
}

std::string span_phrase(Micros span) {
    constexpr std::array<std::pair<std::int64_t, std::string_view>, 4> kUnits{
        {{86'400, "day"}, {3'600, "hour"}, {60, "minute"}, {1, "second"}}};
    const std::int64_t seconds = span.count() / 1'000'000;
    for (const auto& [size, name] : kUnits) {
        if (seconds % size == 0) {
            const std::int64_t n = seconds / size;
            return std::to_string(n) + " " + std::string(name) + (n == 1 ? "" : "s");
        }
    }
    return "";
}

class Explainer {
  public:
    Explainer(const CompiledRules& rules, const FieldTable& fields)
        : rules_(rules), fields_(fields) {}

    std::string condition(const Expr& e, bool negated = false);
    std::string value(const Expr& e);
    std::string window(const WindowDef& w);

  private:
    std::string joined(const Expr& e, bool both, bool negated);
    std::string comparison(const Expr& e, bool negated);
    std::string test(const Expr& e, bool negated);
    std::string call_value(const Expr& e);
    std::string measured(const WindowDef& w);
    std::string keys(const KeySpec& key);

    const CompiledRules& rules_;
    const FieldTable& fields_;
};

std::string Explainer::joined(const Expr& e, bool both, bool negated) {
    std::string out;
    for (std::size_t i = 0; i < e.args.size(); ++i) {
        const Expr& part = *e.args[i];
        const bool nested = part.kind == ExprKind::kAnd || part.kind == ExprKind::kOr;
        if (i > 0) {
            out += both ? " and " : " or ";
        }
        out += nested ? "(" + condition(part, negated) + ")" : condition(part, negated);
    }
    return out;
}

std::string Explainer::condition(const Expr& e, bool negated) {
    switch (e.kind) {
        case ExprKind::kNot:
            return condition(*e.args[0], !negated);
        case ExprKind::kAnd:
        case ExprKind::kOr:
            return joined(e, (e.kind == ExprKind::kAnd) != negated, negated);
        case ExprKind::kCompare:
            return comparison(e, negated);
        case ExprKind::kBetween:
            return value(*e.args[0]) + (negated ? " is not between " : " is between ") +
                   value(*e.args[1]) + " and " + value(*e.args[2]);
        case ExprKind::kInList:
            return value(*e.args[0]) + (negated ? " is not" : " is") + " on the list \"" + e.text +
                   "\"";
        case ExprKind::kInSet: {
            std::string out = value(*e.args[0]) + (negated ? " is none of " : " is one of ");
            for (std::size_t i = 1; i < e.args.size(); ++i) {
                out += (i > 1 ? ", " : "") + value(*e.args[i]);
            }
            return out;
        }
        case ExprKind::kCall:
            return test(e, negated);
        case ExprKind::kLiteral:
            return e.literal.boolean == negated ? "never" : "always";
        default:
            return value(e) + (negated ? " is false" : " is true");
    }
}

std::string Explainer::comparison(const Expr& e, bool negated) {
    constexpr std::array<std::string_view, 6> kYes{" is ",         " is not ",   " is below ",
                                                   " is at most ", " is above ", " is at least "};
    constexpr std::array<std::string_view, 6> kNo{" is not ",   " is ",         " is at least ",
                                                  " is above ", " is at most ", " is below "};
    constexpr std::array<std::string_view, 6> kTime{
        " is ", " is not ", " is before ", " is at or before ", " is after ", " is at or after "};
    constexpr std::array<std::string_view, 6> kNoTime{
        " is not ", " is ", " is at or after ", " is after ", " is at or before ", " is before "};
    const auto index = static_cast<std::size_t>(e.compare);
    const ValueKind kind = e.args[0]->type.kind;
    const bool time = kind == ValueKind::kTime || kind == ValueKind::kTimeOfDay;
    const auto& words = time ? (negated ? kNoTime : kTime) : (negated ? kNo : kYes);
    return value(*e.args[0]) + std::string(words[index]) + value(*e.args[1]);
}

std::string Explainer::test(const Expr& e, bool negated) {
    const std::string first = value(*e.args[0]);
    switch (e.call) {
        case Call::kIsMissing:
            return first + (negated ? " is given" : " is missing");
        case Call::kIsUnknown:
            return first + (negated ? " is known" : " is unknown");
        case Call::kStartsWith:
            return first + (negated ? " does not begin with " : " begins with ") +
                   value(*e.args[1]);
        case Call::kEndsWith:
            return first + (negated ? " does not end with " : " ends with ") + value(*e.args[1]);
        case Call::kContains:
            return first + (negated ? " does not contain " : " contains ") + value(*e.args[1]);
        default:
            return first + (negated ? " does not match the pattern " : " matches the pattern ") +
                   value(*e.args[1]);
    }
}

std::string Explainer::call_value(const Expr& e) {
    if (e.call == Call::kLength) {
        return "the number of characters of " + value(*e.args[0]);
    }
    if (e.call == Call::kAbs) {
        return "the size (without sign) of " + value(*e.args[0]);
    }
    std::string out = e.call == Call::kMin ? "the smallest of " : "the largest of ";
    for (std::size_t i = 0; i < e.args.size(); ++i) {
        out += (i > 0 ? ", " : "") + value(*e.args[i]);
    }
    return out;
}

std::string Explainer::value(const Expr& e) {
    switch (e.kind) {
        case ExprKind::kField:
            return field_phrase(fields_.at(static_cast<FieldId>(e.ref)).name);
        case ExprKind::kWindow:
            return window(rules_.plan.windows[e.ref]);
        case ExprKind::kKept:
            return "\"" + e.text + "\" (" + value(*e.args[0]) + ")";
        case ExprKind::kNegate:
            return "minus " + value(*e.args[0]);
        case ExprKind::kArith: {
            const Expr& a = *e.args[0];
            const Expr& b = *e.args[1];
            if (e.sign == '-' && a.type.kind == ValueKind::kTime &&
                b.type.kind == ValueKind::kTime) {
                return "the time from " + value(b) + " to " + value(a);
            }
            const std::string_view word = e.sign == '+'   ? " plus "
                                          : e.sign == '-' ? " minus "
                                          : e.sign == '*' ? " times "
                                                          : " divided by ";
            return value(a) + std::string(word) + value(b);
        }
        case ExprKind::kCall:
            return e.type.kind == ValueKind::kBool ? condition(e) : call_value(e);
        case ExprKind::kLiteral:
            if (e.type.kind == ValueKind::kDuration) {
                return span_phrase(Micros{static_cast<std::int64_t>(e.literal.number.num)});
            }
            return e.text;
        default:
            return e.text.empty() ? "(" + condition(e) + ")" : e.text;
    }
}

std::string Explainer::keys(const KeySpec& key) {
    std::string out;
    for (std::size_t i = 0; i < key.fields.size(); ++i) {
        out += (i > 0 ? " and " : "") + field_phrase(fields_.at(key.fields[i]).name);
    }
    return out;
}

std::string Explainer::measured(const WindowDef& w) {
    std::string argument;
    if (w.slot) {
        const RowSlot& slot = rules_.plan.layout.slots[*w.slot];
        argument = slot.kind == RowSlot::Kind::kField
                       ? field_phrase(fields_.at(slot.field).name)
                       : "\"" + rules_.plan.keeps[slot.keep].name + "\"";
    }
    switch (w.fn) {
        case WindowFn::kCount:
            return "the number of events";
        case WindowFn::kSum:
            return "the total of " + argument + " over the events";
        case WindowFn::kAvg:
            return "the average of " + argument + " over the events";
        case WindowFn::kMin:
            return "the smallest value of " + argument + " among the events";
        case WindowFn::kMax:
            return "the largest value of " + argument + " among the events";
        case WindowFn::kMedian:
            return "the median of " + argument + " over the events";
        case WindowFn::kDistinct:
            return "the number of different values of " + argument + " among the events";
        case WindowFn::kLast:
            return "the latest value of " + argument + " among the events";
        case WindowFn::kRun:
            return "the number of latest events in a row with the same value of " + argument +
                   " among the events";
        case WindowFn::kShare:
            return w.share_of == Label::kFraud ? "the share known as fraud among the events"
                                               : "the share known as legitimate among the events";
        case WindowFn::kFirstSeen:
            return "the time of the first event";
        case WindowFn::kLastSeen:
            return "the time of the latest event";
    }
    return "";
}

std::string Explainer::window(const WindowDef& w) {
    const KeySpec& key = rules_.plan.keys[static_cast<std::size_t>(w.key)];
    std::string out = measured(w) + " of " + keys(key);
    std::string notes;
    if (w.last_n > 0) {
        out += " among the last " + std::to_string(w.last_n);
    } else {
        std::string span = span_phrase(w.span);
        if (span.starts_with("1 ")) {
            span.erase(0, 2);
        }
        out += (w.delay.count() > 0 ? " in the " : " in the last ") + span;
    }
    if (w.delay.count() > 0) {
        out += " that ended " + span_phrase(w.delay) + " ago";
    } else {
        notes = w.include_current ? "with this one" : "without this one";
    }
    const auto index = static_cast<std::size_t>(&w - rules_.plan.windows.data());
    if (w.where) {
        notes += (notes.empty() ? "only those where " : "; only those where ") +
                 rules_.window_conditions[index];
    }
    return notes.empty() ? out : out + " (" + notes + ")";
}

}  // namespace

std::string explain(const RuleDef& rule, const CompiledRules& rules, const FieldTable& fields) {
    constexpr std::array<std::string_view, 4> kVerbs{"Approves", "Asks for a further proof",
                                                     "Sends to review", "Declines"};
    std::string out;
    if (rule.mode == RuleMode::kFallback) {
        out = "While the model is not available: ";
    } else if (rule.mode == RuleMode::kShadow) {
        out = "Only watching, without effect: ";
    }
    out += std::string(kVerbs[static_cast<std::size_t>(rule.action)]) + " when " +
           Explainer(rules, fields).condition(*rule.tree);
    if (rule.hard) {
        out += "; this beats everything but a block";
    }
    return out + ".";
}

}  // namespace tollgate
