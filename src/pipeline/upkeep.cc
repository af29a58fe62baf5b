// Regular work beside decisions: window snapshots, expired rows, memory bounds, draining.
#include <algorithm>

#include "base/log.h"
#include "pipeline/impl.h"
#include "pipeline/meta.h"

namespace tollgate::pipeline {

namespace {
constexpr auto kUpkeepEvery = std::chrono::seconds(1);
constexpr std::size_t kSnapshotChunk = 64;  // keys a write: a few hundred kilobytes
}  // namespace

void Pipeline::Impl::schedule_upkeep() {
    if (options.virtual_time) {
        return;
    }
    (void)loop.call_at(loop.now() + kUpkeepEvery, [this] {
        ++upkeep_ticks;
        const auto every = static_cast<std::uint64_t>(options.snapshot_every.count());
        for (auto& [name, owner] : tenants) {
            Tenant& tenant = *owner;
            const Policy& policy = tenant.pack->policy;
            const EventTime now = tenant.clock->now(loop.wall());
            const Micros keep = tenant.pack->rules->plan.retention + policy.clock.lateness;
            // One shard a second: each is swept about once a minute.
            tenant.windows->sweep(upkeep_ticks % options.windows.shards, now - keep);
            (void)tenant.accounts.sweep(now);
            if (tenant.windows->over_memory() || (every > 0 && upkeep_ticks % every == 0)) {
                snapshot(tenant, [](const Status&) {});
            }
        }
        schedule_upkeep();
    });
}

// Writes every changed key and then the mark from which recovery replays the log. Rows of decisions
// that are not confirmed are told apart by the floor: recovery takes those from the log, if they
// got there.
void Pipeline::Impl::snapshot(Tenant& tenant, std::function<void(Status)> done) {
    if (tenant.snapshot_running || tenant.rebuilding) {
        done(ok());
        return;
    }
    std::uint64_t floor = tenant.next_arrival;
    for (const auto& [id, pending] : tenant.pending) {
        if (pending.arrival != 0) {
            floor = std::min(floor, pending.arrival);
        }
    }
    tenant.snapshot_running = true;
    const std::shared_ptr<WindowStore> windows = tenant.windows;
    const PackPtr plan_owner = tenant.plan_owner;
    const std::string clock = tenant.clock->encode();
    std::function<void()> job = [this, owner = &tenant, name = tenant.name, windows, plan_owner,
                                 floor, clock, done] {
        Status result = write_snapshot(name, *windows, *plan_owner, floor, clock);
        if (result && windows->over_memory()) {
            (void)windows->evict(options.windows.memory_bytes / 10 * 9);
        }
        loop.post([owner, done, result] {
            owner->snapshot_running = false;
            done(result);
        });
    };
    if (!work.try_push(job)) {
        tenant.snapshot_running = false;
        done(Error{Fault::kOverloaded, "too many administrative tasks are waiting"});
    }
}

// Background thread.
Status Pipeline::Impl::write_snapshot(const std::string& name, WindowStore& windows,
                                      const PolicyPack& plan_owner, std::uint64_t floor,
                                      const std::string& clock) {
    TG_TRY(const std::uint64_t seq, store.last_seq(name));
    Status failed = ok();
    for (;;) {
        store::Store::Bulk bulk{
            .tenant = name, .first_seq = 0, .records = {}, .puts = {}, .wal = true};
        const std::size_t written = windows.export_dirty(
            kSnapshotChunk, false, [&](const WindowStore::KeyRef& key, std::string_view rows) {
                bulk.puts.push_back({.family = store::Family::kKeys,
                                     .key = key_name(key),
                                     .value = to_bytes(floor, rows)});
            });
        if (written == 0) {
            break;
        }
        TG_TRY(const auto stored, store.write_bulk(bulk));
        (void)stored;
    }
    store::Store::Bulk mark{.tenant = name, .first_seq = 0, .records = {}, .puts = {}, .wal = true};
    mark.puts.push_back({.family = store::Family::kMeta,
                         .key = std::string(kMetaSnapshot),
                         .value = to_bytes(SnapshotMark{
                             .seq = seq, .signature = plan_owner.rules->plan.signature})});
    mark.puts.push_back(
        {.family = store::Family::kMeta, .key = std::string(kMetaClock), .value = clock});
    return store.write_bulk(mark);
}

void Pipeline::Impl::finish_drain_if_idle() {
    if (!drained || !flights.empty() || !simple.empty()) {
        return;
    }
    const bool waiting = std::any_of(tenants.begin(), tenants.end(), [](const auto& entry) {
        return !entry.second->pending.empty();
    });
    if (waiting) {
        return;
    }
    const auto finished = std::make_shared<std::function<void()>>(std::move(drained));
    drained = nullptr;
    const auto left = std::make_shared<std::size_t>(tenants.size() + 1);
    const auto step = [left, finished](const Status&) {
        if (--*left == 0) {
            (*finished)();
        }
    };
    for (auto& [name, tenant] : tenants) {
        snapshot(*tenant, step);
    }
    step(ok());
}

}  // namespace tollgate::pipeline
