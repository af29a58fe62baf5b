// SimRandom: random numbers of the simulator, in integers: a seed gives equal bytes everywhere.
#pragma once

#include <array>
#include <cstdint>

namespace tollgate::pipeline {

// A bijection of 64 bits that spreads every input bit (the finaliser of SplitMix64: Steele, Lea,
// Flood 2014, "Fast splittable pseudorandom number generators").
constexpr std::uint64_t sim_mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

// Key of the random stream of one thing: (seed, what it is, which one).
constexpr std::uint64_t sim_key(std::uint64_t seed, std::uint64_t what, std::uint64_t which) {
    return sim_mix(sim_mix(seed + 0x9E3779B97F4A7C15ULL * (what + 1)) ^ which);
}

// Fixed point with 16 fraction bits; the arguments of the log-normal are base-2 logarithms.
constexpr std::int32_t kQ16 = 1 << 16;

// SplitMix64 and the distributions on top of it. std:: distributions differ between libraries and
// <cmath> differs in the last bit between machines, so neither is used.
class SimRandom {
  public:
    explicit constexpr SimRandom(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9E3779B97F4A7C15ULL;
        return sim_mix(state_);
    }
    // Uniform in [0, n); n = 0 gives 0. Bias below n / 2^32.
    std::uint32_t below(std::uint32_t n) {
        return static_cast<std::uint32_t>(((next() >> 32) * std::uint64_t{n}) >> 32);
    }
    // Uniform in [low, high]; any width: whole milliseconds need more than 32 bits.
    std::int64_t between(std::int64_t low, std::int64_t high);
    // Like between(), leaning to the low end: the smaller of two draws.
    std::int64_t between_low(std::int64_t low, std::int64_t high);
    bool chance(std::uint32_t parts, std::uint32_t of = 1000) { return below(of) < parts; }
    // Mean 0, standard deviation 1 in Q16, within +-6: the sum of twelve 16-bit uniforms.
    std::int32_t normal_q16();
    // 2^(mu + sigma * normal), rounded down, in [0, 2^40].
    std::int64_t log_normal(std::int32_t mu_q16, std::int32_t sigma_q16);

    template <class T, std::size_t N>
    const T& pick(const std::array<T, N>& from) {
        return from[below(static_cast<std::uint32_t>(N))];
    }

  private:
    std::uint64_t state_;
};

// 2^x for x in Q16, clamped to [0, 40], rounded down; relative error below 2e-4.
std::int64_t sim_exp2(std::int64_t x_q16);

}  // namespace tollgate::pipeline
