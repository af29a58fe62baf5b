// Fills the row of values of one event, field by field of the pack's table.
#include "decision/event_fields.h"

#include <string_view>

#include "base/check.h"
#include "decision/event_json.h"

namespace tollgate {
namespace {

Value of_text(const std::optional<std::string>& text) noexcept {
    return text ? Value::of_string(*text) : Value::unknown();
}

Value of_amount(const std::optional<std::int64_t>& minor_units) noexcept {
    return minor_units ? Value::of_money({*minor_units, 1}) : Value::unknown();
}

Value of_time_of_day(Micros since_midnight) noexcept {
    Value value;
    value.kind = ValueKind::kTimeOfDay;
    value.number = {since_midnight.count(), 1};
    return value;
}

// Text members of the event; unknown for the sources that are no text.
Value text_field(const Event& event, FieldSource source) noexcept {
    switch (source) {
        case FieldSource::kEventId:
            return Value::of_string(event.event_id);
        case FieldSource::kEventType:
            return Value::of_string(to_text(event.type));
        case FieldSource::kAccountId:
            return Value::of_string(event.account_id);
        case FieldSource::kAmountCurrency:
            return Value::of_string(alpha3_of(event.amount.currency));
        case FieldSource::kCounterpartyId:
            return event.counterparty ? of_text(event.counterparty->id) : Value::unknown();
        case FieldSource::kCounterpartyKind:
            return event.counterparty ? of_text(event.counterparty->kind) : Value::unknown();
        case FieldSource::kCounterpartyCategory:
            return event.counterparty ? of_text(event.counterparty->category) : Value::unknown();
        case FieldSource::kCounterpartyCountry:
            return event.counterparty ? of_text(event.counterparty->country) : Value::unknown();
        case FieldSource::kChannel:
            return of_text(event.channel);
        case FieldSource::kDeviceId:
            return event.device ? of_text(event.device->id) : Value::unknown();
        case FieldSource::kDeviceIpCountry:
            return event.device ? of_text(event.device->ip_country) : Value::unknown();
        case FieldSource::kMemo:
            return of_text(event.memo);
        case FieldSource::kParentId:
            return of_text(event.parent_id);
        default:
            return Value::unknown();
    }
}

struct Context {
    const Event& event;
    const FieldTable& table;
    const Rates& rates;
    const Zones& zones;
    const std::optional<Money>& limit;

    std::optional<std::int64_t> converted(const Money& money, std::size_t currency) const noexcept {
        return rates.convert(money, table.currencies()[currency], event.occurred_at);
    }
};

Value attribute(const Context& context, const FieldInfo& field) noexcept {
    const Event& event = context.event;
    if (field.index >= event.attributes.size() || !event.attributes[field.index]) {
        return Value::unknown();
    }
    const AttributeValue& value = *event.attributes[field.index];
    switch (value.type) {
        case AttributeType::kString:
            return Value::of_string(value.text);
        case AttributeType::kInteger:
            return Value::of_int(value.number);
        case AttributeType::kDecimal:
            return Value::of_number(reduced({value.number, 1'000'000}));
        case AttributeType::kBoolean:
            return Value::of_bool(value.number != 0);
        case AttributeType::kTimestamp:
            return Value::of_time(from_micros(value.number));
        case AttributeType::kMoney:
            return of_amount(
                context.converted({value.number, event.amount.currency}, field.currency));
    }
    return Value::unknown();
}

Value field_value(const Context& context, const FieldInfo& field) noexcept {
    switch (field.source) {
        case FieldSource::kOccurredAt:
            return Value::of_time(context.event.occurred_at);
        case FieldSource::kAttribute:
            return attribute(context, field);
        case FieldSource::kAmountIn:
            return of_amount(context.converted(context.event.amount, field.currency));
        case FieldSource::kAccountLimit:
            return context.limit ? of_amount(context.converted(*context.limit, field.currency))
                                 : Value::unknown();
        case FieldSource::kLocalTime:
            return of_time_of_day(
                context.zones.local(field.index, context.event.occurred_at).since_midnight);
        case FieldSource::kLocalWeekday:
            return Value::of_int(
                context.zones.local(field.index, context.event.occurred_at).weekday);
        default:
            return text_field(context.event, field.source);
    }
}

}  // namespace

void fill_fields(const Event& event, const FieldTable& table, const Rates& rates,
                 const Zones& zones, const std::optional<Money>& limit,
                 std::span<Value> out) noexcept {
    TG_CHECK(out.size() == table.size() && zones.size() == table.zones().size(),
             "a row of another field table");
    const Context context{event, table, rates, zones, limit};
    std::size_t at = 0;
    for (const FieldInfo& field : table.fields()) {
        out[at++] = field_value(context, field);
    }
}

}  // namespace tollgate
