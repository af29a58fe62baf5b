// The simulator's distributions in integer arithmetic.
#include "pipeline/simulate_random.h"

#include <algorithm>

#include "base/check.h"

namespace tollgate::pipeline {

std::int64_t SimRandom::between(std::int64_t low, std::int64_t high) {
    TG_CHECK(low <= high, "between(low, high)");
    const auto width = static_cast<std::uint64_t>(high - low) + 1;
    if (width <= 0xFFFFFFFFULL) {
        return low + static_cast<std::int64_t>(below(static_cast<std::uint32_t>(width)));
    }
    return low + static_cast<std::int64_t>(next() % width);
}

std::int64_t SimRandom::between_low(std::int64_t low, std::int64_t high) {
    const auto first = between(low, high);
    return std::min(first, between(low, high));
}

std::int32_t SimRandom::normal_q16() {
    std::int32_t sum = 0;
    for (int i = 0; i < 3; ++i) {
        const auto bits = next();
        sum += static_cast<std::int32_t>(bits & 0xFFFF) +
               static_cast<std::int32_t>((bits >> 16) & 0xFFFF) +
               static_cast<std::int32_t>((bits >> 32) & 0xFFFF) +
               static_cast<std::int32_t>(bits >> 48);
    }
    return sum - 6 * kQ16;
}

std::int64_t SimRandom::log_normal(std::int32_t mu_q16, std::int32_t sigma_q16) {
    const std::int64_t spread = std::int64_t{sigma_q16} * normal_q16() / kQ16;
    return sim_exp2(mu_q16 + spread);
}

std::int64_t sim_exp2(std::int64_t x_q16) {
    const auto x = std::clamp<std::int64_t>(x_q16, 0, std::int64_t{40} * kQ16);
    const auto whole = x / kQ16;
    const auto f = (x % kQ16) << 14;  // Q30
    // Cubic through (0, 1) and (1, 2) for 2^f; the coefficients are Q30 integers.
    constexpr std::int64_t kC1 = 746'848'494;  // 0.695557
    constexpr std::int64_t kC2 = 242'852'024;  // 0.226173
    constexpr std::int64_t kC3 = 84'041'306;   // 0.078270
    constexpr std::int64_t kOne = std::int64_t{1} << 30;
    auto y = kC2 + ((kC3 * f) >> 30);
    y = kC1 + ((y * f) >> 30);
    y = kOne + ((y * f) >> 30);
    return whole >= 30 ? y << (whole - 30) : y >> (30 - whole);
}

}  // namespace tollgate::pipeline
