// Tests of the store in good days: order, chain, groups, reads, tenants, bulk writes, retention.
#include "store/store.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "store/keys.h"
#include "store/seams.h"
#include "store/testing/temp_store.h"

namespace tollgate::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Files;
using testing::record_commit;
using testing::TempFolder;
using testing::TempStore;
using testing::test_record;

// Submits records first..last of the tenant and waits for them.
void fill(TempStore& store, const std::string& tenant, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t seq = first; seq <= last; ++seq) {
        Commit commit = record_commit(tenant, seq);
        ASSERT_TRUE(store->submit(commit));
    }
    ASSERT_TRUE(store->flush(seconds(20)));
}

std::string as_text(const Digest& digest) {
    return {digest.begin(), digest.end()};
}

std::string value_of(TempStore& store, Family family, const std::string& tenant,
                     const std::string& key) {
    const auto value = store->get(family, tenant, key);
    return value && *value ? **value : "<none>";
}

std::size_t log_size(Store& store, const std::string& tenant) {
    std::size_t count = 0;
    EXPECT_TRUE(store.read_log(tenant, 1, [&](const LogEntry&) {
        ++count;
        return true;
    }));
    return count;
}

TEST(Store, LogKeepsTheOrderOfSubmissionAndItsChain) {
    TempStore store;
    fill(store, "bank", 1, 600);
    Digest chain{};
    std::uint64_t next = 1;
    ASSERT_TRUE(store->read_log("bank", 1, [&](const LogEntry& entry) {
        EXPECT_EQ(entry.seq, next);
        EXPECT_EQ(entry.record, test_record("bank", next));
        chain = sha256(as_text(chain) + as_text(sha256(entry.record)));
        EXPECT_EQ(entry.chain, chain);
        ++next;
        return true;
    }));
    EXPECT_EQ(next, 601U);
    EXPECT_EQ(*store->last_seq("bank"), 600U);
    EXPECT_TRUE(store->verify_chain("bank", 1));
    EXPECT_TRUE(store->verify_chain("bank", 300));
    EXPECT_EQ(value_of(store, Family::kReplies, "bank", sequence_bytes(7)), "reply 7");
}

TEST(Store, ReopenedLogContinuesItsChain) {
    TempStore store({}, Files::kDisk);
    fill(store, "bank", 1, 20);
    ASSERT_TRUE(store.reopen());
    EXPECT_EQ(*store->last_seq("bank"), 20U);
    fill(store, "bank", 21, 40);
    EXPECT_TRUE(store->verify_chain("bank", 1));
    EXPECT_EQ(log_size(*store, "bank"), 40U);
}

TEST(Store, DoneIsCalledOnceAndWhenTheDataCanBeRead) {
    TempStore store;
    constexpr std::uint64_t kCount = 500;
    std::vector<std::atomic<int>> called(kCount + 1);
    std::atomic<int> unreadable{0};
    for (std::uint64_t seq = 1; seq <= kCount; ++seq) {
        Commit commit = record_commit("bank", seq);
        commit.done = [&, seq] {
            ++called[seq];
            const auto value = store->get(Family::kEvents, "bank", "tx-" + std::to_string(seq));
            const auto last = store->last_seq("bank");
            if (!value || !*value || !last || *last < seq) {
                ++unreadable;
            }
        };
        ASSERT_TRUE(store->submit(commit));
    }
    ASSERT_TRUE(store->flush(seconds(20)));
    store.close();
    for (std::uint64_t seq = 1; seq <= kCount; ++seq) {
        EXPECT_EQ(called[seq], 1) << seq;
    }
    EXPECT_EQ(unreadable, 0);
}

// Holds the commit thread before its next write until open() is called.
class Gate {
  public:
    Seams seams() {
        Seams out;
        out.before_write = [this]() -> Status {
            std::unique_lock lock(mutex_);
            waiting_ = true;
            changed_.notify_all();
            changed_.wait(lock, [this] { return open_; });
            return ok();
        };
        return out;
    }
    void wait_until_reached() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return waiting_; });
    }
    void open() {
        const std::scoped_lock lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool waiting_ = false;
    bool open_ = false;
};

TEST(Store, WhatQueuesDuringAWriteBecomesOneGroup) {
    Gate gate;
    const Seams seams = gate.seams();
    TempStore store({.seams = &seams});
    Commit first = record_commit("bank", 1);
    ASSERT_TRUE(store->submit(first));
    gate.wait_until_reached();
    for (std::uint64_t seq = 2; seq <= 513; ++seq) {
        Commit commit =
            record_commit(seq % 2 == 0 ? "bank" : "shop", seq % 2 == 0 ? seq / 2 + 1 : seq / 2);
        ASSERT_TRUE(store->submit(commit));
    }
    EXPECT_EQ(store->health().queued, 513U);
    EXPECT_GT(store->health().oldest_wait.count(), 0);
    gate.open();
    ASSERT_TRUE(store->flush(seconds(20)));
    const StoreHealth health = store->health();
    EXPECT_EQ(health.commits, 513U);
    EXPECT_EQ(health.batches, 3U);  // 1 + 256 + 256
    EXPECT_EQ(health.queued, 0U);
    EXPECT_TRUE(store->verify_chain("bank", 1));
    EXPECT_TRUE(store->verify_chain("shop", 1));
    const std::string metrics = store.metrics.render();
    EXPECT_NE(metrics.find("tollgate_store_group_size_bucket{le=\"256\"} 3"), std::string::npos);
    EXPECT_NE(metrics.find("tollgate_store_commit_seconds_count 513"), std::string::npos);
    EXPECT_NE(metrics.find("tollgate_store_queue_depth 0"), std::string::npos);
    EXPECT_NE(metrics.find("tollgate_store_failures_total 0"), std::string::npos);
}

TEST(Store, OnlyGroupsWithAnFsyncMemberReachTheDisk) {
    std::atomic<int> syncs{0};
    Gate gate;
    Seams seams = gate.seams();
    seams.file_fault = [&](const std::string& file, FileOp op) {
        if (op == FileOp::kSync && file.ends_with(".log")) {
            ++syncs;
        }
        return rocksdb::IOStatus::OK();
    };
    TempStore store({.seams = &seams});
    Commit first = record_commit("bank", 1);
    ASSERT_TRUE(store->submit(first));
    gate.wait_until_reached();
    for (std::uint64_t seq = 2; seq <= 9; ++seq) {
        Commit commit = record_commit("bank", seq);
        commit.durability = seq >= 5 ? Durability::kFsync : Durability::kOs;
        ASSERT_TRUE(store->submit(commit));
    }
    const int before = syncs;
    gate.open();
    ASSERT_TRUE(store->flush(seconds(20)));
    EXPECT_EQ(syncs - before, 1);  // 1 | 2 3 4 | 5..9 with one sync
    EXPECT_EQ(store->health().batches, 3U);
}

TEST(Store, ManyThreadsSubmitForManyTenants) {
    TempStore store;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&store, t] {
            const std::string tenant = "tenant-" + std::to_string(t);
            for (std::uint64_t seq = 1; seq <= 300; ++seq) {
                Commit commit = record_commit(tenant, seq);
                EXPECT_TRUE(store->submit(commit));
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    ASSERT_TRUE(store->flush(seconds(20)));
    for (int t = 0; t < 4; ++t) {
        EXPECT_EQ(*store->last_seq("tenant-" + std::to_string(t)), 300U);
        EXPECT_TRUE(store->verify_chain("tenant-" + std::to_string(t), 1));
    }
}

TEST(Store, TenantsWithEqualIdsShareNothing) {
    TempStore store;
    // Case P3: glued together without lengths, these are the same bytes.
    const std::vector<std::pair<std::string, std::string>> owners = {
        {"org_1", "2345"}, {"org_12345", ""}, {"org_", "12345"}, {"", "org_12345"}};
    for (const auto& [tenant, key] : owners) {
        Commit commit = record_commit(tenant, 1);
        commit.puts.push_back({.family = Family::kKeys, .key = key, .value = "of " + tenant});
        commit.puts.push_back({.family = Family::kMeta, .key = "same", .value = tenant});
        ASSERT_TRUE(store->submit(commit));
    }
    ASSERT_TRUE(store->flush(seconds(20)));
    for (const auto& [tenant, key] : owners) {
        std::map<std::string, std::string> seen;
        ASSERT_TRUE(store->scan(Family::kKeys, tenant, {}, [&](auto k, auto v) {
            seen.emplace(k, v);
            return true;
        }));
        EXPECT_EQ(seen, (std::map<std::string, std::string>{{key, "of " + tenant}}));
        EXPECT_EQ(value_of(store, Family::kMeta, tenant, "same"), tenant);
        EXPECT_EQ(log_size(*store, tenant), 1U);
        EXPECT_EQ(*store->last_seq(tenant), 1U);
    }
    EXPECT_EQ(*store->tenants(), (std::vector<std::string>{"", "org_", "org_1", "org_12345"}));
    EXPECT_EQ(*store->last_seq("org_123"), 0U);
}

TEST(Store, ScanBeginsWhereAskedAndStopsWhenTold) {
    TempStore store;
    Commit commit;
    commit.tenant = "b";
    for (const char* key : {"k1", "k2", "k3", "k4"}) {
        commit.puts.push_back({.family = Family::kKeys, .key = key, .value = "v"});
    }
    ASSERT_TRUE(store->submit(commit));
    for (const char* other : {"a", "c"}) {
        Commit noise;
        noise.tenant = other;
        noise.puts.push_back({.family = Family::kKeys, .key = "k2", .value = other});
        ASSERT_TRUE(store->submit(noise));
    }
    ASSERT_TRUE(store->flush(seconds(20)));
    std::vector<std::string> keys;
    ASSERT_TRUE(store->scan(Family::kKeys, "b", "k2", [&](auto key, auto) {
        keys.emplace_back(key);
        return keys.size() < 2;
    }));
    EXPECT_EQ(keys, (std::vector<std::string>{"k2", "k3"}));
}

TEST(Store, EraseTakesAKeyAway) {
    TempStore store;
    Commit commit = record_commit("bank", 1);
    commit.puts.push_back({.family = Family::kPersonal, .key = sequence_bytes(1), .value = "name"});
    ASSERT_TRUE(store->submit(commit));
    Commit erase;
    erase.tenant = "bank";
    erase.puts.push_back({.family = Family::kPersonal, .key = sequence_bytes(1), .erase = true});
    ASSERT_TRUE(store->submit(erase));
    ASSERT_TRUE(store->flush(seconds(20)));
    EXPECT_EQ(value_of(store, Family::kPersonal, "bank", sequence_bytes(1)), "<none>");
    EXPECT_TRUE(store->verify_chain("bank", 1));
}

TEST(Store, ReadsRunInOrderOnTheReadThreadAndItsQueueIsBounded) {
    TempStore store({.read_queue_capacity = 4});
    std::mutex mutex;
    std::condition_variable changed;
    bool entered = false;
    bool released = false;
    ASSERT_TRUE(store->post_read([&] {
        std::unique_lock lock(mutex);
        entered = true;
        changed.notify_all();
        changed.wait(lock, [&] { return released; });
    }));
    {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return entered; });
    }
    std::vector<int> order;
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(store->post_read([&order, i] { order.push_back(i); }));
    }
    EXPECT_FALSE(store->post_read([] {}));
    {
        const std::scoped_lock lock(mutex);
        released = true;
    }
    changed.notify_all();
    store.close();  // runs what was accepted
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST(Store, BulkWritesAppendAndSurviveReopening) {
    TempStore store({}, Files::kDisk);
    fill(store, "bank", 1, 3);
    Store::Bulk bulk{.tenant = "bank", .first_seq = 4, .records = {}, .puts = {}, .wal = false};
    for (std::uint64_t seq = 4; seq <= 1003; ++seq) {
        bulk.records.push_back(test_record("bank", seq));
        bulk.puts.push_back({.family = Family::kEvents,
                             .key = "tx-" + std::to_string(seq),
                             .value = sequence_bytes(seq)});
    }
    ASSERT_TRUE(store->write_bulk(bulk));
    ASSERT_TRUE(store->sync_bulk());
    fill(store, "bank", 1004, 1010);
    ASSERT_TRUE(store.reopen());
    EXPECT_EQ(*store->last_seq("bank"), 1010U);
    EXPECT_EQ(log_size(*store, "bank"), 1010U);
    EXPECT_TRUE(store->verify_chain("bank", 1));
    EXPECT_EQ(value_of(store, Family::kEvents, "bank", "tx-777"), sequence_bytes(777));
}

TEST(Store, BulkMustBeginWhereTheLogEnds) {
    TempStore store;
    fill(store, "bank", 1, 3);
    const Store::Bulk bulk{.tenant = "bank", .first_seq = 5, .records = {"x"}, .puts = {}};
    const auto refused = store->write_bulk(bulk);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::kConflict);
    EXPECT_NE(refused.error().message.find("first_seq is 5, the log's next is 4"),
              std::string::npos);
}

TEST(Store, BulkIsRefusedWhileRecordsAreQueued) {
    Gate gate;
    const Seams seams = gate.seams();
    TempStore store({.seams = &seams});
    Commit first = record_commit("bank", 1);
    ASSERT_TRUE(store->submit(first));
    const auto refused =
        store->write_bulk({.tenant = "bank", .first_seq = 2, .records = {"x"}, .puts = {}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::kConflict);
    // Another tenant's log, and puts alone, do not mind.
    EXPECT_TRUE(
        store->write_bulk({.tenant = "shop", .first_seq = 1, .records = {"x"}, .puts = {}}));
    EXPECT_TRUE(store->write_bulk(
        {.tenant = "bank", .puts = {{.family = Family::kMeta, .key = "mark", .value = "1"}}}));
    gate.open();
    ASSERT_TRUE(store->flush(seconds(20)));
}

TEST(Store, PutsMayNotTouchTheLogOrReservedNames) {
    TempStore store;
    const auto into_log = store->write_bulk(
        {.tenant = "t", .puts = {{.family = Family::kLog, .key = sequence_bytes(1), .value = ""}}});
    ASSERT_FALSE(into_log);
    EXPECT_EQ(into_log.error().fault, Fault::kBadInput);
    const auto reserved = store->write_bulk(
        {.tenant = "t", .puts = {{.key = std::string("\0chain_cut", 10), .value = ""}}});
    ASSERT_FALSE(reserved);
    EXPECT_EQ(reserved.error().fault, Fault::kBadInput);
}

TEST(StoreDeathTest, ARecordOutOfOrderStopsTheProcess) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            TempStore store;
            Commit commit = record_commit("bank", 2);
            (void)store->submit(commit);
        },
        "next seq");
}

TEST(Store, DroppedBeginningKeepsTheChainAndTheRest) {
    TempStore store;
    fill(store, "bank", 1, 50);
    fill(store, "shop", 1, 50);
    ASSERT_TRUE(store->drop_below("bank", 21));
    ASSERT_TRUE(store->drop_below("bank", 10));  // already gone: nothing to do
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(log_size(*store, "bank"), 30U);
        EXPECT_EQ(log_size(*store, "shop"), 50U);
        EXPECT_EQ(value_of(store, Family::kReplies, "bank", sequence_bytes(20)), "<none>");
        EXPECT_EQ(value_of(store, Family::kReplies, "bank", sequence_bytes(21)), "reply 21");
        EXPECT_TRUE(store->verify_chain("bank", 1));
        EXPECT_TRUE(store->verify_chain("bank", 40));
        EXPECT_TRUE(store->verify_chain("shop", 1));
        ASSERT_TRUE(store.reopen());
    }
    std::size_t meta = 0;
    ASSERT_TRUE(store->scan(Family::kMeta, "bank", {}, [&](auto, auto) { return ++meta > 0; }));
    EXPECT_EQ(meta, 0U) << "the cut is the store's own";
}

TEST(Store, WhollyDroppedLogStillKnowsItsEnd) {
    TempStore store;
    fill(store, "bank", 1, 50);
    ASSERT_TRUE(store->drop_below("bank", 51));
    ASSERT_TRUE(store.reopen());
    EXPECT_EQ(*store->last_seq("bank"), 50U);
    EXPECT_EQ(log_size(*store, "bank"), 0U);
    EXPECT_TRUE(store->verify_chain("bank", 1));
    fill(store, "bank", 51, 60);
    EXPECT_TRUE(store->verify_chain("bank", 1));
    const auto refused = store->drop_below("bank", 62);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "drop_below: seq is 62, at most 61 allowed");
}

TEST(Store, SecondOpenSaysThatTheFolderIsInUse) {
    TempStore store({}, Files::kDisk);
    Metrics metrics;
    const auto second = Store::open(store.options, store.faults, metrics);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().fault, Fault::kConflict);
    EXPECT_EQ(second.error().message,
              "data folder '" + store.path() + "' is in use by another process");
}

TEST(Store, ReadOnlySeesTheDataAndRefusesWrites) {
    TempStore store({}, Files::kDisk);
    fill(store, "bank", 1, 30);
    // Beside the writer, before anything was flushed to tables.
    StoreOptions options = store.options;
    options.read_only = true;
    Metrics metrics;
    auto view = Store::open(options, store.faults, metrics).value_or_die();
    EXPECT_EQ(*view->last_seq("bank"), 30U);
    EXPECT_EQ(log_size(*view, "bank"), 30U);
    EXPECT_TRUE(view->verify_chain("bank", 1));
    Commit commit = record_commit("bank", 31);
    EXPECT_FALSE(view->submit(commit));
    EXPECT_EQ(commit.record, test_record("bank", 31));
    const auto bulk = view->write_bulk({.tenant = "bank", .first_seq = 31, .records = {"x"}});
    ASSERT_FALSE(bulk);
    EXPECT_EQ(bulk.error().fault, Fault::kBadInput);
    EXPECT_FALSE(view->sync_bulk());
    EXPECT_FALSE(view->drop_below("bank", 3));
    EXPECT_TRUE(view->flush(milliseconds(1)));
}

TEST(Store, ReadOnlyOpenOfNoStoreIsNotFound) {
    const TempFolder folder;
    FaultSwitches faults;
    Metrics metrics;
    const auto opened =
        Store::open({.path = folder.path() + "/none", .read_only = true}, faults, metrics);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().fault, Fault::kNotFound);
}

TEST(Store, DiskBytesGrow) {
    TempStore store({}, Files::kDisk);
    const std::uint64_t before = store->disk_bytes();
    fill(store, "bank", 1, 500);
    EXPECT_GT(store->disk_bytes(), before + 500 * 50);
}

TEST(Store, ChangedRecordIsNamedByVerify) {
    TempStore store({}, Files::kDisk);
    fill(store, "bank", 1, 20);
    store.close();
    {
        // Another hand at the folder: RocksDB's own checksums are right, the chain is not.
        rocksdb::DB* raw = nullptr;
        std::vector<rocksdb::ColumnFamilyHandle*> handles;
        std::vector<std::string> names;
        ASSERT_TRUE(rocksdb::DB::ListColumnFamilies({}, store.path(), &names).ok());
        std::vector<rocksdb::ColumnFamilyDescriptor> families;
        for (const std::string& name : names) {
            families.emplace_back(name, rocksdb::ColumnFamilyOptions());
        }
        ASSERT_TRUE(rocksdb::DB::Open({}, store.path(), families, &handles, &raw).ok());
        const std::unique_ptr<rocksdb::DB> db(raw);
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (names[i] == "log") {
                std::string value;
                ASSERT_TRUE(db->Get({}, handles[i], sequence_key("bank", 13), &value).ok());
                value.back() = '!';
                ASSERT_TRUE(db->Put({}, handles[i], sequence_key("bank", 13), value).ok());
                ASSERT_TRUE(db->Delete({}, handles[i], sequence_key("bank", 17)).ok());
            }
        }
        for (rocksdb::ColumnFamilyHandle* handle : handles) {
            ASSERT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
        }
    }
    ASSERT_TRUE(store.open());
    const auto changed = store->verify_chain("bank", 1);
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().fault, Fault::kCorrupt);
    EXPECT_EQ(changed.error().message, "tenant 'bank': log entry 13 does not fit the chain");
    const auto missing = store->verify_chain("bank", 14);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().message, "tenant 'bank': log entry 17 is missing");
}

}  // namespace
}  // namespace tollgate::store
