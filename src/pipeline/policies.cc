// Activating, rolling back and listing policy packs. Compiling and rebuilding happen on the
// background thread; the swap happens on the loop between two events.
#include <algorithm>

#include "base/log.h"
#include "decision/record.h"
#include "pipeline/history.h"
#include "pipeline/impl.h"
#include "pipeline/meta.h"
#include "pipeline/rebase.h"
#include "text/json_writer.h"

namespace tollgate::pipeline {

namespace {

constexpr int kSettleTries = 5'000;  // of 2 ms
constexpr std::size_t kLastTail = 64;

void fail(const ReplyFn& reply, Error error) {
    reply({.error = std::move(error), .body = {}, .replayed = false, .times = {}});
}

std::string activation_body(const PolicyPack& pack, std::string_view previous,
                            std::string_view persisted) {
    std::string body;
    JsonWriter out(body);
    out.begin_object();
    out.key("active");
    out.string(pack.hash);
    out.key("name");
    out.string(pack.policy.name);
    out.key("previous");
    if (previous.empty()) {
        out.null();
    } else {
        out.string(previous);
    }
    out.key("rules");
    out.whole(pack.rules->rules.size());
    out.key("windows");
    out.whole(pack.rules->plan.windows.size());
    out.key("warnings");
    out.begin_array();
    for (const std::string& warning : pack.warnings) {
        out.string(warning);
    }
    out.end_array();
    out.key("persisted");
    out.string(persisted);
    out.end_object();
    return body;
}

}  // namespace

void Pipeline::Impl::activate_policy(const std::string& tenant_name, PackFiles files,
                                     const std::string& by, ReplyFn reply) {
    Result<Tenant*> found = make_tenant(tenant_name);
    if (!found) {
        fail(reply, found.error());
        return;
    }
    Tenant* tenant = *found;
    if (tenant->rebuilding) {
        fail(reply, {Fault::kConflict, "another policy is being activated for this tenant"});
        return;
    }
    const EventTime now = tenant->clock->now(loop.wall());
    std::function<void()> job = [this, tenant, files = std::move(files), by, reply, now]() mutable {
        std::vector<Diagnostic> findings;
        auto pack = load_pack(std::move(files), findings, now);
        std::string report;
        for (const Diagnostic& finding : findings) {
            if (finding.level == Diagnostic::Level::kError) {
                report += format(finding) + "\n";
            }
        }
        if (!pack) {
            loop.post([reply, error = pack.error(), report] {
                fail(reply, {error.fault, report.empty() ? error.message : report});
            });
            return;
        }
        PackPtr ready(std::move(*pack));
        loop.post([this, tenant, ready, by, reply] { activate_pack(*tenant, ready, by, reply); });
    };
    if (!work.try_push(job)) {
        fail(reply, {Fault::kOverloaded, "too many administrative tasks are waiting"});
    }
}

void Pipeline::Impl::activate_pack(Tenant& tenant, PackPtr pack, const std::string& by,
                                   const ReplyFn& reply) {
    if (tenant.rebuilding) {
        fail(reply, {Fault::kConflict, "another policy is being activated for this tenant"});
        return;
    }
    tenant.packs.insert_or_assign(pack->hash, pack);
    if (pack->rules->plan.signature == tenant.pack->rules->plan.signature) {
        install(tenant, std::move(pack), nullptr, by, reply);
    } else {
        rebuild(tenant, std::move(pack), by, reply);
    }
}

void Pipeline::Impl::rollback_policy(const std::string& tenant_name, const std::string& by,
                                     ReplyFn reply) {
    Tenant* tenant = find_tenant(tenant_name);
    if (tenant == nullptr || tenant->previous == nullptr) {
        fail(reply, {Fault::kConflict, "there is no earlier policy to roll back to"});
        return;
    }
    activate_pack(*tenant, tenant->previous, by, reply);
}

// The new pack's windows need other rows: they are read from the log while decisions go on with the
// old ones. Events recorded from now on (arrival >= before) are also kept in the tail and fed at
// the end.
void Pipeline::Impl::rebuild(Tenant& tenant, PackPtr pack, const std::string& by,
                             const ReplyFn& reply) {
    tenant.rebuilding = true;
    tenant.tail.clear();
    rebuild_when_settled(tenant, std::move(pack), tenant.next_arrival, by, reply, 0);
}

void Pipeline::Impl::rebuild_when_settled(Tenant& tenant, PackPtr pack, std::uint64_t before,
                                          const std::string& by, const ReplyFn& reply, int tries) {
    const bool settled =
        std::none_of(tenant.pending.begin(), tenant.pending.end(), [before](const auto& entry) {
            return entry.second.arrival != 0 && entry.second.arrival < before;
        });
    if (!settled) {
        if (tries >= kSettleTries) {
            tenant.rebuilding = false;
            tenant.tail.clear();
            fail(reply, {Fault::kTimeout,
                         "the store does not confirm earlier decisions; the old policy stays"});
            return;
        }
        (void)loop.call_at(loop.now() + std::chrono::milliseconds(2),
                           [this, owner = &tenant, pack, before, by, reply, tries] {
                               rebuild_when_settled(*owner, pack, before, by, reply, tries + 1);
                           });
        return;
    }
    const std::map<std::string, PackPtr> packs = tenant.packs;
    std::function<void()> job = [this, owner = &tenant, name = tenant.name, pack, packs, before, by,
                                 reply] {
        auto made = make_windows(name, *pack);
        const std::shared_ptr<WindowStore> windows = made ? *made : nullptr;
        Status result = made ? ok() : Status(made.error());
        if (windows != nullptr) {
            HistoryReader history(store, name, pack, *windows, by_hash(packs));
            const Status read = store.read_log(name, 1, [&](const store::LogEntry& entry) {
                result = history.apply(entry, before);
                return result.has_value();
            });
            if (result && !read) {
                result = read;
            }
        }
        loop.post([this, owner, pack, windows, by, reply, result] {
            if (!result) {
                owner->rebuilding = false;
                owner->tail.clear();
                fail(reply, result.error());
                return;
            }
            feed_tail(*owner, pack, windows, by, reply);
        });
    };
    if (!work.try_push(job)) {
        tenant.rebuilding = false;
        fail(reply, {Fault::kOverloaded, "too many administrative tasks are waiting"});
    }
}

// Feeds what was recorded meanwhile, in the background while it is much, at last on the loop.
void Pipeline::Impl::feed_tail(Tenant& tenant, PackPtr pack, std::shared_ptr<WindowStore> windows,
                               const std::string& by, const ReplyFn& reply) {
    const Schema& schema = tenant.pack->schema();
    const auto feed = [pack, windows](const std::vector<TailEntry>& entries, const Schema& from) {
        WindowLoader loader(*pack, *windows);
        for (const TailEntry& entry : entries) {
            if (const auto* event = std::get_if<TailEvent>(&entry)) {
                loader.load(rebase_event(event->event, from, pack->schema()), event->arrival, {});
            } else {
                const auto& label = std::get<TailLabel>(entry);
                (void)loader.label(rebase_event(label.event, from, pack->schema()), label.arrival,
                                   label.label, label.known_at);
            }
        }
    };
    if (tenant.tail.size() <= kLastTail) {
        feed(tenant.tail, schema);
        tenant.tail.clear();
        install(tenant, std::move(pack), std::move(windows), by, reply);
        return;
    }
    auto entries = std::make_shared<std::vector<TailEntry>>(std::move(tenant.tail));
    tenant.tail.clear();
    std::function<void()> job = [this, owner = &tenant, old = tenant.pack, pack, windows, by, reply,
                                 entries, feed] {
        feed(*entries, old->schema());
        loop.post([this, owner, pack, windows, by, reply] {
            feed_tail(*owner, pack, windows, by, reply);
        });
    };
    if (!work.try_push(job)) {
        tenant.rebuilding = false;
        fail(reply, {Fault::kOverloaded, "too many administrative tasks are waiting"});
    }
}

void Pipeline::Impl::remember_tail(const Flight& f) {
    f.tenant->tail.emplace_back(TailEvent{.event = f.in.event, .arrival = f.arrival});
}

// Swaps when no event holds the old pack without having read the windows. `windows` null: the rows
// fit as they are.
void Pipeline::Impl::install(Tenant& tenant, PackPtr pack, std::shared_ptr<WindowStore> windows,
                             const std::string& by, const ReplyFn& reply) {
    if (tenant.undecided > 0) {
        tenant.rebuilding = windows != nullptr;
        (void)loop.call_at(loop.now() + std::chrono::milliseconds(1),
                           [this, owner = &tenant, pack, windows, by, reply] {
                               if (windows != nullptr) {
                                   feed_tail(*owner, pack, windows, by, reply);
                               } else {
                                   install(*owner, pack, windows, by, reply);
                               }
                           });
        return;
    }
    tenant.rebuilding = false;
    tenant.tail.clear();
    const std::string before = tenant.pack->hash;
    if (windows != nullptr) {
        tenant.windows = std::move(windows);
        tenant.plan_owner = pack;
    }
    if (pack->hash != before) {
        tenant.previous = tenant.pack;
    }
    tenant.pack = pack;
    tenant.clock->use_rules(pack->policy.clock);
    Sealed sealed = make_policy_record(
        tenant.name, {.hash = pack->hash, .by = by, .at = tenant.clock->now(loop.wall())});
    std::vector<store::Put> puts;
    puts.push_back({.family = store::Family::kMeta,
                    .key = std::string(kMetaPack) + pack->hash,
                    .value = encode_pack(pack->files)});
    puts.push_back({.family = store::Family::kMeta,
                    .key = std::string(kMetaActive),
                    .value = to_bytes(ActivePolicy{
                        .current = pack->hash,
                        .previous = tenant.previous == nullptr ? "" : tenant.previous->hash})});
    // The old snapshot's rows are of another layout when the signature changed; recovery sees that
    // by the mark.
    log_event(
        Level::kInfo, "policy_activated",
        {{"policy", std::string_view(pack->hash)}, {"tenant", std::string_view(tenant.name)}});
    submit_simple(
        tenant, std::move(sealed), std::move(puts),
        [pack, before](std::string_view persisted) {
            return activation_body(*pack, before, persisted);
        },
        reply);
}

void Pipeline::Impl::list_policies(const std::string& tenant_name, ReplyFn reply) {
    Result<Tenant*> found = make_tenant(tenant_name);
    if (!found) {
        fail(reply, found.error());
        return;
    }
    const Tenant& tenant = **found;
    std::string body;
    JsonWriter out(body);
    out.begin_object();
    out.key("active");
    out.string(tenant.pack->hash);
    out.key("previous");
    if (tenant.previous == nullptr) {
        out.null();
    } else {
        out.string(tenant.previous->hash);
    }
    out.key("policies");
    out.begin_array();
    for (const auto& [hash, pack] : tenant.packs) {
        out.begin_object();
        out.key("hash");
        out.string(hash);
        out.key("name");
        out.string(pack->policy.name);
        out.key("rules");
        out.whole(pack->rules->rules.size());
        out.key("windows");
        out.whole(pack->rules->plan.windows.size());
        out.end_object();
    }
    out.end_array();
    out.end_object();
    reply({.error = {}, .body = std::move(body), .replayed = false, .times = {}});
}

}  // namespace tollgate::pipeline
