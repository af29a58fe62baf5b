// Regular work beside decisions: window snapshots, expired rows, memory bounds, draining.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "pipeline/impl.h"
#include "pipeline/meta.h"
#include "pipeline/retention.h"

namespace tollgate::pipeline {

namespace {
constexpr Micros kTrustedJump{std::int64_t{86'400} * 1'000'000};
constexpr auto kDrainWait = std::chrono::seconds(3);
constexpr auto kUpkeepEvery = std::chrono::seconds(1);
// A snapshot beside traffic goes in small writes with pauses: each holds up the decisions' commits
// behind it (2 MB at once: by 3 ms), and all of it is hundreds of megabytes on a busy tenant.
constexpr std::size_t kSnapshotChunk = 64;  // keys a write, at the most
constexpr std::size_t kChunkBytes = 128U << 10U;
constexpr std::size_t kPacedBytesPerSecond = 16U << 20U;
constexpr std::uint64_t kHouseRetryTicks = 60;  // seconds before a failed retention run again
constexpr std::uint64_t kDiskTicks = 30;
constexpr std::uint64_t kReportTicks = 5;  // seconds between reports of the windows' memory
constexpr std::size_t kErasedChunk = 1'000;
constexpr std::size_t kSweptKeys = 2'048;  // a second: under half a millisecond of the loop
}  // namespace

// The wall clock, but never more than a day ahead of what the steady clock says since the start: a
// clock that is set wrong must not make stored events look old, because what is dropped stays gone.
EventTime Pipeline::Impl::trusted_wall() {
    const Micros ran = std::chrono::duration_cast<Micros>(loop.now() - started);
    return std::min(loop.wall(), started_wall + ran + kTrustedJump);
}

void Pipeline::Impl::schedule_upkeep() {
    if (options.virtual_time) {
        return;
    }
    upkeep_timer = loop.call_at(loop.now() + kUpkeepEvery, [this] {
        ++upkeep_ticks;
        const auto every = static_cast<std::uint64_t>(options.snapshot_every.count());
        for (auto& [name, owner] : tenants) {
            Tenant& tenant = *owner;
            const Policy& policy = tenant.pack->policy;
            const EventTime now = tenant.clock->now(trusted_wall());
            const Micros keep = tenant.pack->rules->plan.retention + policy.clock.lateness;
            std::vector<WindowStore::KeyRef> gone;
            tenant.windows->sweep(kSweptKeys, now - keep, gone);
            forget_keys(name, std::move(gone));
            (void)tenant.accounts.sweep(now);
            keep_house(tenant);
            (void)snapshot_floor(tenant);
            if (upkeep_ticks % kReportTicks == 0) {
                report_windows(tenant);
            }
            if (tenant.windows->over_memory() || (every > 0 && upkeep_ticks % every == 0)) {
                snapshot(tenant, [](const Status&) {});
            }
        }
        if (upkeep_ticks % kReportTicks == 0) {
            report_process();
        }
        schedule_upkeep();
    });
}

void Pipeline::Impl::report_process() {
    metrics.gauge("tollgate_log_lines_lost", "Log lines that the full ring could not take.")
        .set(static_cast<double>(log_dropped()));
    metrics
        .gauge("tollgate_windows_memory_limit_bytes",
               "Past it the keys longest unused move to the disk.")
        .set(static_cast<double>(options.windows.memory_bytes));
    std::function<void()> job = [this] {
        metrics.gauge("tollgate_store_disk_bytes", "Size of the data folder's files.")
            .set(static_cast<double>(store.disk_bytes()));
    };
    if (upkeep_ticks % kDiskTicks == 0) {
        (void)work.try_push(job);
    }
}

// Windows of one key share its stored events, so memory is told by key.
void Pipeline::Impl::report_windows(const Tenant& tenant) {
    const WindowStats stats = tenant.windows->stats();
    for (const WindowStats::PerKey& key : stats.keys) {
        const auto set = [&](std::string_view name, std::string_view help, std::uint64_t value) {
            metrics.gauge(name, help, {{"tenant", tenant.name}, {"key", key.name}})
                .set(static_cast<double>(value));
        };
        set("tollgate_window_bytes", "Memory of the windows' stored events, by key.", key.bytes);
        set("tollgate_window_events", "Stored events in memory, by key.", key.events);
        set("tollgate_window_keys", "Keys with stored events.", key.keys);
        set("tollgate_window_keys_resident", "Keys whose events are in memory.", key.resident);
    }
    metrics
        .gauge("tollgate_outcomes_waiting", "Parked outcomes whose event has not come.",
               {{"tenant", tenant.name}})
        .set(static_cast<double>(tenant.parked));
}

// Once a day: notes how far the log is, drops what is no longer kept.
void Pipeline::Impl::keep_house(Tenant& tenant) {
    const std::int64_t today = day_of(trusted_wall());
    if (tenant.kept_day == today || upkeep_ticks < tenant.house_retry) {
        return;
    }
    const PolicyPack& pack = *tenant.pack;
    const std::int64_t days =
        days_kept(options.retention_days, pack.rules->plan.retention, pack.policy.clock.lateness);
    const std::int64_t last = options.retention_days == 0 ? -1 : today - days;
    const std::map<std::string, PackPtr> packs = tenant.packs;
    std::function<void()> job = [this, owner = &tenant, name = tenant.name, today, last, packs] {
        const Status marked = mark_day(store, name, today);
        const auto dropped = drop_until(store, name, last, by_hash(packs));
        const auto parked = drop_parked(store, name, today - kParkedDays);
        const auto complete_from = read_complete_from(store, name);
        for (const Status& done : {marked, dropped ? ok() : Status(dropped.error()),
                                   parked ? ok() : Status(parked.error())}) {
            if (!done) {
                log_event(Level::kWarn, "retention_failed", {{"why", done.error().message}});
            }
        }
        if (dropped && dropped->records > 0) {
            log_event(Level::kInfo, "log_dropped",
                      {{"tenant", std::string_view(name)},
                       {"records", static_cast<std::int64_t>(dropped->records)},
                       {"event_ids", static_cast<std::int64_t>(dropped->event_ids)}});
        }
        const bool done = marked && dropped && parked && complete_from;
        loop.post([this, owner, done, complete_from, gone = parked ? *parked : 0] {
            if (!done) {
                owner->kept_day = -1;
                owner->house_retry = upkeep_ticks + kHouseRetryTicks;
            }
            if (complete_from) {
                owner->windows->set_complete_from(*complete_from);
            }
            owner->parked -= std::min(owner->parked, gone);
        });
    };
    if (work.try_push(job)) {
        tenant.kept_day = today;
    }
}

// Takes expired keys' rows off the disk. In order with snapshots: a key that comes back is written
// after.
void Pipeline::Impl::forget_keys(const std::string& name, std::vector<WindowStore::KeyRef> gone) {
    if (gone.empty()) {
        return;
    }
    std::function<void()> job = [this, name, keys = std::move(gone)] {
        store::Store::Bulk bulk{
            .tenant = name, .first_seq = 0, .records = {}, .puts = {}, .wal = true};
        for (const WindowStore::KeyRef& key : keys) {
            bulk.puts.push_back(
                {.family = store::Family::kKeys, .key = key_name(key), .value = {}, .erase = true});
        }
        if (const Status erased = store.write_bulk(bulk); !erased) {
            log_event(Level::kWarn, "expired_keys_left", {{"why", erased.error().message}});
        }
    };
    (void)work.try_push(job);  // full: their empty blobs stay until the next start
}

// The first arrival that may not be in the log. Forgets what was submitted below it.
std::uint64_t Pipeline::Impl::snapshot_floor(Tenant& tenant) {
    std::uint64_t floor = tenant.next_arrival;
    for (const auto& [id, pending] : tenant.pending) {
        if (pending.arrival != 0) {
            floor = std::min(floor, pending.arrival);
        }
    }
    while (!tenant.submitted.empty() && tenant.submitted.front().second < floor) {
        tenant.submitted.pop_front();
    }
    return floor;
}

// Writes every changed key and then the mark from which recovery replays the log. Rows of decisions
// that are not confirmed are told apart by the floor: recovery takes those from the log, if they
// got there.
void Pipeline::Impl::snapshot(Tenant& tenant, std::function<void(Status)> done) {
    if (tenant.snapshot_running || tenant.rebuilding) {
        done(ok());
        return;
    }
    const std::uint64_t floor = snapshot_floor(tenant);
    const auto confirmed = store.last_seq(tenant.name);
    if (!confirmed) {
        done(confirmed.error());
        return;
    }
    const std::uint64_t seq = tenant.submitted.empty()
                                  ? *confirmed
                                  : std::min(*confirmed, tenant.submitted.front().first - 1);
    tenant.snapshot_running = true;
    const std::shared_ptr<WindowStore> windows = tenant.windows;
    const PackPtr plan_owner = tenant.plan_owner;
    const std::string clock = tenant.clock->encode();
    std::function<void()> job = [this, owner = &tenant, name = tenant.name, windows, plan_owner,
                                 floor, seq, clock, done] {
        Status result = write_snapshot(name, *windows, *plan_owner, {floor, seq, clock, true});
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

// Keys on disk that got rows meanwhile: put together, so that the snapshot holds those rows.
Status Pipeline::Impl::load_waiting(const std::string& name, WindowStore& windows) {
    std::vector<WindowStore::KeyRef> waiting;
    windows.take_waiting(waiting);
    for (std::size_t i = 0; i < waiting.size(); ++i) {
        const WindowStore::KeyRef& key = waiting[i];
        const auto stored = store.get(store::Family::kKeys, name, key_name(key));
        Status merged = stored ? ok() : Status(stored.error());
        if (stored && *stored) {
            merged = windows.load_key(key, parse_key_blob(**stored).rows);
        }
        if (!merged) {
            windows.put_back(std::span(waiting).subspan(i));
            return merged;
        }
    }
    return ok();
}

// Without a mark, or after a change of the windows' layout, the rows on disk are of no use: they go
// before the first snapshot of the new ones, which must have every key (true). The mark goes first:
// half-way, recovery takes all from the log.
Result<bool> Pipeline::Impl::forget_other_rows(const std::string& name,
                                               const std::string& signature) {
    TG_TRY(const auto stored, store.get(store::Family::kMeta, name, kMetaSnapshot));
    const auto mark = stored ? parse_snapshot_mark(*stored) : std::nullopt;
    if (mark && mark->signature == signature) {
        return false;
    }
    store::Store::Bulk bulk{.tenant = name, .first_seq = 0, .records = {}, .puts = {}, .wal = true};
    bulk.puts.push_back({.family = store::Family::kMeta,
                         .key = std::string(kMetaSnapshot),
                         .value = {},
                         .erase = true});
    Status written = ok();
    TG_TRY(const auto scanned,
           store.scan(store::Family::kKeys, name, {}, [&](std::string_view key, std::string_view) {
               bulk.puts.push_back({.family = store::Family::kKeys,
                                    .key = std::string(key),
                                    .value = {},
                                    .erase = true});
               if (bulk.puts.size() >= kErasedChunk) {
                   written = store.write_bulk(bulk);
                   bulk.puts.clear();
               }
               return written.has_value();
           }));
    (void)scanned;
    if (written && !bulk.puts.empty()) {
        written = store.write_bulk(bulk);
    }
    if (!written) {
        return written.error();
    }
    return true;
}

// Background thread.
Status Pipeline::Impl::write_snapshot(const std::string& name, WindowStore& windows,
                                      const PolicyPack& plan_owner, const SnapshotOf& of) {
    TG_TRY(bool all, forget_other_rows(name, plan_owner.rules->plan.signature));
    TG_TRY(const auto loaded, load_waiting(name, windows));
    (void)loaded;
    WindowStore::Unsure unsure{.floor = of.floor, .keys = {}};
    for (bool more = true; more;) {
        store::Store::Bulk bulk{
            .tenant = name, .first_seq = 0, .records = {}, .puts = {}, .wal = true};
        std::vector<WindowStore::KeyRef> keys;
        std::size_t bytes = 0;
        while (more && keys.size() < kSnapshotChunk && bytes < kChunkBytes) {
            const auto visit = [&](const WindowStore::KeyRef& key, std::string_view rows) {
                keys.push_back(key);
                bytes += rows.size();
                bulk.puts.push_back({.family = store::Family::kKeys,
                                     .key = key_name(key),
                                     .value = rows.empty() ? "" : to_bytes(of.floor, rows),
                                     .erase = rows.empty()});
            };
            more = windows.export_dirty(1, all, visit, &unsure) > 0;
            all = false;
        }
        if (keys.empty()) {
            break;
        }
        if (const Status stored = store.write_bulk(bulk); !stored) {
            windows.put_back(keys);
            windows.put_back(unsure.keys);
            return stored;
        }
        const bool others_wait = work.size() > 0;  // a policy to activate, say
        if (of.pace && !others_wait && !draining.load(std::memory_order_relaxed)) {
            std::this_thread::sleep_for(
                std::chrono::microseconds(bytes * 1'000'000 / kPacedBytesPerSecond));
        }
    }
    windows.put_back(unsure.keys);
    store::Store::Bulk mark{.tenant = name, .first_seq = 0, .records = {}, .puts = {}, .wal = true};
    mark.puts.push_back({.family = store::Family::kMeta,
                         .key = std::string(kMetaSnapshot),
                         .value = to_bytes(SnapshotMark{
                             .seq = of.seq, .signature = plan_owner.rules->plan.signature})});
    mark.puts.push_back(
        {.family = store::Family::kMeta, .key = std::string(kMetaClock), .value = of.clock});
    return store.write_bulk(mark);
}

// A store that does not confirm must not keep the process from ending: what it still holds is the
// store's to write when it closes.
void Pipeline::Impl::force_drain_later() {
    if (options.virtual_time) {
        return;
    }
    drain_timer = loop.call_at(loop.now() + kDrainWait, [this] {
        drain_timer = 0;
        if (drained) {
            log_event(Level::kWarn, "drain_forced", {});
            drain_forced = true;
            finish_drain_if_idle();
        }
    });
}

void Pipeline::Impl::finish_drain_if_idle() {
    if (!drained || !flights.empty() || !simple.empty()) {
        return;
    }
    const bool waiting =
        !drain_forced && std::any_of(tenants.begin(), tenants.end(), [](const auto& entry) {
            return !entry.second->pending.empty();
        });
    if (waiting) {
        return;
    }
    if (drain_timer != 0) {
        loop.cancel(std::exchange(drain_timer, 0));
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
