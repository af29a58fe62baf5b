// AVX2 matrix products: fp32 by chains of fma, int8 by multiply-add on |a| and sign-moved w. Built
// with -mavx2 -mfma; everything but the two entry points is in an anonymous namespace.
#include <immintrin.h>

#include "kernels/avx2/entry.h"

namespace tollgate::kernels::avx2 {
namespace {

struct F32Tile {
    const float* x = nullptr;
    std::size_t x_stride = 0;
    const float* w = nullptr;  // one panel: [k][16]
    std::size_t k = 0;
    const float* bias = nullptr;  // 16 values, or null
    float* y = nullptr;
    std::size_t y_stride = 0;
    std::size_t width = 16;  // outputs of this panel that exist
};

inline void store16(float* to, __m256 low, __m256 high, std::size_t width) {
    if (width == 16) {
        _mm256_storeu_ps(to, low);
        _mm256_storeu_ps(to + 8, high);
        return;
    }
    alignas(32) float all[16];
    _mm256_store_ps(all, low);
    _mm256_store_ps(all + 8, high);
    for (std::size_t i = 0; i < width; ++i) {
        to[i] = all[i];
    }
}

// kRows rows of x times one panel: 2 * kRows chains of eight outputs in registers.
template <std::size_t kRows>
inline void f32_tile(const F32Tile& t) {
    __m256 low[kRows];
    __m256 high[kRows];
    for (std::size_t r = 0; r < kRows; ++r) {
        low[r] = _mm256_setzero_ps();
        high[r] = _mm256_setzero_ps();
    }
    for (std::size_t k = 0; k < t.k; ++k) {
        const __m256 w0 = _mm256_load_ps(t.w + k * 16);
        const __m256 w1 = _mm256_load_ps(t.w + k * 16 + 8);
        for (std::size_t r = 0; r < kRows; ++r) {
            const __m256 x = _mm256_broadcast_ss(t.x + r * t.x_stride + k);
            low[r] = _mm256_fmadd_ps(x, w0, low[r]);
            high[r] = _mm256_fmadd_ps(x, w1, high[r]);
        }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
        if (t.bias != nullptr) {
            low[r] = _mm256_add_ps(low[r], _mm256_loadu_ps(t.bias));
            high[r] = _mm256_add_ps(high[r], _mm256_loadu_ps(t.bias + 8));
        }
        store16(t.y + r * t.y_stride, low[r], high[r], t.width);
    }
}

// The bias of one panel as 16 values, zeros past the end; null when there is none.
inline const float* panel_bias(const float* bias, std::size_t first, std::size_t width,
                               float* room) {
    if (bias == nullptr || width == 16) {
        return bias == nullptr ? nullptr : bias + first;
    }
    for (std::size_t i = 0; i < 16; ++i) {
        room[i] = i < width ? bias[first + i] : 0.0F;
    }
    return room;
}

inline std::size_t width_of(std::size_t n, std::size_t panel) {
    return n - panel * 16 < 16 ? n - panel * 16 : 16;
}

// Four rows of quantized x times one panel.
struct S8Tile {
    const std::int8_t* x = nullptr;
    std::size_t x_stride = 0;
    const std::int8_t* w = nullptr;  // one panel: [groups][16][4]
    std::size_t groups = 0;
};

template <std::size_t kRows>
inline void s8_tile(const S8Tile& t, __m256i (&low)[kRows], __m256i (&high)[kRows]) {
    const __m256i ones = _mm256_set1_epi16(1);
    for (std::size_t r = 0; r < kRows; ++r) {
        low[r] = _mm256_setzero_si256();
        high[r] = _mm256_setzero_si256();
    }
    for (std::size_t g = 0; g < t.groups; ++g) {
        const auto* from = reinterpret_cast<const __m256i*>(t.w + g * 64);
        const __m256i w0 = _mm256_load_si256(from);
        const __m256i w1 = _mm256_load_si256(from + 1);
        for (std::size_t r = 0; r < kRows; ++r) {
            const auto* at = t.x + r * t.x_stride + g * 4;
            int four = 0;
            __builtin_memcpy(&four, at, sizeof four);
            const __m256i x = _mm256_set1_epi32(four);
            const __m256i size = _mm256_abs_epi8(x);
            low[r] = _mm256_add_epi32(
                low[r],
                _mm256_madd_epi16(_mm256_maddubs_epi16(size, _mm256_sign_epi8(w0, x)), ones));
            high[r] = _mm256_add_epi32(
                high[r],
                _mm256_madd_epi16(_mm256_maddubs_epi16(size, _mm256_sign_epi8(w1, x)), ones));
        }
    }
}

struct S8Out {
    const float* x_scale = nullptr;
    const float* w_scale = nullptr;  // 16 values
    const float* bias = nullptr;     // 16 values, or null
    float* y = nullptr;
    std::size_t y_stride = 0;
    std::size_t width = 16;
};

template <std::size_t kRows>
inline void s8_rows(const S8Tile& t, const S8Out& out) {
    __m256i low[kRows];
    __m256i high[kRows];
    s8_tile<kRows>(t, low, high);
    const __m256 zero = _mm256_setzero_ps();
    const __m256 b0 = out.bias == nullptr ? zero : _mm256_loadu_ps(out.bias);
    const __m256 b1 = out.bias == nullptr ? zero : _mm256_loadu_ps(out.bias + 8);
    for (std::size_t r = 0; r < kRows; ++r) {
        const __m256 scale = _mm256_set1_ps(out.x_scale[r]);
        const __m256 s0 = _mm256_mul_ps(scale, _mm256_loadu_ps(out.w_scale));
        const __m256 s1 = _mm256_mul_ps(scale, _mm256_loadu_ps(out.w_scale + 8));
        store16(out.y + r * out.y_stride, _mm256_fmadd_ps(_mm256_cvtepi32_ps(low[r]), s0, b0),
                _mm256_fmadd_ps(_mm256_cvtepi32_ps(high[r]), s1, b1), out.width);
    }
}

}  // namespace

void linear_f32(const ConstMatrix& x, const PackedF32& w, const float* bias, PanelRange panels,
                const Matrix& y) {
    for (std::size_t p = panels.begin; p < panels.end; ++p) {
        float room[16];
        F32Tile tile{.x = x.data,
                     .x_stride = x.stride,
                     .w = w.data + p * w.k * 16,
                     .k = w.k,
                     .bias = nullptr,
                     .y = y.data + p * 16,
                     .y_stride = y.stride,
                     .width = width_of(w.n, p)};
        tile.bias = panel_bias(bias, p * 16, tile.width, room);
        std::size_t r = 0;
        for (; r + 6 <= x.rows; r += 6) {
            f32_tile<6>(tile);
            tile.x += 6 * x.stride;
            tile.y += 6 * y.stride;
        }
        for (; r + 2 <= x.rows; r += 2) {
            f32_tile<2>(tile);
            tile.x += 2 * x.stride;
            tile.y += 2 * y.stride;
        }
        if (r < x.rows) {
            f32_tile<1>(tile);
        }
    }
}

void linear_s8(const QuantizedRows& x, const PackedS8& w, const float* bias, PanelRange panels,
               const Matrix& y) {
    const std::size_t groups = (w.k + 3) / 4;
    for (std::size_t p = panels.begin; p < panels.end; ++p) {
        float room[16];
        const std::size_t width = width_of(w.n, p);
        S8Tile tile{
            .x = x.data, .x_stride = x.stride, .w = w.data + p * groups * 64, .groups = groups};
        S8Out out{.x_scale = x.scale,
                  .w_scale = w.scale + p * 16,
                  .bias = panel_bias(bias, p * 16, width, room),
                  .y = y.data + p * 16,
                  .y_stride = y.stride,
                  .width = width};
        std::size_t r = 0;
        for (; r + 4 <= x.rows; r += 4) {
            s8_rows<4>(tile, out);
            tile.x += 4 * x.stride;
            out.x_scale += 4;
            out.y += 4 * y.stride;
        }
        for (; r < x.rows; ++r) {
            s8_rows<1>(tile, out);
            tile.x += x.stride;
            ++out.x_scale;
            out.y += y.stride;
        }
    }
}

}  // namespace tollgate::kernels::avx2
