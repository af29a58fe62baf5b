// The temporary folder and the store in it.
#include "store/testing/temp_store.h"

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

TempStore::TempStore(StoreOptions store_options) : options(std::move(store_options)) {
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
