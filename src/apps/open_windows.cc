// Reads windows as recovery does, without writing.
#include "apps/open_windows.h"

#include <algorithm>
#include <utility>

#include "apps/open_pack.h"
#include "pipeline/history.h"
#include "pipeline/meta.h"
#include "pipeline/stored.h"

namespace tollgate::apps {

namespace {

Status known_tenant(const store::Store& store, const std::string& tenant) {
    TG_TRY(const auto tenants, store.tenants());
    if (std::find(tenants.begin(), tenants.end(), tenant) != tenants.end()) {
        return ok();
    }
    std::string names;
    for (const std::string& name : tenants) {
        names += (names.empty() ? "" : ", ") + name;
    }
    return Error{Fault::kNotFound, "tenant = \"" + tenant + "\", the folder has " +
                                       (names.empty() ? std::string("none") : names)};
}

// Loads the snapshot's keys when they were written for this pack's rows; the sequence number to
// read the log from.
Result<std::uint64_t> load_snapshot(const store::Store& store, const std::string& tenant,
                                    const PolicyPack& pack, WindowStore& windows) {
    TG_TRY(const auto stored, store.get(store::Family::kMeta, tenant, pipeline::kMetaSnapshot));
    const auto mark = stored ? pipeline::parse_snapshot_mark(*stored) : std::nullopt;
    if (!mark || mark->signature != pack.rules->plan.signature) {
        return std::uint64_t{1};
    }
    Status loaded = ok();
    TG_TRY([[maybe_unused]] const auto scanned,
           store.scan(store::Family::kKeys, tenant, {},
                      [&](std::string_view name, std::string_view value) {
                          const auto key = pipeline::parse_key_name(name);
                          if (key) {
                              const pipeline::KeyBlob blob = pipeline::parse_key_blob(value);
                              loaded = windows.load_key(*key, blob.rows, blob.floor);
                          }
                          return loaded.has_value();
                      }));
    if (!loaded) {
        return loaded.error();
    }
    return mark->seq + 1;
}

}  // namespace

Result<OpenedWindows> open_windows(const store::Store& store, const std::string& tenant,
                                   const std::string& fallback) {
    TG_TRY([[maybe_unused]] const auto known, known_tenant(store, tenant));
    TG_TRY(auto packs, pipeline::load_stored_packs(store, tenant));
    TG_TRY(const auto active, pipeline::read_active(store, tenant));
    OpenedWindows out;
    if (active) {
        const auto at = packs.find(active->current);
        if (at == packs.end()) {
            return Error{Fault::kCorrupt, "active policy " + active->current + " is not stored"};
        }
        out.pack = at->second;
    } else if (packs.size() == 1 && fallback.empty()) {
        out.pack = packs.begin()->second;  // the one the server started with
    } else {
        TG_TRY(out.pack, open_pack(fallback));
    }
    packs.try_emplace(out.pack->hash, out.pack);
    out.windows = std::make_unique<WindowStore>(out.pack->rules->plan, WindowLimits{});
    TG_TRY(const std::uint64_t from, load_snapshot(store, tenant, *out.pack, *out.windows));
    pipeline::HistoryReader history(store, tenant, out.pack, *out.windows,
                                    [&packs](const std::string& hash) {
                                        const auto at = packs.find(hash);
                                        return at == packs.end() ? pipeline::PackPtr() : at->second;
                                    });
    Status applied = ok();
    out.last_seq = from - 1;
    TG_TRY([[maybe_unused]] const auto read,
           store.read_log(tenant, from, [&](const store::LogEntry& entry) {
               applied = history.apply(entry);
               out.last_seq = entry.seq;
               return applied.has_value();
           }));
    if (!applied) {
        return applied.error();
    }
    return out;
}

}  // namespace tollgate::apps
