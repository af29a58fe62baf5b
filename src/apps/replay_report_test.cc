// Tests of a replay's figures: percentiles, lateness corrected for stalls, counts, quality, JSON.
#include "apps/replay_report.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "text/json.h"

namespace tollgate::apps {
namespace {

TrafficItem item(const std::string& account, Label label, std::int64_t day = 0) {
    TrafficItem out;
    out.account_id = account;
    out.label = label;
    out.at = from_micros(day * 86'400'000'000);
    return out;
}

std::string body(const std::string& decision, const std::string& probability, int hits) {
    std::string text = R"({"decision":")" + decision + R"(","probability":)" + probability +
                       R"(,"source":"rules","persisted":"os","rules":{"hits":[)";
    for (int i = 0; i < hits; ++i) {
        text += std::string(i == 0 ? "" : ",") + R"({"id":"R1"})";
    }
    return text + R"(]},"timings_us":{"parse":5,"windows":7,"store":0,"total":20}})";
}

TEST(Percentiles, AreNearestRanks) {
    std::vector<std::int64_t> values(1000);
    std::iota(values.rbegin(), values.rend(), 1);
    const Percentiles p = percentiles_of(values, 1.0);
    EXPECT_EQ(p.count, 1000U);
    EXPECT_EQ(p.p50, 500.0);
    EXPECT_EQ(p.p90, 900.0);
    EXPECT_EQ(p.p99, 990.0);
    EXPECT_EQ(p.p999, 999.0);
    EXPECT_EQ(p.max, 1000.0);
    std::vector<std::int64_t> one{1500};
    EXPECT_EQ(percentiles_of(one, 1000.0).p999, 1.5);
    std::vector<std::int64_t> none;
    EXPECT_EQ(percentiles_of(none, 1000.0).max, 0.0);
}

TEST(ServerTiming, FillsTheStagesItNames) {
    std::array<std::int64_t, kStages.size()> stages{};
    stages[1] = 9;
    parse_server_timing("parse;dur=0.012, store;dur=1.500, other;dur=3, total;dur=nan", stages);
    EXPECT_EQ(stages[0], 12);
    EXPECT_EQ(stages[1], 9);
    EXPECT_EQ(stages[7], 1500);
    EXPECT_EQ(stages[8], 0);
}

TEST(ReplayCollector, CountsALateAnswerOnlyWhenNoStallOverlapsIt) {
    ReplayCollector collector;
    // Scheduled at 0, 100 and 200 ms; the second and the third take 60 ms; a stall of 6 ms lies in
    // the third.
    const std::int64_t took[] = {1'000, 60'000, 60'000};
    for (std::int64_t i = 0; i < 3; ++i) {
        const std::uint64_t event = collector.add_event(item("A", Label::kNone));
        const std::int64_t at = i * 100'000;
        collector.answer(event,
                         {.scheduled_us = at, .sent_us = at + 10, .received_us = at + took[i]}, 200,
                         body("approve", "null", 0), "store;dur=0.400");
    }
    const std::vector<Stall> stalls{{101'000, 103'000}, {230'000, 236'000}};
    const ReplayReport report = collector.finish(&stalls);
    EXPECT_EQ(report.late_raw, 2U);
    EXPECT_EQ(report.late, 1U);
    EXPECT_EQ(report.latency_ms.count, 3U);
    EXPECT_EQ(report.latency_corrected_ms.count, 2U);
    EXPECT_EQ(report.latency_ms.max, 60.0);
    EXPECT_EQ(report.client_lateness_ms.max, 0.01);
    EXPECT_EQ(report.stages[7].max(), 400);
    ASSERT_TRUE(report.stalls.has_value());
    EXPECT_EQ(report.stalls->over_1ms, 2U);
    EXPECT_EQ(report.stalls->over_5ms, 1U);
    EXPECT_EQ(report.stalls->excused, 1U);
}

TEST(ReplayCollector, AnswersWithoutADecisionAreUnanswered) {
    ReplayCollector collector;
    collector.answer(collector.add_event(item("A", Label::kNone)), {}, 0, "", "");
    collector.answer(collector.add_event(item("A", Label::kNone)), {}, 401, R"({"code":"x"})", "");
    collector.answer(collector.add_event(item("A", Label::kNone)), {}, 200, "no json", "");
    collector.answer(collector.add_event(item("A", Label::kNone)), {}, 200,
                     body("decline", "null", 1), "");
    const ReplayReport report = collector.finish(nullptr);
    EXPECT_EQ(report.events, 4U);
    EXPECT_EQ(report.unanswered, 3U);
    EXPECT_EQ(report.refused.at(401), 1U);
    EXPECT_EQ(report.by_decision.at("decline"), 1U);
    EXPECT_EQ(report.persisted.at("os"), 1U);
    EXPECT_FALSE(report.quality.has_value());
}

TEST(ReplayCollector, RanksBySeverityThenHitsWithoutAModel) {
    ReplayCollector collector;
    const auto add = [&collector](const std::string& account, Label label,
                                  const std::string& json) {
        collector.answer(collector.add_event(item(account, label)), {}, 200, json, "");
    };
    add("A", Label::kFraud, body("decline", "null", 1));
    add("B", Label::kFraud, body("review", "null", 3));
    add("C", Label::kLegit, body("review", "null", 2));
    add("D", Label::kLegit, body("challenge", "null", 9));
    add("E", Label::kLegit, body("approve", "null", 0));
    const ReplayReport report = collector.finish(nullptr);
    ASSERT_TRUE(report.quality.has_value());
    EXPECT_EQ(report.quality->auc, 1.0);
    EXPECT_EQ(report.quality->best_f1, 1.0);
    EXPECT_DOUBLE_EQ(report.quality->flagged_f1.value_or(0.0), 0.8);  // 2 frauds of 3 flagged
    EXPECT_EQ(report.quality->flagged_legit, 1U);
}

TEST(ReplayCollector, RanksByProbabilityWithAModel) {
    ReplayCollector collector;
    const auto add = [&collector](Label label, const std::string& json) {
        collector.answer(collector.add_event(item("A", label)), {}, 200, json, "");
    };
    add(Label::kFraud, body("approve", "0.9", 0));
    add(Label::kLegit, body("decline", "0.1", 5));
    const ReplayReport report = collector.finish(nullptr);
    ASSERT_TRUE(report.quality.has_value());
    EXPECT_EQ(report.quality->auc, 1.0);
}

TEST(ReplayReport, JsonHasThePromisedKeys) {
    ReplayCollector collector;
    collector.answer(collector.add_event(item("A", Label::kFraud)),
                     {.scheduled_us = 0, .sent_us = 1, .received_us = 2'000}, 200,
                     body("decline", "null", 1), "");
    const std::vector<Stall> stalls;
    const ReplayReport report = collector.finish(&stalls);
    const std::string text = to_json(report);
    JsonDocument json;
    const JsonValue root = json.parse(text).value_or_die();
    for (const char* key : {"events", "unanswered", "late", "latency_ms", "latency_corrected_ms",
                            "by_source", "by_decision", "by_band", "persisted", "stages_us",
                            "quality", "client_lateness_ms", "stalls", "cpu", "build"}) {
        EXPECT_TRUE(root.find(key).has_value()) << key;
    }
    for (const char* key : {"p50", "p90", "p99", "p999", "max"}) {
        EXPECT_TRUE(root.find("latency_ms")->find(key).has_value()) << key;
    }
    EXPECT_NE(to_table(report).find("decline 1 (100.00 %)"), std::string::npos) << to_table(report);
}

TEST(OverlapsStall, LooksAtLengthAndAtBothEdges) {
    const std::vector<Stall> stalls{{10, 20}, {30, 31}, {50, 90}};
    EXPECT_TRUE(overlaps_stall(stalls, 0, 10, 5));
    EXPECT_FALSE(overlaps_stall(stalls, 0, 9, 5));
    EXPECT_TRUE(overlaps_stall(stalls, 20, 25, 5));
    EXPECT_FALSE(overlaps_stall(stalls, 21, 40, 5));
    EXPECT_TRUE(overlaps_stall(stalls, 60, 70, 5));
    EXPECT_FALSE(overlaps_stall(stalls, 91, 100, 5));
}

}  // namespace
}  // namespace tollgate::apps
