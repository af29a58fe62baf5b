// Tenants: made when their first key is seen, or opened from what the store holds of them.
#include <algorithm>

#include "base/bytes.h"
#include "base/log.h"
#include "pipeline/history.h"
#include "pipeline/impl.h"
#include "pipeline/meta.h"
#include "pipeline/retention.h"

namespace tollgate::pipeline {

Tenant* Pipeline::Impl::find_tenant(std::string_view name) const {
    const auto at = tenants.find(name);
    return at == tenants.end() ? nullptr : at->second.get();
}

Result<Tenant*> Pipeline::Impl::make_tenant(const std::string& name) {
    if (Tenant* known = find_tenant(name); known != nullptr) {
        return known;
    }
    if (name.empty() || name.size() > 128) {
        return Error{Fault::kBadInput, "tenant: 1..128 bytes are allowed"};
    }
    if (tenants.size() >= options.max_tenants) {
        return Error{Fault::kOverloaded,
                     "tenants: " + std::to_string(options.max_tenants) + " are open, the bound"};
    }
    auto tenant = std::make_unique<Tenant>();
    tenant->name = name;
    tenant->pack = fallback_pack;
    bind_metrics(*tenant);
    TG_TRY(const auto recovered, recover(*tenant));
    (void)recovered;
    Tenant* made = tenant.get();
    tenants.emplace(name, std::move(tenant));
    return made;
}

void Pipeline::Impl::bind_metrics(Tenant& tenant) {
    const std::string_view name = tenant.name;
    TenantMetrics& m = tenant.metrics;
    const char* sources[] = {"model", "rules", "default"};
    for (std::size_t i = 0; i < 3; ++i) {
        m.by_source[i] =
            metrics.counter("tollgate_assessments_total", "Assessments answered, by who decided.",
                            {{"tenant", name}, {"source", sources[i]}});
    }
    const char* decisions[] = {"approve", "challenge", "review", "decline"};
    for (std::size_t i = 0; i < 4; ++i) {
        m.by_decision[i] = metrics.counter("tollgate_decisions_total", "Decisions given.",
                                           {{"tenant", name}, {"decision", decisions[i]}});
    }
    const auto count = [&](const char* metric, const char* help) {
        return metrics.counter(metric, help, {{"tenant", name}});
    };
    m.persisted_log =
        metrics.counter("tollgate_persisted_total", "Answers by how safe they were when given.",
                        {{"tenant", name}, {"persisted", "log"}});
    m.persisted_memory =
        metrics.counter("tollgate_persisted_total", "Answers by how safe they were when given.",
                        {{"tenant", name}, {"persisted", "memory"}});
    m.late = count("tollgate_events_late_total",
                   "Events behind the stream clock, recorded at their own time.");
    m.too_late = count("tollgate_events_too_late_total",
                       "Events older than the lateness, assessed but not recorded.");
    m.replayed =
        count("tollgate_idempotent_replays_total", "Repeats answered with the stored body.");
    m.conflicts =
        count("tollgate_idempotency_conflicts_total", "Same event_id with another event.");
    m.cold_keys = count("tollgate_windows_cold_total",
                        "Keys whose windows were unknown because they were still on disk.");
    m.overflow_keys = count("tollgate_windows_overflow_total",
                            "Keys past their bound of events: windows unknown.");
    m.store_lost =
        count("tollgate_store_lost_total", "Answers that a full journal could not keep.");
    m.outcomes = count("tollgate_outcomes_total", "Outcomes taken.");
    m.grey = count("tollgate_grey_total", "Scores in the grey band.");
    m.grey_capped =
        count("tollgate_grey_capped_total",
              "Grey scores past twice the pack's share, not offered for a second look.");
    m.grey_share =
        metrics.gauge("tollgate_grey_share", "Share of grey scores among the last 2,000 or so.",
                      {{"tenant", name}});
    m.outcomes_parked =
        count("tollgate_outcomes_parked_total", "Outcomes whose event had not come yet.");
}

PackPtr Pipeline::Impl::pack_named(Tenant& tenant, const std::string& hash) {
    const auto at = tenant.packs.find(hash);
    return at == tenant.packs.end() ? nullptr : at->second;
}

Result<std::shared_ptr<WindowStore>> Pipeline::Impl::make_windows(const std::string& name,
                                                                  const PolicyPack& pack) const {
    TG_TRY(const std::int64_t complete_from, read_complete_from(store, name));
    auto windows = std::make_shared<WindowStore>(pack.rules->plan, options.windows);
    windows->set_complete_from(complete_from);
    return windows;
}

Status Pipeline::Impl::recover_tenants() {
    TG_TRY(const auto names, store.tenants());
    for (const std::string& name : names) {
        TG_TRY(const Tenant* opened, make_tenant(name));
        (void)opened;
    }
    return ok();
}

// Packs, secret and clock. A tenant that the store does not know gets its secret now.
Status Pipeline::Impl::load_meta(Tenant& tenant) {
    TG_TRY(auto packs, load_stored_packs(store, tenant.name));
    for (auto& [hash, pack] : packs) {
        tenant.packs.emplace(hash, std::move(pack));
    }
    tenant.packs.try_emplace(fallback_pack->hash, fallback_pack);
    TG_TRY(const auto active, read_active(store, tenant.name));
    if (active) {
        tenant.pack = pack_named(tenant, active->current);
        tenant.previous = pack_named(tenant, active->previous);
        if (tenant.pack == nullptr) {
            return Error{Fault::kCorrupt, "tenant " + tenant.name + ": active policy " +
                                              active->current + " is not stored"};
        }
    }
    TG_TRY(const auto secret, store.get(store::Family::kMeta, tenant.name, kMetaSecret));
    store::Store::Bulk bulk{
        .tenant = tenant.name, .first_seq = 0, .records = {}, .puts = {}, .wal = true};
    std::string bytes = secret ? *secret : std::string();
    if (bytes.size() != 8) {
        bytes = options.virtual_time ? std::string(8, '\x5A') : random_bytes(8);
        bulk.puts.push_back(
            {.family = store::Family::kMeta, .key = std::string(kMetaSecret), .value = bytes});
    }
    tenant.id_secret = ByteReader(bytes).u64();
    const std::string stored_pack = std::string(kMetaPack) + tenant.pack->hash;
    TG_TRY(const auto has_pack, store.get(store::Family::kMeta, tenant.name, stored_pack));
    if (!has_pack) {
        bulk.puts.push_back({.family = store::Family::kMeta,
                             .key = stored_pack,
                             .value = encode_pack(tenant.pack->files)});
    }
    if (!bulk.puts.empty()) {
        TG_TRY(const auto written, store.write_bulk(bulk));
        (void)written;
    }
    tenant.clock = std::make_unique<StreamClock>(tenant.pack->policy.clock);
    TG_TRY(const auto clock, store.get(store::Family::kMeta, tenant.name, kMetaClock));
    if (clock) {
        (void)tenant.clock->decode(*clock);  // kCorrupt: the log's events set it again
    }
    return ok();
}

Status Pipeline::Impl::load_accounts(Tenant& tenant) {
    Status result = ok();
    TG_TRY(
        const auto scanned,
        store.scan(
            store::Family::kAccounts, tenant.name, {},
            [&](std::string_view key, std::string_view value) {
                auto state = decode_account_state(value);
                if (!state) {
                    result = Error{state.error().fault, "account state: " + state.error().message};
                    return false;
                }
                tenant.next_change = std::max(tenant.next_change, state->sequence + 1);
                result = tenant.accounts.put(key, std::move(*state));
                return result.has_value();
            }));
    (void)scanned;
    return result;
}

// Loads the window keys of the last snapshot when it was written for this pack's rows; else
// everything is read from the log and the old keys are erased.
Status Pipeline::Impl::load_keys(Tenant& tenant, std::uint64_t& replay_from) {
    TG_TRY(const auto stored, store.get(store::Family::kMeta, tenant.name, kMetaSnapshot));
    const auto mark = stored ? parse_snapshot_mark(*stored) : std::nullopt;
    const bool usable = mark && mark->signature == tenant.pack->rules->plan.signature;
    replay_from = usable ? mark->seq + 1 : 1;
    store::Store::Bulk erased{
        .tenant = tenant.name, .first_seq = 0, .records = {}, .puts = {}, .wal = true};
    std::uint64_t broken = 0;
    TG_TRY(const auto scanned,
           store.scan(store::Family::kKeys, tenant.name, {},
                      [&](std::string_view name, std::string_view value) {
                          const auto key = parse_key_name(name);
                          if (!usable || !key) {
                              erased.puts.push_back({.family = store::Family::kKeys,
                                                     .key = std::string(name),
                                                     .value = {},
                                                     .erase = true});
                              return true;
                          }
                          if (tenant.windows->over_memory()) {
                              tenant.windows->mark_on_disk(*key, parse_key_blob(value).rows);
                              return true;
                          }
                          const KeyBlob blob = parse_key_blob(value);
                          if (!tenant.windows->load_key(*key, blob.rows, blob.floor)) {
                              ++broken;
                          }
                          return true;
                      }));
    (void)scanned;
    if (broken > 0) {
        // A key that does not read back: the log has it all, so the windows are made again from
        // there.
        log_event(Level::kWarn, "window_snapshot_unreadable",
                  {{"keys", static_cast<std::int64_t>(broken)}});
        TG_TRY(tenant.windows, make_windows(tenant.name, *tenant.pack));
        replay_from = 1;
    }
    if (!erased.puts.empty()) {
        return store.write_bulk(erased);
    }
    return ok();
}

Status Pipeline::Impl::replay_log(Tenant& tenant, std::uint64_t from) {
    HistoryReader history(
        store, tenant.name, tenant.pack, *tenant.windows,
        [&tenant, this](const std::string& hash) { return pack_named(tenant, hash); });
    Status result = ok();
    TG_TRY(const auto read, store.read_log(tenant.name, from, [&](const store::LogEntry& entry) {
        result = history.apply(entry);
        tenant.next_seq = std::max(tenant.next_seq, entry.seq + 1);
        return result.has_value();
    }));
    (void)read;
    tenant.next_arrival = std::max(tenant.next_arrival, history.last_arrival() + 1);
    tenant.next_change = std::max(tenant.next_change, history.last_change() + 1);
    return result;
}

Status Pipeline::Impl::recover(Tenant& tenant) {
    const auto began = Steady::now();
    TG_TRY(const auto meta, load_meta(tenant));
    TG_TRY(const auto accounts, load_accounts(tenant));
    (void)meta;
    (void)accounts;
    tenant.plan_owner = tenant.pack;
    TG_TRY(tenant.windows, make_windows(tenant.name, *tenant.pack));
    tenant.seen = std::make_unique<EventIndex>(options.idempotency_entries);
    TG_TRY(const std::uint64_t last, store.last_seq(tenant.name));
    tenant.next_seq = last + 1;
    TG_TRY(const auto events,
           store.scan(store::Family::kEvents, tenant.name, {},
                      [&](std::string_view id, std::string_view value) {
                          tenant.seen->add(id);
                          if (const auto known = parse_known_event(value)) {
                              tenant.next_arrival =
                                  std::max(tenant.next_arrival, known->arrival + 1);
                              if (tenant.clock->rules().mode == ClockMode::kEvent) {
                                  newest_event(tenant, known->at);
                              }
                          }
                          return true;
                      }));
    (void)events;
    TG_TRY(const auto parked, store.scan(store::Family::kOutcomes, tenant.name, "p",
                                         [&](std::string_view key, std::string_view) {
                                             tenant.parked += key.substr(0, 1) == "p" ? 1U : 0U;
                                             return key.substr(0, 1) == "p";
                                         }));
    (void)parked;
    std::uint64_t from = 1;
    TG_TRY(const auto keys, load_keys(tenant, from));
    TG_TRY(const auto replayed, replay_log(tenant, from));
    (void)keys;
    (void)replayed;
    const auto took =
        std::chrono::duration_cast<std::chrono::milliseconds>(Steady::now() - began).count();
    log_event(Level::kInfo, "tenant_opened",
              {{"events", static_cast<std::int64_t>(tenant.seen->size())},
               {"log_seq", static_cast<std::int64_t>(last)},
               {"replayed_from", static_cast<std::int64_t>(from)},
               {"took_ms", static_cast<std::int64_t>(took)}});
    return ok();
}

// The stream clock under mode event goes on from the newest stored event, if its own state was not
// saved.
void Pipeline::Impl::newest_event(Tenant& tenant, EventTime at) {
    if (tenant.clock->now(loop.wall()) < at) {
        (void)tenant.clock->admit(at, loop.wall());
        (void)tenant.clock->admit(at, loop.wall());  // a second one confirms a jump ahead
    }
}

}  // namespace tollgate::pipeline
