// TileLane runs each tile once whatever the threads; LaneGate holds back while closed.
#include "base/lanes.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace tollgate {
namespace {

TEST(TileLane, EachTileRunsOnceInEveryJob) {
    for (const std::size_t threads : {1U, 2U, 3U}) {
        TileLane lane(threads, ThreadRole::kFastCompute, "tile");
        EXPECT_EQ(lane.threads(), threads);
        for (std::size_t tiles : {0U, 1U, 2U, 7U, 100U}) {
            for (int round = 0; round < 200; ++round) {
                std::vector<std::atomic<int>> hits(tiles);
                std::atomic<bool> known{true};
                auto job = [&](std::size_t tile, std::size_t worker) {
                    hits[tile].fetch_add(1);
                    known = known && worker < threads;
                };
                lane.run(tiles, job);
                for (const auto& hit : hits) {
                    ASSERT_EQ(hit.load(), 1);
                }
                ASSERT_TRUE(known);
            }
        }
    }
}

TEST(TileLane, CountsTilesForTheWatchdog) {
    TileLane lane(2, ThreadRole::kFastCompute, "tile");
    const auto before = lane.tiles_begun();
    auto nothing = [](std::size_t, std::size_t) {};
    lane.run(5, nothing);
    lane.run(1, nothing);
    EXPECT_EQ(lane.tiles_begun() - before, 6U);
}

TEST(LaneGate, HoldsWhileClosedAndOpensWithTheLastRequest) {
    LaneGate gate;
    const std::atomic<bool> stop{false};
    EXPECT_TRUE(gate.wait_open(stop));
    gate.close();
    gate.close();
    auto passed = std::async(std::launch::async, [&] { return gate.wait_open(stop); });
    gate.open();
    EXPECT_EQ(passed.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
    gate.open();
    EXPECT_FALSE(passed.get());
    EXPECT_EQ(gate.waits(), 1U);
}

TEST(LaneGate, StopEndsTheWait) {
    LaneGate gate;
    std::atomic<bool> stop{false};
    gate.close();
    auto passed = std::async(std::launch::async, [&] { return gate.wait_open(stop); });
    stop = true;
    gate.wake_all();
    EXPECT_FALSE(passed.get());
    gate.open();
}

}  // namespace
}  // namespace tollgate
