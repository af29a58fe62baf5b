// The reference table: the definition that every other table matches bit for bit. Slow on purpose.
#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>

#include "kernels/constants.h"
#include "kernels/tables.h"

namespace tollgate::kernels {
namespace {

// docs/numerics.md, "Functions". std::fma is one rounding on every machine.
float exp_of(float x) {
    if (std::isnan(x)) {
        return x;
    }
    x = std::min(std::max(x, -87.0F), 88.0F);
    const float n = std::nearbyint(x * 1.44269504F);
    float r = std::fma(n, -0.693359375F, x);
    r = std::fma(n, 2.12194440e-4F, r);
    float p = 1.9875691500e-4F;
    for (const float c : {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F,
                          5.0000001201e-1F}) {
        p = std::fma(p, r, c);
    }
    const float y = std::fma(p, r * r, r) + 1.0F;
    return y * std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
}

float erf_of(float x) {
    if (std::isnan(x)) {
        return x;
    }
    x = std::min(std::max(x, -4.0F), 4.0F);
    const float t = x * x;
    float p = kErfP[6];
    float q = kErfQ[4];
    for (std::size_t i = 6; i-- > 0;) {
        p = std::fma(p, t, kErfP[i]);
    }
    for (std::size_t i = 4; i-- > 0;) {
        q = std::fma(q, t, kErfQ[i]);
    }
    return std::min(std::max((x * p) / q, -1.0F), 1.0F);
}

float tanh_of(float x) {
    return 1.0F - 2.0F / (exp_of(x + x) + 1.0F);
}

float activated(Activation kind, float x) {
    const float half = x * 0.5F;
    switch (kind) {
        case Activation::kNone:
            return x;
        case Activation::kGeluErf:
            return std::fma(half, erf_of(x * 0.70710678F), half);
        case Activation::kGeluTanh: {
            const float cube = std::fma((0.044715F * x) * x, x, x);
            return std::fma(half, tanh_of(0.79788456F * cube), half);
        }
        case Activation::kRelu:
            return std::max(x, 0.0F);
        case Activation::kTanh:
            break;
    }
    return tanh_of(x);
}

// Sixteen lanes, then the tree.
class Lanes {
  public:
    void add(std::size_t i, float v) { lane_[i % 16] += v; }
    void add_square(std::size_t i, float v) { lane_[i % 16] = std::fma(v, v, lane_[i % 16]); }
    float sum() const {
        std::array<float, 16> s = lane_;
        for (const std::size_t step : {8U, 4U, 2U, 1U}) {
            for (std::size_t j = 0; j < step; ++j) {
                s[j] += s[j + step];
            }
        }
        return s[0];
    }

  private:
    std::array<float, 16> lane_{};
};

void linear_f32(const ConstMatrix& x, const PackedF32& w, const Finish& finish, PanelRange panels,
                const Matrix& y) {
    for (std::size_t r = 0; r < x.rows; ++r) {
        const float* in = x.data + r * x.stride;
        for (std::size_t j = panels.begin * kPanel; j < std::min(panels.end * kPanel, w.n); ++j) {
            const float* column = w.data + (j / kPanel) * w.k * kPanel + j % kPanel;
            float sum = 0.0F;
            for (std::size_t k = 0; k < w.k; ++k) {
                sum = std::fma(in[k], column[k * kPanel], sum);
            }
            y.data[r * y.stride + j] =
                activated(finish.activation, finish.bias == nullptr ? sum : sum + finish.bias[j]);
        }
    }
}

void quantize_rows(const ConstMatrix& x, const QuantizedRows& out) {
    for (std::size_t r = 0; r < x.rows; ++r) {
        const float* in = x.data + r * x.stride;
        std::int8_t* to = out.data + r * out.stride;
        float peak = 0.0F;
        bool finite = true;
        for (std::size_t c = 0; c < x.cols; ++c) {
            const float size = std::fabs(in[c]);
            finite = finite && size <= FLT_MAX;
            peak = std::max(peak, size);
        }
        std::fill(to, to + out.stride, std::int8_t{0});
        if (!finite) {
            out.scale[r] = NAN;
            continue;
        }
        out.scale[r] = peak / 127.0F;
        if (peak == 0.0F) {
            continue;
        }
        const float step = 127.0F / peak;
        for (std::size_t c = 0; c < x.cols; ++c) {
            const float q = std::nearbyint(in[c] * step);
            to[c] = static_cast<std::int8_t>(std::min(std::max(q, -127.0F), 127.0F));
        }
    }
}

void linear_s8(const QuantizedRows& x, const PackedS8& w, const Finish& finish, PanelRange panels,
               const Matrix& y) {
    const std::size_t groups = groups_of(w.k);
    for (std::size_t r = 0; r < x.rows; ++r) {
        const std::int8_t* in = x.data + r * x.stride;
        for (std::size_t j = panels.begin * kPanel; j < std::min(panels.end * kPanel, w.n); ++j) {
            const std::int8_t* column =
                w.data + (j / kPanel) * groups * kPanel * 4 + (j % kPanel) * 4;
            std::int32_t sum = 0;
            for (std::size_t k = 0; k < w.k; ++k) {
                sum += in[k] * column[(k / 4) * kPanel * 4 + k % 4];
            }
            const float bias = finish.bias == nullptr ? 0.0F : finish.bias[j];
            y.data[r * y.stride + j] =
                activated(finish.activation,
                          std::fma(static_cast<float>(sum), x.scale[r] * w.scale[j], bias));
        }
    }
}

void activate(Activation kind, float* x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        x[i] = activated(kind, x[i]);
    }
}

void add_layer_norm(const Matrix& x, const ConstMatrix& residual, const LayerNormArgs& norm) {
    const auto n = static_cast<float>(x.cols);
    for (std::size_t r = 0; r < x.rows; ++r) {
        float* row = x.data + r * x.stride;
        Lanes sum;
        for (std::size_t c = 0; c < x.cols; ++c) {
            if (residual.data != nullptr) {
                row[c] += residual.data[r * residual.stride + c];
            }
            sum.add(c, row[c]);
        }
        const float mean = sum.sum() / n;
        Lanes squares;
        for (std::size_t c = 0; c < x.cols; ++c) {
            row[c] -= mean;
            squares.add_square(c, row[c]);
        }
        const float inverse = 1.0F / std::sqrt(squares.sum() / n + norm.epsilon);
        for (std::size_t c = 0; c < x.cols; ++c) {
            row[c] = std::fma(row[c] * inverse, norm.gamma[c], norm.beta[c]);
        }
    }
}

void softmax(float* x, std::size_t n) {
    float peak = x[0];
    for (std::size_t i = 1; i < n; ++i) {
        peak = std::max(peak, x[i]);
    }
    Lanes sum;
    for (std::size_t i = 0; i < n; ++i) {
        x[i] = exp_of(x[i] - peak);
        sum.add(i, x[i]);
    }
    const float inverse = 1.0F / sum.sum();
    for (std::size_t i = 0; i < n; ++i) {
        x[i] *= inverse;
    }
}

void attention(const AttentionArgs& args) {
    float* scores = args.scratch;
    for (std::size_t r = 0; r < args.q.rows; ++r) {
        const float* q = args.q.data + r * args.q.stride;
        for (std::size_t j = 0; j < args.k.rows; ++j) {
            const float* k = args.k.data + j * args.k.stride;
            float sum = 0.0F;
            for (std::size_t c = 0; c < args.q.cols; ++c) {
                sum = std::fma(q[c], k[c], sum);
            }
            scores[j] = sum * args.scale;
        }
        softmax(scores, args.k.rows);
        for (std::size_t c = 0; c < args.v.cols; ++c) {
            float sum = 0.0F;
            for (std::size_t j = 0; j < args.v.rows; ++j) {
                sum = std::fma(scores[j], args.v.data[j * args.v.stride + c], sum);
            }
            args.out.data[r * args.out.stride + c] = sum;
        }
    }
}

}  // namespace

const KernelTable kRefTable{.name = "ref",
                            .linear_f32 = linear_f32,
                            .quantize_rows = quantize_rows,
                            .linear_s8 = linear_s8,
                            .activate = activate,
                            .add_layer_norm = add_layer_norm,
                            .attention = attention};

}  // namespace tollgate::kernels
