// Day marks in kMeta, and the walk over what is dropped.
#include "pipeline/retention.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "decision/record.h"
#include "pipeline/meta.h"
#include "pipeline/stored.h"

namespace tollgate::pipeline {

namespace {

constexpr std::int64_t kDayUs = std::int64_t{86'400} * 1'000'000;
constexpr std::int64_t kIdDays = 35;
constexpr std::size_t kChunk = 1'000;  // erased keys a write
constexpr std::string_view kDayPrefix = "day:";
constexpr std::string_view kCompleteFrom = "complete_from";
constexpr char kNoteKind = 'q';

std::string day_key(std::int64_t day) {
    return std::string(kDayPrefix) + be64_key(static_cast<std::uint64_t>(day));
}

std::string number_bytes(std::uint64_t number) {
    std::string out;
    ByteWriter(out).u64(number);
    return out;
}

store::Store::Bulk bulk_for(const std::string& tenant) {
    return {.tenant = tenant, .first_seq = 0, .records = {}, .puts = {}, .wal = true};
}

void erase(store::Store::Bulk& bulk, store::Family family, std::string key) {
    bulk.puts.push_back({.family = family, .key = std::move(key), .value = {}, .erase = true});
}

struct Marks {
    std::uint64_t seq = 0;          // of the newest day that is dropped; 0: none is
    std::vector<std::string> keys;  // of the days that are dropped
};

Result<Marks> marks_until(const store::Store& store, const std::string& tenant, std::int64_t last) {
    Marks out;
    TG_TRY(const auto scanned, store.scan(store::Family::kMeta, tenant, kDayPrefix,
                                          [&](std::string_view key, std::string_view value) {
                                              if (key.substr(0, kDayPrefix.size()) != kDayPrefix) {
                                                  return false;
                                              }
                                              ByteReader day(key.substr(kDayPrefix.size()));
                                              if (static_cast<std::int64_t>(day.be64()) > last) {
                                                  return false;
                                              }
                                              out.seq = std::max(out.seq, ByteReader(value).u64());
                                              out.keys.emplace_back(key);
                                              return true;
                                          }));
    (void)scanned;
    return out;
}

// Reads the records that go and gathers what else goes with them.
class Dropper {
  public:
    Dropper(store::Store& store, const std::string& tenant, const PackByHash& packs)
        : store_(store), tenant_(tenant), packs_(packs), bulk_(bulk_for(tenant)) {}

    // A record that does not read back is dropped all the same; its event id stays taken.
    Status take(const store::LogEntry& entry) {
        ++dropped.records;
        const auto head = parse_record_head(entry.record);
        const PackPtr pack = head && !head->policy.empty() ? packs_(head->policy) : nullptr;
        TG_TRY(const auto personal,
               store_.get(store::Family::kPersonal, tenant_, be64_key(entry.seq)));
        const auto record = parse_record(
            entry.record, personal ? std::string_view(*personal) : std::string_view(), pack.get());
        if (record && record->assessment) {
            const Event& event = record->assessment->event;
            newest = std::max(newest, to_micros(event.occurred_at));
            ++dropped.event_ids;
            erase(bulk_, store::Family::kEvents, event.event_id);
        } else if (record && record->outcome) {
            erase(bulk_, store::Family::kOutcomes, outcome_key('e', *record->outcome));
        }
        return bulk_.puts.size() >= kChunk ? write() : ok();
    }

    Status write() {
        if (newest != INT64_MIN) {  // before the log goes: windows must never look complete
            bulk_.puts.push_back({.family = store::Family::kMeta,
                                  .key = std::string(kCompleteFrom),
                                  .value = number_bytes(static_cast<std::uint64_t>(newest))});
        }
        if (bulk_.puts.empty()) {
            return ok();
        }
        Status written = store_.write_bulk(bulk_);
        bulk_.puts.clear();
        return written;
    }

    Dropped dropped;
    std::int64_t newest = INT64_MIN;  // event time, us

  private:
    store::Store& store_;
    const std::string& tenant_;
    const PackByHash& packs_;
    store::Store::Bulk bulk_;
};

}  // namespace

std::int64_t day_of(EventTime wall) {
    return to_micros(wall) / kDayUs;
}

std::int64_t days_kept(std::int64_t days, Micros windows, Micros lateness) {
    const std::int64_t needed = (windows + lateness).count() / kDayUs + 2;
    return std::max({days, needed, kIdDays});
}

Status mark_day(store::Store& store, const std::string& tenant, std::int64_t day) {
    TG_TRY(const std::uint64_t seq, store.last_seq(tenant));
    store::Store::Bulk bulk = bulk_for(tenant);
    bulk.puts.push_back(
        {.family = store::Family::kMeta, .key = day_key(day), .value = number_bytes(seq)});
    return store.write_bulk(bulk);
}

Result<std::int64_t> read_complete_from(const store::Store& store, const std::string& tenant) {
    TG_TRY(const auto stored, store.get(store::Family::kMeta, tenant, kCompleteFrom));
    if (!stored) {
        return INT64_MIN;
    }
    ByteReader reader(*stored);
    const auto time = static_cast<std::int64_t>(reader.u64());
    if (!reader.ok()) {
        return Error{Fault::kCorrupt, "tenant " + tenant + ": complete_from does not read back"};
    }
    return time;
}

Result<Dropped> drop_until(store::Store& store, const std::string& tenant, std::int64_t last,
                           const PackByHash& packs) {
    TG_TRY(const Marks marks, marks_until(store, tenant, last));
    TG_TRY(const auto stored, store.get(store::Family::kMeta, tenant, kMetaSnapshot));
    const auto snapshot = stored ? parse_snapshot_mark(*stored) : std::nullopt;
    const std::uint64_t below = std::min(marks.seq, snapshot ? snapshot->seq : 0) + 1;
    Dropper dropper(store, tenant, packs);
    TG_TRY(dropper.newest, read_complete_from(store, tenant));
    Status taken = ok();
    TG_TRY(const auto read, store.read_log(tenant, 0, [&](const store::LogEntry& entry) {
        if (entry.seq >= below) {
            return false;
        }
        taken = dropper.take(entry);
        return taken.has_value();
    }));
    (void)read;
    if (!taken) {
        return taken.error();
    }
    if (dropper.dropped.records == 0) {
        return Dropped{};
    }
    TG_TRY(const auto written, dropper.write());
    TG_TRY(const auto cut, store.drop_below(tenant, below));
    (void)written;
    (void)cut;
    store::Store::Bulk bulk = bulk_for(tenant);
    for (const std::string& key : marks.keys) {
        erase(bulk, store::Family::kMeta, key);
    }
    TG_TRY(const auto erased, store.write_bulk(bulk));
    (void)erased;
    return dropper.dropped;
}

store::Put parked_note(std::int64_t day, const std::string& parked_key) {
    return {.family = store::Family::kOutcomes,
            .key = kNoteKind + be64_key(static_cast<std::uint64_t>(day)) + parked_key,
            .value = {}};
}

Result<std::uint64_t> drop_parked(store::Store& store, const std::string& tenant,
                                  std::int64_t last) {
    std::vector<std::string> notes;
    const std::string prefix(1, kNoteKind);
    TG_TRY(const auto scanned, store.scan(store::Family::kOutcomes, tenant, prefix,
                                          [&](std::string_view key, std::string_view) {
                                              if (key.substr(0, 1) != prefix) {
                                                  return false;
                                              }
                                              ByteReader day(key.substr(1));
                                              if (static_cast<std::int64_t>(day.be64()) > last) {
                                                  return false;
                                              }
                                              notes.emplace_back(key);
                                              return true;
                                          }));
    (void)scanned;
    std::uint64_t waiting = 0;
    store::Store::Bulk bulk = bulk_for(tenant);
    for (const std::string& note : notes) {
        std::string key = note.substr(1 + 8);
        TG_TRY(const auto parked, store.get(store::Family::kOutcomes, tenant, key));
        waiting += parked ? 1U : 0U;
        erase(bulk, store::Family::kOutcomes, std::move(key));
        erase(bulk, store::Family::kOutcomes, note);
    }
    if (!bulk.puts.empty()) {
        TG_TRY(const auto written, store.write_bulk(bulk));
        (void)written;
    }
    return waiting;
}

}  // namespace tollgate::pipeline
