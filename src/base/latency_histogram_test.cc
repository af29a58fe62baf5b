// Tests of base/latency_histogram.h: exact small values, seeded quantiles against a sorted vector.
#include "base/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace tollgate {
namespace {

TEST(LatencyHistogram, EmptyIsZero) {
    const LatencyHistogram h;
    EXPECT_EQ(h.count(), 0U);
    EXPECT_EQ(h.quantile(0.99), 0);
    EXPECT_EQ(h.mean(), 0.0);
}

TEST(LatencyHistogram, ClampsBothEnds) {
    LatencyHistogram h;
    h.record(-5);
    EXPECT_EQ(h.quantile(1.0), 0);
    h.record(std::int64_t{1} << 60);
    EXPECT_EQ(h.count(), 2U);
    EXPECT_EQ(h.max(), (std::int64_t{1} << 36) - 1);
    EXPECT_EQ(h.quantile(1.0), h.max());
}

TEST(LatencyHistogram, QuantilesAreWithinOneSixtyFourthAboveTheSortedValue) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 30; ++round) {
        LatencyHistogram whole;
        LatencyHistogram part;
        std::vector<std::int64_t> values(1 + random() % 3000);
        double sum = 0.0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<std::int64_t>(random() % (1ULL << (random() % 37)));
            sum += static_cast<double>(values[i]);
            (i % 2 == 0 ? whole : part).record(values[i]);
        }
        whole.merge(part);
        std::sort(values.begin(), values.end());
        ASSERT_EQ(whole.count(), values.size());
        ASSERT_EQ(whole.max(), values.back());
        ASSERT_NEAR(whole.mean(), sum / static_cast<double>(values.size()), 1e-9 * sum);
        for (const double q : {0.0, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
            const double exact = std::ceil(q * static_cast<double>(values.size()));
            const auto rank = std::max<std::size_t>(static_cast<std::size_t>(exact), 1);
            const std::int64_t want = values[rank - 1];
            ASSERT_GE(whole.quantile(q), want);
            ASSERT_LE(whole.quantile(q) - want, want / 64) << q;
        }
    }
}

TEST(LatencyHistogram, EveryValueLandsInABucketOfItsOwnRange) {
    for (int bit = 0; bit < 36; ++bit) {
        for (const std::int64_t delta : {-1, 0, 1}) {
            const std::int64_t v = std::max<std::int64_t>((std::int64_t{1} << bit) + delta, 0);
            LatencyHistogram h;
            h.record(v);
            h.record((std::int64_t{1} << 36) - 1);
            EXPECT_GE(h.quantile(0.5), v);
            EXPECT_LE(h.quantile(0.5) - v, v / 64);
        }
    }
}

}  // namespace
}  // namespace tollgate
