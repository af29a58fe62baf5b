// Platt's fit on data of a known line, the knots by hand, and calibration.json read back.
#include "pipeline/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace tollgate::pipeline {
namespace {

struct Labelled {
    std::vector<double> logits;
    std::vector<std::uint8_t> fraud;
};

// Frauds drawn with probability sigmoid(slope * logit + bias).
Labelled drawn(double slope, double bias, std::size_t rows) {
    std::mt19937 random(7);
    std::normal_distribution<double> logit(-2.0, 2.0);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    Labelled out;
    for (std::size_t i = 0; i < rows; ++i) {
        const double x = logit(random);
        out.logits.push_back(x);
        out.fraud.push_back(uniform(random) < 1.0 / (1.0 + std::exp(-(slope * x + bias))) ? 1 : 0);
    }
    return out;
}

TEST(Calibration, FindsTheLineThatTheLabelsWereDrawnFrom) {
    const Labelled data = drawn(0.7, -0.9, 60'000);
    const auto fitted = fit_calibration(data.logits, data.fraud, {});
    ASSERT_TRUE(fitted) << fitted.error().message;
    EXPECT_NEAR(fitted->slope, 0.7, 0.03);
    EXPECT_NEAR(fitted->bias, -0.9, 0.05);
    EXPECT_LT(fitted->ece, 0.01);
    EXPECT_EQ(fitted->rows, 60'000U);
}

// 100 events: the top 30 are frauds but for three, the rest legitimate.
TEST(Calibration, KnotsAreWherePrecisionAndShareSay) {
    Labelled data;
    for (int i = 0; i < 100; ++i) {
        data.logits.push_back(10.0 - 0.2 * i);
        data.fraud.push_back(i < 30 && i != 27 && i != 28 && i != 29 ? 1 : 0);
    }
    const auto fitted =
        fit_calibration(data.logits, data.fraud, {.grey_share = 0.05, .decline_precision = 0.9});
    ASSERT_TRUE(fitted) << fitted.error().message;
    // 27 frauds of 30 is 0.9: the knot is the 30th event's probability, the grey band the next
    // five.
    EXPECT_FLOAT_EQ(fitted->probability(static_cast<float>(10.0 - 0.2 * 29)),
                    static_cast<float>(fitted->p_high));
    EXPECT_FLOAT_EQ(fitted->probability(static_cast<float>(10.0 - 0.2 * 34)),
                    static_cast<float>(fitted->p_low));
    EXPECT_DOUBLE_EQ(fitted->grey_share, 0.05);
    EXPECT_LT(fitted->p_low, fitted->p_high);
}

TEST(Calibration, EqualProbabilitiesStayTogetherBelowTheShare) {
    Labelled data;
    for (int i = 0; i < 40; ++i) {
        data.logits.push_back(5.0);
        data.fraud.push_back(1);
    }
    for (int i = 0; i < 60; ++i) {
        data.logits.push_back(-3.0);
        data.fraud.push_back(0);
    }
    const auto fitted =
        fit_calibration(data.logits, data.fraud, {.grey_share = 0.1, .decline_precision = 0.9});
    ASSERT_TRUE(fitted);
    EXPECT_EQ(fitted->grey_share, 0.0);  // all sixty or none
    EXPECT_LT(fitted->probability(-3.0F), fitted->p_low);
}

TEST(Calibration, NothingDeclinesWhenNoPrecisionIsReached) {
    const Labelled data = drawn(0.2, -3.0, 20'000);
    const auto fitted =
        fit_calibration(data.logits, data.fraud, {.grey_share = 0.02, .decline_precision = 0.99});
    ASSERT_TRUE(fitted);
    EXPECT_GT(fitted->p_high, 0.999);
    EXPECT_NEAR(fitted->grey_share, 0.02, 0.001);
}

TEST(Calibration, AFileThatIsNearlyAllFraudHasNothingGrey) {
    Labelled data;
    for (int i = 0; i < 1000; ++i) {
        data.logits.push_back(0.01 * i);
        data.fraud.push_back(i % 25 == 0 && i < 900 ? 0 : 1);
    }
    const auto fitted =
        fit_calibration(data.logits, data.fraud, {.grey_share = 0.02, .decline_precision = 0.9});
    ASSERT_TRUE(fitted) << fitted.error().message;
    EXPECT_EQ(fitted->grey_share, 0.0);
    EXPECT_TRUE(parse_calibration(to_json(*fitted)));
}

TEST(Calibration, RefusesTooFewAndScoresThatFall) {
    Labelled few = drawn(1.0, 0.0, 30);
    EXPECT_FALSE(fit_calibration(few.logits, few.fraud, {}));
    Labelled falling = drawn(1.0, 0.0, 5'000);
    for (double& logit : falling.logits) {
        logit = -logit;
    }
    const auto refused = fit_calibration(falling.logits, falling.fraud, {});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("falls where fraud rises"), std::string::npos);
}

TEST(Calibration, LimitsNameTheValueAndTheLimit) {
    Calibration calibration;
    calibration.ece = 0.01;
    calibration.ap = 0.5;
    EXPECT_FALSE(check_limits(calibration, {.max_ece = 0.002, .min_ap = 0.0}));
    EXPECT_FALSE(check_limits(calibration, {.max_ece = 0.02, .min_ap = 0.6}));
    EXPECT_TRUE(check_limits(calibration, {.max_ece = 0.02, .min_ap = 0.5}));
}

TEST(Calibration, IsReadBackAndBadOnesAreRefused) {
    const Labelled data = drawn(0.7, -0.9, 5'000);
    Calibration fitted = *fit_calibration(data.logits, data.fraud, {});
    fitted.data_sha256 = "ab";
    const auto back = parse_calibration(to_json(fitted));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->slope, fitted.slope);
    EXPECT_EQ(back->p_low, fitted.p_low);
    EXPECT_EQ(back->rows, fitted.rows);
    EXPECT_EQ(back->data_sha256, "ab");
    std::string swapped = to_json(fitted);
    const auto at = swapped.find("\"p_low\":");
    swapped.replace(at, swapped.find(',', at) - at, "\"p_low\":1.0");
    EXPECT_FALSE(parse_calibration(swapped));
    EXPECT_FALSE(parse_calibration("{}"));
    EXPECT_FALSE(parse_calibration("[]"));
}

}  // namespace
}  // namespace tollgate::pipeline
