// AVX2 attention of one head: keys and values are laid out in panels of sixteen once, then each
// query row runs sixteen chains at a time. Built with -mavx2 -mfma.
#include <immintrin.h>

#include "kernels/avx2/entry.h"
#include "kernels/constants.h"

namespace tollgate::kernels::avx2 {
namespace {

#include "kernels/avx2/math.inc"

// Scratch: keys [positions/16][width][16], values [width/16][positions][16], scores of kBlock rows.
constexpr std::size_t kBlock = 6;

inline std::size_t up16(std::size_t n) {
    return (n + 15) / 16 * 16;
}

// out[panel][c][lane] = k[panel * 16 + lane][c].
inline void keys_by_panel(const ConstMatrix& k, float* out) {
    for (std::size_t first = 0; first < k.rows; first += 16) {
        for (std::size_t c = 0; c < k.cols; ++c) {
            for (std::size_t lane = 0; lane < 16; ++lane) {
                *out++ = first + lane < k.rows ? k.data[(first + lane) * k.stride + c] : 0.0F;
            }
        }
    }
}

// out[panel][j][lane] = v[j][panel * 16 + lane].
inline void values_by_panel(const ConstMatrix& v, float* out) {
    for (std::size_t first = 0; first < v.cols; first += 16) {
        for (std::size_t j = 0; j < v.rows; ++j) {
            for (std::size_t lane = 0; lane < 16; ++lane) {
                *out++ = first + lane < v.cols ? v.data[j * v.stride + first + lane] : 0.0F;
            }
        }
    }
}

// out[r][0..16) = chains over the first n of x[r][..] * panel[..][0..16), times `scale`.
template <std::size_t kRows>
inline void chains(const float* x, std::size_t x_stride, const float* panel, std::size_t n,
                   __m256 (&low)[kRows], __m256 (&high)[kRows]) {
    for (std::size_t r = 0; r < kRows; ++r) {
        low[r] = _mm256_setzero_ps();
        high[r] = _mm256_setzero_ps();
    }
    for (std::size_t i = 0; i < n; ++i) {
        const __m256 w0 = _mm256_load_ps(panel + i * 16);
        const __m256 w1 = _mm256_load_ps(panel + i * 16 + 8);
#pragma GCC unroll 8
        for (std::size_t r = 0; r < kRows; ++r) {
            const __m256 a = _mm256_broadcast_ss(x + r * x_stride + i);
            low[r] = _mm256_fmadd_ps(a, w0, low[r]);
            high[r] = _mm256_fmadd_ps(a, w1, high[r]);
        }
    }
}

// In place over n scores; the places up to the next 16 become 0.
inline void softmax(float* x, std::size_t n) {
    __m256 best = _mm256_set1_ps(x[0]);
    for (std::size_t i = 0; i < n; i += 8) {
        if (n - i >= 8) {
            best = _mm256_max_ps(best, _mm256_load_ps(x + i));
        } else {
            const __m256 v = _mm256_blendv_ps(best, _mm256_load_ps(x + i),
                                              _mm256_castsi256_ps(first_lanes(n - i)));
            best = _mm256_max_ps(best, v);
        }
    }
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(best), _mm256_extractf128_ps(best, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    const __m256 peak = _mm256_set1_ps(_mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1))));
    __m256 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (std::size_t i = 0; i < up16(n); i += 8) {
        __m256 e = exp8(_mm256_sub_ps(_mm256_load_ps(x + i), peak));
        e = _mm256_and_ps(e, _mm256_castsi256_ps(first_lanes(n > i ? n - i : 0)));
        _mm256_store_ps(x + i, e);
        sums[(i / 8) % 2] = _mm256_add_ps(sums[(i / 8) % 2], e);
    }
    const __m256 inverse = _mm256_set1_ps(1.0F / tree_sum(sums[0], sums[1]));
    for (std::size_t i = 0; i < n; i += 8) {
        _mm256_store_ps(x + i, _mm256_mul_ps(_mm256_load_ps(x + i), inverse));
    }
}

struct Panels {
    const float* keys = nullptr;
    const float* values = nullptr;
    float* scores = nullptr;  // kBlock rows of up16(positions)
};

template <std::size_t kRows>
inline void rows_of(const AttentionArgs& a, const Panels& p, std::size_t first) {
    const std::size_t positions = a.k.rows;
    const std::size_t stride = up16(positions);
    const __m256 scale = _mm256_set1_ps(a.scale);
    __m256 low[kRows];
    __m256 high[kRows];
    for (std::size_t j = 0; j < positions; j += 16) {
        chains<kRows>(a.q.data + first * a.q.stride, a.q.stride, p.keys + j * a.k.cols, a.k.cols,
                      low, high);
        for (std::size_t r = 0; r < kRows; ++r) {
            float* to = p.scores + r * stride + j;
            _mm256_store_ps(to, _mm256_mul_ps(low[r], scale));
            _mm256_store_ps(to + 8, _mm256_mul_ps(high[r], scale));
        }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
        softmax(p.scores + r * stride, positions);
    }
    for (std::size_t c = 0; c < a.v.cols; c += 16) {
        chains<kRows>(p.scores, stride, p.values + c * positions, positions, low, high);
        for (std::size_t r = 0; r < kRows; ++r) {
            alignas(32) float all[16];
            _mm256_store_ps(all, low[r]);
            _mm256_store_ps(all + 8, high[r]);
            float* to = a.out.data + (first + static_cast<std::size_t>(r)) * a.out.stride + c;
            const std::size_t width = a.v.cols - c < 16 ? a.v.cols - c : 16;
            for (std::size_t i = 0; i < width; ++i) {
                to[i] = all[i];
            }
        }
    }
}

}  // namespace

void attention(const AttentionArgs& args) {
    const std::size_t positions = args.k.rows;
    float* keys = args.scratch;
    float* values = keys + up16(positions) * args.k.cols;
    float* scores = values + positions * up16(args.v.cols);
    keys_by_panel(args.k, keys);
    values_by_panel(args.v, values);
    const Panels panels{.keys = keys, .values = values, .scores = scores};
    std::size_t r = 0;
    for (; r + kBlock <= args.q.rows; r += kBlock) {
        rows_of<kBlock>(args, panels, r);
    }
    for (; r < args.q.rows; ++r) {
        rows_of<1>(args, panels, r);
    }
}

}  // namespace tollgate::kernels::avx2
