// Account changes as JSON: what the admin route reads and records keep.
#include <array>
#include <string>

#include "decision/account.h"
#include "decision/json_fields.h"

namespace tollgate {
namespace {

constexpr std::array<std::string_view, 4> kActions{"set_limit", "clear_limit", "block", "unblock"};
constexpr std::array<std::string_view, 7> kFields{"account_id", "action", "amount",  "expires_at",
                                                  "set_by",     "reason", "sequence"};

}  // namespace

std::string_view to_text(AccountAction action) {
    const auto index = static_cast<std::size_t>(action);
    return index < kActions.size() ? kActions[index] : std::string_view("unknown");
}

Result<AccountChange> parse_account_change(const JsonValue& json) {
    TG_TRY(const JsonMembers members, json_members(json, ""));
    TG_TRY(const auto known, members.only(kFields, "an account change"));
    (void)known;
    AccountChange change;
    TG_TRY(change.account_id, required_text(members, "account_id", kIdBounds));
    TG_TRY(const std::size_t action, required_choice(members, "action", kActions));
    change.action = static_cast<AccountAction>(action);
    if (members.find("amount")) {
        TG_TRY(const Money amount, required_amount(members, "amount"));
        change.amount = amount;
    }
    TG_TRY(change.expires_at, optional_time(members, "expires_at"));
    TG_TRY(auto set_by, optional_text(members, "set_by", {0, kMaxIdBytes, false}));
    change.set_by = std::move(set_by).value_or("");
    TG_TRY(auto reason, optional_text(members, "reason", {0, 512, true}));
    change.reason = std::move(reason).value_or("");
    if (const auto sequence = members.find("sequence")) {
        TG_TRY(change.sequence, unsigned_of(*sequence, "sequence"));
    }
    return change;
}

void append_account_change(JsonWriter& out, const AccountChange& change) {
    out.begin_object();
    out.key("account_id");
    out.string(change.account_id);
    out.key("action");
    out.string(to_text(change.action));
    if (change.amount) {
        out.key("amount");
        out.begin_object();
        out.key("value");
        out.string(to_text(*change.amount));
        out.key("currency");
        out.string(alpha3_of(change.amount->currency));
        out.end_object();
    }
    if (change.expires_at) {
        out.key("expires_at");
        out.string(format_rfc3339(*change.expires_at));
    }
    if (!change.set_by.empty()) {
        out.key("set_by");
        out.string(change.set_by);
    }
    if (!change.reason.empty()) {
        out.key("reason");
        out.string(change.reason);
    }
    out.key("sequence");
    out.whole(change.sequence);
    out.end_object();
}

}  // namespace tollgate
