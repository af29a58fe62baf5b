// The file system that RocksDB is given: write errors are marked as ones that may pass.
#pragma once

#include <rocksdb/file_system.h>

#include <functional>
#include <memory>
#include <string>

#include "store/seams.h"

namespace tollgate::store {

// RocksDB takes an I/O error (EIO) of its write-ahead log for fatal: no write succeeds until the
// process is started anew, and the journal in memory would be lost with it. Marked retryable, the
// same error (and that of a full disk) lets Resume() flush what the memtables hold (which includes
// all that was confirmed), begin a new log and go on; nothing of the damaged log is needed after
// that.
//
// `fault` is Seams::file_fault or empty.
std::shared_ptr<rocksdb::FileSystem> make_retry_files(
    const std::shared_ptr<rocksdb::FileSystem>& base,
    std::function<rocksdb::IOStatus(const std::string& file, FileOp op)> fault);

}  // namespace tollgate::store
