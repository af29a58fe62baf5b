// The caller's thread makes records and rows; a second thread writes them in large batches without
// a write-ahead log.
#include "pipeline/import.h"

#include <condition_variable>
#include <mutex>
#include <unordered_set>

#include "base/bytes.h"
#include "base/threads.h"
#include "decision/event_fields.h"
#include "decision/event_json.h"
#include "decision/record.h"
#include "pipeline/history.h"
#include "pipeline/impl.h"
#include "text/json_writer.h"

namespace tollgate::pipeline {

namespace {
constexpr std::size_t kBatchRecords = 8192;
constexpr std::size_t kBatchesWaiting = 4;
}  // namespace

struct Importer::Impl {
    Impl(Pipeline::Impl& p, Tenant& t) : pipeline(p), tenant(t), loader(*t.pack, *t.windows) {
        fresh_batch();
        writer = std::jthread([this] {
            (void)enter_thread(ThreadRole::kBackground, "tg-import");
            while (!batches.closed() || batches.size() > 0) {
                if (auto next = batches.pop_for(std::chrono::milliseconds(100))) {
                    const Status written = pipeline.store.write_bulk(*next);
                    const std::scoped_lock lock(mutex);
                    if (!written && !failure) {
                        failure = written.error();
                    }
                    ++done;
                    idle.notify_all();
                }
            }
        });
    }
    ~Impl() { batches.close(); }

    void fresh_batch() {
        batch = {.tenant = tenant.name,
                 .first_seq = tenant.next_seq,
                 .records = {},
                 .puts = {},
                 .wal = false};
        batch_ids.clear();
    }

    Status flush() {
        {
            const std::scoped_lock lock(mutex);
            if (failure) {
                return *failure;
            }
        }
        if (batch.records.empty()) {
            return ok();
        }
        while (!batches.try_push(batch)) {
            std::this_thread::
                yield();  // the writer is behind: its thread needs the core more than this one
        }
        ++handed;
        fresh_batch();
        if (tenant.windows->over_memory()) {
            return spill();
        }
        return ok();
    }

    Status spill();
    Status drain_writer() {
        batches.close();
        writer.join();
        const std::scoped_lock lock(mutex);
        return failure ? Status(*failure) : ok();
    }
    void put_personal(Sealed& sealed, std::uint64_t seq) {
        if (!sealed.personal.empty()) {
            batch.puts.push_back({.family = store::Family::kPersonal,
                                  .key = be64_key(seq),
                                  .value = std::move(sealed.personal)});
        }
    }

    Pipeline::Impl& pipeline;
    Tenant& tenant;
    WindowLoader loader;
    ImportStats stats;
    store::Store::Bulk batch;
    std::unordered_set<std::string> batch_ids;
    std::vector<Value> fields;
    EventKeys keys;
    WindowValues values;
    std::string text;  // scratch
    BoundedQueue<store::Store::Bulk> batches{kBatchesWaiting};
    std::mutex mutex;  // guards failure and done
    std::condition_variable idle;
    std::uint64_t handed = 0;  // batches given to the writer
    std::uint64_t done = 0;
    std::optional<Error> failure;
    std::jthread writer;
};

// Past the memory bound: what was imported is put on disk and the coldest keys are dropped from
// memory.
Status Importer::Impl::spill() {
    {
        // The mark must not be ahead of the log: first everything handed over is written and on
        // disk.
        std::unique_lock lock(mutex);
        idle.wait(lock, [this] { return done == handed; });
    }
    TG_TRY(const auto synced, pipeline.store.sync_bulk());
    (void)synced;
    TG_TRY(const auto written,
           pipeline.write_snapshot(tenant.name, *tenant.windows, *tenant.plan_owner,
                                   {.floor = tenant.next_arrival,
                                    .seq = tenant.next_seq - 1,
                                    .clock = tenant.clock->encode(),
                                    .pace = false}));
    (void)written;
    (void)tenant.windows->evict(pipeline.options.windows.memory_bytes / 10 * 9);
    return ok();
}

Importer::Importer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Importer::~Importer() = default;

Result<std::unique_ptr<Importer>> Importer::open(Pipeline& pipeline, const std::string& tenant) {
    TG_TRY(Tenant * found, pipeline.impl_->make_tenant(tenant));
    return std::unique_ptr<Importer>(new Importer(std::make_unique<Impl>(*pipeline.impl_, *found)));
}

const ImportStats& Importer::stats() const {
    return impl_->stats;
}
const PolicyPack& Importer::pack() const {
    return *impl_->tenant.pack;
}

Status Importer::add(const Event& event, const std::optional<Outcome>& outcome) {
    Impl& impl = *impl_;
    Tenant& tenant = impl.tenant;
    const PolicyPack& pack = *tenant.pack;
    if (tenant.seen->maybe_seen(event.event_id)) {
        TG_TRY(const auto stored,
               impl.pipeline.store.get(store::Family::kEvents, tenant.name, event.event_id));
        if (stored || impl.batch_ids.contains(event.event_id)) {
            ++impl.stats.duplicates;
            return ok();
        }
    }
    tenant.seen->add(event.event_id);
    impl.batch_ids.insert(event.event_id);
    const std::uint64_t arrival = tenant.next_arrival++;
    impl.fields.resize(pack.fields.size());
    fill_fields(event, pack.fields, pack.rates, pack.zones, std::nullopt, impl.fields);
    WindowStore::keys_of(pack.rules->plan, impl.fields, impl.keys);
    const EvalInput input{
        .fields = impl.fields, .windows = {}, .lists = &pack.lists, .now = event.occurred_at};
    const WindowEvent at{
        .at = event.occurred_at, .arrival = arrival, .id_hash = hash64(event.event_id)};
    const bool keeps =
        !pack.rules->plan.keeps.empty();  // named numbers need the windows of their time
    tenant.windows->assess(pack.rules->plan, impl.keys, at, input,
                           keeps ? RecordMode::kImport : RecordMode::kLoad, impl.values);
    if (outcome) {
        (void)tenant.windows->apply_label(impl.keys, event.occurred_at, arrival, outcome->label,
                                          outcome->known_at);
    }
    (void)tenant.clock->admit(event.occurred_at, event.occurred_at);
    impl.text.clear();
    JsonWriter writer(impl.text);
    append_event(writer, event, pack.schema());
    const KnownEvent known{.seq = tenant.next_seq,
                           .arrival = arrival,
                           .at = event.occurred_at,
                           .digest = sha256(impl.text)};
    Sealed sealed = make_import_record(tenant.name, pack, event, arrival,
                                       keeps ? &impl.values : nullptr, impl.pipeline.salts);
    impl.batch.records.push_back(std::move(sealed.text));
    impl.batch.puts.push_back(
        {.family = store::Family::kEvents, .key = event.event_id, .value = to_bytes(known)});
    impl.put_personal(sealed, tenant.next_seq++);
    ++impl.stats.events;
    if (outcome) {
        Sealed label = make_outcome_record(tenant.name, *outcome, impl.pipeline.salts);
        impl.batch.records.push_back(std::move(label.text));
        impl.text.clear();
        JsonWriter out(impl.text);
        append_outcome(out, *outcome);
        impl.batch.puts.push_back({.family = store::Family::kOutcomes,
                                   .key = outcome_key('e', *outcome),
                                   .value = impl.text});
        impl.put_personal(label, tenant.next_seq++);
        ++impl.stats.outcomes;
    }
    return impl.batch.records.size() >= kBatchRecords ? impl.flush() : ok();
}

Status Importer::finish() {
    Impl& impl = *impl_;
    TG_TRY(const auto flushed, impl.flush());
    (void)flushed;
    TG_TRY(const auto spilled, impl.spill());
    (void)spilled;
    return impl.drain_writer();
}

}  // namespace tollgate::pipeline
