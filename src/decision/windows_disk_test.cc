// The window store's bounds and its disk side: spilling, snapshots, expiry, hot keys, reserves.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "decision/testing/windows_fixture.h"

namespace tollgate {
namespace {

class Disk : public ::testing::Test {
  protected:
    static Payment payment(std::uint64_t i, std::int64_t day = 0) {
        return {.at = 1000 + day * 86'400 + static_cast<std::int64_t>(i * 37),
                .arrival = i,
                .account = "A" + std::to_string(i % 5),
                .terminal = "T" + std::to_string(i % 3),
                .channel = i % 2 == 0 ? "pos" : "ecom",
                .cents = static_cast<std::int64_t>(i * 11),
                .labels = {}};
    }
    static std::vector<std::pair<WindowStore::KeyRef, std::string>> exported(WindowStore& store) {
        std::vector<std::pair<WindowStore::KeyRef, std::string>> out;
        (void)store.export_dirty(1'000, false,
                                 [&](const WindowStore::KeyRef& key, std::string_view blob) {
                                     out.emplace_back(key, std::string(blob));
                                 });
        return out;
    }
};

TEST_F(Disk, ExportedKeysGiveTheSameHash) {
    const Pack pack;
    Machine machine(pack);
    for (std::uint64_t i = 1; i <= 300; ++i) {
        (void)machine.assess(payment(i));
    }
    for (std::uint64_t i = 1; i <= 300; i += 7) {
        ASSERT_TRUE(machine.store.apply_label(machine.keys(payment(i)), Machine::at(payment(i).at),
                                              i, Label::kFraud, Machine::at(5'000)));
        ASSERT_TRUE(machine.store.apply_label(machine.keys(payment(i)), Machine::at(payment(i).at),
                                              i, Label::kLegit, Machine::at(6'000)));
    }
    const auto keys = exported(machine.store);
    EXPECT_EQ(keys.size(), 8U);
    EXPECT_TRUE(exported(machine.store).empty()) << "nothing changed since";
    Machine other(pack);
    for (const auto& [key, blob] : keys) {
        ASSERT_TRUE(other.store.load_key(key, blob));
    }
    EXPECT_EQ(to_hex(machine.store.hash()), to_hex(other.store.hash()));
    for (std::size_t cut = 0; cut < keys[0].second.size(); cut += 5) {
        EXPECT_FALSE(
            other.store.load_key(keys[0].first, std::string_view(keys[0].second).substr(0, cut)));
    }
}

TEST_F(Disk, EvictedKeysComeBackAndKeepWhatWasRecordedMeanwhile) {
    const Pack pack;
    Machine machine(pack);
    Machine undisturbed(pack);
    for (std::uint64_t i = 1; i <= 100; ++i) {
        (void)machine.assess(payment(i));
        (void)undisturbed.assess(payment(i));
    }
    const auto keys = exported(machine.store);
    EXPECT_EQ(machine.store.evict(0), keys.size());
    const WindowValues& cold = machine.assess(payment(101));
    EXPECT_EQ(cold.cold_keys, 2U);
    EXPECT_TRUE(cold.values[pack.window("n_10m")].is_unknown()) << "never smaller, unknown";
    std::vector<WindowStore::KeyRef> waiting;
    machine.store.take_waiting(waiting);
    EXPECT_EQ(waiting.size(), 2U) << "a snapshot must load these first";
    (void)undisturbed.assess(payment(101));
    std::vector<WindowStore::KeyRef> missing;
    machine.store.missing(machine.keys(payment(101)), missing);
    EXPECT_EQ(missing.size(), 2U);
    for (const auto& [key, blob] : keys) {
        ASSERT_TRUE(machine.store.load_key(key, blob));
    }
    waiting.clear();
    machine.store.take_waiting(waiting);
    EXPECT_TRUE(waiting.empty());
    EXPECT_EQ(to_hex(machine.store.hash()), to_hex(undisturbed.store.hash()));
}

TEST_F(Disk, RowsThatTheLogMayNotHaveAreLeftOut) {
    const Pack pack;
    Machine machine(pack);
    Machine shorter(pack);
    for (std::uint64_t i = 1; i <= 50; ++i) {
        (void)machine.assess(payment(i));
        if (i < 40) {
            (void)shorter.assess(payment(i));
        }
    }
    Machine recovered(pack);
    for (const auto& [key, blob] : exported(machine.store)) {
        ASSERT_TRUE(recovered.store.load_key(key, blob, 40));
    }
    EXPECT_EQ(to_hex(recovered.store.hash()), to_hex(shorter.store.hash()));
}

TEST(WindowStore, PastItsBoundAKeyIsUnknownNotSmaller) {
    const Pack pack;
    Machine machine(pack, {.max_events_per_key = 10});
    Payment p{.at = 1000,
              .arrival = 0,
              .account = "A",
              .terminal = "T",
              .channel = "pos",
              .cents = 1,
              .labels = {}};
    for (std::uint64_t i = 1; i <= 11; ++i) {
        p.arrival = i;
        ++p.at;
        (void)machine.assess(p);
    }
    ++p.at;
    p.arrival = 12;
    const WindowValues& v = machine.assess(p);
    EXPECT_EQ(v.overflow_keys, 2U);
    EXPECT_TRUE(v.values[pack.window("n_10m")].is_unknown());
}

TEST(WindowStore, SweepDropsWhatNoWindowNeeds) {
    const Pack pack;
    Machine machine(pack);
    Payment p{.at = 1000,
              .arrival = 1,
              .account = "A",
              .terminal = "T",
              .channel = "pos",
              .cents = 1,
              .labels = {}};
    (void)machine.assess(p);
    const auto export_all = [&machine] {
        std::size_t empty = 0;
        (void)machine.store.export_dirty(
            100, false, [&empty](const WindowStore::KeyRef&, std::string_view blob) {
                empty += blob.empty() ? 1U : 0U;
            });
        return empty;
    };
    std::vector<WindowStore::KeyRef> gone;
    machine.store.sweep(1000, Machine::at(2000), gone);
    EXPECT_TRUE(gone.empty()) << "not exported yet: a snapshot would bring the key back";
    EXPECT_EQ(machine.store.stats().keys[0].events, 0U);
    EXPECT_EQ(export_all(), 2U) << "an empty blob: nothing of the key is needed";
    machine.store.sweep(1000, Machine::at(2000), gone);
    EXPECT_EQ(gone.size(), 2U);
    EXPECT_EQ(machine.store.stats().keys[0].keys, 0U);
    EXPECT_EQ(machine.store.stats().bytes, 0U);
}

TEST(WindowStore, SweepGoesRoundInSmallSteps) {
    const Pack pack;
    Machine machine(pack);
    for (std::uint64_t i = 1; i <= 200; ++i) {
        (void)machine.assess({.at = 1000,
                              .arrival = i,
                              .account = "A" + std::to_string(i),
                              .terminal = "T" + std::to_string(i),
                              .channel = "pos",
                              .cents = 1,
                              .labels = {}});
    }
    std::vector<WindowStore::KeyRef> gone;
    for (int step = 0; step < 3; ++step) {
        machine.store.sweep(10, Machine::at(2000), gone);
    }
    const std::uint64_t after_three = machine.store.stats().keys[0].events;
    EXPECT_GT(after_three, 150U);
    EXPECT_LT(after_three, 200U);
    for (int step = 0; step < 60; ++step) {
        machine.store.sweep(10, Machine::at(2000), gone);
    }
    EXPECT_EQ(machine.store.stats().keys[0].events, 0U);
}

TEST(WindowStore, ForgetsAnExpiredKeyThatIsOnDisk) {
    const Pack pack;
    Machine machine(pack);
    (void)machine.assess({.at = 1000,
                          .arrival = 1,
                          .account = "A",
                          .terminal = "T",
                          .channel = "pos",
                          .cents = 1,
                          .labels = {}});
    std::vector<std::pair<WindowStore::KeyRef, std::string>> blobs;
    (void)machine.store.export_dirty(
        100, false, [&blobs](const WindowStore::KeyRef& key, std::string_view blob) {
            blobs.emplace_back(key, std::string(blob));
        });
    Machine restarted(pack);
    for (const auto& [key, blob] : blobs) {
        restarted.store.mark_on_disk(key, blob);
    }
    EXPECT_EQ(machine.store.evict(0), blobs.size());
    for (Machine* one : {&machine, &restarted}) {
        std::vector<WindowStore::KeyRef> gone;
        one->store.sweep(1000, Machine::at(999), gone);
        EXPECT_TRUE(gone.empty());
        one->store.sweep(1000, Machine::at(1002), gone);
        EXPECT_EQ(gone.size(), blobs.size());
        EXPECT_EQ(one->store.stats().keys[0].keys, 0U);
        EXPECT_EQ(one->store.stats().spilled_keys, 0U);
    }
}

TEST_F(Disk, WhatCouldNotBeWrittenStaysDue) {
    const Pack pack;
    Machine machine(pack);
    for (std::uint64_t i = 1; i <= 20; ++i) {
        (void)machine.assess(payment(i));
    }
    const auto count = [&machine](std::vector<WindowStore::KeyRef>& keys) {
        return machine.store.export_dirty(
            1000, false,
            [&keys](const WindowStore::KeyRef& key, std::string_view) { keys.push_back(key); });
    };
    std::vector<WindowStore::KeyRef> first;
    ASSERT_GT(count(first), 2U);
    machine.store.put_back(first);
    EXPECT_EQ(machine.store.evict(0), 0U) << "they are dirty: not on disk yet";
    std::vector<WindowStore::KeyRef> again;
    EXPECT_EQ(count(again), first.size());
}

TEST_F(Disk, ReservedKeysAndRowsAllocateNothing) {
    const Pack pack;
    Machine machine(pack);
    for (std::uint64_t i = 1; i <= 200; ++i) {
        (void)machine.assess(payment(i));
    }
    machine.store.reserve(500, 64);
    std::vector<Payment> next;
    for (std::uint64_t i = 201; i <= 260; ++i) {
        Payment p = payment(i);
        p.account += "-new";
        next.push_back(p);
    }
    (void)machine.assess(next[0]);  // its own texts' scratch
    const std::uint64_t keys = machine.store.stats().keys[0].keys;
    machine.allocated = 0;
    for (std::size_t i = 1; i < next.size(); ++i) {
        (void)machine.assess(next[i]);
    }
    EXPECT_EQ(machine.allocated, 0U);
    EXPECT_TRUE(allocations_counted()) << "else the line above proves nothing";
    EXPECT_GT(machine.store.stats().keys[0].keys, keys);
}

TEST(WindowStore, AHotKeyCostsNoMoreThanTheBoundAndSaysSo) {
    const Pack pack;
    WindowLimits limits;
    limits.max_scan_rows = 400;
    Machine machine(pack, limits);
    Payment p{.at = 1000,
              .arrival = 1,
              .account = "hot",
              .terminal = "T",
              .channel = "ecom",
              .cents = 100,
              .labels = {}};
    for (; p.arrival <= 700; ++p.arrival) {
        p.terminal = "T" + std::to_string(p.arrival);
        (void)machine.assess(p);
    }
    const WindowValues& values = machine.assess(p);
    const auto number = [&](std::string_view name) {
        return to_text(values.values[pack.window(name)].number);
    };
    EXPECT_EQ(number("n_10m"), "700");
    EXPECT_EQ(number("sum_1d"), "70100") << "sums go by blocks";
    EXPECT_EQ(number("min_1d"), "100");
    EXPECT_EQ(number("last3"), "300");
    for (const std::string_view name : {"med_1d", "ch_1d", "ecom_1d", "fraud_n"}) {
        EXPECT_TRUE(values.values[pack.window(name)].is_unknown()) << name;
    }
    EXPECT_GE(values.overflow_keys, 4U);
}

}  // namespace
}  // namespace tollgate
