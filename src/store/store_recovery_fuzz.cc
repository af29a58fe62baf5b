// Fuzz target: a crashed store whose write-ahead log is cut and changed as the input says; opening
// it gives a Result, and what opens is whole or names its damage.
#include <rocksdb/env.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "store/keys.h"
#include "store/seams.h"
#include "store/store.h"

namespace {

using tollgate::ByteReader;
using tollgate::Fault;
using tollgate::FaultSwitches;
using tollgate::Metrics;
using tollgate::store::Commit;
using tollgate::store::Family;
using tollgate::store::LogEntry;
using tollgate::store::Seams;
using tollgate::store::sequence_bytes;
using tollgate::store::Store;

constexpr const char* kPath = "/data";
constexpr std::uint64_t kRecords = 24;
constexpr int kMaxEdits = 64;

using Folder = std::map<std::string, std::string>;  // file name -> bytes

std::string record(std::uint64_t seq) {
    return "record " + std::to_string(seq) + std::string(seq * 13 % 200, '.');
}

std::shared_ptr<rocksdb::FileSystem> memory_files() {
    const std::unique_ptr<rocksdb::Env> env(rocksdb::NewMemEnv(rocksdb::Env::Default()));
    return env->GetFileSystem();
}

// The files of a store as kill -9 leaves them: every record in the log, none in a table.
Folder make_crashed_folder() {
    const Seams seams{.files = memory_files()};
    FaultSwitches faults;
    Metrics metrics;
    auto store = Store::open({.path = kPath, .seams = &seams}, faults, metrics).value_or_die();
    for (std::uint64_t seq = 1; seq <= kRecords; ++seq) {
        Commit commit;
        commit.tenant = "bank";
        commit.seq = seq;
        commit.record = record(seq);
        commit.puts.push_back({.family = Family::kReplies,
                               .key = sequence_bytes(seq),
                               .value = "reply " + std::to_string(seq)});
        TG_CHECK(store->submit(commit), "the journal has room");
        TG_CHECK(store->flush(std::chrono::seconds(20)).has_value(), "the store writes");
    }
    std::vector<std::string> names;
    TG_CHECK(seams.files->GetChildren(kPath, {}, &names, nullptr).ok(), "the folder is listed");
    Folder out;
    for (const std::string& name : names) {
        if (name != "LOCK" && name.find_first_not_of('.') != std::string::npos) {
            TG_CHECK(rocksdb::ReadFileToString(seams.files.get(), std::string(kPath) + "/" + name,
                                               &out[name])
                         .ok(),
                     "its files are read");
        }
    }
    return out;
}

std::string& log_of(Folder& folder) {
    for (auto& [name, bytes] : folder) {
        if (name.ends_with(".log") && !bytes.empty()) {
            return bytes;
        }
    }
    tollgate::check_failed(__FILE__, __LINE__, "log_of", "there is a log");
}

// Each edit is four bytes or so: what, where (16 bits, scaled to the log), with what.
void edit(std::string& log, ByteReader& input) {
    for (int i = 0; i < kMaxEdits && !input.at_end() && !log.empty(); ++i) {
        const unsigned what = input.u8();
        const std::size_t at = input.u16() * log.size() / 65'536;
        const unsigned value = input.u8();
        switch (what % 5) {
            case 0:
                log.resize(at);
                break;
            case 1:
                log[at] = static_cast<char>(static_cast<unsigned char>(log[at]) ^ value);
                break;
            case 2:
                log.insert(at, value, '\0');
                break;
            case 3:
                log.erase(at, value);
                break;
            default:
                log.append(log.substr(at, value));
                break;
        }
    }
}

// The log and the replies hold 1..last and nothing else, and the chain fits.
void check_whole(Store& store) {
    const std::uint64_t last = *store.last_seq("bank");
    TG_CHECK(last <= kRecords, "no record was made up");
    const auto verified = store.verify_chain("bank", 1);
    if (!verified) {
        TG_CHECK(verified.error().fault == Fault::kCorrupt, "a failed check names damage");
        TG_CHECK(verified.error().message.find("log entry") != std::string::npos, "and where");
        return;
    }
    std::uint64_t seen = 0;
    const auto read = store.read_log("bank", 1, [&](const LogEntry& entry) {
        TG_CHECK(entry.record == record(++seen), "the record is the one written");
        return true;
    });
    TG_CHECK(read.has_value() && seen == last, "the log can be read to its end");
    std::uint64_t replies = 0;
    TG_CHECK(store
                 .scan(Family::kReplies, "bank", {},
                       [&](std::string_view, std::string_view value) {
                           TG_CHECK(value == "reply " + std::to_string(++replies), "its reply");
                           return true;
                       })
                 .has_value(),
             "the replies can be read");
    TG_CHECK(replies == last, "a commit is all there or not at all");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Folder crashed = make_crashed_folder();
    ByteReader input({reinterpret_cast<const char*>(data), size});
    const bool read_only = input.u8() % 4 != 0;
    Folder folder = crashed;
    edit(log_of(folder), input);
    const Seams seams{.files = memory_files()};
    TG_CHECK(seams.files->CreateDirIfMissing(kPath, {}, nullptr).ok(), "the folder is made");
    for (const auto& [name, bytes] : folder) {
        TG_CHECK(
            rocksdb::WriteStringToFile(seams.files.get(), bytes, std::string(kPath) + "/" + name)
                .ok(),
            "its files are written");
    }
    FaultSwitches faults;
    Metrics metrics;
    auto opened =
        Store::open({.path = kPath, .read_only = read_only, .seams = &seams}, faults, metrics);
    if (opened) {
        check_whole(**opened);
    } else {
        TG_CHECK(opened.error().fault == Fault::kCorrupt, "only damage keeps it from opening");
    }
    return 0;
}
