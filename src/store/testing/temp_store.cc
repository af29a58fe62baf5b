// The temporary folder and the store in it.
#include "store/testing/temp_store.h"

#include <rocksdb/env.h>
#include <stdlib.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"

namespace tollgate::store::testing {

TempFolder::TempFolder() {
    path_ = (std::filesystem::temp_directory_path() / "tollgate-store-XXXXXX").string();
    TG_CHECK(::mkdtemp(path_.data()) != nullptr, "no temporary folder");
}

TempFolder::~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::shared_ptr<rocksdb::FileSystem> memory_files() {
    // The file system holds nothing of the Env it comes from.
    const std::unique_ptr<rocksdb::Env> env(rocksdb::NewMemEnv(rocksdb::Env::Default()));
    return env->GetFileSystem();
}

std::map<std::string, std::string> read_files(rocksdb::FileSystem& files,
                                              const std::string& folder) {
    std::vector<std::string> names;
    TG_CHECK(files.GetChildren(folder, {}, &names, nullptr).ok(), "the folder can be listed");
    std::map<std::string, std::string> out;
    for (const std::string& name : names) {
        if (name != "." && name != ".." && name != "LOCK") {
            TG_CHECK(rocksdb::ReadFileToString(&files, folder + "/" + name, &out[name]).ok(),
                     "its files can be read");
        }
    }
    return out;
}

void write_files(rocksdb::FileSystem& files, const std::string& folder,
                 const std::map<std::string, std::string>& contents) {
    TG_CHECK(files.CreateDirIfMissing(folder, {}, nullptr).ok(), "the folder can be made");
    for (const auto& [name, bytes] : contents) {
        TG_CHECK(rocksdb::WriteStringToFile(&files, bytes, folder + "/" + name).ok(),
                 "its files can be written");
    }
}

TempStore::TempStore(StoreOptions store_options, Files where) : options(std::move(store_options)) {
    if (options.seams != nullptr) {
        seams = *options.seams;
    }
    if (where == Files::kMemory && !seams.files) {
        seams.files = memory_files();
    }
    options.seams = &seams;
    options.path = folder.path();
    const Status opened = open();
    TG_CHECK(opened.has_value(), "a new store opens");
}

TempStore::~TempStore() = default;

Status TempStore::open() {
    auto opened = Store::open(options, faults, metrics);
    if (!opened) {
        return opened.error();
    }
    store_ = *std::move(opened);
    return ok();
}

Status TempStore::reopen() {
    close();
    return open();
}

std::string test_record(std::string_view tenant, std::uint64_t seq) {
    std::string out = "{\"tenant\":\"";
    out += tenant;
    out += "\",\"seq\":" + std::to_string(seq) + ",\"event\":\"tx-" + std::to_string(seq) + "\"}";
    return out;
}

Commit record_commit(const std::string& tenant, std::uint64_t seq) {
    std::string key;
    ByteWriter(key).be64(seq);
    Commit commit;
    commit.tenant = tenant;
    commit.seq = seq;
    commit.record = test_record(tenant, seq);
    commit.puts.push_back(
        {.family = Family::kReplies, .key = key, .value = "reply " + std::to_string(seq)});
    commit.puts.push_back(
        {.family = Family::kEvents, .key = "tx-" + std::to_string(seq), .value = key});
    return commit;
}

}  // namespace tollgate::store::testing
