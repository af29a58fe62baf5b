// Later truth: outcomes reach the rows of their event, or wait for it.
#include <algorithm>

#include "base/bytes.h"
#include "decision/event_json.h"
#include "pipeline/history.h"
#include "pipeline/impl.h"
#include "pipeline/rebase.h"
#include "pipeline/retention.h"
#include "text/json.h"
#include "text/json_writer.h"

namespace tollgate::pipeline {

namespace {

std::string canonical(const Outcome& outcome) {
    std::string text;
    JsonWriter writer(text);
    append_outcome(writer, outcome);
    return text;
}

std::string reply_body(const Outcome& outcome, std::string_view status,
                       std::string_view persisted) {
    std::string body;
    JsonWriter out(body);
    out.begin_object();
    out.key("outcome_id");
    out.string(outcome.outcome_id);
    out.key("event_id");
    out.string(outcome.event_id);
    out.key("status");
    out.string(status);
    out.key("persisted");
    out.string(persisted);
    out.end_object();
    return body;
}

constexpr int kPendingTries = 20;
constexpr auto kPendingWait = std::chrono::milliseconds(5);

}  // namespace

// What the store knows of an outcome's id and event, read on the read thread.
struct OutcomeLookup {
    std::string earlier;  // canonical text of an outcome with that id for that event; empty: none
    std::optional<KnownEvent> known;
    std::optional<StoredEvent> event;
    bool keys_loaded = false;
};

void Pipeline::Impl::outcome(const std::string& tenant_name, Outcome outcome, ReplyFn reply) {
    Result<Tenant*> tenant = make_tenant(tenant_name);
    if (!tenant) {
        reply({.error = tenant.error(), .body = {}, .replayed = false, .times = {}});
        return;
    }
    outcome_try(**tenant, std::move(outcome), std::move(reply), 0);
}

// An event whose write is not confirmed yet cannot be read: tries again a moment later, then parks.
void Pipeline::Impl::outcome_try(Tenant& tenant, Outcome outcome, ReplyFn reply, int tries) {
    if (tenant.pending.contains(outcome.event_id) && tries < kPendingTries &&
        !options.virtual_time) {
        (void)loop.call_at(loop.now() + kPendingWait,
                           [this, owner = &tenant, outcome = std::move(outcome),
                            reply = std::move(reply), tries]() mutable {
                               outcome_try(*owner, std::move(outcome), std::move(reply), tries + 1);
                           });
        return;
    }
    const PackPtr pack = tenant.pack;
    const std::map<std::string, PackPtr> packs = tenant.packs;
    auto shared =
        std::make_shared<std::pair<Outcome, ReplyFn>>(std::move(outcome), std::move(reply));
    const bool posted = store.post_read(guarded([this, owner = &tenant, pack, packs, shared] {
        const Outcome& wanted = shared->first;
        OutcomeLookup found;
        const std::string& name = owner->name;
        if (auto earlier = store.get(store::Family::kOutcomes, name, outcome_key('e', wanted));
            earlier && *earlier) {
            found.earlier = std::move(**earlier);
        } else if (auto waiting =
                       store.get(store::Family::kOutcomes, name, outcome_key('p', wanted));
                   waiting && *waiting) {
            found.earlier = std::move(**waiting);
        }
        if (auto known = store.get(store::Family::kEvents, name, wanted.event_id);
            known && *known) {
            found.known = parse_known_event(**known);
        }
        if (found.known) {
            auto event = read_stored_event(store, name, found.known->seq, *pack, by_hash(packs));
            if (event) {
                found.event = std::move(*event);
            }
        }
        loop.post([this, owner, pack, shared, found = std::move(found)]() mutable {
            outcome_found(*owner, pack, shared->first, std::move(found), shared->second);
        });
    }));
    if (!posted) {
        shared->second(
            {.error = Error{Fault::kOverloaded, "outcomes: too many look-ups are waiting"},
             .body = {},
             .replayed = false,
             .times = {}});
    }
}

void Pipeline::Impl::outcome_found(Tenant& tenant, const PackPtr& pack, const Outcome& outcome,
                                   OutcomeLookup found, const ReplyFn& reply) {
    if (!found.earlier.empty() && !is_parked_retry(tenant, outcome, found)) {
        if (found.earlier == canonical(outcome)) {
            reply({.error = {},
                   .body = reply_body(outcome, "applied", "os"),
                   .replayed = true,
                   .times = {}});
        } else {
            reply({.error =
                       Error{Fault::kConflict, "outcome_id \"" + outcome.outcome_id +
                                                   "\" is taken by another outcome of that event"},
                   .body = {},
                   .replayed = false,
                   .times = {}});
        }
        return;
    }
    if (!found.event) {
        if (tenant.parked >= options.max_parked_outcomes) {
            reply({.error = Error{Fault::kOverloaded,
                                  "parked outcomes: " + std::to_string(tenant.parked) +
                                      " wait for their events, the bound"},
                   .body = {},
                   .replayed = false,
                   .times = {}});
            return;
        }
        ++tenant.parked;
        tenant.metrics.outcomes_parked.add();
        store_outcome(tenant, outcome, "parked", reply);
        return;
    }
    std::string status = "applied";
    if (!found.event->recorded) {
        status = "expired";
    } else {
        const Event event = rebase_event(found.event->event, pack->schema(), tenant.pack->schema());
        WindowLoader loader(*tenant.pack, *tenant.windows);
        std::vector<WindowStore::KeyRef> cold;
        tenant.windows->missing(loader.keys(event), cold);
        if (!cold.empty() && !found.keys_loaded) {
            found.keys_loaded = true;
            load_keys_then(tenant, cold, [this, owner = &tenant, pack, outcome, found, reply] {
                outcome_found(*owner, pack, outcome, found, reply);
            });
            return;
        }
        if (!loader.label(event, found.event->arrival, outcome.label, outcome.known_at)) {
            status = "expired";  // the event has left every window
        }
        if (tenant.rebuilding) {
            tenant.tail.emplace_back(TailLabel{.event = event,
                                               .arrival = found.event->arrival,
                                               .label = outcome.label,
                                               .known_at = outcome.known_at});
        }
    }
    tenant.metrics.outcomes.add();
    store_outcome(tenant, outcome, status, reply);
}

// True when the stored text is the parked form of this very outcome and its event has come by now.
bool Pipeline::Impl::is_parked_retry(const Tenant& tenant, const Outcome& outcome,
                                     const OutcomeLookup& found) const {
    return found.event.has_value() && tenant.parked > 0 && found.earlier == canonical(outcome) &&
           unparking.contains(outcome.outcome_id);
}

void Pipeline::Impl::store_outcome(Tenant& tenant, const Outcome& outcome, std::string_view status,
                                   const ReplyFn& reply) {
    Sealed sealed = make_outcome_record(tenant.name, outcome, salts);
    const bool parked = status == "parked";
    std::vector<store::Put> puts;
    puts.push_back({.family = store::Family::kOutcomes,
                    .key = outcome_key(parked ? 'p' : 'e', outcome),
                    .value = canonical(outcome)});
    if (parked) {
        puts.push_back(parked_note(day_of(loop.wall()), puts.front().key));
    }
    if (!parked && unparking.erase(outcome.outcome_id) > 0) {
        puts.push_back({.family = store::Family::kOutcomes,
                        .key = outcome_key('p', outcome),
                        .value = {},
                        .erase = true});
        tenant.parked -= tenant.parked > 0 ? 1U : 0U;
    }
    submit_simple(
        tenant, std::move(sealed), std::move(puts),
        [outcome, status = std::string(status)](std::string_view persisted) {
            return reply_body(outcome, status, persisted);
        },
        reply);
}

// The event of parked outcomes may have come: they are taken again as if they were sent now.
void Pipeline::Impl::unpark(Tenant& tenant, const std::string& event_id) {
    std::string prefix(1, 'p');
    ByteWriter(prefix).bytes(event_id);
    (void)store.post_read(guarded([this, owner = &tenant, prefix] {
        std::vector<Outcome> waiting;
        JsonDocument json;
        (void)store.scan(store::Family::kOutcomes, owner->name, prefix,
                         [&](std::string_view key, std::string_view value) {
                             if (key.substr(0, prefix.size()) != prefix) {
                                 return false;
                             }
                             if (auto root = json.parse(value)) {
                                 if (auto outcome = parse_outcome(*root)) {
                                     waiting.push_back(std::move(*outcome));
                                 }
                             }
                             return waiting.size() < 64;
                         });
        if (waiting.empty()) {
            return;
        }
        loop.post([this, owner, waiting = std::move(waiting)] {
            for (const Outcome& outcome : waiting) {
                if (unparking.insert(outcome.outcome_id).second) {
                    outcome_try(
                        *owner, outcome, [](const Reply&) {}, 0);
                }
            }
        });
    }));
}

// One record outside assessments; answered when it is confirmed, or as "memory" after the policy's
// wait.
void Pipeline::Impl::submit_simple(Tenant& tenant, Sealed sealed, std::vector<store::Put> puts,
                                   BodyFn body, const ReplyFn& reply) {
    const Policy& policy = tenant.pack->policy;
    const bool fsync = policy.store.durability == StoreDurability::kFsync;
    store::Commit commit;
    commit.tenant = tenant.name;
    commit.seq = tenant.next_seq;
    commit.record = std::move(sealed.text);
    commit.durability = fsync ? store::Durability::kFsync : store::Durability::kOs;
    commit.puts = std::move(puts);
    if (!sealed.personal.empty()) {
        commit.puts.push_back({.family = store::Family::kPersonal,
                               .key = be64_key(commit.seq),
                               .value = std::move(sealed.personal)});
    }
    const std::uint64_t number = next_flight++;
    commit.done = guarded([this, number, fsync] {
        loop.post([this, number, fsync] { confirm_simple(number, fsync ? "fsync" : "os"); });
    });
    simple.emplace(number, SimpleCommit{.body = std::move(body), .reply = reply, .timer = 0});
    if (!store.submit(commit)) {
        tenant.metrics.store_lost.add();
        simple.erase(number);
        reply({.error =
                   Error{Fault::kOverloaded,
                         "the store is not available and its journal is full; nothing was changed"},
               .body = {},
               .replayed = false,
               .times = {}});
        return;
    }
    ++tenant.next_seq;
    if (!options.virtual_time) {
        simple[number].timer =
            loop.call_at(loop.now() + std::chrono::milliseconds(policy.timeouts.store_confirm) * 4,
                         [this, number] {
                             simple[number].timer = 0;
                             confirm_simple(number, "memory");
                         });
    }
}

void Pipeline::Impl::confirm_simple(std::uint64_t number, std::string_view persisted) {
    const auto at = simple.find(number);
    if (at == simple.end()) {
        return;
    }
    SimpleCommit done = std::move(at->second);
    simple.erase(at);
    if (done.timer != 0) {
        loop.cancel(done.timer);
    }
    done.reply({.error = {}, .body = done.body(persisted), .replayed = false, .times = {}});
    finish_drain_if_idle();
}

}  // namespace tollgate::pipeline
