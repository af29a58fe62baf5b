// Every table that this machine runs against ref, byte for byte, on random shapes; and ref's own
// functions against the C library's.
#include "kernels/kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/aligned.h"
#include "kernels/amx/entry.h"
#include "kernels/tables.h"

namespace tollgate::kernels {
namespace {

const KernelTable& ref() {
    return *supported_tables().back();
}

class Random {
  public:
    explicit Random(std::uint32_t seed) : engine_(seed) {}
    std::size_t size(std::size_t low, std::size_t high) {
        return std::uniform_int_distribution<std::size_t>(low, high)(engine_);
    }
    void fill(Aligned<float>& to, float spread) {
        std::normal_distribution<float> normal(0.0F, spread);
        for (float& v : to) {
            v = normal(engine_);
        }
    }

  private:
    std::mt19937 engine_;
};

void expect_same(const Aligned<float>& a, const Aligned<float>& b, const std::string& what) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(std::memcmp(&a[i], &b[i], sizeof(float)), 0)
            << what << " at " << i << ": " << a[i] << " and ref " << b[i];
    }
}

constexpr std::array<Activation, 5> kKinds = {Activation::kNone, Activation::kGeluErf,
                                              Activation::kGeluTanh, Activation::kRelu,
                                              Activation::kTanh};

// What a table's quantized rows say, whatever its form.
std::vector<int> values_of(const KernelTable& table, const QuantizedRows& q) {
    std::vector<int> out;
    for (std::size_t r = 0; r < q.rows; ++r) {
        for (std::size_t at = 0; at < q.stride; at += table.quantized_size) {
            const std::int8_t* from = q.data + r * q.stride + at;
            std::int16_t wide = 0;
            std::memcpy(&wide, from, table.quantized_size);
            out.push_back(
                table.quantized_size == 2
                    ? wide
                    : static_cast<std::int8_t>(static_cast<std::uint8_t>(*from) - table.zero_byte));
        }
    }
    return out;
}

class EveryTable : public ::testing::TestWithParam<const KernelTable*> {};

TEST_P(EveryTable, LinearF32EqualsRef) {
    Random random(1);
    for (std::size_t round = 0; round < 60; ++round) {
        const std::size_t m = random.size(1, 15);
        const std::size_t n = random.size(1, 150);
        const std::size_t k = random.size(1, 90);
        Aligned<float> x(m * k);
        Aligned<float> w(n * k);
        Aligned<float> bias(n);
        random.fill(x, 1.0F);
        random.fill(w, 1.0F);
        random.fill(bias, 1.0F);
        Aligned<float> packed(packed_f32_floats(n, k));
        pack_f32({w.data(), n, k, k}, packed.data());
        Aligned<float> mine(m * n);
        Aligned<float> reference(m * n);
        const PackedF32 weights{packed.data(), n, k};
        const Finish finish{round % 2 == 0 ? bias.data() : nullptr, kKinds[round % 5]};
        const PanelRange all{0, panels_of(n)};
        GetParam()->linear_f32({x.data(), m, k, k}, weights, finish, all, {mine.data(), m, n, n});
        ref().linear_f32({x.data(), m, k, k}, weights, finish, all, {reference.data(), m, n, n});
        expect_same(mine, reference, "linear_f32");
    }
}

TEST_P(EveryTable, LinearF32IsTheProduct) {
    // 2 x 3 times 3 x 2, by hand.
    Aligned<float> x(6);
    Aligned<float> w(6);
    for (std::size_t i = 0; i < 6; ++i) {
        x[i] = static_cast<float>(i + 1);
        w[i] = static_cast<float>(i) - 2.0F;
    }
    Aligned<float> packed(packed_f32_floats(2, 3));
    pack_f32({w.data(), 2, 3, 3}, packed.data());
    Aligned<float> y(4);
    GetParam()->linear_f32({x.data(), 2, 3, 3}, {packed.data(), 2, 3}, {}, {0, 1},
                           {y.data(), 2, 2, 2});
    EXPECT_EQ(y[0], -4.0F);
    EXPECT_EQ(y[1], 14.0F);
    EXPECT_EQ(y[2], -13.0F);
    EXPECT_EQ(y[3], 32.0F);
}

TEST_P(EveryTable, LinearS8EqualsRef) {
    Random random(2);
    for (std::size_t round = 0; round < 60; ++round) {
        const std::size_t m = random.size(1, 70);
        const std::size_t n = random.size(1, 150);
        const std::size_t k = random.size(1, 130);
        const std::size_t stride = quantized_stride(*GetParam(), k);
        const std::size_t ref_stride = quantized_stride(ref(), k);
        Aligned<float> x(m * k);
        Aligned<float> w(n * k);
        Aligned<float> bias(n);
        random.fill(x, 2.0F);
        random.fill(w, 0.1F);
        random.fill(bias, 1.0F);
        Aligned<std::int8_t> packed(packed_s8_bytes(n, k));
        Aligned<float> scale(panels_of(n) * kPanel);
        Aligned<std::int32_t> sums(panels_of(n) * kPanel);
        pack_s8({w.data(), n, k, k}, packed.data(), scale.data(), sums.data());
        Aligned<std::int8_t> q(m * stride);
        Aligned<float> q_scale(m);
        Aligned<std::int8_t> ref_q(m * ref_stride);
        Aligned<float> ref_scale(m);
        const QuantizedRows rows{q.data(), q_scale.data(), m, k, stride};
        GetParam()->quantize_rows({x.data(), m, k, k}, rows);
        const QuantizedRows ref_rows{ref_q.data(), ref_scale.data(), m, k, ref_stride};
        ref().quantize_rows({x.data(), m, k, k}, ref_rows);
        expect_same(q_scale, ref_scale, "scale");
        ASSERT_EQ(values_of(*GetParam(), rows), values_of(ref(), ref_rows));
        Aligned<float> mine(m * n);
        Aligned<float> reference(m * n);
        const PackedS8 weights{packed.data(), scale.data(), sums.data(), n, k};
        const Finish finish{round % 2 == 0 ? bias.data() : nullptr, kKinds[round % 5]};
        const PanelRange all{0, panels_of(n)};
        GetParam()->linear_s8(rows, weights, finish, all, {mine.data(), m, n, n});
        ref().linear_s8(ref_rows, weights, finish, all, {reference.data(), m, n, n});
        expect_same(mine, reference, "linear_s8");
    }
}

// |a| = |w| = 127 everywhere: the pair sums reach 32,258, the most that 16 bits must hold.
TEST_P(EveryTable, LinearS8DoesNotSaturate) {
    constexpr std::size_t kInner = 4096;
    for (const float sign : {1.0F, -1.0F}) {
        Aligned<float> x(kInner);
        Aligned<float> w(kInner);
        for (std::size_t i = 0; i < kInner; ++i) {
            x[i] = 127.0F;
            w[i] = 127.0F * sign;
        }
        Aligned<std::int8_t> packed(packed_s8_bytes(1, kInner));
        Aligned<float> scale(kPanel);
        Aligned<std::int32_t> sums(kPanel);
        pack_s8({w.data(), 1, kInner, kInner}, packed.data(), scale.data(), sums.data());
        const std::size_t stride = quantized_stride(*GetParam(), kInner);
        Aligned<std::int8_t> q(stride);
        Aligned<float> q_scale(1);
        const QuantizedRows rows{q.data(), q_scale.data(), 1, kInner, stride};
        GetParam()->quantize_rows({x.data(), 1, kInner, kInner}, rows);
        Aligned<float> y(1);
        GetParam()->linear_s8(rows, {packed.data(), scale.data(), sums.data(), 1, kInner}, {},
                              {0, 1}, {y.data(), 1, 1, 1});
        EXPECT_EQ(y[0], sign * 127.0F * 127.0F * static_cast<float>(kInner));
    }
}

TEST_P(EveryTable, QuantizesZerosAndMarksWhatIsNotFinite) {
    Aligned<float> x(3 * 5);
    x[5 + 2] = INFINITY;
    x[10 + 4] = NAN;
    const std::size_t stride = quantized_stride(*GetParam(), 5);
    Aligned<std::int8_t> q(3 * stride);
    Aligned<float> scale(3);
    const QuantizedRows rows{q.data(), scale.data(), 3, 5, stride};
    GetParam()->quantize_rows({x.data(), 3, 5, 5}, rows);
    EXPECT_EQ(scale[0], 0.0F);
    EXPECT_TRUE(std::isnan(scale[1]));
    EXPECT_TRUE(std::isnan(scale[2]));
    for (const int v : values_of(*GetParam(), rows)) {
        EXPECT_EQ(v, 0);
    }
}

TEST_P(EveryTable, ActivationsEqualRef) {
    Random random(3);
    for (const Activation kind :
         {Activation::kGeluErf, Activation::kGeluTanh, Activation::kRelu, Activation::kTanh}) {
        Aligned<float> x(1003);
        random.fill(x, 4.0F);
        x[0] = 0.0F;
        x[1] = -0.0F;
        x[2] = 200.0F;
        x[3] = -200.0F;
        Aligned<float> reference = x;
        GetParam()->activate(kind, x.data(), x.size());
        ref().activate(kind, reference.data(), reference.size());
        expect_same(x, reference, "activate");
    }
}

TEST_P(EveryTable, LayerNormEqualsRef) {
    Random random(4);
    for (std::size_t round = 0; round < 60; ++round) {
        const std::size_t m = random.size(1, 4);
        const std::size_t n = random.size(1, 70);
        Aligned<float> x(m * n);
        Aligned<float> residual(m * n);
        Aligned<float> gamma(n);
        Aligned<float> beta(n);
        for (Aligned<float>* v : {&x, &residual, &gamma, &beta}) {
            random.fill(*v, 3.0F);
        }
        Aligned<float> reference = x;
        const ConstMatrix more{round % 3 == 0 ? nullptr : residual.data(), m, n, n};
        const LayerNormArgs norm{gamma.data(), beta.data(), 1e-12F};
        GetParam()->add_layer_norm({x.data(), m, n, n}, more, norm);
        ref().add_layer_norm({reference.data(), m, n, n}, more, norm);
        expect_same(x, reference, "add_layer_norm");
    }
}

TEST_P(EveryTable, AttentionEqualsRef) {
    Random random(5);
    for (std::size_t round = 0; round < 60; ++round) {
        const std::size_t rows = random.size(1, 9);
        const std::size_t positions = random.size(1, 140);
        const std::size_t width = random.size(1, 80);
        Aligned<float> q(rows * width);
        Aligned<float> k(positions * width);
        Aligned<float> v(positions * width);
        for (Aligned<float>* x : {&q, &k, &v}) {
            random.fill(*x, 2.0F);
        }
        Aligned<float> scratch(attention_scratch(positions, width));
        Aligned<float> mine(rows * width);
        Aligned<float> reference(rows * width);
        AttentionArgs args{.q = {q.data(), rows, width, width},
                           .k = {k.data(), positions, width, width},
                           .v = {v.data(), positions, width, width},
                           .scale = 0.3F,
                           .scratch = scratch.data(),
                           .out = {mine.data(), rows, width, width}};
        GetParam()->attention(args);
        args.out.data = reference.data();
        ref().attention(args);
        expect_same(mine, reference, "attention");
    }
}

// The machine's tables, and the AMX products over emulated tiles where AVX-512 runs.
std::vector<const KernelTable*> tables_to_test() {
    std::vector<const KernelTable*> tables = supported_tables();
    static const KernelTable kEmulated = [] {
        KernelTable table = kAmxTable;
        table.name = "amx_emulated";
        table.linear_s8 = amx_emulated::linear_s8;
        return table;
    }();
    if (choose_table("avx512")) {
        tables.insert(tables.begin(), &kEmulated);
    }
    return tables;
}

INSTANTIATE_TEST_SUITE_P(Tables, EveryTable, ::testing::ValuesIn(tables_to_test()),
                         [](const auto& table) { return std::string(table.param->name); });

TEST(Ref, FunctionsAreAsGoodAsDocumented) {
    const FloatMode mode;
    for (float x = -12.0F; x < 12.0F; x += 0.0037F) {
        float gelu = x;
        ref().activate(Activation::kGeluErf, &gelu, 1);
        const double wide = x;
        EXPECT_NEAR(gelu, 0.5 * wide * (1.0 + std::erf(wide / std::sqrt(2.0))), 2e-6) << x;
        float tanh = x;
        ref().activate(Activation::kTanh, &tanh, 1);
        EXPECT_NEAR(tanh, std::tanh(wide), 3e-7) << x;
    }
}

TEST(ChooseTable, NamesWhatThisMachineRuns) {
    EXPECT_EQ((*choose_table("ref"))->name, "ref");
    EXPECT_EQ(*choose_table(""), supported_tables().front());
    const auto refused = choose_table("mmx");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::kBadInput);
    EXPECT_NE(refused.error().message.find("ref"), std::string::npos);
}

}  // namespace
}  // namespace tollgate::kernels
