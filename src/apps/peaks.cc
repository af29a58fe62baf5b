// Short measured loops; the best of several, because the machine may be shared.
#include "apps/peaks.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/aligned.h"
#include "base/time.h"

namespace tollgate::apps {

namespace {

constexpr int kRuns = 8;

double seconds_since(Steady::time_point from) {
    return std::chrono::duration<double>(Steady::now() - from).count();
}

// Eight sums side by side, so that loads and not additions are what is waited for.
std::uint64_t read_all(const std::uint64_t* from, std::size_t words) {
    std::uint64_t sum[8] = {};
    for (std::size_t i = 0; i + 8 <= words; i += 8) {
        for (std::size_t lane = 0; lane < 8; ++lane) {
            sum[lane] += from[i + lane];
        }
    }
    std::uint64_t all = 0;
    for (const std::uint64_t s : sum) {
        all += s;
    }
    return all;
}

}  // namespace

double peak_gmacs(const kernels::PeakLoop& loop) {
    if (loop.run == nullptr) {
        return 0.0;
    }
    constexpr std::size_t kRounds = 1'000'000;
    double best = 0.0;
    for (int i = 0; i < kRuns; ++i) {
        const auto began = Steady::now();
        loop.run(kRounds);
        best = std::max(best, static_cast<double>(loop.work * kRounds) / seconds_since(began));
    }
    return best / 1e9;
}

double read_bandwidth(std::size_t bytes, std::size_t threads) {
    const std::size_t words = bytes / sizeof(std::uint64_t) / threads;
    Aligned<std::uint64_t> buffer(words * threads);
    std::fill(buffer.begin(), buffer.end(), 1);
    double best = 0.0;
    std::atomic<std::uint64_t> sink{0};
    for (int i = 0; i < kRuns; ++i) {
        const auto began = Steady::now();
        std::vector<std::jthread> readers;
        for (std::size_t t = 1; t < threads; ++t) {
            readers.emplace_back(
                [&, t] { sink.fetch_add(read_all(buffer.data() + t * words, words)); });
        }
        sink.fetch_add(read_all(buffer.data(), words));
        readers.clear();
        best = std::max(best, static_cast<double>(words * threads * sizeof(std::uint64_t)) /
                                  seconds_since(began));
    }
    return best / 1e9;
}

}  // namespace tollgate::apps
