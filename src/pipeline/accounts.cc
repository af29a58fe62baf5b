// Account limits and blocks, and what GET /v1/accounts and /v1/assessments answer.
#include <algorithm>

#include "base/ids.h"
#include "decision/event_json.h"
#include "pipeline/history.h"
#include "pipeline/impl.h"
#include "pipeline/value_json.h"
#include "text/json_writer.h"

namespace tollgate::pipeline {

namespace {

void write_optional_time(JsonWriter& out, const std::optional<EventTime>& at) {
    if (at) {
        out.string(format_rfc3339(*at));
    } else {
        out.null();
    }
}

void write_state(JsonWriter& out, const AccountState* state, EventTime now) {
    const AccountLimit* limit = state == nullptr ? nullptr : state->limit_at(now);
    const AccountBlock* block = state == nullptr ? nullptr : state->block_at(now);
    out.key("limit");
    if (limit == nullptr) {
        out.null();
    } else {
        out.begin_object();
        out.key("amount");
        out.string(to_text(limit->amount));
        out.key("currency");
        out.string(alpha3_of(limit->amount.currency));
        out.key("set_by");
        out.string(limit->set_by);
        out.key("reason");
        out.string(limit->reason);
        out.key("sequence");
        out.whole(limit->sequence);
        out.key("expires_at");
        write_optional_time(out, limit->expires_at);
        out.end_object();
    }
    out.key("block");
    if (block == nullptr) {
        out.null();
    } else {
        out.begin_object();
        out.key("set_by");
        out.string(block->set_by);
        out.key("reason");
        out.string(block->reason);
        out.key("sequence");
        out.whole(block->sequence);
        out.key("expires_at");
        write_optional_time(out, block->expires_at);
        out.end_object();
    }
    out.key("sequence");
    out.whole(state == nullptr ? 0 : state->sequence);
}

void fail(const ReplyFn& reply, Error error) {
    reply({.error = std::move(error), .body = {}, .replayed = false, .times = {}});
}

}  // namespace

void Pipeline::Impl::change_account(const std::string& tenant_name, AccountChange change,
                                    ReplyFn reply) {
    Result<Tenant*> found = make_tenant(tenant_name);
    if (!found) {
        fail(reply, found.error());
        return;
    }
    Tenant& tenant = **found;
    change.sequence = tenant.next_change;
    if (Status valid = validate(change, tenant.pack->policy.currency); !valid) {
        fail(reply, valid.error());
        return;
    }
    const EventTime now = tenant.clock->now(loop.wall());
    Result<AccountState> state = tenant.accounts.apply(change, now);
    if (!state) {
        fail(reply, state.error());
        return;
    }
    ++tenant.next_change;
    Sealed sealed = make_account_record(tenant.name, change, tenant.pack->schema(), salts);
    std::vector<store::Put> puts;
    puts.push_back(
        {.family = store::Family::kAccounts, .key = change.account_id, .value = encode(*state)});
    submit_simple(
        tenant, std::move(sealed), std::move(puts),
        [account = change.account_id, state = *state, now](std::string_view persisted) {
            std::string body;
            JsonWriter out(body);
            out.begin_object();
            out.key("account_id");
            out.string(account);
            write_state(out, &state, now);
            out.key("persisted");
            out.string(persisted);
            out.end_object();
            return body;
        },
        reply);
}

// Limits, block and the windows kept by this account alone, as they stand at the stream clock's
// now.
void Pipeline::Impl::get_account(const std::string& tenant_name, const std::string& account_id,
                                 ReplyFn reply) {
    Tenant* tenant = find_tenant(tenant_name);
    if (tenant == nullptr) {
        fail(reply, {Fault::kNotFound, "account \"" + account_id + "\" is not known"});
        return;
    }
    const PolicyPack& pack = *tenant->pack;
    Event probe;
    probe.account_id = account_id;
    probe.occurred_at = tenant->clock->now(loop.wall());
    probe.amount.currency = pack.policy.currency;
    probe.attributes.resize(pack.schema().attributes.size());
    WindowLoader loader(pack, *tenant->windows);
    const EventKeys keys = loader.keys(probe);
    std::vector<WindowStore::KeyRef> cold;
    tenant->windows->missing(keys, cold);
    load_keys_then(
        *tenant, cold,
        [tenant, keys, probe = std::move(probe), account_id, reply = std::move(reply)] {
            const PackPtr now_pack = tenant->pack;
            const WindowPlan& plan = now_pack->rules->plan;
            std::vector<Value> fields(now_pack->fields.size());
            WindowValues values;
            EvalInput input{.fields = fields,
                            .windows = {},
                            .lists = &now_pack->lists,
                            .now = probe.occurred_at};
            tenant->windows->assess(plan, keys,
                                    {.at = probe.occurred_at, .arrival = tenant->next_arrival},
                                    input, RecordMode::kPeek, values);
            std::string body;
            JsonWriter out(body);
            out.begin_object();
            out.key("account_id");
            out.string(account_id);
            out.key("as_of");
            out.string(format_rfc3339(probe.occurred_at));
            write_state(out, tenant->accounts.find(account_id), probe.occurred_at);
            out.key("windows");
            out.begin_object();
            for (std::size_t i = 0; i < plan.windows.size() && i < values.values.size(); ++i) {
                const WindowDef& window = plan.windows[i];
                if (plan.keys[static_cast<std::size_t>(window.key)].name == "account_id") {
                    out.key(window.name);
                    append_value_json(out, values.values[i], window.currency);
                }
            }
            out.end_object();
            out.end_object();
            reply({.error = {}, .body = std::move(body), .replayed = false, .times = {}});
        });
}

void Pipeline::Impl::get_assessment(const std::string& tenant_name, const std::string& id,
                                    ReplyFn reply) {
    Tenant* tenant = find_tenant(tenant_name);
    const auto seq = tenant == nullptr ? std::nullopt : decode_id("as_", id, tenant->id_secret);
    const Error missing{Fault::kNotFound, "assessment \"" + id.substr(0, 64) + "\" is not known"};
    if (!seq) {
        fail(reply, missing);
        return;
    }
    const std::string name = tenant->name;
    const bool posted = store.post_read(guarded([this, name, id, seq = *seq, reply, missing] {
        std::string body;
        const auto answer = store.get(store::Family::kReplies, name, be64_key(seq));
        const auto log = store.get(store::Family::kLog, name, be64_key(seq));
        if (answer && *answer && log && *log && (*log)->size() > sizeof(Digest)) {
            JsonWriter out(body);
            out.begin_object();
            out.key("id");
            out.string(id);
            out.key("answer");
            out.raw(**answer);
            out.key("record");
            out.raw(std::string_view(**log).substr(sizeof(Digest)));
            out.key("chain");
            out.string(to_hex(std::string_view(**log).substr(0, sizeof(Digest))));
            out.end_object();
        }
        loop.post([body = std::move(body), reply, missing]() mutable {
            if (body.empty()) {
                fail(reply, missing);
            } else {
                reply({.error = {}, .body = std::move(body), .replayed = false, .times = {}});
            }
        });
    }));
    if (!posted) {
        fail(reply, {Fault::kOverloaded, "too many look-ups are waiting; try again"});
    }
}

// Loads keys from disk into the tenant's windows, then goes on (at once when there are none). No
// deadline of its own.
void Pipeline::Impl::load_keys_then(Tenant& tenant, const std::vector<WindowStore::KeyRef>& keys,
                                    std::function<void()> then) {
    if (keys.empty()) {
        then();
        return;
    }
    const std::shared_ptr<WindowStore> windows = tenant.windows;
    const bool posted = store.post_read(guarded([this, name = tenant.name, keys, windows, then] {
        for (const WindowStore::KeyRef& key : keys) {
            if (auto blob = store.get(store::Family::kKeys, name, key_name(key)); blob && *blob) {
                (void)windows->load_key(key, parse_key_blob(**blob).rows);
            }
        }
        loop.post(then);
    }));
    if (!posted) {
        then();
    }
}

}  // namespace tollgate::pipeline
