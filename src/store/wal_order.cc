// A WriteBatch's bytes begin with its sequence number (8 bytes, little endian) and its count (4).
#include "store/wal_order.h"

#include <rocksdb/write_batch.h>

#include "base/bytes.h"

namespace tollgate::store {

rocksdb::WalFilter::WalProcessingOption WalOrder::LogRecordFound(unsigned long long,
                                                                 const std::string&,
                                                                 const rocksdb::WriteBatch& batch,
                                                                 rocksdb::WriteBatch*, bool*) {
    ByteReader header(batch.Data());
    const std::uint64_t sequence = header.u64();
    const std::uint64_t count = header.u32();
    if (!header.ok() || sequence < next_) {
        out_of_order_ = true;
        return WalProcessingOption::kCorruptedRecord;
    }
    next_ = sequence + count;
    return WalProcessingOption::kContinueProcessing;
}

}  // namespace tollgate::store
