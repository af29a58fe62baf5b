// Bucket arithmetic of the latency histogram.
#include "base/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace tollgate {
namespace {

constexpr std::uint64_t kExact = 64;  // kSteps: below it a bucket is one value
constexpr std::int64_t kLargest = (std::int64_t{1} << 36) - 1;

std::size_t bucket_of(std::uint64_t v) {
    if (v < kExact) {
        return v;
    }
    // v in [64 * 2^shift, 128 * 2^shift): its 7 leading bits are 64 + step.
    const auto shift = static_cast<unsigned>(std::bit_width(v)) - 7U;
    return kExact * (shift + 1) + ((v >> shift) - kExact);
}

std::int64_t last_value_of(std::size_t bucket) {
    if (bucket < kExact) {
        return static_cast<std::int64_t>(bucket);
    }
    const std::size_t shift = bucket / kExact - 1;
    const std::uint64_t next = bucket % kExact + kExact + 1;
    return static_cast<std::int64_t>((next << shift) - 1);
}

}  // namespace

void LatencyHistogram::record(std::int64_t micros) noexcept {
    const std::int64_t v = std::clamp<std::int64_t>(micros, 0, kLargest);
    ++buckets_[bucket_of(static_cast<std::uint64_t>(v))];
    ++count_;
    max_ = std::max(max_, v);
    sum_ += static_cast<double>(v);
}

void LatencyHistogram::merge(const LatencyHistogram& other) noexcept {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        buckets_[i] += other.buckets_[i];
    }
    count_ += other.count_;
    max_ = std::max(max_, other.max_);
    sum_ += other.sum_;
}

double LatencyHistogram::mean() const noexcept {
    return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_);
}

std::int64_t LatencyHistogram::quantile(double q) const noexcept {
    if (count_ == 0) {
        return 0;
    }
    // The smallest rank (from 1) that at least the share q of all values reaches.
    const double exact = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_));
    const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(exact), 1, count_);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        seen += buckets_[i];
        if (seen >= rank) {
            return std::min(last_value_of(i), max_);
        }
    }
    return max_;
}

}  // namespace tollgate
