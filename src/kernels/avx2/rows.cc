// AVX2 row operations: quantize, activations, LayerNorm. Built with -mavx2 -mfma; everything but
// the entry points is in an anonymous namespace.
#include <immintrin.h>

#include "kernels/avx2/entry.h"
#include "kernels/constants.h"

namespace tollgate::kernels::avx2 {
namespace {

#include "kernels/avx2/math.inc"

inline __m256 abs8(__m256 x) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), x);
}

// The row's peak; false when a value is not finite.
inline bool peak_of(const float* x, std::size_t n, float& peak) {
    const __m256 most = _mm256_set1_ps(3.402823466e+38F);
    __m256 best = _mm256_setzero_ps();
    __m256 bad = _mm256_setzero_ps();
    for (std::size_t c = 0; c < n; c += 8) {
        const __m256 v =
            n - c >= 8 ? _mm256_loadu_ps(x + c) : _mm256_maskload_ps(x + c, first_lanes(n - c));
        const __m256 size = abs8(v);
        bad = _mm256_or_ps(bad, _mm256_cmp_ps(size, most, _CMP_NLE_UQ));
        best = _mm256_max_ps(best, size);
    }
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(best), _mm256_extractf128_ps(best, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    peak = _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
    return _mm256_movemask_ps(bad) == 0;
}

inline __m256i quantized8(__m256 v, __m256 step) {
    const __m256i q = _mm256_cvtps_epi32(_mm256_mul_ps(v, step));
    return _mm256_min_epi32(_mm256_max_epi32(q, _mm256_set1_epi32(-127)), _mm256_set1_epi32(127));
}

// Values as 16-bit integers: what the multiply-add takes (gemm.cc).
inline void quantize_row(const float* in, std::size_t n, float step, std::int16_t* to) {
    const __m256 steps = _mm256_set1_ps(step);
    for (std::size_t c = 0; c < n; c += 8) {
        const bool whole = n - c >= 8;
        const __m256 v =
            whole ? _mm256_loadu_ps(in + c) : _mm256_maskload_ps(in + c, first_lanes(n - c));
        const __m256i q = quantized8(v, steps);
        const __m128i half =
            _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
        if (whole) {
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to + c), half);
        } else {
            alignas(16) std::int16_t last[8];
            _mm_store_si128(reinterpret_cast<__m128i*>(last), half);
            for (std::size_t i = c; i < n; ++i) {
                to[i] = last[i - c];
            }
        }
    }
}

// Eight values at c; zeros past n, so that a lane that has none is left as it is.
inline __m256 load_some(const float* x, std::size_t c, std::size_t n) {
    if (c >= n) {
        return _mm256_setzero_ps();
    }
    return n - c >= 8 ? _mm256_loadu_ps(x + c) : _mm256_maskload_ps(x + c, first_lanes(n - c));
}
inline void store_some(float* x, std::size_t c, std::size_t n, __m256 v) {
    if (c >= n) {
        return;
    }
    if (n - c >= 8) {
        _mm256_storeu_ps(x + c, v);
    } else {
        _mm256_maskstore_ps(x + c, first_lanes(n - c), v);
    }
}

// x += residual; the sum of x.
inline float add_and_sum(float* x, const float* residual, std::size_t n) {
    __m256 low = _mm256_setzero_ps();
    __m256 high = _mm256_setzero_ps();
    for (std::size_t c = 0; c < n; c += 16) {
        __m256 a = load_some(x, c, n);
        __m256 b = load_some(x, c + 8, n);
        if (residual != nullptr) {
            a = _mm256_add_ps(a, load_some(residual, c, n));
            b = _mm256_add_ps(b, load_some(residual, c + 8, n));
            store_some(x, c, n, a);
            store_some(x, c + 8, n, b);
        }
        low = _mm256_add_ps(low, a);
        high = _mm256_add_ps(high, b);
    }
    return tree_sum(low, high);
}

// x -= mean; the sum of squares of x. A lane past n holds -mean and must not count.
inline float centre_and_square(float* x, float mean, std::size_t n) {
    const __m256 centre = _mm256_set1_ps(mean);
    __m256 low = _mm256_setzero_ps();
    __m256 high = _mm256_setzero_ps();
    for (std::size_t c = 0; c < n; c += 16) {
        __m256 a = _mm256_sub_ps(load_some(x, c, n), centre);
        __m256 b = _mm256_sub_ps(load_some(x, c + 8, n), centre);
        if (n - c < 16) {
            a = _mm256_and_ps(a, _mm256_castsi256_ps(first_lanes(n - c)));
            b = n - c > 8 ? _mm256_and_ps(b, _mm256_castsi256_ps(first_lanes(n - c - 8)))
                          : _mm256_setzero_ps();
        }
        store_some(x, c, n, a);
        store_some(x, c + 8, n, b);
        low = _mm256_fmadd_ps(a, a, low);
        high = _mm256_fmadd_ps(b, b, high);
    }
    return tree_sum(low, high);
}

}  // namespace

void quantize_rows(const ConstMatrix& x, const QuantizedRows& out) {
    for (std::size_t r = 0; r < x.rows; ++r) {
        const float* in = x.data + r * x.stride;
        auto* to = reinterpret_cast<std::int16_t*>(out.data + r * out.stride);
        float peak = 0.0F;
        const bool finite = peak_of(in, x.cols, peak);
        out.scale[r] = finite ? peak / 127.0F : __builtin_nanf("");
        if (!finite || peak == 0.0F) {
            __builtin_memset(to, 0, out.stride);
            continue;
        }
        quantize_row(in, x.cols, 127.0F / peak, to);
        __builtin_memset(to + x.cols, 0, out.stride - x.cols * sizeof(std::int16_t));
    }
}

void activate(Activation kind, float* x, std::size_t n) {
    for (std::size_t i = 0; i < n; i += 8) {
        store_some(x, i, n, activated8(kind, load_some(x, i, n)));
    }
}

void add_layer_norm(const Matrix& x, const ConstMatrix& residual, const LayerNormArgs& norm) {
    const auto n = static_cast<float>(x.cols);
    for (std::size_t r = 0; r < x.rows; ++r) {
        float* row = x.data + r * x.stride;
        const float* more =
            residual.data == nullptr ? nullptr : residual.data + r * residual.stride;
        const float mean = add_and_sum(row, more, x.cols) / n;
        const float spread = centre_and_square(row, mean, x.cols) / n + norm.epsilon;
        const float root = _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(spread)));
        const __m256 inverse = _mm256_set1_ps(1.0F / root);
        for (std::size_t c = 0; c < x.cols; c += 8) {
            const __m256 y =
                _mm256_fmadd_ps(_mm256_mul_ps(load_some(row, c, x.cols), inverse),
                                load_some(norm.gamma, c, x.cols), load_some(norm.beta, c, x.cols));
            store_some(row, c, x.cols, y);
        }
    }
}

}  // namespace tollgate::kernels::avx2
