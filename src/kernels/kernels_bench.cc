// What each table's kernels reach on this machine, one thread, at BERT-base's shapes.
#include <benchmark/benchmark.h>

#include <random>
#include <string>

#include "base/aligned.h"
#include "kernels/kernels.h"

namespace tollgate::kernels {
namespace {

void fill(Aligned<float>& to) {
    std::mt19937 engine(1);
    std::normal_distribution<float> normal(0.0F, 1.0F);
    for (float& v : to) {
        v = normal(engine);
    }
}

// items_per_second are multiply-adds.
void linear_s8(benchmark::State& state, const KernelTable* table, Activation activation) {
    const auto m = static_cast<std::size_t>(state.range(0));
    const auto n = static_cast<std::size_t>(state.range(1));
    const auto k = static_cast<std::size_t>(state.range(2));
    Aligned<float> x(m * k);
    Aligned<float> w(n * k);
    Aligned<float> y(m * n);
    fill(x);
    fill(w);
    Aligned<std::int8_t> packed(packed_s8_bytes(n, k));
    Aligned<float> scale(panels_of(n) * kPanel);
    Aligned<std::int32_t> sums(panels_of(n) * kPanel);
    pack_s8({w.data(), n, k, k}, packed.data(), scale.data(), sums.data());
    const std::size_t stride = quantized_stride(*table, k);
    Aligned<std::int8_t> q(m * stride);
    Aligned<float> q_scale(m);
    const QuantizedRows rows{q.data(), q_scale.data(), m, k, stride};
    table->quantize_rows({x.data(), m, k, k}, rows);
    for (auto _ : state) {
        table->linear_s8(rows, {packed.data(), scale.data(), sums.data(), n, k},
                         {nullptr, activation}, {0, panels_of(n)}, {y.data(), m, n, n});
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(m * n * k) * state.iterations());
}

void linear_f32(benchmark::State& state, const KernelTable* table) {
    const auto m = static_cast<std::size_t>(state.range(0));
    const auto n = static_cast<std::size_t>(state.range(1));
    const auto k = static_cast<std::size_t>(state.range(2));
    Aligned<float> x(m * k);
    Aligned<float> w(n * k);
    Aligned<float> y(m * n);
    fill(x);
    fill(w);
    Aligned<float> packed(packed_f32_floats(n, k));
    pack_f32({w.data(), n, k, k}, packed.data());
    for (auto _ : state) {
        table->linear_f32({x.data(), m, k, k}, {packed.data(), n, k}, {}, {0, panels_of(n)},
                          {y.data(), m, n, n});
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(m * n * k) * state.iterations());
}

// One head 64 wide.
void attention(benchmark::State& state, const KernelTable* table) {
    const auto positions = static_cast<std::size_t>(state.range(0));
    constexpr std::size_t kWidth = 64;
    Aligned<float> qkv(positions * 3 * kWidth);
    Aligned<float> out(positions * kWidth);
    Aligned<float> scratch(attention_scratch(positions, kWidth));
    fill(qkv);
    const auto part = [&](std::size_t i) {
        return ConstMatrix{qkv.data() + i * kWidth, positions, kWidth, 3 * kWidth};
    };
    for (auto _ : state) {
        table->attention({.q = part(0),
                          .k = part(1),
                          .v = part(2),
                          .scale = 0.125F,
                          .scratch = scratch.data(),
                          .out = {out.data(), positions, kWidth, kWidth}});
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(2 * positions * positions * kWidth) *
                            state.iterations());
}

// items_per_second are elements.
void rows(benchmark::State& state, const KernelTable* table, int what) {
    constexpr std::size_t kRows = 16;
    const auto n = static_cast<std::size_t>(state.range(0));
    Aligned<float> x(kRows * n);
    Aligned<float> residual(kRows * n);
    Aligned<float> ones(n);
    fill(x);
    fill(residual);
    fill(ones);
    const std::size_t stride = quantized_stride(*table, n);
    Aligned<std::int8_t> q(kRows * stride);
    Aligned<float> scale(kRows);
    for (auto _ : state) {
        switch (what) {
            case 0:
                table->quantize_rows({x.data(), kRows, n, n},
                                     {q.data(), scale.data(), kRows, n, stride});
                break;
            case 1:
                table->add_layer_norm({x.data(), kRows, n, n}, {residual.data(), kRows, n, n},
                                      {ones.data(), ones.data(), 1e-12F});
                break;
            default:
                table->activate(Activation::kGeluErf, x.data(), kRows * n);
        }
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(kRows * n) * state.iterations());
}

// ref is the definition and not worth timing.
const bool kRegistered = [] {
    for (const KernelTable* table : supported_tables()) {
        if (table->name == "ref") {
            continue;
        }
        const std::string name(table->name);
        auto* s8 = benchmark::RegisterBenchmark((name + "/linear_s8").c_str(), linear_s8, table,
                                                Activation::kNone);
        for (const int m : {1, 32, 128}) {
            s8->Args({m, 768, 768})->Args({m, 768, 3072});
        }
        benchmark::RegisterBenchmark((name + "/linear_s8+gelu").c_str(), linear_s8, table,
                                     Activation::kGeluErf)
            ->Args({128, 3072, 768});
        benchmark::RegisterBenchmark((name + "/linear_f32").c_str(), linear_f32, table)
            ->Args({128, 768, 768});
        benchmark::RegisterBenchmark((name + "/attention").c_str(), attention, table)
            ->Arg(32)
            ->Arg(128)
            ->Arg(512);
        benchmark::RegisterBenchmark((name + "/quantize_rows").c_str(), rows, table, 0)->Arg(768);
        benchmark::RegisterBenchmark((name + "/add_layer_norm").c_str(), rows, table, 1)->Arg(768);
        benchmark::RegisterBenchmark((name + "/gelu").c_str(), rows, table, 2)->Arg(768);
    }
    return true;
}();

}  // namespace
}  // namespace tollgate::kernels
