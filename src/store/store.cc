// Store: opening, closing, and the calls that go to its threads.
#include "store/store.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "store/batch.h"
#include "store/impl.h"
#include "store/seams.h"

namespace tollgate::store {

namespace {

constexpr std::chrono::milliseconds kDrainAtMost{5000};

Error read_only_error() {
    return Error{Fault::kBadInput, "the data folder is open for reading only"};
}

}  // namespace

Store::Impl::Impl(StoreOptions store_options, std::unique_ptr<Rocks> opened,
                  const FaultSwitches& switches, Metrics& metrics)
    : options(std::move(store_options)),
      faults(switches),
      rocks(std::move(opened)),
      sink(*rocks, switches, options.seams, closing),
      committer(*rocks, sink, closing,
                {.commits = options.journal_capacity, .bytes = options.journal_bytes}, metrics) {}

Status Store::Impl::start() {
    for (const Family family : {Family::kLog, Family::kMeta}) {
        TG_TRY(const auto names, tenants_of(*rocks, family));
        for (const std::string& name : names) {
            TG_TRY(const Cut end, read_end(*rocks, name));
            committer.set_tail(name, end.first_seq - 1, end.chain);
        }
    }
    reader = std::make_unique<ReadThread>(options.read_queue_capacity);
    if (!options.read_only) {
        committer.start();
    }
    return ok();
}

Store::Impl::~Impl() {
    reader.reset();
    const bool shorter = options.seams != nullptr && options.seams->drain.count() > 0;
    closing.close_by(CloseSignal::Clock::now() + (shorter ? options.seams->drain : kDrainAtMost));
    const std::size_t left = committer.stop();
    if (left > 0) {
        const StoreHealth health = committer.health();
        log_event(Level::kError, "store_closed_with_unwritten_commits",
                  {{"left", static_cast<std::int64_t>(left)},
                   {"error", std::string_view(health.last_error)}});
    }
    rocks->close(left > 0);
}

Result<std::unique_ptr<Store>> Store::open(const StoreOptions& options, FaultSwitches& faults,
                                           Metrics& metrics) {
    if (options.journal_capacity == 0 || options.read_queue_capacity == 0) {
        return Error{Fault::kBadInput,
                     "store: journal_capacity and read_queue_capacity must be at least 1"};
    }
    TG_TRY(auto rocks, Rocks::open(options));
    auto impl = std::make_unique<Impl>(options, std::move(rocks), faults, metrics);
    TG_TRY(const auto started, impl->start());
    (void)started;
    return std::unique_ptr<Store>(new Store(std::move(impl)));
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

bool Store::submit(Commit& commit) {
    return !impl_->options.read_only && impl_->committer.submit(commit);
}

Status Store::flush(std::chrono::milliseconds wait) {
    return impl_->committer.flush(wait);
}

StoreHealth Store::health() const {
    return impl_->committer.health();
}

bool Store::post_read(std::function<void()> f) {
    return impl_->reader->post(std::move(f));
}

Result<std::uint64_t> Store::last_seq(std::string_view tenant) const {
    TG_TRY(const auto named, check_tenant(tenant));
    (void)named;
    return impl_->committer.last_seq(tenant);
}

Status Store::write_bulk(const Bulk& bulk) {
    if (impl_->options.read_only) {
        return read_only_error();
    }
    TG_TRY(const auto named, check_tenant(bulk.tenant));
    (void)named;
    TG_TRY(const auto allowed, validate_puts(bulk.puts));
    (void)allowed;
    rocksdb::WriteBatch batch;
    Digest chain{};
    std::uint64_t seq = bulk.first_seq;
    if (!bulk.records.empty()) {
        TG_TRY(chain, impl_->committer.begin_bulk(bulk.tenant, seq, bulk.records.size()));
        for (const std::string& record : bulk.records) {
            chain = chain_next(chain, record);
            append_record(*impl_->rocks, batch, bulk.tenant,
                          {.seq = seq++, .chain = chain, .record = record});
        }
    }
    append_puts(*impl_->rocks, batch, bulk.tenant, bulk.puts);
    Status written = impl_->write_directly(batch, bulk.wal);
    if (!bulk.records.empty()) {
        impl_->committer.end_bulk(bulk.tenant, written.has_value(), seq - 1, chain);
    }
    return written;
}

Status Store::Impl::write_directly(rocksdb::WriteBatch& batch, bool wal) {
    if (faults.store_full.load(std::memory_order_relaxed)) {
        return Error{Fault::kInternal, "write: the store failed",
                     "IO error: No space left on device (fault switch store_full)"};
    }
    if (wal) {
        TG_TRY(const auto flushed, rocks->flush_if_unlogged());
        (void)flushed;
    }
    rocksdb::WriteOptions how;
    how.disableWAL = !wal;
    if (!wal) {
        rocks->mark_unlogged();
    }
    if (const auto status = rocks->db().Write(how, &batch); !status.ok()) {
        return rocks_error("bulk write", status);
    }
    return ok();
}

Status Store::sync_bulk() {
    if (impl_->options.read_only) {
        return read_only_error();
    }
    return impl_->rocks->flush_if_unlogged();
}

Status Store::drop_below(std::string_view tenant, std::uint64_t seq) {
    if (impl_->options.read_only) {
        return read_only_error();
    }
    TG_TRY(const auto named, check_tenant(tenant));
    (void)named;
    const std::scoped_lock lock(impl_->drop_mutex);
    const std::uint64_t last = impl_->committer.last_seq(tenant);
    if (seq > last + 1) {
        return Error{Fault::kBadInput, "drop_below: seq is " + std::to_string(seq) + ", at most " +
                                           std::to_string(last + 1) + " allowed"};
    }
    const Rocks& rocks = *impl_->rocks;
    TG_TRY(const Cut old, read_cut(rocks, tenant, nullptr));
    if (seq <= old.first_seq) {
        return ok();
    }
    TG_TRY(const auto before, get(Family::kLog, tenant, sequence_bytes(seq - 1)));
    const auto value = before ? decode_log_value(*before) : std::nullopt;
    if (!value) {
        return log_error(tenant, seq - 1, before ? "is malformed" : "is missing");
    }
    rocksdb::WriteBatch batch;
    const std::string begin = sequence_key(tenant, 0);
    const std::string end = sequence_key(tenant, seq);
    for (const Family family : {Family::kLog, Family::kReplies, Family::kPersonal}) {
        (void)batch.DeleteRange(rocks.family(family), begin, end);
    }
    (void)batch.Put(rocks.family(Family::kMeta), full_key(tenant, cut_name()),
                    encode_cut({.first_seq = seq, .chain = value->chain}));
    return impl_->write_directly(batch, true);
}

std::uint64_t Store::disk_bytes() const {
    std::uint64_t total = 0;
    std::error_code code;
    for (auto at = std::filesystem::directory_iterator(impl_->options.path, code);
         !code && at != std::filesystem::directory_iterator(); at.increment(code)) {
        // Files come and go while they are counted: one that is gone counts nothing.
        std::error_code gone;
        const std::uintmax_t size = at->is_regular_file(gone) ? at->file_size(gone) : 0;
        total += gone ? 0 : size;
    }
    return total;
}

}  // namespace tollgate::store
