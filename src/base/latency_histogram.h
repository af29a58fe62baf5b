// LatencyHistogram: log-linear counts of microseconds, relative error <= 1/64, for percentiles of
// load tests and benches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tollgate {

// 0..63 us exact, then 64 steps per doubling up to 2^36 us (19 hours; larger values are clamped and
// counted there). Fixed memory, no allocation. One owner; merge() sums two.
class LatencyHistogram {
  public:
    void record(std::int64_t micros) noexcept;  // negative counts as 0
    void merge(const LatencyHistogram& other) noexcept;
    std::uint64_t count() const noexcept { return count_; }
    std::int64_t max() const noexcept { return max_; }
    double mean() const noexcept;
    // Upper edge of the bucket that holds the q-quantile (0 <= q <= 1), never above max(); 0 when
    // empty.
    std::int64_t quantile(double q) const noexcept;

  private:
    static constexpr std::size_t kSteps = 64;
    static constexpr std::size_t kDoublings = 30;
    std::array<std::uint64_t, kSteps*(kDoublings + 1)> buckets_{};
    std::uint64_t count_ = 0;
    std::int64_t max_ = 0;
    double sum_ = 0.0;
};

}  // namespace tollgate
