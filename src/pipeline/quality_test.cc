// Tests of the quality measures: small cases by hand, one set of 500 against scikit-learn.
#include "pipeline/quality.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace tollgate::pipeline {
namespace {

using Marks = std::vector<std::uint8_t>;

// 500 events with many ties, from a linear congruential generator that Python repeats:
//   x = 12345; per event twice x = (x * 1664525 + 1013904223) mod 2^32, u = first x >> 16,
//   v = second x >> 16; score (u % 200) / 200, fraud v % 1000 < 2 (u % 200), other verdict v % 3.
// The expected values come from scikit-learn 1.9.1 (roc_auc_score, average_precision_score,
// precision_recall_curve, f1_score, matthews_corrcoef, brier_score_loss, cohen_kappa_score), for
// the calibration error from numpy's array_split over the sorted values, for card precision from
// a plain dictionary per day.
struct Sample {
    std::vector<double> scores;
    Marks fraud;
    Marks other;
};
Sample sample() {
    Sample s;
    std::uint32_t x = 12'345;
    const auto draw = [&x] {
        x = x * 1'664'525U + 1'013'904'223U;
        return x >> 16;
    };
    for (int i = 0; i < 500; ++i) {
        const auto u = draw() % 200;
        const auto v = draw();
        s.scores.push_back(u / 200.0);
        s.fraud.push_back(v % 1'000 < 2 * u ? 1 : 0);
        s.other.push_back(static_cast<std::uint8_t>(v % 3));
    }
    return s;
}

TEST(AucRoc, CountsPairsAndHalvesTies) {
    // Pairs: (0.9, 0.5) right, (0.9, 0.1) right, (0.5, 0.5) half, (0.5, 0.1) right: 3.5 of 4.
    EXPECT_DOUBLE_EQ(auc_roc(std::vector{0.9, 0.5, 0.5, 0.1}, Marks{1, 1, 0, 0}).value(), 0.875);
    EXPECT_DOUBLE_EQ(auc_roc(std::vector{0.3, 0.3, 0.3}, Marks{1, 0, 0}).value(), 0.5);
    EXPECT_DOUBLE_EQ(auc_roc(std::vector{0.1, 0.9}, Marks{1, 0}).value(), 0.0);
}

TEST(AucRoc, IsUndefinedWithOneClass) {
    EXPECT_FALSE(auc_roc(std::vector{0.3, 0.4}, Marks{1, 1}).has_value());
    EXPECT_FALSE(auc_roc(std::vector{0.3, 0.4}, Marks{0, 0}).has_value());
    EXPECT_FALSE(auc_roc({}, {}).has_value());
}

TEST(AveragePrecision, StepsOncePerDistinctScore) {
    // 0.9: 1/1 found; 0.5 (two events, one fraud): precision 2/3. (1 + 2/3) / 2.
    EXPECT_DOUBLE_EQ(average_precision(std::vector{0.9, 0.5, 0.5, 0.1}, Marks{1, 1, 0, 0}).value(),
                     5.0 / 6.0);
    EXPECT_DOUBLE_EQ(average_precision(std::vector{0.9, 0.5, 0.5, 0.1}, Marks{1, 0, 1, 0}).value(),
                     5.0 / 6.0);
    EXPECT_FALSE(average_precision(std::vector{0.9}, Marks{0}).has_value());
}

TEST(CardPrecision, LeavesOutCustomersAlreadyFound) {
    const std::vector<CardEvent> events = {
        {0, 1, 0.2, false}, {0, 1, 0.9, true}, {0, 2, 0.8, false}, {0, 3, 0.7, true},
        {1, 1, 0.9, true},  {1, 3, 0.5, true}, {1, 4, 0.1, false}};
    // Day 0: cards 1 and 2, one found. Day 1: card 1 is out, so 3 and 4, one found.
    EXPECT_DOUBLE_EQ(card_precision(events, 2).value(), 0.5);
    // Day 0: 1 and 3 of 3. Day 1: only card 4 is left, still divided by 3.
    EXPECT_DOUBLE_EQ(card_precision(events, 3).value(), (2.0 / 3.0 + 0.0) / 2.0);
    EXPECT_FALSE(card_precision({}, 3).has_value());
}

TEST(CardPrecision, CountsACardOnceWithItsHighestScore) {
    const std::vector<CardEvent> events = {
        {0, 1, 0.9, false}, {0, 1, 0.8, false}, {0, 1, 0.1, true}, {0, 2, 0.5, true}};
    EXPECT_DOUBLE_EQ(card_precision(events, 1).value(), 1.0);  // the fraud may be another event
    EXPECT_DOUBLE_EQ(card_precision(events, 2).value(), 1.0);
}

TEST(Confusion, CountsAtTheThresholdInclusive) {
    const std::vector scores = {0.9, 0.5, 0.5, 0.1};
    const Marks fraud = {1, 1, 0, 1};
    const auto c = confusion_at(scores, fraud, 0.5);
    EXPECT_EQ(c, (Confusion{2, 1, 1, 0}));
    EXPECT_DOUBLE_EQ(precision_of(c).value(), 2.0 / 3.0);
    EXPECT_DOUBLE_EQ(recall_of(c).value(), 2.0 / 3.0);
    EXPECT_DOUBLE_EQ(f1_of(c).value(), 2.0 / 3.0);
    EXPECT_DOUBLE_EQ(mcc_of(c), (0.0 - 1.0) / 3.0);  // (2*0 - 1*1) / sqrt(3*3*1*1)
}

TEST(Confusion, SaysWhenARatioIsUndefined) {
    const Confusion nothing{0, 0, 0, 7};
    EXPECT_FALSE(precision_of(nothing).has_value());
    EXPECT_FALSE(recall_of(nothing).has_value());
    EXPECT_FALSE(f1_of(nothing).has_value());
    EXPECT_DOUBLE_EQ(mcc_of(nothing), 0.0);
}

TEST(Confusion, MccOfHugeCountsStaysInRange) {
    const std::uint64_t n = 2'000'000'000'000;
    EXPECT_NEAR(mcc_of({n, 0, 0, n}), 1.0, 1e-12);
    EXPECT_NEAR(mcc_of({0, n, n, 0}), -1.0, 1e-12);
}

TEST(BestF1, TakesTheHighestThresholdOfTheBest) {
    // 0.9: f1 2/3; 0.5: 2*2/(2*2+1) = 0.8; 0.1: 2*2/(4+2) = 2/3.
    const auto best = best_f1(std::vector{0.9, 0.5, 0.5, 0.1}, Marks{1, 1, 0, 0});
    ASSERT_TRUE(best.has_value());
    EXPECT_DOUBLE_EQ(best->f1, 0.8);
    EXPECT_DOUBLE_EQ(best->threshold, 0.5);
    EXPECT_EQ(best->at, (Confusion{2, 1, 0, 1}));
    EXPECT_FALSE(best_f1(std::vector{0.9}, Marks{0}).has_value());
}

TEST(CalibrationError, ComparesEqualMassBins) {
    // Bins of two: {0.1, 0.2} mean 0.15 rate 0; {0.6, 0.9} mean 0.75 rate 0.5.
    EXPECT_NEAR(calibration_error(std::vector{0.9, 0.1, 0.6, 0.2}, Marks{1, 0, 0, 0}, 2).value(),
                0.5 * 0.15 + 0.5 * 0.25, 1e-15);
    // Five events in two bins: three and two.
    EXPECT_NEAR(
        calibration_error(std::vector{0.1, 0.2, 0.3, 0.4, 0.5}, Marks{0, 0, 0, 1, 1}, 2).value(),
        0.6 * 0.2 + 0.4 * 0.55, 1e-15);
    EXPECT_NEAR(calibration_error(std::vector{0.3}, Marks{1}, 10).value(), 0.7, 1e-15);
    EXPECT_FALSE(calibration_error({}, {}).has_value());
}

TEST(CalibrationError, DoesNotDependOnTheOrderOfTies) {
    const std::vector same = {0.5, 0.5, 0.5, 0.5};
    EXPECT_NEAR(calibration_error(same, Marks{1, 1, 0, 0}, 2).value(), 0.0, 1e-15);
    EXPECT_NEAR(calibration_error(same, Marks{0, 1, 0, 1}, 2).value(), 0.0, 1e-15);
}

TEST(Brier, IsTheMeanSquare) {
    EXPECT_NEAR(brier_score(std::vector{0.9, 0.2}, Marks{1, 0}).value(), (0.01 + 0.04) / 2, 1e-15);
    EXPECT_FALSE(brier_score({}, {}).has_value());
}

TEST(CohenKappa, TakesChanceAway) {
    // Agreed 3 of 4; chance (2*1 + 2*3) / 16 = 0.5.
    EXPECT_DOUBLE_EQ(cohen_kappa(Marks{0, 0, 1, 1}, Marks{0, 1, 1, 1}).value(), 0.5);
    EXPECT_DOUBLE_EQ(cohen_kappa(Marks{0, 3, 7}, Marks{0, 3, 7}).value(), 1.0);
    EXPECT_FALSE(cohen_kappa(Marks{2, 2}, Marks{2, 2}).has_value());
    EXPECT_FALSE(cohen_kappa({}, {}).has_value());
}

TEST(Quality, MatchesScikitLearnOnFiveHundredTiedScores) {
    const auto s = sample();
    EXPECT_NEAR(auc_roc(s.scores, s.fraud).value(), 0.7605016511266511, 1e-12);
    EXPECT_NEAR(average_precision(s.scores, s.fraud).value(), 0.4180563635070095, 1e-12);
    const auto best = best_f1(s.scores, s.fraud);
    EXPECT_NEAR(best->f1, 0.5017182130584192, 1e-12);
    EXPECT_DOUBLE_EQ(best->threshold, 0.59);
    const auto at_half = confusion_at(s.scores, s.fraud, 0.5);
    EXPECT_EQ(at_half, (Confusion{80, 155, 24, 241}));
    EXPECT_NEAR(f1_of(at_half).value(), 0.471976401179941, 1e-12);
    EXPECT_NEAR(mcc_of(at_half), 0.307247573657946, 1e-12);
    EXPECT_NEAR(brier_score(s.scores, s.fraud).value(), 0.23458965, 1e-12);
    Marks thirds;
    Marks halves;
    std::vector<double> probabilities;
    for (const double score : s.scores) {
        thirds.push_back(static_cast<std::uint8_t>(score * 3.0));
        halves.push_back(score >= 0.5 ? 1 : 0);
        probabilities.push_back(score * 0.4);
    }
    EXPECT_NEAR(cohen_kappa(thirds, s.other).value(), -0.0030901164183396723, 1e-12);
    EXPECT_NEAR(cohen_kappa(halves, s.fraud).value(), 0.2580003316199635, 1e-12);
    EXPECT_NEAR(calibration_error(probabilities, s.fraud, 10).value(), 0.038588, 1e-12);
    EXPECT_NEAR(calibration_error(probabilities, s.fraud, 7).value(), 0.03305199999999999, 1e-12);
}

TEST(Quality, CardPrecisionMatchesThePlainComputation) {
    const auto s = sample();
    std::vector<CardEvent> events;
    for (std::size_t i = 0; i < s.scores.size(); ++i) {
        events.push_back(
            {static_cast<std::int64_t>(i / 125), (i * 37) % 60, s.scores[i], s.fraud[i] == 1});
    }
    EXPECT_NEAR(card_precision(events, 5).value(), 0.65, 1e-12);
    EXPECT_NEAR(card_precision(events, 20).value(), 0.55, 1e-12);
    EXPECT_NEAR(card_precision(events, 100).value(), 0.13, 1e-12);
}

}  // namespace
}  // namespace tollgate::pipeline
