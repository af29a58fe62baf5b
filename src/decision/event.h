// Event: one payment, transfer or credit application as the caller described it. Plain data; owns
// its strings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "decision/money.h"
#include "decision/number.h"

namespace tollgate {

enum class EventType : std::uint8_t { kPayment, kTransfer, kCreditApplication };

struct Counterparty {
    std::optional<std::string> id;
    std::optional<std::string> kind;
    std::optional<std::string> category;
    std::optional<std::string> country;
    friend bool operator==(const Counterparty&, const Counterparty&) = default;
};
struct Device {
    std::optional<std::string> id;
    std::optional<std::string> ip_country;
    friend bool operator==(const Device&, const Device&) = default;
};

// Declared in the policy. kMoney is a decimal string in the event's own currency.
enum class AttributeType : std::uint8_t {
    kString,
    kInteger,
    kDecimal,
    kBoolean,
    kTimestamp,
    kMoney
};
// In the order of AttributeType: string; integer; decimal scaled by 10^6; boolean; time; minor
// units.
struct AttributeValue {
    AttributeType type = AttributeType::kString;
    std::string text;  // kString
    std::int64_t number =
        0;  // kInteger, kDecimal (micro-units), kBoolean (0/1), kTimestamp (UTC us), kMoney (minor)
    friend bool operator==(const AttributeValue&, const AttributeValue&) = default;
};

struct Event {
    std::string event_id;  // opaque, 1..128 bytes
    EventType type = EventType::kPayment;
    EventTime occurred_at;
    std::string account_id;
    Money amount;
    std::optional<Counterparty> counterparty;
    std::optional<std::string> channel;
    std::optional<Device> device;
    std::optional<std::string> memo;  // up to 4,096 bytes
    std::optional<std::string> parent_id;
    std::vector<std::optional<AttributeValue>>
        attributes;  // by the schema's index; absent is unknown
    friend bool operator==(const Event&, const Event&) = default;
};

enum class Label : std::uint8_t { kNone = 0, kFraud = 1, kLegit = 2 };
enum class OutcomeKind : std::uint8_t { kChargeback, kConfirmed, kCleared, kAnalyst };
struct Outcome {
    std::string outcome_id;
    std::string event_id;
    Label label = Label::kNone;
    OutcomeKind kind = OutcomeKind::kConfirmed;
    EventTime known_at;
    std::string note;  // up to 1,024 bytes; personal
    friend bool operator==(const Outcome&, const Outcome&) = default;
};

}  // namespace tollgate
