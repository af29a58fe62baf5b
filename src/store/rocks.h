// One open RocksDB: its options, its column families, its errors in our words, its end.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/store.h"
#include "store/wal_order.h"

namespace tollgate::store {

// kCorrupt for damaged bytes, else kInternal; RocksDB's own words stand in the detail.
Error rocks_error(std::string_view what, const rocksdb::Status& status);

// Thread-safe but for open and close.
class Rocks {
  public:
    static Result<std::unique_ptr<Rocks>> open(const StoreOptions& options);
    ~Rocks();
    Rocks(const Rocks&) = delete;
    Rocks& operator=(const Rocks&) = delete;

    rocksdb::DB& db() const { return *db_; }
    rocksdb::ColumnFamilyHandle* family(Family which) const {
        return families_.at(static_cast<std::size_t>(which));
    }

    // Writes the memtables of all families to tables, atomically: afterwards nothing depends on the
    // write-ahead log, nor was anything lost that was written without one.
    Status flush_memtables();
    // Said after a write without a log. Release; flush_if_unlogged() acquires.
    void mark_unlogged() { unlogged_.store(true, std::memory_order_release); }
    // flush_memtables() when a write without a log came before.
    Status flush_if_unlogged();

    // Flushes unless `abandon`, waits for running background work, releases the lock.
    void close(bool abandon);

  private:
    Rocks() = default;

    std::unique_ptr<rocksdb::Env> env_;  // outlives db_
    WalOrder wal_order_;                 // likewise
    std::unique_ptr<rocksdb::DB> db_;
    std::vector<rocksdb::ColumnFamilyHandle*> families_;  // in order of Family; owned by db_
    std::atomic<bool> unlogged_{false};
    bool read_only_ = false;
};

}  // namespace tollgate::store
