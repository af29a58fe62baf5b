// Reads events and outcomes from JSON, field by field, with an error that names the field for each
// thing wrong.
#include "decision/event_json.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "decision/describe.h"
#include "decision/number.h"

namespace tollgate {
namespace {

constexpr std::array<std::string_view, 3> kEventTypes{"payment", "transfer", "credit_application"};
constexpr std::array<std::string_view, 3> kLabels{"none", "fraud", "legit"};
constexpr std::array<std::string_view, 4> kOutcomeKinds{"chargeback", "confirmed", "cleared",
                                                        "analyst"};
constexpr std::array<std::string_view, 6> kAttributeTypes{"string",  "integer",   "decimal",
                                                          "boolean", "timestamp", "money"};

constexpr std::array<std::string_view, 11> kEventFields{
    "event_id", "event_type", "occurred_at", "account_id", "amount",    "counterparty",
    "channel",  "device",     "memo",        "parent_id",  "attributes"};
constexpr std::array<std::string_view, 2> kAmountFields{"value", "currency"};
constexpr std::array<std::string_view, 4> kCounterpartyFields{"id", "kind", "category", "country"};
constexpr std::array<std::string_view, 2> kDeviceFields{"id", "ip_country"};
constexpr std::array<std::string_view, 6> kOutcomeFields{"outcome_id", "event_id", "label",
                                                         "kind",       "known_at", "note"};

// The largest decimal attribute, so that its micro-units stay far inside 64 bits.
constexpr std::int64_t kMaxDecimal = 1'000'000'000'000;

Error bad(std::string_view path, const std::string& what) {
    return {Fault::kBadInput, std::string(path) + " " + what};
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

Error wrong_kind(std::string_view path, std::string_view due, const JsonValue& got) {
    return bad(path, "must be " + std::string(due) + ", not " + std::string(kind_name(got.kind())));
}

std::string list_of(std::span<const std::string_view> names) {
    std::string out;
    for (const std::string_view name : names) {
        out += out.empty() ? "" : ", ";
        out += name;
    }
    return out;
}

// One object of the input: its members by name, null as absent, with the path for messages.
class Members {
  public:
    Members(JsonValue object, std::string_view path) : object_(object), path_(path) {}

    std::string path_of(std::string_view name) const {
        return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
    }
    std::optional<JsonValue> find(std::string_view name) const {
        const auto member = object_.find(name);
        return member && !member->is(JsonKind::kNull) ? member : std::nullopt;
    }
    Result<JsonValue> need(std::string_view name) const {
        const auto member = find(name);
        if (!member) {
            return bad(path_of(name), "is required");
        }
        return *member;
    }
    // Every member's name is one of `known`.
    Status only(std::span<const std::string_view> known, std::string_view of_what) const {
        Status status = ok();
        object_.each_member([&](std::string_view name, const JsonValue&) {
            if (std::find(known.begin(), known.end(), name) == known.end()) {
                const std::string given = short_quote(name);
                status =
                    bad(path_of(given.substr(1, given.size() - 2)),
                        "is not a field of " + std::string(of_what) + did_you_mean(name, known));
                return false;
            }
            return true;
        });
        return status;
    }

  private:
    JsonValue object_;
    std::string path_;
};

Result<Members> members_of(const JsonValue& json, std::string_view path) {
    if (!json.is(JsonKind::kObject)) {
        return wrong_kind(path.empty() ? "the body" : path, "an object", json);
    }
    return Members(json, path);
}

struct Bounds {
    std::size_t least = 1;
    std::size_t most = kMaxIdBytes;
    bool controls = false;  // control characters are allowed
};
constexpr Bounds kId{1, kMaxIdBytes, false};
constexpr Bounds kKind{1, kMaxKindBytes, false};
constexpr Bounds kMemo{0, kMaxMemoBytes, true};
constexpr Bounds kNote{0, kMaxNoteBytes, true};

bool is_control(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
}

Result<std::string> string_of(const JsonValue& json, std::string_view path, const Bounds& bounds) {
    if (!json.is(JsonKind::kString)) {
        return wrong_kind(path, "a string", json);
    }
    const std::string_view text = json.string();
    if (text.size() < bounds.least || text.size() > bounds.most) {
        return bad(path, "has " + std::to_string(text.size()) + " bytes, allowed are " +
                             std::to_string(bounds.least) + " to " + std::to_string(bounds.most));
    }
    if (!bounds.controls && std::any_of(text.begin(), text.end(), is_control)) {
        return bad(path, short_quote(text) + " holds a control character");
    }
    return std::string(text);
}

Result<std::string> required(const Members& members, std::string_view name, const Bounds& bounds) {
    TG_TRY(const JsonValue json, members.need(name));
    return string_of(json, members.path_of(name), bounds);
}

using MaybeText = std::optional<std::string>;

Result<MaybeText> optional(const Members& members, std::string_view name, const Bounds& bounds) {
    const auto json = members.find(name);
    if (!json) {
        return MaybeText{};
    }
    TG_TRY(auto text, string_of(*json, members.path_of(name), bounds));
    return MaybeText{std::move(text)};
}

Result<MaybeText> country(const Members& members, std::string_view name) {
    TG_TRY(auto text, optional(members, name, {0, kMaxIdBytes, true}));
    const auto capital = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (text && (text->size() != 2 || !std::all_of(text->begin(), text->end(), capital))) {
        return bad(members.path_of(name),
                   short_quote(*text) + " is not a country: two capital letters, such as \"KR\"");
    }
    return text;
}

// The index of a required string member among `names`.
Result<std::size_t> choice(const Members& members, std::string_view name,
                           std::span<const std::string_view> names) {
    TG_TRY(const JsonValue json, members.need(name));
    const std::string path = members.path_of(name);
    if (!json.is(JsonKind::kString)) {
        return wrong_kind(path, "a string", json);
    }
    const auto at = std::find(names.begin(), names.end(), json.string());
    if (at == names.end()) {
        return bad(path, short_quote(json.string()) + " is not one of " + list_of(names) +
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

Result<EventTime> required_time(const Members& members, std::string_view name) {
    TG_TRY(const JsonValue json, members.need(name));
    return time_of(json, members.path_of(name));
}

// Money as a decimal string: a JSON number has been through a binary float.
Result<Money> money_of(const JsonValue& json, std::string_view path, Currency currency) {
    if (!json.is(JsonKind::kString)) {
        return wrong_kind(path, "a decimal string such as \"125.40\"", json);
    }
    return parse_money(path, json.string(), currency);
}

Result<Money> amount_of(const Members& event) {
    TG_TRY(const JsonValue json, event.need("amount"));
    TG_TRY(const Members amount, members_of(json, "amount"));
    TG_TRY(const auto known, amount.only(kAmountFields, "amount"));
    (void)known;
    TG_TRY(const auto code, required(amount, "currency", {0, kMaxIdBytes, true}));
    const auto currency = currency_of(code);
    if (!currency) {
        return bad("amount.currency", currency.error().message.substr(sizeof("currency")));
    }
    TG_TRY(const JsonValue value, amount.need("value"));
    TG_TRY(const Money money, money_of(value, "amount.value", *currency));
    if (money.minor_units < 0) {
        return bad("amount.value", short_quote(value.string()) + " must not be negative");
    }
    return money;
}

Result<std::optional<Counterparty>> counterparty_of(const Members& event) {
    const auto json = event.find("counterparty");
    if (!json) {
        return std::optional<Counterparty>{};
    }
    TG_TRY(const Members members, members_of(*json, "counterparty"));
    TG_TRY(const auto known, members.only(kCounterpartyFields, "counterparty"));
    (void)known;
    Counterparty party;
    TG_TRY(party.id, optional(members, "id", kId));
    TG_TRY(party.kind, optional(members, "kind", kKind));
    TG_TRY(party.category, optional(members, "category", kKind));
    TG_TRY(party.country, country(members, "country"));
    return party == Counterparty{} ? std::nullopt : std::optional(std::move(party));
}

Result<std::optional<Device>> device_of(const Members& event) {
    const auto json = event.find("device");
    if (!json) {
        return std::optional<Device>{};
    }
    TG_TRY(const Members members, members_of(*json, "device"));
    TG_TRY(const auto known, members.only(kDeviceFields, "device"));
    (void)known;
    Device device;
    TG_TRY(device.id, optional(members, "id", kId));
    TG_TRY(device.ip_country, country(members, "ip_country"));
    return device == Device{} ? std::nullopt : std::optional(std::move(device));
}

// A decimal string or a whole JSON number, at most 6 decimals, as micro-units.
Result<std::int64_t> micro_units_of(const JsonValue& json, std::string_view path) {
    if (json.is(JsonKind::kInteger) && json.integer() >= -kMaxDecimal &&
        json.integer() <= kMaxDecimal) {
        return json.integer() * 1'000'000;
    }
    if (json.is(JsonKind::kInteger) || json.is(JsonKind::kUnsigned)) {
        return bad(path, "is beyond 1000000000000");
    }
    if (!json.is(JsonKind::kString)) {
        return wrong_kind(path, "a decimal string such as \"0.35\" or a whole number", json);
    }
    const std::string_view text = json.string();
    const auto number =
        text.find('/') == std::string_view::npos ? parse_number(text) : std::nullopt;
    const std::size_t point = text.find('.');
    const bool fits = point == std::string_view::npos || text.size() - point - 1 <= 6;
    const auto micro = number && fits ? to_scaled(*number, 6) : std::nullopt;
    if (!micro || *micro > kMaxDecimal * 1'000'000 || *micro < -kMaxDecimal * 1'000'000) {
        return bad(path, short_quote(text) +
                             " is not a decimal with at most 6 decimals, within 1000000000000");
    }
    return *micro;
}

Result<AttributeValue> attribute_of(const JsonValue& json, const std::string& path,
                                    AttributeType type, Currency currency) {
    AttributeValue value{type, {}, 0};
    switch (type) {
        case AttributeType::kString: {
            TG_TRY(value.text, string_of(json, path, {0, kMaxAttributeBytes, false}));
            return value;
        }
        case AttributeType::kInteger:
            if (json.is(JsonKind::kUnsigned)) {
                return bad(path, "is beyond 9223372036854775807");
            }
            if (!json.is(JsonKind::kInteger)) {
                return wrong_kind(path, "a whole number", json);
            }
            value.number = json.integer();
            return value;
        case AttributeType::kDecimal: {
            TG_TRY(value.number, micro_units_of(json, path));
            return value;
        }
        case AttributeType::kBoolean:
            if (!json.is(JsonKind::kBool)) {
                return wrong_kind(path, "a boolean", json);
            }
            value.number = json.boolean() ? 1 : 0;
            return value;
        case AttributeType::kTimestamp: {
            TG_TRY(const EventTime time, time_of(json, path));
            value.number = to_micros(time);
            return value;
        }
        case AttributeType::kMoney: {
            TG_TRY(const Money money, money_of(json, path, currency));
            value.number = money.minor_units;
            return value;
        }
    }
    return Error{Fault::kInternal, path + " has no type"};
}

using Attributes = std::vector<std::optional<AttributeValue>>;

Result<Attributes> attributes_of(const Members& event, const Schema& schema, Currency currency) {
    Attributes attributes(schema.attributes.size());
    const auto json = event.find("attributes");
    if (!json) {
        return attributes;
    }
    TG_TRY(const Members members, members_of(*json, "attributes"));
    Status status = ok();
    json->each_member([&](std::string_view name, const JsonValue& member) {
        const auto index = schema.find(name);
        if (!index) {
            std::vector<std::string_view> known;
            for (const AttributeDef& attribute : schema.attributes) {
                known.emplace_back(attribute.name);
            }
            status = members.only(known, "the policy's attributes");
            return false;
        }
        if (member.is(JsonKind::kNull)) {
            return true;
        }
        auto value =
            attribute_of(member, members.path_of(name), schema.attributes[*index].type, currency);
        if (!value) {
            status = std::move(value).error();
            return false;
        }
        attributes[*index] = *std::move(value);
        return true;
    });
    if (!status) {
        return std::move(status).error();
    }
    return attributes;
}

template <std::size_t N>
std::string_view name_at(const std::array<std::string_view, N>& names, std::size_t index) {
    return index < N ? names[index] : std::string_view("unknown");
}

}  // namespace

Result<Event> parse_event(const JsonValue& json, const Schema& schema) {
    TG_TRY(const Members members, members_of(json, ""));
    TG_TRY(const auto known, members.only(kEventFields, "an event"));
    (void)known;
    Event event;
    TG_TRY(event.event_id, required(members, "event_id", kId));
    TG_TRY(const std::size_t type, choice(members, "event_type", kEventTypes));
    event.type = static_cast<EventType>(type);
    TG_TRY(event.occurred_at, required_time(members, "occurred_at"));
    TG_TRY(event.account_id, required(members, "account_id", kId));
    TG_TRY(event.amount, amount_of(members));
    TG_TRY(event.counterparty, counterparty_of(members));
    TG_TRY(event.channel, optional(members, "channel", kKind));
    TG_TRY(event.device, device_of(members));
    TG_TRY(event.memo, optional(members, "memo", kMemo));
    TG_TRY(event.parent_id, optional(members, "parent_id", kId));
    TG_TRY(event.attributes, attributes_of(members, schema, event.amount.currency));
    return event;
}

Result<Outcome> parse_outcome(const JsonValue& json) {
    TG_TRY(const Members members, members_of(json, ""));
    TG_TRY(const auto known, members.only(kOutcomeFields, "an outcome"));
    (void)known;
    Outcome outcome;
    TG_TRY(outcome.outcome_id, required(members, "outcome_id", kId));
    TG_TRY(outcome.event_id, required(members, "event_id", kId));
    TG_TRY(const std::size_t label, choice(members, "label", std::span(kLabels).subspan(1)));
    outcome.label = static_cast<Label>(label + 1);
    TG_TRY(const std::size_t kind, choice(members, "kind", kOutcomeKinds));
    outcome.kind = static_cast<OutcomeKind>(kind);
    TG_TRY(outcome.known_at, required_time(members, "known_at"));
    TG_TRY(auto note, optional(members, "note", kNote));
    outcome.note = std::move(note).value_or("");
    return outcome;
}

std::string_view to_text(EventType type) {
    return name_at(kEventTypes, static_cast<std::size_t>(type));
}
std::string_view to_text(Label label) {
    return name_at(kLabels, static_cast<std::size_t>(label));
}
std::string_view to_text(OutcomeKind kind) {
    return name_at(kOutcomeKinds, static_cast<std::size_t>(kind));
}
std::string_view to_text(AttributeType type) {
    return name_at(kAttributeTypes, static_cast<std::size_t>(type));
}
std::optional<AttributeType> attribute_type_of(std::string_view text) {
    const auto at = std::find(kAttributeTypes.begin(), kAttributeTypes.end(), text);
    if (at == kAttributeTypes.end()) {
        return std::nullopt;
    }
    return static_cast<AttributeType>(at - kAttributeTypes.begin());
}

}  // namespace tollgate
