// Where tests get at the store: faults of the file system, faults of a write, another file system.
#pragma once

#include <rocksdb/file_system.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace tollgate::store {

enum class FileOp : std::uint8_t { kAppend, kSync };

// Every member may be empty. The functions are called from any of the store's threads.
struct Seams {
    // Before an append to or a sync of a file: what is returned, when not ok(), is what RocksDB
    // gets to see.
    std::function<rocksdb::IOStatus(const std::string& file, FileOp op)> file_fault;
    // Before each write attempt of the commit thread: an error fails the attempt.
    std::function<Status()> before_write;
    // How long a close may drain the journal; zero stands for the Store's own 5 s.
    std::chrono::milliseconds drain{0};
    // In place of the system's files. Shared because that is how RocksDB holds it.
    std::shared_ptr<rocksdb::FileSystem> files;
};

}  // namespace tollgate::store
