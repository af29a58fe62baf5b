// The canonical JSON text of events and outcomes.
#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "base/check.h"
#include "decision/event_json.h"
#include "decision/number.h"

namespace tollgate {
namespace {

void member(JsonWriter& out, std::string_view name, const std::optional<std::string>& text) {
    if (text) {
        out.key(name);
        out.string(*text);
    }
}

void time_value(JsonWriter& out, EventTime time) {
    std::string text;
    append_rfc3339(text, time);
    out.string(text);
}

void attributes(JsonWriter& out, const Event& event, const Schema& schema) {
    TG_CHECK(event.attributes.size() <= schema.attributes.size(), "an event of another schema");
    // By name, so that two packs that declare the same attributes in another order write the same
    // text.
    std::vector<std::size_t> order(event.attributes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t i) { return !event.attributes[i]; });
    if (order.empty()) {
        return;
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return schema.attributes[a].name < schema.attributes[b].name;
    });
    out.key("attributes");
    out.begin_object();
    for (const std::size_t i : order) {
        out.key(schema.attributes[i].name);
        append_attribute(out, *event.attributes[i], event.amount.currency);
    }
    out.end_object();
}

}  // namespace

void append_attribute(JsonWriter& out, const AttributeValue& value, Currency currency) {
    switch (value.type) {
        case AttributeType::kString:
            return out.string(value.text);
        case AttributeType::kInteger:
            return out.integer(value.number);
        case AttributeType::kDecimal:
            return out.string(to_text(Number{value.number, 1'000'000}));
        case AttributeType::kBoolean:
            return out.boolean(value.number != 0);
        case AttributeType::kTimestamp:
            return time_value(out, from_micros(value.number));
        case AttributeType::kMoney:
            return out.string(to_text(Money{value.number, currency}));
    }
}

void append_event(JsonWriter& out, const Event& event, const Schema& schema) {
    out.begin_object();
    out.key("event_id");
    out.string(event.event_id);
    out.key("event_type");
    out.string(to_text(event.type));
    out.key("occurred_at");
    time_value(out, event.occurred_at);
    out.key("account_id");
    out.string(event.account_id);
    out.key("amount");
    out.begin_object();
    out.key("value");
    out.string(to_text(event.amount));
    out.key("currency");
    out.string(alpha3_of(event.amount.currency));
    out.end_object();
    if (event.counterparty) {
        out.key("counterparty");
        out.begin_object();
        member(out, "id", event.counterparty->id);
        member(out, "kind", event.counterparty->kind);
        member(out, "category", event.counterparty->category);
        member(out, "country", event.counterparty->country);
        out.end_object();
    }
    member(out, "channel", event.channel);
    if (event.device) {
        out.key("device");
        out.begin_object();
        member(out, "id", event.device->id);
        member(out, "ip_country", event.device->ip_country);
        out.end_object();
    }
    member(out, "memo", event.memo);
    member(out, "parent_id", event.parent_id);
    attributes(out, event, schema);
    out.end_object();
}

void append_outcome(JsonWriter& out, const Outcome& outcome) {
    out.begin_object();
    out.key("outcome_id");
    out.string(outcome.outcome_id);
    out.key("event_id");
    out.string(outcome.event_id);
    out.key("label");
    out.string(to_text(outcome.label));
    out.key("kind");
    out.string(to_text(outcome.kind));
    out.key("known_at");
    time_value(out, outcome.known_at);
    if (!outcome.note.empty()) {
        out.key("note");
        out.string(outcome.note);
    }
    out.end_object();
}

}  // namespace tollgate
