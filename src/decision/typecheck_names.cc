// What each name is: fields, stored fields, windows, kept numbers and the label.
#include <algorithm>
#include <utility>

#include "decision/compile_zone.h"
#include "decision/describe.h"
#include "decision/typecheck.h"

namespace tollgate {
namespace {

template <class Items>
std::optional<std::size_t> find_named(const Items& items, std::string_view name) {
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i].name == name) {
            return i;
        }
    }
    return std::nullopt;
}

Type type_of(const FieldInfo& info, const FieldTable& fields) {
    Type type{info.kind, {}};
    if (info.kind == ValueKind::kMoney) {
        type.currency = fields.currencies()[info.currency];
    }
    return type;
}

std::string slot_name(const FieldInfo& info, const FieldTable& fields) {
    if (info.kind == ValueKind::kMoney) {
        return info.name + "@" + std::string(alpha3_of(fields.currencies()[info.currency]));
    }
    const bool local =
        info.source == FieldSource::kLocalTime || info.source == FieldSource::kLocalWeekday;
    return local ? info.name + "@" + fields.zones()[info.index] : info.name;
}

}  // namespace

std::optional<std::size_t> Symbols::find_window(std::string_view name) const {
    return find_named(windows, name);
}
std::optional<std::size_t> Symbols::find_keep(std::string_view name) const {
    return find_named(keeps, name);
}

std::uint32_t Symbols::slot_of_field(FieldId field) {
    const FieldInfo& info = fields.at(field);
    RowSlot slot;
    slot.field = field;
    slot.type = info.kind;
    slot.name = slot_name(info, fields);
    if (const auto found = find_named(slots, slot.name)) {
        return static_cast<std::uint32_t>(*found);
    }
    slots.push_back(std::move(slot));
    return static_cast<std::uint32_t>(slots.size() - 1);
}

std::uint32_t Symbols::slot_of_keep(std::size_t keep) {
    RowSlot slot;
    slot.kind = RowSlot::Kind::kKept;
    slot.keep = static_cast<std::uint16_t>(keep);
    slot.type = ValueKind::kNumber;
    slot.name = "keep:" + keeps[keep].name;
    keeps[keep].used = true;
    if (const auto found = find_named(slots, slot.name)) {
        return static_cast<std::uint32_t>(*found);
    }
    slots.push_back(std::move(slot));
    return static_cast<std::uint32_t>(slots.size() - 1);
}

Type TypeChecker::name(Expr& e) {
    const bool where = context_.place == Context::Place::kWhere;
    constexpr std::string_view kCurrent = "current.";
    if (e.text.starts_with(kCurrent)) {
        const auto field = symbols_.fields.find(std::string_view(e.text).substr(kCurrent.size()),
                                                context_.currency, context_.zone);
        if (!where) {
            return fault(e, "place", short_quote(e.text) + " is for window conditions only",
                         "write " + e.text.substr(kCurrent.size()));
        }
        if (!field) {
            return unknown_name(e);
        }
        e.kind = ExprKind::kField;
        e.ref = static_cast<std::uint32_t>(*field);
        return type_of(symbols_.fields.at(*field), symbols_.fields);
    }
    if (e.text == "label") {
        if (!where) {
            return fault(e, "place",
                         "the label of an event is known later: only windows can read it",
                         "declare a window with: where label = fraud");
        }
        e.kind = ExprKind::kLabel;
        return {ValueKind::kString, {}};
    }
    if (const auto field = symbols_.fields.find(e.text, context_.currency, context_.zone)) {
        return field_name(e, *field);
    }
    if (const auto window = symbols_.find_window(e.text)) {
        return window_name(e, *window);
    }
    if (const auto keep = symbols_.find_keep(e.text)) {
        return keep_name(e, *keep);
    }
    return unknown_name(e);
}

Type TypeChecker::field_name(Expr& e, FieldId field) {
    if (context_.place == Context::Place::kWhere) {
        e.kind = ExprKind::kSlot;
        e.ref = symbols_.slot_of_field(field);
    } else {
        e.kind = ExprKind::kField;
        e.ref = static_cast<std::uint32_t>(field);
    }
    return type_of(symbols_.fields.at(field), symbols_.fields);
}

Type TypeChecker::window_name(Expr& e, std::size_t window) {
    Symbols::Window& found = symbols_.windows[window];
    if (context_.place == Context::Place::kWhere) {
        const Symbols::Window& own = symbols_.windows[context_.window];
        if (own.key != found.key) {
            return fault(e, "window-key",
                         "the window " + found.name + " is kept by " + found.key + ", " + own.name +
                             " by " + own.key +
                             "; a condition can use windows of its own key only");
        }
    }
    found.used = true;
    if (found.type.kind == ValueKind::kUnknown) {
        return {};  // its declaration has a fault
    }
    e.kind = ExprKind::kWindow;
    e.ref = static_cast<std::uint32_t>(window);
    return found.type;
}

Type TypeChecker::keep_name(Expr& e, std::size_t keep) {
    if (context_.place == Context::Place::kWhere) {
        e.kind = ExprKind::kSlot;
        e.ref = symbols_.slot_of_keep(keep);
        return {ValueKind::kNumber, {}};
    }
    Symbols::Keep& found = symbols_.keeps[keep];
    if (!found.tree) {
        return fault(
            e, "order",
            "the kept number " + short_quote(e.text) + " is declared later, or has a fault itself");
    }
    found.used = true;
    e.kind = ExprKind::kKept;
    e.ref = static_cast<std::uint32_t>(keep);
    e.args.clear();
    e.args.push_back(clone(*found.tree));
    return {ValueKind::kNumber, {}};
}

Type TypeChecker::unknown_name(const Expr& e) {
    if (std::find(symbols_.broken.begin(), symbols_.broken.end(), e.text) !=
        symbols_.broken.end()) {
        return {};
    }
    std::vector<std::string> known = symbols_.fields.names();
    for (const auto& window : symbols_.windows) {
        known.push_back(window.name);
    }
    for (const auto& keep : symbols_.keeps) {
        known.push_back(keep.name);
    }
    const std::string_view near = nearest_name(e.text, known);
    std::string help = near.empty() ? "" : "did you mean " + std::string(near) + "?";
    for (const std::string& name : known) {
        if (help.empty() && name == "attributes." + e.text) {
            help = "did you mean " + name + "?";
        }
    }
    if (help.empty() && symbols_.lists.find(e.text)) {
        help = "a list is read with: in @" + e.text;
    }
    return fault(e, "unknown-name",
                 "there is no field, window or kept number " + short_quote(e.text), help);
}

Type TypeChecker::check_literal(Expr& e) {
    if (e.type.kind == ValueKind::kMoney && e.type.currency != context_.currency) {
        return fault(e, "currency",
                     e.text + " is in another currency than the rule set's " +
                         std::string(alpha3_of(context_.currency)),
                     "state the amount in " + std::string(alpha3_of(context_.currency)) +
                         "; amounts of events are converted to it");
    }
    if (e.ref == 1) {
        const auto start =
            day_start(context_.zone, static_cast<std::int64_t>(e.literal.number.num));
        if (!start) {
            return fault(e, "zone", start.error().message);
        }
        e.literal.number = {to_micros(*start), 1};
        e.ref = 0;
    }
    return e.type;
}

}  // namespace tollgate
