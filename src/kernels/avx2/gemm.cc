// AVX2 matrix products: fp32 by chains of fma; int8 by 16-bit multiply-add, which is exact for any
// pair of bytes and two operations for sixteen products (vpmaddubsw needs its weights sign-moved
// row by row: three on the same two ports). Activations are kept as 16-bit integers, weights are
// widened once per six rows. Built with -mavx2 -mfma; everything but the two entry points is in an
// anonymous namespace.
#include <immintrin.h>

#include "kernels/avx2/entry.h"
#include "kernels/constants.h"

namespace tollgate::kernels::avx2 {
namespace {

#include "kernels/avx2/math.inc"

constexpr std::size_t kRowBlock = 6;

struct OutTile {
    const Finish& finish;
    float* y = nullptr;
    std::size_t y_stride = 0;
    std::size_t first = 0;  // output of lane 0
    std::size_t n = 0;      // outputs that exist
};

// Eight lanes at `at`; zeros past n.
inline __m256 load8(const float* from, std::size_t at, std::size_t n) {
    if (from == nullptr || at >= n) {
        return _mm256_setzero_ps();
    }
    return n - at >= 8 ? _mm256_loadu_ps(from + at)
                       : _mm256_maskload_ps(from + at, first_lanes(n - at));
}
inline void put8(const OutTile& out, std::size_t row, std::size_t at, __m256 v) {
    if (at >= out.n) {
        return;
    }
    v = activated8(out.finish.activation, v);
    float* to = out.y + row * out.y_stride + at;
    if (out.n - at >= 8) {
        _mm256_storeu_ps(to, v);
    } else {
        _mm256_maskstore_ps(to, first_lanes(out.n - at), v);
    }
}

struct F32Tile {
    const float* x = nullptr;
    std::size_t x_stride = 0;
    const float* w = nullptr;  // one panel: [k][16]
    std::size_t k = 0;
};

// kRows rows of x times one panel: 2 * kRows chains of eight outputs in registers.
template <std::size_t kRows>
inline void f32_tile(const F32Tile& t, const OutTile& out) {
    __m256 low[kRows];
    __m256 high[kRows];
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
        low[r] = _mm256_setzero_ps();
        high[r] = _mm256_setzero_ps();
    }
    for (std::size_t k = 0; k < t.k; ++k) {
        const __m256 w0 = _mm256_load_ps(t.w + k * 16);
        const __m256 w1 = _mm256_load_ps(t.w + k * 16 + 8);
#pragma GCC unroll 8
        for (std::size_t r = 0; r < kRows; ++r) {
            const __m256 x = _mm256_broadcast_ss(t.x + r * t.x_stride + k);
            low[r] = _mm256_fmadd_ps(x, w0, low[r]);
            high[r] = _mm256_fmadd_ps(x, w1, high[r]);
        }
    }
    // Through memory: an array that a loop indexes would keep the sums out of registers above.
    alignas(32) float done[kRows][16];
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
        _mm256_store_ps(done[r], low[r]);
        _mm256_store_ps(done[r] + 8, high[r]);
    }
    const bool biased = out.finish.bias != nullptr;
    for (std::size_t half = 0; half < 2; ++half) {
        const std::size_t at = out.first + half * 8;
        const __m256 bias = load8(out.finish.bias, at, out.n);
        for (std::size_t r = 0; r < kRows; ++r) {
            const __m256 sum = _mm256_load_ps(done[r] + half * 8);
            put8(out, r, at, biased ? _mm256_add_ps(sum, bias) : sum);
        }
    }
}

struct S8Tile {
    const std::int16_t* x = nullptr;  // groups of four values
    std::size_t x_stride = 0;         // in values
    const float* x_scale = nullptr;
    // eight outputs of a panel: [groups][16][4], the first 8 or last
    const std::int8_t* w = nullptr;
    const float* w_scale = nullptr;  // eight values
    std::size_t groups = 0;
};

// kRows rows of x times eight outputs. Lane 2j of `left` holds output j's products 0 and 1 of each
// group, lane 2j + 1 its products 2 and 3 (outputs 0 to 3), `right` the same of outputs 4 to 7.
template <std::size_t kRows>
inline void s8_tile(const S8Tile& t, const OutTile& out) {
    __m256i left[kRows];
    __m256i right[kRows];
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
        left[r] = _mm256_setzero_si256();
        right[r] = _mm256_setzero_si256();
    }
    for (std::size_t g = 0; g < t.groups; ++g) {
        const auto* from = reinterpret_cast<const __m128i*>(t.w + g * 64);
        const __m256i w0 = _mm256_cvtepi8_epi16(_mm_load_si128(from));
        const __m256i w1 = _mm256_cvtepi8_epi16(_mm_load_si128(from + 1));
#pragma GCC unroll 8
        for (std::size_t r = 0; r < kRows; ++r) {
            long long four = 0;
            __builtin_memcpy(&four, t.x + r * t.x_stride + g * 4, sizeof four);
            const __m256i x = _mm256_set1_epi64x(four);
            left[r] = _mm256_add_epi32(left[r], _mm256_madd_epi16(x, w0));
            right[r] = _mm256_add_epi32(right[r], _mm256_madd_epi16(x, w1));
            // Row after row: else all twelve products come before the first sum, and spill.
            asm volatile("" : "+x"(left[r]), "+x"(right[r]));
        }
    }
    // Through memory: an array that a loop indexes would keep the sums out of registers above.
    alignas(32) std::int32_t done[kRows][8];
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
        // hadd adds the neighbours within 128-bit halves: outputs 0 1 4 5 | 2 3 6 7.
        const __m256i pairs = _mm256_hadd_epi32(left[r], right[r]);
        _mm256_store_si256(reinterpret_cast<__m256i*>(done[r]),
                           _mm256_permute4x64_epi64(pairs, 0xD8));
    }
    const __m256 scale = _mm256_loadu_ps(t.w_scale);
    const __m256 bias = load8(out.finish.bias, out.first, out.n);
    for (std::size_t r = 0; r < kRows; ++r) {
        const __m256i sum = _mm256_load_si256(reinterpret_cast<const __m256i*>(done[r]));
        const __m256 both = _mm256_mul_ps(_mm256_set1_ps(t.x_scale[r]), scale);
        put8(out, r, out.first, _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), both, bias));
    }
}

inline void f32_rows(std::size_t rows, const F32Tile& t, const OutTile& out) {
    switch (rows) {
        case 1:
            return f32_tile<1>(t, out);
        case 2:
            return f32_tile<2>(t, out);
        case 3:
            return f32_tile<3>(t, out);
        case 4:
            return f32_tile<4>(t, out);
        case 5:
            return f32_tile<5>(t, out);
        default:
            return f32_tile<kRowBlock>(t, out);
    }
}

inline void s8_rows(std::size_t rows, const S8Tile& t, const OutTile& out) {
    switch (rows) {
        case 1:
            return s8_tile<1>(t, out);
        case 2:
            return s8_tile<2>(t, out);
        case 3:
            return s8_tile<3>(t, out);
        case 4:
            return s8_tile<4>(t, out);
        case 5:
            return s8_tile<5>(t, out);
        default:
            return s8_tile<kRowBlock>(t, out);
    }
}

}  // namespace

void linear_f32(const ConstMatrix& x, const PackedF32& w, const Finish& finish, PanelRange panels,
                const Matrix& y) {
    for (std::size_t p = panels.begin; p < panels.end; ++p) {
        F32Tile tile{.x = x.data, .x_stride = x.stride, .w = w.data + p * w.k * 16, .k = w.k};
        OutTile out{.finish = finish, .y = y.data, .y_stride = y.stride, .first = p * 16, .n = w.n};
        for (std::size_t r = 0; r < x.rows; r += kRowBlock) {
            f32_rows(x.rows - r < kRowBlock ? x.rows - r : kRowBlock, tile, out);
            tile.x += kRowBlock * x.stride;
            out.y += kRowBlock * y.stride;
        }
    }
}

void linear_s8(const QuantizedRows& x, const PackedS8& w, const Finish& finish, PanelRange panels,
               const Matrix& y) {
    const std::size_t groups = groups_of(w.k);
    const std::size_t stride = x.stride / sizeof(std::int16_t);
    for (std::size_t half = panels.begin * 2; half < panels.end * 2; ++half) {
        S8Tile tile{.x = reinterpret_cast<const std::int16_t*>(x.data),
                    .x_stride = stride,
                    .x_scale = x.scale,
                    .w = w.data + half / 2 * groups * 64 + half % 2 * 32,
                    .w_scale = w.scale + half * 8,
                    .groups = groups};
        OutTile out{
            .finish = finish, .y = y.data, .y_stride = y.stride, .first = half * 8, .n = w.n};
        for (std::size_t r = 0; r < x.rows; r += kRowBlock) {
            s8_rows(x.rows - r < kRowBlock ? x.rows - r : kRowBlock, tile, out);
            tile.x += kRowBlock * stride;
            tile.x_scale += kRowBlock;
            out.y += kRowBlock * y.stride;
        }
    }
}

}  // namespace tollgate::kernels::avx2
