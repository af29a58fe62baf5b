// Account state: the limit and the block of an account, the typed changes to them, and a tenant's
// table of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/hash.h"
#include "base/result.h"
#include "base/time.h"
#include "decision/money.h"
#include "text/json.h"
#include "text/json_writer.h"

namespace tollgate {

// Caps one event, in the policy's currency.
struct AccountLimit {
    Money amount;
    std::uint64_t sequence = 0;  // of the change that set it
    std::optional<EventTime> expires_at;
    std::string set_by;  // "an_..." or a person
    std::string reason;
    friend bool operator==(const AccountLimit&, const AccountLimit&) = default;
};
struct AccountBlock {
    std::uint64_t sequence = 0;
    std::optional<EventTime> expires_at;
    std::string set_by;
    std::string reason;
    friend bool operator==(const AccountBlock&, const AccountBlock&) = default;
};

struct AccountState {
    std::optional<AccountLimit> limit;
    std::optional<AccountBlock> block;
    std::uint64_t sequence = 0;  // of the newest change
    // In force at `now` (the stream clock): what has expired (expires_at <= now) is null.
    const AccountLimit* limit_at(EventTime now) const noexcept;
    const AccountBlock* block_at(EventTime now) const noexcept;
    friend bool operator==(const AccountState&, const AccountState&) = default;
};

enum class AccountAction : std::uint8_t { kSetLimit, kClearLimit, kBlock, kUnblock };
std::string_view to_text(AccountAction action);  // "set_limit", "clear_limit", "block", "unblock"

struct AccountChange {
    std::string account_id;
    AccountAction action = AccountAction::kSetLimit;
    std::optional<Money> amount;  // kSetLimit
    std::optional<EventTime> expires_at;
    std::string set_by;          // up to 128 bytes
    std::string reason;          // up to 512 bytes
    std::uint64_t sequence = 0;  // the tenant's change number; given when it is published
    friend bool operator==(const AccountChange&, const AccountChange&) = default;
};
// kBadInput naming the field: amount present exactly with kSetLimit, in `currency`, >= 0; lengths.
Status validate(const AccountChange& change, Currency currency);

// {"account_id","action","amount":{"value","currency"},"expires_at","set_by","reason","sequence"};
// the last four optional.
Result<AccountChange> parse_account_change(const JsonValue& json);
void append_account_change(JsonWriter& out, const AccountChange& change);

// One stored state; decode: kCorrupt when the bytes are not encode's.
std::string encode(const AccountState& state);
Result<AccountState> decode_account_state(std::string_view bytes);

// One per tenant. The loop thread owns it: the fast path reads it and changes are applied there
// (other threads post them), so a read takes no lock and an event admitted after a change sees it.
// Chosen over a shared snapshot because reader and writer are the same thread already; revisit with
// a second io thread.
class AccountTable {
  public:
    explicit AccountTable(std::size_t max_accounts = 1'000'000) : max_accounts_(max_accounts) {}

    // Null for an account without state. Valid until the next apply() or put(). No allocation.
    const AccountState* find(std::string_view account_id) const noexcept;
    // The state after the change, which is stored. kConflict when its sequence is not above the
    // account's; kOverloaded when the table is full of states still in force at `now`.
    Result<AccountState> apply(const AccountChange& change, EventTime now);
    // Recovery: a state as it was stored. kOverloaded when full.
    Status put(std::string_view account_id, AccountState state);
    // Removes states with nothing in force; returns how many.
    std::size_t sweep(EventTime now);
    void visit(const std::function<void(std::string_view, const AccountState&)>& visit) const;
    std::size_t size() const noexcept { return states_.size(); }

  private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept { return hash64(text); }
    };
    std::unordered_map<std::string, AccountState, Hash, std::equal_to<>> states_;
    std::size_t max_accounts_;
};

}  // namespace tollgate
