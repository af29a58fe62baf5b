// Reads events and outcomes from JSON, field by field, with an error that names the field for each
// thing wrong.
#include "decision/event_json.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "decision/describe.h"
#include "decision/json_fields.h"
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
constexpr std::array<std::string_view, 4> kCounterpartyFields{"id", "kind", "category", "country"};
constexpr std::array<std::string_view, 2> kDeviceFields{"id", "ip_country"};
constexpr std::array<std::string_view, 6> kOutcomeFields{"outcome_id", "event_id", "label",
                                                         "kind",       "known_at", "note"};

// The largest decimal attribute, so that its micro-units stay far inside 64 bits.
constexpr std::int64_t kMaxDecimal = 1'000'000'000'000;

constexpr TextBounds kKind{1, kMaxKindBytes, false};
constexpr TextBounds kMemo{0, kMaxMemoBytes, true};
constexpr TextBounds kNote{0, kMaxNoteBytes, true};

using MaybeText = std::optional<std::string>;

Result<MaybeText> country(const JsonMembers& members, std::string_view name) {
    TG_TRY(auto text, optional_text(members, name, {0, kMaxIdBytes, true}));
    const auto capital = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (text && (text->size() != 2 || !std::all_of(text->begin(), text->end(), capital))) {
        return bad_field(
            members.path_of(name),
            short_quote(*text) + " is not a country: two capital letters, such as \"KR\"");
    }
    return text;
}

Result<std::optional<Counterparty>> counterparty_of(const JsonMembers& event) {
    const auto json = event.find("counterparty");
    if (!json) {
        return std::optional<Counterparty>{};
    }
    TG_TRY(const JsonMembers members, json_members(*json, "counterparty"));
    TG_TRY(const auto known, members.only(kCounterpartyFields, "counterparty"));
    (void)known;
    Counterparty party;
    TG_TRY(party.id, optional_text(members, "id", kIdBounds));
    TG_TRY(party.kind, optional_text(members, "kind", kKind));
    TG_TRY(party.category, optional_text(members, "category", kKind));
    TG_TRY(party.country, country(members, "country"));
    return party == Counterparty{} ? std::nullopt : std::optional(std::move(party));
}

Result<std::optional<Device>> device_of(const JsonMembers& event) {
    const auto json = event.find("device");
    if (!json) {
        return std::optional<Device>{};
    }
    TG_TRY(const JsonMembers members, json_members(*json, "device"));
    TG_TRY(const auto known, members.only(kDeviceFields, "device"));
    (void)known;
    Device device;
    TG_TRY(device.id, optional_text(members, "id", kIdBounds));
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
        return bad_field(path, "is beyond 1000000000000");
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
        return bad_field(
            path,
            short_quote(text) + " is not a decimal with at most 6 decimals, within 1000000000000");
    }
    return *micro;
}

Result<AttributeValue> attribute_of(const JsonValue& json, const std::string& path,
                                    AttributeType type, Currency currency) {
    AttributeValue value{type, {}, 0};
    switch (type) {
        case AttributeType::kString: {
            TG_TRY(value.text, text_of(json, path, {0, kMaxAttributeBytes, false}));
            return value;
        }
        case AttributeType::kInteger:
            if (json.is(JsonKind::kUnsigned)) {
                return bad_field(path, "is beyond 9223372036854775807");
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

Result<Attributes> attributes_of(const JsonMembers& event, const Schema& schema,
                                 Currency currency) {
    Attributes attributes(schema.attributes.size());
    const auto json = event.find("attributes");
    if (!json) {
        return attributes;
    }
    TG_TRY(const JsonMembers members, json_members(*json, "attributes"));
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
    TG_TRY(const JsonMembers members, json_members(json, ""));
    TG_TRY(const auto known, members.only(kEventFields, "an event"));
    (void)known;
    Event event;
    TG_TRY(event.event_id, required_text(members, "event_id", kIdBounds));
    TG_TRY(const std::size_t type, required_choice(members, "event_type", kEventTypes));
    event.type = static_cast<EventType>(type);
    TG_TRY(event.occurred_at, required_time(members, "occurred_at"));
    TG_TRY(event.account_id, required_text(members, "account_id", kIdBounds));
    TG_TRY(event.amount, required_amount(members, "amount"));
    TG_TRY(event.counterparty, counterparty_of(members));
    TG_TRY(event.channel, optional_text(members, "channel", kKind));
    TG_TRY(event.device, device_of(members));
    TG_TRY(event.memo, optional_text(members, "memo", kMemo));
    TG_TRY(event.parent_id, optional_text(members, "parent_id", kIdBounds));
    TG_TRY(event.attributes, attributes_of(members, schema, event.amount.currency));
    return event;
}

Result<Outcome> parse_outcome(const JsonValue& json) {
    TG_TRY(const JsonMembers members, json_members(json, ""));
    TG_TRY(const auto known, members.only(kOutcomeFields, "an outcome"));
    (void)known;
    Outcome outcome;
    TG_TRY(outcome.outcome_id, required_text(members, "outcome_id", kIdBounds));
    TG_TRY(outcome.event_id, required_text(members, "event_id", kIdBounds));
    TG_TRY(const std::size_t label,
           required_choice(members, "label", std::span(kLabels).subspan(1)));
    outcome.label = static_cast<Label>(label + 1);
    TG_TRY(const std::size_t kind, required_choice(members, "kind", kOutcomeKinds));
    outcome.kind = static_cast<OutcomeKind>(kind);
    TG_TRY(outcome.known_at, required_time(members, "known_at"));
    TG_TRY(auto note, optional_text(members, "note", kNote));
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
