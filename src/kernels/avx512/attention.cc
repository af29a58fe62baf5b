// AVX-512 attention of one head: keys and values are laid out in panels of sixteen once, then six
// query rows run beside each other.
#include <immintrin.h>

#include "kernels/avx512/entry.h"
#include "kernels/constants.h"

namespace tollgate::kernels::avx512 {
namespace {

#include "kernels/avx512/math.inc"

// Scratch: keys [positions/16][width][16], values [width/16][positions][16], scores of kBlock rows.
constexpr std::size_t kBlock = 6;
constexpr std::size_t kPanelBlock = 4;

inline std::size_t up16(std::size_t n) {
    return (n + 15) / 16 * 16;
}

// out[panel][c][lane] = k[panel * 16 + lane][c]: sixteen values a gather.
inline void keys_by_panel(const ConstMatrix& k, float* out) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i rows = _mm512_mullo_epi32(lane, _mm512_set1_epi32(static_cast<int>(k.stride)));
    for (std::size_t first = 0; first < k.rows; first += 16) {
        const __mmask16 there = first_lanes(k.rows - first);
        const float* from = k.data + first * k.stride;
        for (std::size_t c = 0; c < k.cols; ++c) {
            const __m512 v =
                _mm512_mask_i32gather_ps(_mm512_setzero_ps(), there, rows, from + c, 4);
            _mm512_store_ps(out, v);
            out += 16;
        }
    }
}

// out[panel][j][lane] = v[j][panel * 16 + lane].
inline void values_by_panel(const ConstMatrix& v, float* out) {
    for (std::size_t first = 0; first < v.cols; first += 16) {
        const __mmask16 there = first_lanes(v.cols - first);
        for (std::size_t j = 0; j < v.rows; ++j) {
            _mm512_store_ps(out, _mm512_maskz_loadu_ps(there, v.data + j * v.stride + first));
            out += 16;
        }
    }
}

// In place over n scores; the places up to the next 16 become 0.
inline void softmax(float* x, std::size_t n) {
    __m512 best = _mm512_set1_ps(x[0]);
    for (std::size_t i = 0; i < n; i += 16) {
        best = _mm512_mask_max_ps(best, first_lanes(n - i), best, _mm512_load_ps(x + i));
    }
    const __m512 peak = _mm512_set1_ps(largest(best));
    __m512 sum = _mm512_setzero_ps();
    for (std::size_t i = 0; i < n; i += 16) {
        __m512 e = exp16(_mm512_sub_ps(_mm512_load_ps(x + i), peak));
        e = _mm512_maskz_mov_ps(first_lanes(n - i), e);
        _mm512_store_ps(x + i, e);
        sum = _mm512_add_ps(sum, e);
    }
    const __m512 inverse = _mm512_set1_ps(1.0F / tree_sum(sum));
    for (std::size_t i = 0; i < n; i += 16) {
        _mm512_store_ps(x + i, _mm512_mul_ps(_mm512_load_ps(x + i), inverse));
    }
}

struct Panels {
    const float* keys = nullptr;
    const float* values = nullptr;
    float* scores = nullptr;  // kBlock rows of up16(positions)
};

template <std::size_t kRows, std::size_t kPanels>
inline void score_panels(const AttentionArgs& a, const Panels& p, std::size_t first,
                         std::size_t j) {
    Chains<kRows, kPanels> chains;
    chains.run(a.q.data + first * a.q.stride, a.q.stride, p.keys + j * a.k.cols, a.k.cols * 16,
               a.k.cols);
    const __m512 scale = _mm512_set1_ps(a.scale);
    for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t panel = 0; panel < kPanels; ++panel) {
            _mm512_store_ps(p.scores + r * up16(a.k.rows) + j + panel * 16,
                            _mm512_mul_ps(chains.sum[r][panel], scale));
        }
    }
}

template <std::size_t kRows, std::size_t kPanels>
inline void mix_panels(const AttentionArgs& a, const Panels& p, std::size_t first, std::size_t c) {
    const std::size_t positions = a.k.rows;
    Chains<kRows, kPanels> chains;
    chains.run(p.scores, up16(positions), p.values + c * positions, positions * 16, positions);
    for (std::size_t r = 0; r < kRows; ++r) {
        float* to = a.out.data + (first + r) * a.out.stride + c;
        for (std::size_t panel = 0; panel < kPanels; ++panel) {
            _mm512_mask_storeu_ps(to + panel * 16, first_lanes(a.v.cols - c - panel * 16),
                                  chains.sum[r][panel]);
        }
    }
}

template <std::size_t kRows>
inline void rows_of(const AttentionArgs& a, const Panels& p, std::size_t first) {
    const std::size_t stride = up16(a.k.rows);
    std::size_t j = 0;
    for (; j + kPanelBlock * 16 <= stride; j += kPanelBlock * 16) {
        score_panels<kRows, kPanelBlock>(a, p, first, j);
    }
    for (; j < stride; j += 16) {
        score_panels<kRows, 1>(a, p, first, j);
    }
    for (std::size_t r = 0; r < kRows; ++r) {
        softmax(p.scores + r * stride, a.k.rows);
    }
    std::size_t c = 0;
    for (; c + kPanelBlock * 16 <= a.v.cols; c += kPanelBlock * 16) {
        mix_panels<kRows, kPanelBlock>(a, p, first, c);
    }
    for (; c + 32 <= a.v.cols; c += 32) {
        mix_panels<kRows, 2>(a, p, first, c);
    }
    for (; c < a.v.cols; c += 16) {
        mix_panels<kRows, 1>(a, p, first, c);
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

}  // namespace tollgate::kernels::avx512
