// WalOrder: refuses a write-ahead log whose records are not in order, before RocksDB applies them.
#pragma once

#include <rocksdb/wal_filter.h>

#include <cstdint>
#include <string>

namespace tollgate::store {

// RocksDB checks each record's bytes, not that it comes once: a record that is there twice,
// checksum and all, ends the process by an assertion in its memtable. Called by open(), on its
// thread.
class WalOrder : public rocksdb::WalFilter {
  public:
    WalProcessingOption LogRecordFound(unsigned long long log_number, const std::string& file,
                                       const rocksdb::WriteBatch& batch,
                                       rocksdb::WriteBatch* new_batch,
                                       bool* batch_changed) override;
    const char* Name() const override { return "tollgate.WalOrder"; }
    bool out_of_order() const { return out_of_order_; }

  private:
    std::uint64_t next_ = 0;  // the least sequence number that the next record may have
    bool out_of_order_ = false;
};

}  // namespace tollgate::store
