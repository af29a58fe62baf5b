// The RocksDB options of a store, each with its reason.
#include "store/rocks_options.h"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/threads.h"

namespace tollgate::store {

namespace {

constexpr std::array<const char*, kFamilies> kNames = {"log",      "replies",  "events",   "keys",
                                                       "accounts", "outcomes", "personal", "meta"};

// Memory: at most six memtables of these sizes a family while a flush is late.
constexpr std::size_t kLogMemtable = 32U << 20U;
constexpr std::size_t kOtherMemtable = 16U << 20U;
constexpr std::size_t kAllMemtables = 192U << 20U;
// A restart replays at most this much log; at 300 decisions a second of about 3 kB it is a minute
// and a half of them.
constexpr std::uint64_t kMaxLogBytes = 96U << 20U;
// Erased personal values and dropped log entries leave the disk within this time even when nothing
// else is written.
constexpr std::uint64_t kRewriteAfterSeconds = std::uint64_t{7} * 24 * 3600;

// The first of `wanted` that this build of RocksDB has.
rocksdb::CompressionType supported(std::initializer_list<rocksdb::CompressionType> wanted) {
    const auto have = rocksdb::GetSupportedCompressions();
    for (const rocksdb::CompressionType type : wanted) {
        if (std::find(have.begin(), have.end(), type) != have.end()) {
            return type;
        }
    }
    return rocksdb::kNoCompression;
}

bool is_bulky(Family family) {
    return family == Family::kLog || family == Family::kReplies;
}

// Looked up one key at a time, mostly ones that are not there.
bool wants_bloom(Family family) {
    return family == Family::kEvents || family == Family::kKeys || family == Family::kAccounts ||
           family == Family::kOutcomes;
}

rocksdb::ColumnFamilyOptions one_family(Family family,
                                        const std::shared_ptr<rocksdb::Cache>& cache) {
    rocksdb::ColumnFamilyOptions out;
    out.write_buffer_size = is_bulky(family) ? kLogMemtable : kOtherMemtable;
    out.max_write_buffer_number = 6;
    // Records are JSON and alike: zstd level 1 takes them to about a fifth. The work is in the
    // background, at nice 10.
    out.compression = is_bulky(family)
                          ? supported({rocksdb::kZSTD, rocksdb::kLZ4Compression})
                          : supported({rocksdb::kLZ4Compression, rocksdb::kSnappyCompression});
    if (out.compression == rocksdb::kZSTD) {
        out.compression_opts.level = 1;
    }
    // Writers with no_slowdown are refused past the first of these: far away, for the atomic flush
    // makes eight small tables at a time.
    out.level0_slowdown_writes_trigger = 40;
    out.level0_stop_writes_trigger = 64;
    if (is_bulky(family) || family == Family::kPersonal) {
        out.periodic_compaction_seconds = kRewriteAfterSeconds;
    }
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = cache;
    table.block_size = is_bulky(family) ? 16U << 10U : 4U << 10U;
    table.cache_index_and_filter_blocks = true;  // else their memory has no bound
    table.pin_l0_filter_and_index_blocks_in_cache = true;
    table.format_version = 5;
    if (wants_bloom(family)) {
        table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10.0));
    }
    out.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return out;
}

}  // namespace

rocksdb::DBOptions database_options(const StoreOptions& options, rocksdb::Env* env,
                                    std::shared_ptr<rocksdb::Logger> log) {
    rocksdb::DBOptions out;
    out.env = env;
    out.info_log = std::move(log);
    out.create_if_missing = !options.read_only;
    out.create_missing_column_families = true;
    // kTolerateCorruptedTailRecords: a record cut short at the end of a log file is what kill -9
    // leaves, and is dropped (it was never confirmed); a record that fails its checksum, or bytes
    // missing before the end, refuse to open and say which file. kPointInTimeRecovery would open
    // such a log too and drop, without a word, everything behind the damage: confirmed commits.
    // kAbsoluteConsistency would refuse what kill -9 leaves.
    out.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
    out.max_total_wal_size = kMaxLogBytes;
    out.recycle_log_file_num = 0;  // a recycled file's old records blur where the log ends
    out.db_write_buffer_size = kAllMemtables;
    // A write without a log spans families: without this a crash could keep its log entry and lose
    // its event.
    out.atomic_flush = true;
    out.max_background_jobs = 2;  // one flush, one compaction (bound_background_threads)
    out.max_subcompactions = 1;
    out.bytes_per_sync = 1U << 20U;  // no burst of write-back behind a flush
    out.wal_bytes_per_sync = 1U << 20U;
    out.avoid_unnecessary_blocking_io = true;  // old files are deleted in the background
    // Recovery after a write error is the commit thread's (RocksSink), at its own pace.
    out.max_bgerror_resume_count = 0;
    out.stats_dump_period_sec = 0;
    out.stats_persist_period_sec = 0;
    out.max_open_files = 512;
    out.max_manifest_file_size = 16U << 20U;
    return out;
}

std::vector<rocksdb::ColumnFamilyDescriptor> family_options(const StoreOptions& options) {
    const auto cache = rocksdb::NewLRUCache(options.block_cache_bytes);
    std::vector<rocksdb::ColumnFamilyDescriptor> out;
    out.reserve(kFamilies + 1);
    out.emplace_back(rocksdb::kDefaultColumnFamilyName, one_family(Family::kMeta, cache));
    for (std::size_t i = 0; i < kFamilies; ++i) {
        out.emplace_back(kNames.at(i), one_family(static_cast<Family>(i), cache));
    }
    return out;
}

void bound_background_threads(rocksdb::Env& env) {
    // RocksDB's own way to lower a pool knows nice 0, 19 and idle only; a job on a pool of one
    // thread reaches that thread.
    env.SetBackgroundThreads(1, rocksdb::Env::HIGH);
    env.SetBackgroundThreads(1, rocksdb::Env::LOW);
    env.Schedule([](void*) { (void)enter_thread(ThreadRole::kBackground, "tg-rocks-flush"); },
                 nullptr, rocksdb::Env::HIGH);
    env.Schedule([](void*) { (void)enter_thread(ThreadRole::kBackground, "tg-rocks-comp"); },
                 nullptr, rocksdb::Env::LOW);
}

}  // namespace tollgate::store
