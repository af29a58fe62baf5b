// Tests of the store in bad days: a full, slow, frozen or failing disk, a full journal, a close in
// the midst of it.
#include <gtest/gtest.h>

#include <atomic>
#include <tuple>

#include "store/keys.h"
#include "store/seams.h"
#include "store/store.h"
#include "store/testing/temp_store.h"

namespace tollgate::store {
namespace {

using rocksdb::IOStatus;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::record_commit;
using testing::TempStore;

// Submits records first..last, each of which counts itself in `done`.
void submit_all(TempStore& store, std::uint64_t first, std::uint64_t last, std::atomic<int>& done,
                Durability durability = Durability::kOs) {
    for (std::uint64_t seq = first; seq <= last; ++seq) {
        Commit commit = record_commit("bank", seq);
        commit.durability = durability;
        commit.done = [&done] { ++done; };
        ASSERT_TRUE(store->submit(commit));
    }
}

// Waits, without a clock of its own, until the commit thread has failed `count` times more.
void wait_for_failures(TempStore& store, std::uint64_t count) {
    const std::uint64_t target = store->health().failures + count;
    while (store->health().failures < target) {
        (void)store->flush(milliseconds(5));
    }
}

void expect_whole(TempStore& store, std::uint64_t last) {
    EXPECT_EQ(*store->last_seq("bank"), last);
    const auto verified = store->verify_chain("bank", 1);
    EXPECT_TRUE(verified) << verified.error().message;
    for (std::uint64_t seq = 1; seq <= last; ++seq) {
        const auto reply = store->get(Family::kReplies, "bank", sequence_bytes(seq));
        EXPECT_TRUE(reply && *reply && **reply == "reply " + std::to_string(seq)) << seq;
    }
}

TEST(StoreFaults, FullDiskKeepsCommitsUntilThereIsRoom) {
    TempStore store;
    std::atomic<int> done{0};
    submit_all(store, 1, 10, done);
    ASSERT_TRUE(store->flush(seconds(20)));
    store.faults.store_full = true;
    submit_all(store, 11, 400, done);
    wait_for_failures(store, 3);
    EXPECT_EQ(done, 10);
    const StoreHealth health = store->health();
    EXPECT_TRUE(health.failing);
    EXPECT_EQ(health.queued, 390U);
    EXPECT_GT(health.oldest_wait.count(), 0);
    EXPECT_NE(health.last_error.find("No space left"), std::string::npos);
    EXPECT_EQ(*store->last_seq("bank"), 10U);
    store.faults.store_full = false;
    ASSERT_TRUE(store->flush(seconds(20)));
    EXPECT_EQ(done, 400);
    EXPECT_FALSE(store->health().failing);
    EXPECT_EQ(store->health().last_error, "");
    expect_whole(store, 400);
    ASSERT_TRUE(store.reopen());
    expect_whole(store, 400);
}

TEST(StoreFaults, FlushTimesOutAndSaysWhy) {
    TempStore store;
    std::atomic<int> done{0};
    store.faults.store_full = true;
    submit_all(store, 1, 3, done);
    wait_for_failures(store, 1);
    const auto late = store->flush(milliseconds(1));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().fault, Fault::kTimeout);
    EXPECT_EQ(late.error().message, "3 commits are not confirmed after 1 ms");
    EXPECT_NE(late.error().detail.find("No space left"), std::string::npos);
    store.faults.store_full = false;
    ASSERT_TRUE(store->flush(seconds(20)));
    EXPECT_EQ(done, 3);
}

TEST(StoreFaults, SlowDiskConfirmsLateAndNotBefore) {
    TempStore store;
    std::atomic<int> done{0};
    store.faults.store_delay_us = 30'000;
    const auto before = std::chrono::steady_clock::now();
    submit_all(store, 1, 1, done);
    ASSERT_TRUE(store->flush(seconds(20)));
    EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds(30));
    EXPECT_EQ(done, 1);
    EXPECT_FALSE(store->health().failing);
}

TEST(StoreFaults, FrozenStoreTakesUpWhereItStopped) {
    TempStore store;
    std::atomic<int> done{0};
    store.faults.store_frozen = true;
    submit_all(store, 1, 50, done);
    ASSERT_FALSE(store->flush(milliseconds(30)));
    EXPECT_EQ(done, 0);
    EXPECT_EQ(store->health().queued, 50U);
    EXPECT_EQ(*store->last_seq("bank"), 0U);
    store.faults.store_frozen = false;
    ASSERT_TRUE(store->flush(seconds(20)));
    EXPECT_EQ(done, 50);
    expect_whole(store, 50);
}

TEST(StoreFaults, FullJournalRefusesAndLeavesTheCommit) {
    TempStore store({.journal_capacity = 20});
    std::atomic<int> done{0};
    store.faults.store_frozen = true;
    submit_all(store, 1, 20, done);
    Commit extra = record_commit("bank", 21);
    ASSERT_FALSE(store->submit(extra));
    EXPECT_EQ(extra.record, testing::test_record("bank", 21));
    EXPECT_EQ(extra.puts.size(), 2U);
    EXPECT_NE(store.metrics.render().find("tollgate_store_refused_total 1"), std::string::npos);
    store.faults.store_frozen = false;
    ASSERT_TRUE(store->flush(seconds(20)));
    ASSERT_TRUE(store->submit(extra));  // the number was not used up
    ASSERT_TRUE(store->flush(seconds(20)));
    expect_whole(store, 21);
}

TEST(StoreFaults, JournalIsBoundedInBytesToo) {
    TempStore store({.journal_bytes = 10'000});
    store.faults.store_frozen = true;
    Commit large;
    large.tenant = "bank";
    large.puts.push_back({.family = Family::kKeys, .key = "k", .value = std::string(50'000, 'x')});
    ASSERT_TRUE(store->submit(large)) << "alone it passes, whatever its size";
    Commit small = record_commit("bank", 1);
    EXPECT_FALSE(store->submit(small));
    store.faults.store_frozen = false;
    ASSERT_TRUE(store->flush(seconds(20)));
    EXPECT_TRUE(store->submit(small));
    ASSERT_TRUE(store->flush(seconds(20)));
}

TEST(StoreFaults, AttemptThatFailsIsTriedAgainWithTheSameBytes) {
    std::atomic<int> left{4};
    Seams seams;
    seams.before_write = [&left]() -> Status {
        if (left-- > 0) {
            return Error{Fault::kInternal, "write: the store failed", "injected"};
        }
        return ok();
    };
    TempStore store({.seams = &seams});
    std::atomic<int> done{0};
    submit_all(store, 1, 30, done);
    ASSERT_TRUE(store->flush(seconds(20)));
    EXPECT_EQ(done, 30);
    EXPECT_EQ(store->health().failures, 4U);
    EXPECT_NE(store.metrics.render().find("tollgate_store_failures_total 4"), std::string::npos);
    expect_whole(store, 30);
}

// What RocksDB itself makes of a failing file: after the fault is gone everything accepted is
// written, and a reopened store holds all of it.
class StoreFileFaults : public ::testing::TestWithParam<std::tuple<FileOp, bool>> {};

TEST_P(StoreFileFaults, WritesOnceTheFilesWorkAgain) {
    const auto [failing_op, full] = GetParam();
    std::atomic<bool> broken{false};
    Seams seams;
    seams.file_fault = [&broken, op = failing_op, full = full](const std::string&, FileOp what) {
        if (!broken || what != op) {
            return IOStatus::OK();
        }
        return full ? IOStatus::NoSpace("injected") : IOStatus::IOError("injected");
    };
    TempStore store({.seams = &seams}, testing::Files::kDisk);
    std::atomic<int> done{0};
    submit_all(store, 1, 20, done);
    ASSERT_TRUE(store->flush(seconds(20)));
    broken = true;
    submit_all(store, 21, 60, done, Durability::kFsync);
    wait_for_failures(store, 2);
    EXPECT_EQ(done, 20);
    EXPECT_TRUE(store->health().failing);
    EXPECT_EQ(*store->last_seq("bank"), 20U);
    broken = false;
    ASSERT_TRUE(store->flush(seconds(20))) << store->health().last_error;
    EXPECT_EQ(done, 60);
    expect_whole(store, 60);
    ASSERT_TRUE(store.reopen());
    expect_whole(store, 60);
}

INSTANTIATE_TEST_SUITE_P(Errors, StoreFileFaults,
                         ::testing::Combine(::testing::Values(FileOp::kAppend, FileOp::kSync),
                                            ::testing::Bool()));

TEST(StoreFaults, CloseWritesWhatIsQueued) {
    TempStore store;
    std::atomic<int> done{0};
    submit_all(store, 1, 2000, done);
    ASSERT_TRUE(store.reopen());
    EXPECT_EQ(done, 2000);
    expect_whole(store, 2000);
}

TEST(StoreFaults, CloseGivesUpOnAFrozenStoreAndKeepsWhatWasConfirmed) {
    const Seams seams{.drain = milliseconds(300)};
    TempStore store({.seams = &seams}, testing::Files::kDisk);
    std::atomic<int> done{0};
    submit_all(store, 1, 5, done);
    ASSERT_TRUE(store->flush(seconds(20)));
    store.faults.store_frozen = true;
    submit_all(store, 6, 9, done);
    const auto before = std::chrono::steady_clock::now();
    store.close();
    const auto took = std::chrono::steady_clock::now() - before;
    EXPECT_GE(took, milliseconds(300));
    store.faults.store_frozen = false;
    ASSERT_TRUE(store.open());
    EXPECT_EQ(done, 5) << "what was not written is never called done";
    expect_whole(store, 5);
}

}  // namespace
}  // namespace tollgate::store
