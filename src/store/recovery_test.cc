// Tests of the store after a crash: kill -9 under load, a log cut or damaged at any byte.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "store/keys.h"
#include "store/seams.h"
#include "store/store.h"
#include "store/testing/temp_store.h"

namespace tollgate::store {
namespace {

using std::chrono::seconds;
using testing::record_commit;
using testing::TempFolder;
using testing::TempStore;
using testing::test_record;

constexpr std::array<const char*, 2> kTenants = {"bank", "shop"};

// What a confirmed commit tells the parent: less than PIPE_BUF, so that each arrives whole.
struct Report {
    std::uint32_t tenant = 0;
    std::uint32_t unused = 0;
    std::uint64_t seq = 0;
};

// The value of `--crash_child=` on this process's command line: "FD:FOLDER".
std::optional<std::string> crash_child_argument() {
    std::ifstream in("/proc/self/cmdline", std::ios::binary);
    for (std::string argument; std::getline(in, argument, '\0');) {
        constexpr std::string_view kFlag = "--crash_child=";
        if (argument.starts_with(kFlag)) {
            return argument.substr(kFlag.size());
        }
    }
    return std::nullopt;
}

// Not a test of its own: StoreCrash.EveryReportedCommitSurvivesKillNine runs this in a process that
// it kills. (RocksDB's threads do not live through a fork, so the child is a new program.)
TEST(StoreCrashChild, WritesUntilKilled) {
    const auto argument = crash_child_argument();
    if (!argument) {
        GTEST_SKIP() << "runs inside StoreCrash.EveryReportedCommitSurvivesKillNine";
    }
    int fd = -1;
    const auto colon = argument->find(':');
    ASSERT_NE(colon, std::string::npos);
    std::from_chars(argument->data(), argument->data() + colon, fd);
    FaultSwitches faults;
    Metrics metrics;
    auto store =
        Store::open({.path = argument->substr(colon + 1), .journal_capacity = 64}, faults, metrics)
            .value_or_die();
    std::array<std::uint64_t, 2> next = {*store->last_seq(kTenants[0]) + 1,
                                         *store->last_seq(kTenants[1]) + 1};
    for (std::uint32_t i = 0;; ++i) {
        const std::uint32_t t = i % 3 == 0 ? 1 : 0;
        Commit commit = record_commit(kTenants[t], next[t]);
        commit.durability = i % 64 == 63 ? Durability::kFsync : Durability::kOs;
        commit.done = [fd, report = Report{.tenant = t, .seq = next[t]}] {
            (void)!::write(fd, &report, sizeof(report));
        };
        while (!store->submit(commit)) {
            (void)store->flush(seconds(1));
        }
        ++next[t];
    }
}

// Starts the child on `folder`; its end of the pipe is inherited.
pid_t start_child(const std::string& folder, const std::array<int, 2>& pipe_ends) {
    const std::string argument = "--crash_child=" + std::to_string(pipe_ends[1]) + ":" + folder;
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(pipe_ends[0]);
        ::execl("/proc/self/exe", "test_store", "--gtest_filter=StoreCrashChild.*",
                argument.c_str(), static_cast<char*>(nullptr));
        ::_exit(127);
    }
    return child;
}

// Reads `count` reports, kills the child in the midst of its work, reads what the pipe still holds.
std::array<std::uint64_t, 2> run_and_kill(const std::string& folder, std::size_t count) {
    std::array<std::uint64_t, 2> confirmed{};
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) {
        ADD_FAILURE() << "no pipe";
        return confirmed;
    }
    const pid_t child = start_child(folder, ends);
    ::close(ends[1]);
    Report report;
    std::size_t seen = 0;
    while (::read(ends[0], &report, sizeof(report)) == ssize_t{sizeof(report)}) {
        confirmed.at(report.tenant) = report.seq;
        if (++seen == count) {
            ::kill(child, SIGKILL);
        }
    }
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    EXPECT_GE(seen, count);
    return confirmed;
}

TEST(StoreCrash, EveryReportedCommitSurvivesKillNine) {
    const TempFolder folder;
    std::mt19937 random(20261201);
    for (int round = 0; round < 4; ++round) {
        const auto confirmed = run_and_kill(folder.path(), 200 + random() % 2000);
        FaultSwitches faults;
        Metrics metrics;
        auto store = Store::open({.path = folder.path()}, faults, metrics).value_or_die();
        for (std::size_t t = 0; t < kTenants.size(); ++t) {
            EXPECT_GT(confirmed[t], 0U);
            EXPECT_GE(*store->last_seq(kTenants[t]), confirmed[t]);
            const auto verified = store->verify_chain(kTenants[t], 1);
            EXPECT_TRUE(verified) << verified.error().message;
            std::uint64_t seen = 0;
            ASSERT_TRUE(store->read_log(kTenants[t], 1, [&](const LogEntry& entry) {
                EXPECT_EQ(entry.record, test_record(kTenants[t], entry.seq));
                const auto event =
                    store->get(Family::kEvents, kTenants[t], "tx-" + std::to_string(entry.seq));
                EXPECT_TRUE(event && *event && **event == sequence_bytes(entry.seq));
                seen = entry.seq;
                return true;
            }));
            EXPECT_GE(seen, confirmed[t]);
        }
    }
}

// A folder as a kill -9 leaves it: 40 commits in the write-ahead log, none in a table.
class CrashedFolder {
  public:
    static constexpr std::uint64_t kRecords = 40;

    CrashedFolder() {
        TempStore store;
        for (std::uint64_t seq = 1; seq <= kRecords; ++seq) {
            Commit commit = record_commit("bank", seq);
            TG_CHECK(store->submit(commit), "the journal has room");
            TG_CHECK(store->flush(seconds(20)).has_value(), "the store writes");
        }
        files_ = testing::read_files(*store.seams.files, store.path());
        for (const auto& [name, bytes] : files_) {
            if (name.ends_with(".log") && !bytes.empty()) {
                log_ = name;
            }
        }
        TG_CHECK(!log_.empty(), "there is a log");
    }

    const std::string& log_name() const { return log_; }
    const std::string& log() const { return files_.at(log_); }

    // The crashed folder again, in memory, as "/data" and with other bytes in its log.
    Seams restore(const std::string& log) const {
        auto files = files_;
        files[log_] = log;
        Seams seams;
        seams.files = testing::memory_files();
        testing::write_files(*seams.files, kPath, files);
        return seams;
    }
    static constexpr const char* kPath = "/data";

  private:
    std::map<std::string, std::string> files_;
    std::string log_;
};

struct Opened {
    std::optional<Error> error;
    std::uint64_t last = 0;
    bool whole = false;  // chain, records, replies and events of 1..last are all there, no more
};

Opened open_and_look(const Seams& seams, bool read_only) {
    FaultSwitches faults;
    Metrics metrics;
    auto opened = Store::open(
        {.path = CrashedFolder::kPath, .read_only = read_only, .seams = &seams}, faults, metrics);
    Opened out;
    if (!opened) {
        out.error = opened.error();
        return out;
    }
    Store& store = **opened;
    out.last = *store.last_seq("bank");
    out.whole = store.verify_chain("bank", 1).has_value();
    std::uint64_t seen = 0;
    const auto read = store.read_log("bank", 1, [&](const LogEntry& entry) {
        ++seen;
        out.whole = out.whole && entry.record == test_record("bank", entry.seq);
        return true;
    });
    out.whole = out.whole && read && seen == out.last;
    for (std::uint64_t seq = 1; seq <= CrashedFolder::kRecords; ++seq) {
        const auto reply = store.get(Family::kReplies, "bank", sequence_bytes(seq));
        const auto event = store.get(Family::kEvents, "bank", "tx-" + std::to_string(seq));
        const bool wanted = seq <= out.last;
        out.whole = out.whole && reply && reply->has_value() == wanted && event &&
                    event->has_value() == wanted;
    }
    return out;
}

TEST(StoreRecovery, LogCutAtAnyByteOpensAsAPrefix) {
    const CrashedFolder crashed;
    const std::string& log = crashed.log();
    std::uint64_t before = 0;
    for (std::size_t at = 0; at <= log.size(); ++at) {
        // Every byte around the first two records, of the last, and every 61st between: prime to
        // the records' length, so that all places within a record are cut.
        if (at >= 150 && at + 150 <= log.size() && at % 61 != 0) {
            continue;
        }
        const Seams seams = crashed.restore(log.substr(0, at));
        const Opened opened = open_and_look(seams, true);
        ASSERT_FALSE(opened.error) << at << ": " << opened.error->message;
        ASSERT_TRUE(opened.whole) << "cut at " << at << ", last " << opened.last;
        ASSERT_GE(opened.last, before) << "a longer log holds no less";
        before = opened.last;
    }
    EXPECT_EQ(before, CrashedFolder::kRecords);
}

TEST(StoreRecovery, CutLogTakesNewCommitsAfterOpening) {
    const CrashedFolder crashed;
    const std::string& log = crashed.log();
    for (const std::size_t at : {log.size() - 1, log.size() / 2, std::size_t{3}}) {
        const Seams seams = crashed.restore(log.substr(0, at));
        std::uint64_t last = 0;
        {
            FaultSwitches faults;
            Metrics metrics;
            auto store =
                Store::open({.path = CrashedFolder::kPath, .seams = &seams}, faults, metrics)
                    .value_or_die();
            last = *store->last_seq("bank");
            EXPECT_LT(last, CrashedFolder::kRecords);
            Commit commit = record_commit("bank", last + 1);
            ASSERT_TRUE(store->submit(commit));
            ASSERT_TRUE(store->flush(seconds(20)));
        }
        const Opened again = open_and_look(seams, false);
        ASSERT_FALSE(again.error) << again.error->message;
        EXPECT_EQ(again.last, last + 1);
        EXPECT_TRUE(again.whole);
    }
}

TEST(StoreRecovery, DamageBeforeTheEndIsRefusedByName) {
    const CrashedFolder crashed;
    std::string log = crashed.log();
    log[log.size() / 2] = static_cast<char>(log[log.size() / 2] ^ 0x20);
    for (const bool read_only : {true, false}) {
        const Seams seams = crashed.restore(log);
        const Opened opened = open_and_look(seams, read_only);
        ASSERT_TRUE(opened.error);
        EXPECT_EQ(opened.error->fault, Fault::kCorrupt) << opened.error->message;
        EXPECT_NE(opened.error->message.find(CrashedFolder::kPath), std::string::npos);
        EXPECT_NE(opened.error->message.find(crashed.log_name()), std::string::npos)
            << opened.error->message;
    }
}

// Each record passes its checksum, so only their order tells: RocksDB alone ends the process here.
TEST(StoreRecovery, RecordsThatAreThereTwiceAreRefusedAndCrashNothing) {
    const CrashedFolder crashed;
    const std::string& log = crashed.log();
    for (const bool read_only : {true, false}) {
        const Seams seams = crashed.restore(log + log);
        const Opened opened = open_and_look(seams, read_only);
        ASSERT_TRUE(opened.error);
        EXPECT_EQ(opened.error->fault, Fault::kCorrupt) << opened.error->message;
    }
}

TEST(StoreRecovery, FlippedBytesAreRefusedOrLeaveAPrefix) {
    const CrashedFolder crashed;
    std::mt19937 random(11);
    int refused = 0;
    for (int i = 0; i < 150; ++i) {
        std::string log = crashed.log();
        const std::size_t at = random() % log.size();
        log[at] = static_cast<char>(log[at] ^ (1 << (random() % 8)));
        const Seams seams = crashed.restore(log);
        const Opened opened = open_and_look(seams, true);
        if (opened.error) {
            EXPECT_EQ(opened.error->fault, Fault::kCorrupt) << opened.error->message;
            ++refused;
        } else {
            EXPECT_TRUE(opened.whole) << "flipped at " << at << ", last " << opened.last;
        }
    }
    EXPECT_GT(refused, 75);
}

}  // namespace
}  // namespace tollgate::store
