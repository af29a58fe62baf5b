// AVX-512 row operations: quantize, activations, LayerNorm. Everything but the entry points is in
// an anonymous namespace.
#include <immintrin.h>

#include "kernels/avx512/entry.h"
#include "kernels/constants.h"

namespace tollgate::kernels::avx512 {
namespace {

#include "kernels/avx512/math.inc"

inline __m512 load_some(const float* x, std::size_t c, std::size_t n) {
    return _mm512_maskz_loadu_ps(first_lanes(n - c), x + c);
}
inline void store_some(float* x, std::size_t c, std::size_t n, __m512 v) {
    _mm512_mask_storeu_ps(x + c, first_lanes(n - c), v);
}

// The row's peak; false when a value is not finite.
inline bool peak_of(const float* x, std::size_t n, float& peak) {
    const __m512 most = _mm512_set1_ps(3.402823466e+38F);
    __m512 best = _mm512_setzero_ps();
    __mmask16 bad = 0;
    for (std::size_t c = 0; c < n; c += 16) {
        const __m512 size = _mm512_abs_ps(load_some(x, c, n));
        bad = static_cast<__mmask16>(bad | _mm512_cmp_ps_mask(size, most, _CMP_NLE_UQ));
        best = _mm512_max_ps(best, size);
    }
    peak = largest(best);
    return bad == 0;
}

// Bytes are stored `zero` higher: 128 is what VNNI's unsigned operand wants, 0 what tiles want.
inline void quantize_row(const float* in, std::size_t n, float step, std::int8_t zero,
                         std::int8_t* to) {
    const __m512 steps = _mm512_set1_ps(step);
    const __m128i lift = _mm_set1_epi8(zero);
    for (std::size_t c = 0; c < n; c += 16) {
        __m512i q = _mm512_cvtps_epi32(_mm512_mul_ps(load_some(in, c, n), steps));
        q = _mm512_max_epi32(_mm512_min_epi32(q, _mm512_set1_epi32(127)), _mm512_set1_epi32(-127));
        const __m128i bytes = _mm_xor_si128(_mm512_cvtepi32_epi8(q), lift);
        _mm_mask_storeu_epi8(to + c, first_lanes(n - c), bytes);
    }
}

void quantize_all(const ConstMatrix& x, const QuantizedRows& out, std::int8_t zero) {
    for (std::size_t r = 0; r < x.rows; ++r) {
        const float* in = x.data + r * x.stride;
        std::int8_t* to = out.data + r * out.stride;
        float peak = 0.0F;
        const bool finite = peak_of(in, x.cols, peak);
        out.scale[r] = finite ? peak / 127.0F : __builtin_nanf("");
        if (!finite || peak == 0.0F) {
            __builtin_memset(to, zero, out.stride);
            continue;
        }
        quantize_row(in, x.cols, 127.0F / peak, zero, to);
        __builtin_memset(to + x.cols, zero, out.stride - x.cols);
    }
}

}  // namespace

void quantize_rows(const ConstMatrix& x, const QuantizedRows& out) {
    quantize_all(x, out, -128);
}

void quantize_signed_rows(const ConstMatrix& x, const QuantizedRows& out) {
    quantize_all(x, out, 0);
}

void activate(Activation kind, float* x, std::size_t n) {
    for (std::size_t i = 0; i < n; i += 16) {
        store_some(x, i, n, activated16(kind, load_some(x, i, n)));
    }
}

void add_layer_norm(const Matrix& x, const ConstMatrix& residual, const LayerNormArgs& norm) {
    const auto n = static_cast<float>(x.cols);
    for (std::size_t r = 0; r < x.rows; ++r) {
        float* row = x.data + r * x.stride;
        const float* more =
            residual.data == nullptr ? nullptr : residual.data + r * residual.stride;
        __m512 sum = _mm512_setzero_ps();
        for (std::size_t c = 0; c < x.cols; c += 16) {
            __m512 v = load_some(row, c, x.cols);
            if (more != nullptr) {
                v = _mm512_add_ps(v, load_some(more, c, x.cols));
                store_some(row, c, x.cols, v);
            }
            sum = _mm512_add_ps(sum, v);
        }
        const __m512 mean = _mm512_set1_ps(tree_sum(sum) / n);
        __m512 squares = _mm512_setzero_ps();
        for (std::size_t c = 0; c < x.cols; c += 16) {
            // A lane past the end must stay 0, not become -mean.
            const __m512 v =
                _mm512_maskz_sub_ps(first_lanes(x.cols - c), load_some(row, c, x.cols), mean);
            store_some(row, c, x.cols, v);
            squares = _mm512_fmadd_ps(v, v, squares);
        }
        const float spread = tree_sum(squares) / n + norm.epsilon;
        const float root = _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(spread)));
        const __m512 inverse = _mm512_set1_ps(1.0F / root);
        for (std::size_t c = 0; c < x.cols; c += 16) {
            const __m512 y =
                _mm512_fmadd_ps(_mm512_mul_ps(load_some(row, c, x.cols), inverse),
                                load_some(norm.gamma, c, x.cols), load_some(norm.beta, c, x.cols));
            store_some(row, c, x.cols, y);
        }
    }
}

}  // namespace tollgate::kernels::avx512
