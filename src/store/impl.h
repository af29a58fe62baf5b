// The parts of an open store, shared by the files that implement Store.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/snapshot.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/chain.h"
#include "store/close_signal.h"
#include "store/commit_sink.h"
#include "store/committer.h"
#include "store/keys.h"
#include "store/read_thread.h"
#include "store/rocks.h"
#include "store/store.h"

namespace tollgate::store {

struct Store::Impl {
    Impl(StoreOptions store_options, std::unique_ptr<Rocks> opened, const FaultSwitches& switches,
         Metrics& metrics);
    ~Impl();

    // Loads the ends of all logs and starts the threads.
    Status start();
    // One synchronous write beside the commit thread; waits where RocksDB wants it to.
    Status write_directly(rocksdb::WriteBatch& batch, bool wal);

    const StoreOptions options;
    const FaultSwitches& faults;
    std::unique_ptr<Rocks> rocks;
    CloseSignal closing;
    CommitSink sink;
    Committer committer;
    std::unique_ptr<ReadThread> reader;
    std::mutex drop_mutex;  // one drop_below() at a time: the cut only moves forward
};

// An iterator over one tenant's part of a family, on a snapshot or (null) on what is there now.
// `stop` holds the bound's bytes and must outlive the iterator.
struct TenantRange {
    TenantRange(std::string_view tenant, const rocksdb::Snapshot* snapshot);
    TenantRange(const TenantRange&) = delete;
    TenantRange& operator=(const TenantRange&) = delete;

    std::string stop;
    rocksdb::Slice bound;
    rocksdb::ReadOptions options;
};

// The tenant's cut; one at 1 when nothing was ever dropped. kCorrupt when it cannot be read.
Result<Cut> read_cut(const Rocks& rocks, std::string_view tenant,
                     const rocksdb::Snapshot* snapshot);

// The tenants that own a key of the family, in order of key.
Result<std::vector<std::string>> tenants_of(const Rocks& rocks, Family family);

// The end of a tenant's log: the last entry, or the cut when nothing is left behind it.
Result<Cut> read_end(const Rocks& rocks, std::string_view tenant);

Error log_error(std::string_view tenant, std::uint64_t seq, std::string_view what);

}  // namespace tollgate::store
