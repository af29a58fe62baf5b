// The attribute schema of a policy and the table of every field a rule or window can name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "decision/event.h"
#include "decision/value.h"

namespace tollgate {

struct AttributeDef {
    std::string name;  // [a-z][a-z0-9_]{0,63}
    AttributeType type = AttributeType::kString;
    bool personal = false;  // enters the chain as a salted hash
};
struct Schema {
    std::vector<AttributeDef> attributes;  // at most 64
    std::vector<std::string>
        personal_fields;  // built-in fields marked personal, e.g. "memo", "account_id"
    std::optional<std::size_t> find(std::string_view name) const;
};

// Index into an event's value row. Built-in fields first, then attributes, then per-ruleset ones
// (the amount in a currency, local time in a zone): a pack's FieldTable gives each its place.
enum class FieldId : std::uint16_t {};

enum class FieldSource : std::uint8_t {
    kEventId,
    kEventType,
    kOccurredAt,
    kAccountId,
    kAmountCurrency,
    kCounterpartyId,
    kCounterpartyKind,
    kCounterpartyCategory,
    kCounterpartyCountry,
    kChannel,
    kDeviceId,
    kDeviceIpCountry,
    kMemo,
    kParentId,
    kAttribute,  // index = schema index
    kAmountIn,  // index = into FieldTable::currencies: the amount converted at the rate of its date
    kLocalTime,     // index = into FieldTable::zones: kTimeOfDay
    kLocalWeekday,  // likewise: 1 Monday .. 7 Sunday
    // index = into FieldTable::currencies: the account's limit in that currency; unknown when none
    kAccountLimit,
};

struct FieldInfo {
    std::string
        // as rules write it: "counterparty.id", "attributes.home_country", "amount", "local_time"
        name;
    ValueKind kind = ValueKind::kUnknown;
    FieldSource source = FieldSource::kEventId;
    std::uint16_t index = 0;
    std::uint16_t currency = 0;  // kMoney: into FieldTable::currencies, also for attributes
};

// Rules say: event_id, event_type ("payment"|"transfer"|"credit_application"), occurred_at,
// account_id, amount, amount.currency, counterparty.id|kind|category|country, channel,
// device.id|ip_country, memo, parent_id, attributes.NAME, local_time, local_weekday, account.limit.
// Attribute kinds: string kString, integer and decimal kNumber, boolean kBool, timestamp kTime,
// money kMoney (converted like the amount).
class FieldTable {
  public:
    explicit FieldTable(const Schema& schema);
    // Registers a rule set's currency and zone (idempotent), so that its fields have a place.
    void add_ruleset(Currency currency, std::string_view zone);
    // The field of that name as seen from a rule set, or nullopt.
    std::optional<FieldId> find(std::string_view name, Currency currency,
                                std::string_view zone) const;
    std::vector<std::string> names() const;  // for "did you mean"
    const FieldInfo& at(FieldId id) const { return fields_[static_cast<std::size_t>(id)]; }
    std::size_t size() const { return fields_.size(); }
    std::span<const FieldInfo> fields() const { return fields_; }
    std::span<const Currency> currencies() const { return currencies_; }
    std::span<const std::string> zones() const { return zones_; }

  private:
    std::vector<FieldInfo> fields_;
    std::vector<Currency> currencies_;
    std::vector<std::string> zones_;
    Schema schema_;
};

}  // namespace tollgate
