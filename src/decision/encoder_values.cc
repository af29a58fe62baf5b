// Numbers become floats here and nowhere else in this room: a model's input is no ledger.
#include "decision/encoder_values.h"

#include <cmath>

#include "decision/key_log.h"
#include "decision/windows.h"

namespace tollgate {

TemplateValue template_value(const Value& value, int digits) {
    switch (value.kind) {
        case ValueKind::kUnknown:
        case ValueKind::kError:
            return TemplateValue::none();
        case ValueKind::kBool:
            return TemplateValue::boolean(value.boolean);
        case ValueKind::kNumber:
            return value.number.den == 1 && value.number.num >= INT64_MIN &&
                           value.number.num <= INT64_MAX
                       ? TemplateValue::integer(static_cast<std::int64_t>(value.number.num))
                       : TemplateValue::real(to_double(value.number));
        case ValueKind::kMoney:
            return TemplateValue::real(to_double(value.number) / std::pow(10.0, digits));
        case ValueKind::kTime:
        case ValueKind::kDuration:
        case ValueKind::kTimeOfDay:
            return TemplateValue::real(to_double(value.number) * 1e-6);
        case ValueKind::kString:
            break;
    }
    std::string_view text = value.text;
    if (text.empty() && !string_key_text(value.key, text)) {
        return TemplateValue::none();
    }
    return TemplateValue::string(std::string(text));
}

std::vector<HistorySlot> history_slots(const WindowPlan& plan, Currency currency) {
    std::vector<HistorySlot> out;
    out.reserve(plan.layout.slots.size());
    for (const RowSlot& slot : plan.layout.slots) {
        const std::size_t sign = slot.name.find('@');
        std::string name = slot.name.substr(0, sign);
        int digits = digits_of(currency);
        if (name.starts_with("keep:")) {
            name = name.substr(5);
        }
        if (sign != std::string::npos) {
            const std::string code = slot.name.substr(sign + 1);
            const Result<Currency> of = currency_of(code);
            if (of && *of != currency) {
                digits = digits_of(*of);
                name += "_" + code;
            }
        }
        for (char& c : name) {
            c = c == '.' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
        out.push_back({.name = std::move(name), .slot = slot, .digits = digits});
    }
    return out;
}

TemplateValue history_row(std::span<const HistorySlot> slots, EventTime now,
                          const std::uint64_t* row, Label label) {
    TemplateValue::Map out;
    out.reserve(slots.size() + 2);
    const auto at = static_cast<std::int64_t>(row[kRowTime]);
    out.emplace_back("age_days",
                     TemplateValue::real(static_cast<double>(to_micros(now) - at) / 8.64e10));
    out.emplace_back("label",
                     label == Label::kNone
                         ? TemplateValue::none()
                         : TemplateValue::string(label == Label::kFraud ? "fraud" : "legit"));
    for (const HistorySlot& of : slots) {
        out.emplace_back(of.name, template_value(read_slot(of.slot, row), of.digits));
    }
    return TemplateValue::map(std::move(out));
}

TemplateValue blank_history_row(std::span<const HistorySlot> slots) {
    TemplateValue::Map out;
    out.reserve(slots.size() + 2);
    out.emplace_back("age_days", TemplateValue::none());
    out.emplace_back("label", TemplateValue::none());
    for (const HistorySlot& of : slots) {
        out.emplace_back(of.name, TemplateValue::none());
    }
    return TemplateValue::map(std::move(out));
}

void append_squeezed(std::string_view text, std::string& out) {
    const std::size_t begin = out.size();
    bool space = false;
    for (const char c : text) {
        if (c == ' ' || (c >= '\t' && c <= '\r')) {
            space = true;
            continue;
        }
        if (space && out.size() > begin) {
            out += ' ';
        }
        space = false;
        out += c;
    }
}

}  // namespace tollgate
