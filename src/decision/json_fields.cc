// Members of a JSON object by name and kind, with the errors that name them.
#include "decision/json_fields.h"

#include <algorithm>
#include <array>
#include <utility>

#include "decision/describe.h"

namespace tollgate {
namespace {

bool is_control(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
}

std::string_view kind_name(JsonKind kind) {
    switch (kind) {
        case JsonKind::kNull:
            return "null";
        case JsonKind::kBool:
            return "a boolean";
        case JsonKind::kInteger:
        case JsonKind::kUnsigned:
        case JsonKind::kDouble:
            return "a number";
        case JsonKind::kString:
            return "a string";
        case JsonKind::kArray:
            return "an array";
        case JsonKind::kObject:
            return "an object";
    }
    return "nothing";
}

std::string list_of(std::span<const std::string_view> names) {
    std::string out;
    for (const std::string_view name : names) {
        out += out.empty() ? "" : ", ";
        out += name;
    }
    return out;
}

}  // namespace

Error bad_field(std::string_view path, const std::string& what) {
    return {Fault::kBadInput, std::string(path) + " " + what};
}

Error wrong_kind(std::string_view path, std::string_view due, const JsonValue& got) {
    return bad_field(path,
                     "must be " + std::string(due) + ", not " + std::string(kind_name(got.kind())));
}

std::string JsonMembers::path_of(std::string_view name) const {
    return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

std::optional<JsonValue> JsonMembers::find(std::string_view name) const {
    const auto member = object_.find(name);
    return member && !member->is(JsonKind::kNull) ? member : std::nullopt;
}

Result<JsonValue> JsonMembers::need(std::string_view name) const {
    const auto member = find(name);
    if (!member) {
        return bad_field(path_of(name), "is required");
    }
    return *member;
}

Status JsonMembers::only(std::span<const std::string_view> known, std::string_view of_what) const {
    Status status = ok();
    object_.each_member([&](std::string_view name, const JsonValue&) {
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            const std::string given = short_quote(name);
            status =
                bad_field(path_of(given.substr(1, given.size() - 2)),
                          "is not a field of " + std::string(of_what) + did_you_mean(name, known));
            return false;
        }
        return true;
    });
    return status;
}

Result<JsonMembers> json_members(const JsonValue& json, std::string_view path) {
    if (!json.is(JsonKind::kObject)) {
        return wrong_kind(path.empty() ? "the body" : path, "an object", json);
    }
    return JsonMembers(json, path);
}

Result<std::string> text_of(const JsonValue& json, std::string_view path,
                            const TextBounds& bounds) {
    if (!json.is(JsonKind::kString)) {
        return wrong_kind(path, "a string", json);
    }
    const std::string_view text = json.string();
    if (text.size() < bounds.least || text.size() > bounds.most) {
        return bad_field(path, "has " + std::to_string(text.size()) + " bytes, allowed are " +
                                   std::to_string(bounds.least) + " to " +
                                   std::to_string(bounds.most));
    }
    if (!bounds.controls && std::any_of(text.begin(), text.end(), is_control)) {
        return bad_field(path, short_quote(text) + " holds a control character");
    }
    return std::string(text);
}

Result<std::string> required_text(const JsonMembers& members, std::string_view name,
                                  const TextBounds& bounds) {
    TG_TRY(const JsonValue json, members.need(name));
    return text_of(json, members.path_of(name), bounds);
}

using MaybeText = std::optional<std::string>;

Result<MaybeText> optional_text(const JsonMembers& members, std::string_view name,
                                const TextBounds& bounds) {
    const auto json = members.find(name);
    if (!json) {
        return MaybeText{};
    }
    TG_TRY(auto text, text_of(*json, members.path_of(name), bounds));
    return MaybeText{std::move(text)};
}

Result<std::size_t> required_choice(const JsonMembers& members, std::string_view name,
                                    std::span<const std::string_view> names) {
    TG_TRY(const JsonValue json, members.need(name));
    const std::string path = members.path_of(name);
    if (!json.is(JsonKind::kString)) {
        return wrong_kind(path, "a string", json);
    }
    const auto at = std::find(names.begin(), names.end(), json.string());
    if (at == names.end()) {
        return bad_field(path, short_quote(json.string()) + " is not one of " + list_of(names) +
                                   did_you_mean(json.string(), names));
    }
    return static_cast<std::size_t>(at - names.begin());
}

Result<EventTime> time_of(const JsonValue& json, std::string_view path) {
    if (!json.is(JsonKind::kString)) {
        return wrong_kind(path, "an RFC 3339 time as a string", json);
    }
    return parse_rfc3339(path, json.string());
}

Result<EventTime> required_time(const JsonMembers& members, std::string_view name) {
    TG_TRY(const JsonValue json, members.need(name));
    return time_of(json, members.path_of(name));
}

Result<Money> money_of(const JsonValue& json, std::string_view path, Currency currency) {
    if (!json.is(JsonKind::kString)) {
        return wrong_kind(path, "a decimal string such as \"125.40\"", json);
    }
    return parse_money(path, json.string(), currency);
}

Result<Money> required_amount(const JsonMembers& members, std::string_view name) {
    constexpr std::array<std::string_view, 2> kFields{"value", "currency"};
    TG_TRY(const JsonValue json, members.need(name));
    const std::string path = members.path_of(name);
    TG_TRY(const JsonMembers amount, json_members(json, path));
    TG_TRY(const auto known, amount.only(kFields, path));
    (void)known;
    TG_TRY(const auto code, required_text(amount, "currency", {0, kMaxIdBytes, true}));
    const auto currency = currency_of(code);
    if (!currency) {
        return bad_field(amount.path_of("currency"),
                         currency.error().message.substr(sizeof("currency")));
    }
    TG_TRY(const JsonValue value, amount.need("value"));
    TG_TRY(const Money money, money_of(value, amount.path_of("value"), *currency));
    if (money.minor_units < 0) {
        return bad_field(amount.path_of("value"),
                         short_quote(value.string()) + " must not be negative");
    }
    return money;
}

Result<std::optional<EventTime>> optional_time(const JsonMembers& members, std::string_view name) {
    const auto json = members.find(name);
    if (!json) {
        return std::optional<EventTime>{};
    }
    TG_TRY(const EventTime time, time_of(*json, members.path_of(name)));
    return std::optional(time);
}

Result<std::uint64_t> unsigned_of(const JsonValue& json, std::string_view path) {
    if (json.is(JsonKind::kUnsigned)) {
        return json.whole();
    }
    if (!json.is(JsonKind::kInteger) || json.integer() < 0) {
        return wrong_kind(path, "a whole number, 0 or more", json);
    }
    return static_cast<std::uint64_t>(json.integer());
}

}  // namespace tollgate
