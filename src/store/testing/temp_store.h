// What tests of and with the store need: a folder that goes away, a store in it, plain commits.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/faults.h"
#include "base/metrics.h"
#include "store/seams.h"
#include "store/store.h"

namespace tollgate::store::testing {

// A new folder under the system's temporary one, removed with all it holds.
class TempFolder {
  public:
    TempFolder();
    ~TempFolder();
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

// An empty file system in memory; has no other locks than its own.
std::shared_ptr<rocksdb::FileSystem> memory_files();

// All files of a folder by name, and back.
std::map<std::string, std::string> read_files(rocksdb::FileSystem& files,
                                              const std::string& folder);
void write_files(rocksdb::FileSystem& files, const std::string& folder,
                 const std::map<std::string, std::string>& contents);

enum class Files : std::uint8_t {
    kMemory,  // quick: RocksDB's own file system in memory
    kDisk,    // opening and closing take about half a second of fsync
};

// A store in a temporary folder (or in memory) that can be closed and opened again.
class TempStore {
  public:
    // options.path is set here; options.seams is copied.
    explicit TempStore(StoreOptions options = {}, Files where = Files::kMemory);
    ~TempStore();
    TempStore(const TempStore&) = delete;
    TempStore& operator=(const TempStore&) = delete;

    Store& operator*() { return *store_; }
    Store* operator->() { return store_.get(); }
    void close() { store_.reset(); }
    Status open();    // after close()
    Status reopen();  // close() and open()

    std::string path() const { return options.path; }

    TempFolder folder;
    Seams seams;
    StoreOptions options;  // of the next open()
    FaultSwitches faults;
    Metrics metrics;

  private:
    std::unique_ptr<Store> store_;
};

// The record of `seq` that record_commit() writes.
std::string test_record(std::string_view tenant, std::uint64_t seq);
// A commit of that record with a reply and an event, as a decision makes it.
Commit record_commit(const std::string& tenant, std::uint64_t seq);

}  // namespace tollgate::store::testing
