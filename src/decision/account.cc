// Account states: expiry, changes, stored form, and the bounded table.
#include "decision/account.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/bytes.h"
#include "decision/describe.h"

namespace tollgate {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kMaxSetBy = 128;
constexpr std::size_t kMaxReason = 512;

template <class T>
const T* in_force(const std::optional<T>& item, EventTime now) noexcept {
    return item && (!item->expires_at || *item->expires_at > now) ? &*item : nullptr;
}

bool any_in_force(const AccountState& state, EventTime now) noexcept {
    return state.limit_at(now) != nullptr || state.block_at(now) != nullptr;
}

void put_time(ByteWriter& out, const std::optional<EventTime>& time) {
    out.u8(time ? 1 : 0);
    out.i64(time ? to_micros(*time) : 0);
}
std::optional<EventTime> take_time(ByteReader& in) {
    const bool there = in.u8() != 0;
    const EventTime time = from_micros(in.i64());
    return there ? std::optional(time) : std::nullopt;
}

Error bad(std::string_view field, const std::string& what) {
    return {Fault::kBadInput, std::string(field) + " " + what};
}

}  // namespace

const AccountLimit* AccountState::limit_at(EventTime now) const noexcept {
    return in_force(limit, now);
}
const AccountBlock* AccountState::block_at(EventTime now) const noexcept {
    return in_force(block, now);
}

Status validate(const AccountChange& change, Currency currency) {
    if (change.account_id.empty() || change.account_id.size() > 128) {
        return bad("account_id", "has " + std::to_string(change.account_id.size()) +
                                     " bytes, allowed are 1 to 128");
    }
    const bool sets_limit = change.action == AccountAction::kSetLimit;
    if (sets_limit != change.amount.has_value()) {
        return bad("amount", sets_limit ? "is required with action set_limit"
                                        : "is allowed with action set_limit only");
    }
    if (change.amount && change.amount->currency != currency) {
        return bad("amount.currency", std::string(alpha3_of(change.amount->currency)) +
                                          " must be the policy's, " +
                                          std::string(alpha3_of(currency)));
    }
    if (change.amount && change.amount->minor_units < 0) {
        return bad("amount.value", to_text(*change.amount) + " must not be negative");
    }
    const bool ends =
        change.action == AccountAction::kClearLimit || change.action == AccountAction::kUnblock;
    if (ends && change.expires_at) {
        return bad("expires_at", "is allowed with set_limit and block only");
    }
    if (change.set_by.size() > kMaxSetBy) {
        return bad("set_by",
                   "has " + std::to_string(change.set_by.size()) + " bytes, allowed are 0 to 128");
    }
    if (change.reason.size() > kMaxReason) {
        return bad("reason",
                   "has " + std::to_string(change.reason.size()) + " bytes, allowed are 0 to 512");
    }
    return ok();
}

std::string encode(const AccountState& state) {
    std::string bytes;
    ByteWriter out(bytes);
    out.u8(kVersion);
    out.u64(state.sequence);
    out.u8(static_cast<std::uint8_t>((state.limit ? 1U : 0U) | (state.block ? 2U : 0U)));
    if (state.limit) {
        out.i64(state.limit->amount.minor_units);
        out.u16(state.limit->amount.currency.numeric);
        out.u64(state.limit->sequence);
        put_time(out, state.limit->expires_at);
        out.bytes(state.limit->set_by);
        out.bytes(state.limit->reason);
    }
    if (state.block) {
        out.u64(state.block->sequence);
        put_time(out, state.block->expires_at);
        out.bytes(state.block->set_by);
        out.bytes(state.block->reason);
    }
    return bytes;
}

Result<AccountState> decode_account_state(std::string_view bytes) {
    ByteReader in(bytes);
    AccountState state;
    const std::uint8_t version = in.u8();
    state.sequence = in.u64();
    const std::uint8_t parts = in.u8();
    if ((parts & 1U) != 0) {
        AccountLimit limit;
        limit.amount.minor_units = in.i64();
        limit.amount.currency.numeric = in.u16();
        limit.sequence = in.u64();
        limit.expires_at = take_time(in);
        limit.set_by = in.bytes();
        limit.reason = in.bytes();
        state.limit = std::move(limit);
    }
    if ((parts & 2U) != 0) {
        AccountBlock block;
        block.sequence = in.u64();
        block.expires_at = take_time(in);
        block.set_by = in.bytes();
        block.reason = in.bytes();
        state.block = std::move(block);
    }
    if (version != kVersion || parts > 3 || !in.ok() || !in.at_end()) {
        return Error{Fault::kCorrupt, "a stored account state is not readable"};
    }
    return state;
}

const AccountState* AccountTable::find(std::string_view account_id) const noexcept {
    const auto at = states_.find(account_id);
    return at == states_.end() ? nullptr : &at->second;
}

Result<AccountState> AccountTable::apply(const AccountChange& change, EventTime now) {
    auto at = states_.find(std::string_view(change.account_id));
    if (at != states_.end() && change.sequence <= at->second.sequence) {
        return Error{Fault::kConflict, "sequence " + std::to_string(change.sequence) +
                                           " is not above the account's " +
                                           std::to_string(at->second.sequence)};
    }
    if (at == states_.end()) {
        if (states_.size() >= max_accounts_ && sweep(now) == 0) {
            return Error{Fault::kOverloaded,
                         "all " + std::to_string(max_accounts_) + " account states are in force"};
        }
        at = states_.emplace(change.account_id, AccountState{}).first;
    }
    AccountState& state = at->second;
    state.sequence = change.sequence;
    switch (change.action) {
        case AccountAction::kSetLimit:
            state.limit = AccountLimit{change.amount.value_or(Money{}), change.sequence,
                                       change.expires_at, change.set_by, change.reason};
            break;
        case AccountAction::kClearLimit:
            state.limit.reset();
            break;
        case AccountAction::kBlock:
            state.block =
                AccountBlock{change.sequence, change.expires_at, change.set_by, change.reason};
            break;
        case AccountAction::kUnblock:
            state.block.reset();
            break;
    }
    return state;
}

Status AccountTable::put(std::string_view account_id, AccountState state) {
    const auto at = states_.find(account_id);
    if (at != states_.end()) {
        at->second = std::move(state);
        return ok();
    }
    if (states_.size() >= max_accounts_) {
        return Error{Fault::kOverloaded,
                     "more than " + std::to_string(max_accounts_) + " account states"};
    }
    states_.emplace(std::string(account_id), std::move(state));
    return ok();
}

std::size_t AccountTable::sweep(EventTime now) {
    return std::erase_if(states_,
                         [&](const auto& entry) { return !any_in_force(entry.second, now); });
}

void AccountTable::visit(
    const std::function<void(std::string_view, const AccountState&)>& visit) const {
    for (const auto& [account_id, state] : states_) {
        visit(account_id, state);
    }
}

}  // namespace tollgate
