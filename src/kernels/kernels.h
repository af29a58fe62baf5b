// The whole compute surface of the engine: one table of functions per instruction set.
//
// Add a kernel here, write ref.cc first, then the fast ones; kernels_test.cc runs every table the
// machine supports against ref. Nothing outside kernels/ may include <immintrin.h> or ask which
// CPU this is. docs/numerics.md says which operations in which order; all tables give equal bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tollgate::kernels {

// The argument blocks are plain structs without members of their own: a file compiled for one
// instruction set must not instantiate code that others share (tools/check_isa_objects.sh).
// Matrices are row-major, rows `stride` elements apart; lengths are in elements.

// Weights of one linear layer, packed by pack_f32(): n output features, k input features, panels of
// 16 outputs, [n/16][k][16], the last panel filled up with zeros.
struct PackedF32 {
    const float* data = nullptr;  // 64-byte aligned
    std::size_t n = 0;
    std::size_t k = 0;
};

// Weights in [-127, 127] with one scale per output, packed by pack_s8(): [n/16][k/4][16][4], k
// filled up to 64 and n to 16 with zeros. One form for every table: sixteen groups are one B tile
// of AMX.
struct PackedS8 {
    const std::int8_t* data = nullptr;   // 64-byte aligned
    const float* scale = nullptr;        // n filled up to 16
    const std::int32_t* sums = nullptr;  // n filled up to 16: each output's weights added up
    std::size_t n = 0;
    std::size_t k = 0;
};

struct ConstMatrix {
    const float* data = nullptr;
    std::size_t rows = 0;
    std::size_t cols = 0;
    std::size_t stride = 0;
};
struct Matrix {
    float* data = nullptr;
    std::size_t rows = 0;
    std::size_t cols = 0;
    std::size_t stride = 0;
};

// Activations in [-127, 127], one scale per row, in the table's own form: `quantized_size` bytes a
// value, `zero_byte` added to each. Rows are `stride` bytes apart, quantized_stride() or more; the
// places past `cols` hold values of 0.
struct QuantizedRows {
    std::int8_t* data = nullptr;
    float* scale = nullptr;
    std::size_t rows = 0;
    std::size_t cols = 0;
    std::size_t stride = 0;
};

// Panels [begin, end) of 16 output features: how threads share one layer.
struct PanelRange {
    std::size_t begin = 0;
    std::size_t end = 0;
};

// One head of one sequence.
struct AttentionArgs {
    ConstMatrix q;             // query rows x head width, width a multiple of 1, at most 256
    ConstMatrix k;             // positions x head width
    ConstMatrix v;             // positions x head width
    float scale = 1.0F;        // 1 / sqrt(head width)
    float* scratch = nullptr;  // attention_scratch() floats, 64-byte aligned
    Matrix out;                // query rows x head width
};

struct LayerNormArgs {
    const float* gamma = nullptr;
    const float* beta = nullptr;
    float epsilon = 1e-12F;
};

enum class Activation : std::uint8_t { kNone, kGeluErf, kGeluTanh, kRelu, kTanh };

// What a product does to each sum before it is stored.
struct Finish {
    const float* bias = nullptr;  // n values, or null for none
    Activation activation = Activation::kNone;
};

// A loop over registers alone: what the arithmetic units would do if data were free.
struct PeakLoop {
    void (*run)(std::size_t rounds) = nullptr;
    std::size_t work = 0;  // multiply-adds a round
};

struct KernelTable {
    std::string_view name;  // "ref", "avx2": logged at start-up, part of each decision's provenance
    // The form of QuantizedRows. Added to each value: 128 where VNNI wants unsigned bytes.
    std::uint8_t zero_byte = 0;
    std::uint8_t quantized_size = 1;  // bytes a value: 2 where it is a 16-bit integer

    // y[r, j] = activation(chain over k of x[r, k] * w[j, k], + bias[j]) for the outputs of
    // `panels`.
    //
    //   x      m x k   finite
    //   y      m x n   must not overlap x
    //
    // Exact:  same bits as ref.
    // Cost:   2*m*n*k operations; w read once per 6 rows of x; no allocation, no threads.
    // Errors: none; shapes are the caller's promise.
    void (*linear_f32)(const ConstMatrix& x, const PackedF32& w, const Finish& finish,
                       PanelRange panels, const Matrix& y);

    // out.data[r, c] = round(x[r, c] * 127 / peak of row r) + zero_byte. Shapes: out.rows = x.rows.
    // Exact: same bits as ref. Source: docs/numerics.md; Jacob et al. 2018, arXiv 1712.05877, 2.
    void (*quantize_rows)(const ConstMatrix& x, const QuantizedRows& out);

    // y = activation(fma(float(int32 sum of x.q * w.q), x.scale * w.scale, bias)) for the outputs
    // of `panels`. Exact: same bits as ref. Cost: 2*m*n*k int8 operations, w read once per 4 rows
    // of x (avx512: 6).
    void (*linear_s8)(const QuantizedRows& x, const PackedS8& w, const Finish& finish,
                      PanelRange panels, const Matrix& y);

    // In place, each element. Exact: same bits as ref.
    void (*activate)(Activation kind, float* x, std::size_t n);

    // x[r] = LayerNorm(x[r] + residual[r]) in place; residual.data null: of x[r] alone.
    // Exact: same bits as ref. Source: Ba et al. 2016, arXiv 1607.06450.
    void (*add_layer_norm)(const Matrix& x, const ConstMatrix& residual, const LayerNormArgs& norm);

    // out = softmax(scale * q k^T) v. Exact: same bits as ref. Cost: 4*rows*positions*width.
    // Source: Vaswani et al. 2017, arXiv 1706.03762, 3.2.1.
    void (*attention)(const AttentionArgs& args);

    // For `tollgate kernels` and shares of the peak; empty where nobody asks (ref).
    PeakLoop peak_s8;
    PeakLoop peak_f32;
};

constexpr std::size_t kPanel = 16;
// Inner sizes of int8 products are filled up to this.
constexpr std::size_t kInnerStep = 64;
constexpr std::size_t groups_of(std::size_t k) {
    return (k + kInnerStep - 1) / kInnerStep * (kInnerStep / 4);
}
constexpr std::size_t panels_of(std::size_t n) {
    return (n + kPanel - 1) / kPanel;
}

// Bytes from one row of QuantizedRows to the next.
constexpr std::size_t quantized_stride(const KernelTable& table, std::size_t cols) {
    return groups_of(cols) * 4 * table.quantized_size;
}

// Floats of scratch that attention() needs for that many positions of that head width.
std::size_t attention_scratch(std::size_t positions, std::size_t width);

// Sizes and bytes of packed weights. w: n x k, row-major, one row per output feature.
std::size_t packed_f32_floats(std::size_t n, std::size_t k);
void pack_f32(const ConstMatrix& w, float* out);
std::size_t packed_s8_bytes(std::size_t n, std::size_t k);
// Quantizes and packs; scale and sums have room for 16 * panels_of(n).
void pack_s8(const ConstMatrix& w, std::int8_t* out, float* scale, std::int32_t* sums);

// One table the program knows, and whether this machine runs it.
struct TableChoice {
    const KernelTable* table = nullptr;  // null when it cannot run here
    std::string_view name;
    std::string reason;  // "avx2 and fma, enabled by the system", "the processor has no avx2"
};
// Every table that was built, best first; the last is ref, which always runs.
std::vector<TableChoice> known_tables();
// Those that run here, best first.
std::vector<const KernelTable*> supported_tables();
// The best table, or the one the operator named (kBadInput with the names this machine runs).
// Called once at start-up; passed down by reference.
Result<const KernelTable*> choose_table(std::string_view wanted);

// Rounding mode and flush-to-zero as docs/numerics.md wants them, for the calling thread; put back
// at the end of the scope.
class FloatMode {
  public:
    FloatMode();
    ~FloatMode();
    FloatMode(const FloatMode&) = delete;
    FloatMode& operator=(const FloatMode&) = delete;

  private:
    std::uint32_t before_;
};

}  // namespace tollgate::kernels
