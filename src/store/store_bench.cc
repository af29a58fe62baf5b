// Benchmarks of the store: how long a commit takes at a steady rate, how fast an import writes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "store/keys.h"
#include "store/testing/temp_store.h"

namespace tollgate::store {
namespace {

using Clock = std::chrono::steady_clock;
using testing::Files;
using testing::record_commit;
using testing::TempStore;
using testing::test_record;

// A commit of the size that a decision writes: record 1.2 kB, body 0.9 kB, event, personal values.
Commit decision_commit(std::uint64_t seq) {
    Commit commit = record_commit("bank", seq);
    commit.record.resize(1200, 'r');
    commit.puts.front().value.resize(900, 'b');
    commit.puts.push_back(
        {.family = Family::kPersonal, .key = sequence_bytes(seq), .value = std::string(120, 'p')});
    return commit;
}

double percentile(std::vector<double>& sorted, double share) {
    return sorted[std::min(sorted.size() - 1,
                           static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

// The times from submit() to `done`, and to the submitter's own thread waking up on it.
class Latencies {
  public:
    void submitted() { at_ = Clock::now(); }
    void confirmed() {
        const std::scoped_lock lock(mutex_);
        done_.push_back(std::chrono::duration<double, std::micro>(Clock::now() - at_).count());
        changed_.notify_one();
    }
    void wait(std::size_t count) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return done_.size() >= count; });
        woken_.push_back(std::chrono::duration<double, std::micro>(Clock::now() - at_).count());
    }
    void report(benchmark::State& state) {
        std::sort(done_.begin(), done_.end());
        std::sort(woken_.begin(), woken_.end());
        state.counters["done_p50_us"] = percentile(done_, 0.5);
        state.counters["done_p99_us"] = percentile(done_, 0.99);
        state.counters["done_max_us"] = done_.back();
        state.counters["woken_p50_us"] = percentile(woken_, 0.5);
        state.counters["woken_p99_us"] = percentile(woken_, 0.99);
    }

  private:
    std::mutex mutex_;  // guards done_
    std::condition_variable changed_;
    Clock::time_point at_;
    std::vector<double> done_;
    std::vector<double> woken_;  // of the submitting thread
};

// 300 commits a second, one at a time, as the decision path makes them.
void commit_at_300_a_second(benchmark::State& state, Durability durability) {
    TempStore store({}, Files::kDisk);
    Latencies latencies;
    std::uint64_t seq = 0;
    auto slot = Clock::now();
    for (auto _ : state) {
        slot += std::chrono::microseconds(3333);
        std::this_thread::sleep_until(slot);
        Commit commit = decision_commit(++seq);
        commit.durability = durability;
        commit.done = [&latencies] { latencies.confirmed(); };
        latencies.submitted();
        TG_CHECK(store->submit(commit), "the journal has room");
        latencies.wait(seq);
    }
    latencies.report(state);
}

// As fast as they are taken: the group commit's throughput.
void commit_burst(benchmark::State& state) {
    TempStore store({}, Files::kDisk);
    std::uint64_t seq = 0;
    for (auto _ : state) {
        for (int i = 0; i < 10'000; ++i) {
            Commit commit = decision_commit(++seq);
            while (!store->submit(commit)) {
                (void)store->flush(std::chrono::seconds(1));
            }
        }
        TG_CHECK(store->flush(std::chrono::seconds(60)).has_value(), "the store writes");
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(seq));
    state.counters["group"] =
        static_cast<double>(store->health().commits) / static_cast<double>(store->health().batches);
}

// An import's writes: events of one record and `puts` small views of it.
void bulk_import(benchmark::State& state) {
    TempStore store({}, Files::kDisk);
    const auto puts = static_cast<std::uint64_t>(state.range(0));
    constexpr std::uint64_t kBatch = 2000;
    std::vector<Store::Bulk> bulks;
    std::uint64_t seq = 1;
    double writing = 0;
    for (auto _ : state) {
        state.PauseTiming();
        bulks.assign(25, Store::Bulk{.tenant = "bank", .wal = false});
        for (Store::Bulk& bulk : bulks) {
            bulk.first_seq = seq;
            for (std::uint64_t i = 0; i < kBatch; ++i, ++seq) {
                bulk.records.push_back(test_record("bank", seq));
                for (std::uint64_t p = 0; p < puts; ++p) {
                    bulk.puts.push_back(
                        {.family = p == 0 ? Family::kEvents : Family::kReplies,
                         .key = p == 0 ? "tx-" + std::to_string(seq) : sequence_bytes(seq),
                         .value = std::string(24, 'v')});
                }
            }
        }
        state.ResumeTiming();
        const auto began = Clock::now();
        for (const Store::Bulk& bulk : bulks) {
            TG_CHECK(store->write_bulk(bulk).has_value(), "the store writes");
        }
        writing += std::chrono::duration<double>(Clock::now() - began).count();
        TG_CHECK(store->sync_bulk().has_value(), "the store flushes");
    }
    state.counters["items_per_s_before_sync"] =
        static_cast<double>((seq - 1) * (puts + 1)) / writing;
    state.counters["events"] =
        benchmark::Counter(static_cast<double>(seq - 1), benchmark::Counter::kIsRate);
    state.SetItemsProcessed(static_cast<std::int64_t>((seq - 1) * (puts + 1)));
}

BENCHMARK_CAPTURE(commit_at_300_a_second, os, Durability::kOs)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(commit_at_300_a_second, fsync, Durability::kFsync)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(commit_burst)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(bulk_import)
    ->ArgName("puts")
    ->Arg(0)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tollgate::store
