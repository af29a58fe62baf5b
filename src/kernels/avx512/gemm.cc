// AVX-512 matrix products, six rows by four panels in registers: fp32 by chains of fma, int8 by
// VNNI on activations moved up by 128 (PackedS8::sums takes the 128 out again). Built with the
// flags of CMakeLists.txt; everything but the two entry points is in an anonymous namespace.
#include <immintrin.h>

#include "kernels/avx512/entry.h"
#include "kernels/constants.h"

namespace tollgate::kernels::avx512 {
namespace {

#include "kernels/avx512/math.inc"

constexpr std::size_t kRowBlock = 6;
constexpr std::size_t kPanelBlock = 4;

struct OutTile {
    const Finish& finish;
    float* y = nullptr;
    std::size_t y_stride = 0;
    std::size_t first = 0;  // output of the first panel's first lane
    std::size_t n = 0;      // outputs that exist
};

inline __m512 bias_of(const OutTile& out, std::size_t panel) {
    const std::size_t at = out.first + panel * 16;
    return out.finish.bias == nullptr
               ? _mm512_setzero_ps()
               : _mm512_maskz_loadu_ps(first_lanes(out.n - at), out.finish.bias + at);
}
inline void put(const OutTile& out, std::size_t row, std::size_t panel, __m512 v) {
    const std::size_t at = out.first + panel * 16;
    float* to = out.y + row * out.y_stride + at;
    v = activated16(out.finish.activation, v);
    _mm512_mask_storeu_ps(to, first_lanes(out.n - at), v);
}

struct F32Tile {
    const float* x = nullptr;
    std::size_t x_stride = 0;
    const float* w = nullptr;
    std::size_t k = 0;
};

template <std::size_t kRows, std::size_t kPanels>
inline void f32_tile(const F32Tile& t, const OutTile& out) {
    Chains<kRows, kPanels> chains;
    chains.run(t.x, t.x_stride, t.w, t.k * 16, t.k);
    for (std::size_t p = 0; p < kPanels; ++p) {
        const __m512 bias = bias_of(out, p);
        for (std::size_t r = 0; r < kRows; ++r) {
            const __m512 sum = chains.sum[r][p];
            put(out, r, p, out.finish.bias == nullptr ? sum : _mm512_add_ps(sum, bias));
        }
    }
}

struct S8Tile {
    const std::uint8_t* x = nullptr;
    std::size_t x_stride = 0;
    const float* x_scale = nullptr;
    const std::int8_t* w = nullptr;
    const float* w_scale = nullptr;        // of this tile's first output
    const std::int32_t* w_sums = nullptr;  // likewise
    std::size_t groups = 0;
    const std::int8_t* next = nullptr;  // bytes to fetch meanwhile, a cache line a group
};

template <std::size_t kRows, std::size_t kPanels>
inline void s8_tile(const S8Tile& t, const OutTile& out) {
    __m512i sum[kRows][kPanels];
#pragma GCC unroll 4
    for (std::size_t p = 0; p < kPanels; ++p) {
        const __m512i lifted =
            _mm512_slli_epi32(_mm512_loadu_si512(t.w_sums + p * 16), 7);  // 128 a row of w
        const __m512i start = _mm512_sub_epi32(_mm512_setzero_si512(), lifted);
#pragma GCC unroll 8
        for (std::size_t r = 0; r < kRows; ++r) {
            sum[r][p] = start;
        }
    }
    for (std::size_t g = 0; g < t.groups; ++g) {
        __m512i column[kPanels];
        _mm_prefetch(reinterpret_cast<const char*>(t.next + g * 64), _MM_HINT_T1);
#pragma GCC unroll 4
        for (std::size_t p = 0; p < kPanels; ++p) {
            column[p] = _mm512_load_si512(t.w + (p * t.groups + g) * 64);
        }
#pragma GCC unroll 8
        for (std::size_t r = 0; r < kRows; ++r) {
            int four = 0;
            __builtin_memcpy(&four, t.x + r * t.x_stride + g * 4, sizeof four);
            const __m512i x = _mm512_set1_epi32(four);
#pragma GCC unroll 4
            for (std::size_t p = 0; p < kPanels; ++p) {
                sum[r][p] = _mm512_dpbusd_epi32(sum[r][p], x, column[p]);
            }
        }
    }
    // Through memory: an array that a loop indexes would keep the sums out of registers above.
    alignas(64) std::int32_t done[kRows][kPanels][16];
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (std::size_t p = 0; p < kPanels; ++p) {
            _mm512_store_si512(done[r][p], sum[r][p]);
        }
    }
    for (std::size_t p = 0; p < kPanels; ++p) {
        const __m512 bias = bias_of(out, p);
        const __m512 scale = _mm512_loadu_ps(t.w_scale + p * 16);
        for (std::size_t r = 0; r < kRows; ++r) {
            const __m512 both = _mm512_mul_ps(_mm512_set1_ps(t.x_scale[r]), scale);
            const __m512 value = _mm512_cvtepi32_ps(_mm512_load_si512(done[r][p]));
            put(out, r, p, _mm512_fmadd_ps(value, both, bias));
        }
    }
}

// Some rows of one block of panels.
template <std::size_t kPanels>
inline void s8_rows(std::size_t rows, const S8Tile& t, const OutTile& out) {
    switch (rows) {
        case 1:
            return s8_tile<1, kPanels>(t, out);
        case 2:
            return s8_tile<2, kPanels>(t, out);
        case 3:
            return s8_tile<3, kPanels>(t, out);
        case 4:
            return s8_tile<4, kPanels>(t, out);
        case 5:
            return s8_tile<5, kPanels>(t, out);
        default:
            return s8_tile<kRowBlock, kPanels>(t, out);
    }
}

template <std::size_t kPanels>
inline void f32_rows(std::size_t rows, const F32Tile& t, const OutTile& out) {
    switch (rows) {
        case 1:
            return f32_tile<1, kPanels>(t, out);
        case 2:
            return f32_tile<2, kPanels>(t, out);
        case 3:
            return f32_tile<3, kPanels>(t, out);
        case 4:
            return f32_tile<4, kPanels>(t, out);
        case 5:
            return f32_tile<5, kPanels>(t, out);
        default:
            return f32_tile<kRowBlock, kPanels>(t, out);
    }
}

template <std::size_t kPanels>
inline void s8_block(const QuantizedRows& x, const PackedS8& w, const Finish& finish,
                     std::size_t panel, const Matrix& y) {
    const std::size_t groups = groups_of(w.k);
    const std::int8_t* here = w.data + panel * groups * 64;
    const std::int8_t* last = w.data + panels_of(w.n) * groups * 64 - groups * 64;
    OutTile out{.finish = finish, .y = y.data, .y_stride = y.stride, .first = panel * 16, .n = w.n};
    S8Tile tile{.x = reinterpret_cast<const std::uint8_t*>(x.data),
                .x_stride = x.stride,
                .x_scale = x.scale,
                .w = here,
                .w_scale = w.scale + panel * 16,
                .w_sums = w.sums + panel * 16,
                .groups = groups,
                .next = here};
    for (std::size_t r = 0; r < x.rows; r += kRowBlock) {
        // While six rows are multiplied, one of the next block's panels comes in.
        const std::int8_t* next = here + (kPanels + r / kRowBlock) * groups * 64;
        tile.next = r / kRowBlock < kPanels && next < last ? next : here;
        const std::size_t rows = x.rows - r < kRowBlock ? x.rows - r : kRowBlock;
        s8_rows<kPanels>(rows, tile, out);
        tile.x += kRowBlock * x.stride;
        tile.x_scale += kRowBlock;
        out.y += kRowBlock * y.stride;
    }
}

template <std::size_t kPanels>
inline void f32_block(const ConstMatrix& x, const PackedF32& w, const Finish& finish,
                      std::size_t panel, const Matrix& y) {
    OutTile out{.finish = finish, .y = y.data, .y_stride = y.stride, .first = panel * 16, .n = w.n};
    F32Tile tile{.x = x.data, .x_stride = x.stride, .w = w.data + panel * w.k * 16, .k = w.k};
    for (std::size_t r = 0; r < x.rows; r += kRowBlock) {
        const std::size_t rows = x.rows - r < kRowBlock ? x.rows - r : kRowBlock;
        f32_rows<kPanels>(rows, tile, out);
        tile.x += kRowBlock * x.stride;
        out.y += kRowBlock * y.stride;
    }
}

}  // namespace

void linear_f32(const ConstMatrix& x, const PackedF32& w, const Finish& finish, PanelRange panels,
                const Matrix& y) {
    std::size_t p = panels.begin;
    for (; p + kPanelBlock <= panels.end; p += kPanelBlock) {
        f32_block<kPanelBlock>(x, w, finish, p, y);
    }
    for (; p < panels.end; ++p) {
        f32_block<1>(x, w, finish, p, y);
    }
}

void linear_s8(const QuantizedRows& x, const PackedS8& w, const Finish& finish, PanelRange panels,
               const Matrix& y) {
    std::size_t p = panels.begin;
    for (; p + kPanelBlock <= panels.end; p += kPanelBlock) {
        s8_block<kPanelBlock>(x, w, finish, p, y);
    }
    for (; p < panels.end; ++p) {
        s8_block<1>(x, w, finish, p, y);
    }
}

}  // namespace tollgate::kernels::avx512
