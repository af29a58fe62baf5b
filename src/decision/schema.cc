// The table of fields: built-in ones, attributes, and those that depend on a rule set's currency or
// zone.
#include "decision/schema.h"

#include <algorithm>
#include <array>

namespace tollgate {
namespace {

struct BuiltIn {
    std::string_view name;
    ValueKind kind;
    FieldSource source;
};
constexpr std::array kBuiltIns{
    BuiltIn{"event_id", ValueKind::kString, FieldSource::kEventId},
    BuiltIn{"event_type", ValueKind::kString, FieldSource::kEventType},
    BuiltIn{"occurred_at", ValueKind::kTime, FieldSource::kOccurredAt},
    BuiltIn{"account_id", ValueKind::kString, FieldSource::kAccountId},
    BuiltIn{"amount.currency", ValueKind::kString, FieldSource::kAmountCurrency},
    BuiltIn{"counterparty.id", ValueKind::kString, FieldSource::kCounterpartyId},
    BuiltIn{"counterparty.kind", ValueKind::kString, FieldSource::kCounterpartyKind},
    BuiltIn{"counterparty.category", ValueKind::kString, FieldSource::kCounterpartyCategory},
    BuiltIn{"counterparty.country", ValueKind::kString, FieldSource::kCounterpartyCountry},
    BuiltIn{"channel", ValueKind::kString, FieldSource::kChannel},
    BuiltIn{"device.id", ValueKind::kString, FieldSource::kDeviceId},
    BuiltIn{"device.ip_country", ValueKind::kString, FieldSource::kDeviceIpCountry},
    BuiltIn{"memo", ValueKind::kString, FieldSource::kMemo},
    BuiltIn{"parent_id", ValueKind::kString, FieldSource::kParentId},
};

ValueKind kind_of(AttributeType type) {
    switch (type) {
        case AttributeType::kString:
            return ValueKind::kString;
        case AttributeType::kInteger:
        case AttributeType::kDecimal:
            return ValueKind::kNumber;
        case AttributeType::kBoolean:
            return ValueKind::kBool;
        case AttributeType::kTimestamp:
            return ValueKind::kTime;
        case AttributeType::kMoney:
            return ValueKind::kMoney;
    }
    return ValueKind::kUnknown;
}

// The place of `item`, added at the end when it is new.
template <class T>
std::uint16_t place_of(std::vector<T>& items, const T& item, bool& added) {
    const auto at = std::find(items.begin(), items.end(), item);
    added = at == items.end();
    const auto index = static_cast<std::uint16_t>(at - items.begin());
    if (added) {
        items.push_back(item);
    }
    return index;
}

}  // namespace

std::optional<std::size_t> Schema::find(std::string_view name) const {
    for (std::size_t i = 0; i < attributes.size(); ++i) {
        if (attributes[i].name == name) {
            return i;
        }
    }
    return std::nullopt;
}

FieldTable::FieldTable(const Schema& schema) : schema_(schema) {
    for (const BuiltIn& b : kBuiltIns) {
        fields_.push_back({std::string(b.name), b.kind, b.source, 0});
    }
    for (std::size_t i = 0; i < schema_.attributes.size(); ++i) {
        const AttributeDef& attribute = schema_.attributes[i];
        if (attribute.type != AttributeType::kMoney) {
            fields_.push_back({"attributes." + attribute.name, kind_of(attribute.type),
                               FieldSource::kAttribute, static_cast<std::uint16_t>(i)});
        }
    }
}

void FieldTable::add_ruleset(Currency currency, std::string_view zone) {
    bool added = false;
    const std::uint16_t c = place_of(currencies_, currency, added);
    if (added) {
        fields_.push_back({"amount", ValueKind::kMoney, FieldSource::kAmountIn, c, c});
        fields_.push_back({"account.limit", ValueKind::kMoney, FieldSource::kAccountLimit, c, c});
        for (std::size_t i = 0; i < schema_.attributes.size(); ++i) {
            if (schema_.attributes[i].type == AttributeType::kMoney) {
                fields_.push_back({"attributes." + schema_.attributes[i].name, ValueKind::kMoney,
                                   FieldSource::kAttribute, static_cast<std::uint16_t>(i), c});
            }
        }
    }
    const std::uint16_t z = place_of(zones_, std::string(zone), added);
    if (added) {
        fields_.push_back({"local_time", ValueKind::kTimeOfDay, FieldSource::kLocalTime, z});
        fields_.push_back({"local_weekday", ValueKind::kNumber, FieldSource::kLocalWeekday, z});
    }
}

std::optional<FieldId> FieldTable::find(std::string_view name, Currency currency,
                                        std::string_view zone) const {
    for (std::size_t i = 0; i < fields_.size(); ++i) {
        const FieldInfo& field = fields_[i];
        const bool local =
            field.source == FieldSource::kLocalTime || field.source == FieldSource::kLocalWeekday;
        const bool seen = field.kind == ValueKind::kMoney ? currencies_[field.currency] == currency
                                                          : !local || zones_[field.index] == zone;
        if (seen && field.name == name) {
            return FieldId{static_cast<std::uint16_t>(i)};
        }
    }
    return std::nullopt;
}

std::vector<std::string> FieldTable::names() const {
    std::vector<std::string> names{"amount", "account.limit", "local_time", "local_weekday"};
    for (const FieldInfo& field : fields_) {
        names.push_back(field.name);
    }
    for (const AttributeDef& attribute : schema_.attributes) {
        names.push_back("attributes." + attribute.name);
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

}  // namespace tollgate
