// The figures of a drill, from samples by hand.
#include "apps/selftest.h"

#include <gtest/gtest.h>

namespace tollgate::apps {
namespace {

DrillSample sample(std::int64_t at_us, std::int64_t took_us, const std::string& cause) {
    DrillSample out;
    out.times = {.scheduled_us = at_us, .sent_us = at_us, .received_us = at_us + took_us};
    out.answered = true;
    out.by_model = cause.empty();
    out.cause = cause;
    out.takeover_us = cause.empty() ? 0 : 400;
    return out;
}

constexpr std::int64_t kFrom = 1'000'000;
constexpr std::int64_t kUntil = 2'000'000;

std::vector<DrillSample> good_run() {
    std::vector<DrillSample> out;
    for (std::int64_t at = 0; at < 3'000'000; at += 10'000) {
        const bool broken = at >= kFrom && at < kUntil + 50'000;
        out.push_back(sample(at, broken ? 2'000 : 1'000, broken ? "unavailable" : ""));
    }
    return out;
}

TEST(DrillReport, AGoodRunPasses) {
    const DrillReport r = drill_report("freeze", good_run(), {}, kFrom, kUntil);
    EXPECT_TRUE(r.passed);
    EXPECT_EQ(r.events, 300U);
    EXPECT_EQ(r.fault_events, 100U);
    EXPECT_EQ(r.fault_by_model, 0U);
    EXPECT_EQ(r.by_cause.at("unavailable"), 105U);
    EXPECT_DOUBLE_EQ(r.recovery_ms, 40.0);
    EXPECT_DOUBLE_EQ(r.fault_ms.p99, 2.0);
    EXPECT_DOUBLE_EQ(r.calm_ms.p99, 1.0);
    EXPECT_DOUBLE_EQ(r.takeover_ms_max, 0.4);
}

TEST(DrillReport, OneLostAnswerFails) {
    auto samples = good_run();
    samples[150].answered = false;
    const DrillReport r = drill_report("freeze", samples, {}, kFrom, kUntil);
    EXPECT_EQ(r.unanswered, 1U);
    EXPECT_FALSE(r.passed);
}

TEST(DrillReport, ASlowTakeoverFailsUnlessTheMachineStalled) {
    auto samples = good_run();
    samples[150].takeover_us = 3'100;
    EXPECT_FALSE(drill_report("slow", samples, {}, kFrom, kUntil).passed);
    const std::vector<Stall> stalls{{.from_us = 1'500'500, .until_us = 1'501'900}};
    const DrillReport excused = drill_report("slow", samples, stalls, kFrom, kUntil);
    EXPECT_TRUE(excused.passed);
    EXPECT_DOUBLE_EQ(excused.takeover_ms_max_raw, 3.1);
}

TEST(DrillReport, LateAnswersAndSlowRecoveryFail) {
    auto late = good_run();
    for (std::size_t i = 150; i < 153; ++i) {
        late[i].times.received_us = late[i].times.scheduled_us + 26'000;
    }
    EXPECT_FALSE(drill_report("nan", late, {}, kFrom, kUntil).passed);
    auto slow = good_run();
    slow.push_back(sample(kUntil + 1'200'000, 1'000, "timeout"));
    const DrillReport r = drill_report("nan", slow, {}, kFrom, kUntil);
    EXPECT_DOUBLE_EQ(r.recovery_ms, 1'200.0);
    EXPECT_FALSE(r.passed);
}

}  // namespace
}  // namespace tollgate::apps
