// The layers' steps, cut into tiles for the lane. docs/numerics.md gives the order of operations.
#include "model/forward_pass.h"

#include <algorithm>
#include <cmath>

namespace tollgate {

using kernels::Activation;
using kernels::ConstMatrix;
using kernels::kPanel;
using kernels::Matrix;
using kernels::PanelRange;

namespace {

// Multiply-adds below which a tile is not worth another thread (2 to 20 us of one core), and above
// which it is cut, so that a lane can be stopped within 200 us (design section 6).
constexpr std::size_t kLeastTile = 400'000;
constexpr std::size_t kMostTile = 16'000'000;
// Elements of row work (normalise, quantize) that are worth another thread.
constexpr std::size_t kLeastRows = 32'768;
constexpr std::size_t kPanelBlock = 8;  // a tile's panels: two blocks of the widest kernel, so that
                                        // the second comes in while the first is multiplied
constexpr std::size_t kRowBlock = 6;    // and rows

constexpr std::size_t up_to(std::size_t n, std::size_t step) {
    return (n + step - 1) / step * step;
}

Matrix rows_from(const Matrix& m, std::size_t first, std::size_t count) {
    return {m.data + first * m.stride, count, m.cols, m.stride};
}
ConstMatrix rows_from(const ConstMatrix& m, std::size_t first, std::size_t count) {
    return {m.data + first * m.stride, count, m.cols, m.stride};
}
kernels::QuantizedRows rows_from(const kernels::QuantizedRows& m, std::size_t first,
                                 std::size_t count) {
    return {m.data + first * m.stride, m.scale + first, count, m.cols, m.stride};
}

ConstMatrix readable(const Matrix& m) {
    return {m.data, m.rows, m.cols, m.stride};
}

}  // namespace

ForwardPass::ForwardPass(const Encoder& encoder, const TokenBatch& batch, EncoderWorkspace& work,
                         TileLane& lane)
    : weights_(*encoder.weights_),
      table_(*weights_.table),
      batch_(batch),
      work_(work),
      lane_(lane),
      tokens_(batch.ids.size()),
      hidden_(weights_.config.hidden_size) {
    TG_CHECK(batch.sequences() > 0 && batch.starts.front() == 0 && batch.starts.back() == tokens_,
             "starts describe ids");
    TG_CHECK(tokens_ <= work.max_tokens() && batch.sequences() <= work.max_sequences(),
             "the batch fits the workspace");
    TG_CHECK(lane.threads() <= work.attention_.size(), "scratch for each thread of the lane");
    for (std::size_t s = 0; s < batch.sequences(); ++s) {
        TG_CHECK(batch.starts[s] < batch.starts[s + 1] &&
                     batch.starts[s + 1] - batch.starts[s] <= weights_.config.max_positions,
                 "a sequence has 1 .. max_positions ids");
    }
}

ConstMatrix ForwardPass::rows() const {
    return {work_.x_.data(), tokens_, hidden_, hidden_};
}

Matrix ForwardPass::first_rows() {
    return {work_.pooled_.data(), batch_.sequences(), hidden_, hidden_};
}

// f(first row, rows) over all rows, shared out when there is enough to do.
template <class F>
void ForwardPass::by_rows(std::size_t rows, std::size_t cols, F f) {
    const std::size_t each =
        std::max<std::size_t>(1, std::min(rows, kLeastRows / std::max<std::size_t>(cols, 1)));
    auto tile = [&](std::size_t index, std::size_t) {
        f(index * each, std::min(each, rows - index * each));
    };
    lane_.run((rows + each - 1) / each, tile);
}

void ForwardPass::embed_row(std::size_t token, std::size_t position) {
    const auto id = static_cast<std::size_t>(batch_.ids[token]);
    TG_CHECK(batch_.ids[token] >= 0 && id < weights_.config.vocab_size, "id in vocabulary");
    const float* word = weights_.words.data() + id * hidden_;
    const float* place = weights_.positions.data() + position * hidden_;
    const float* type = weights_.types.size() == 0 ? nullptr : weights_.types.data();
    float* to = work_.x_.data() + token * hidden_;
    for (std::size_t c = 0; c < hidden_; ++c) {
        to[c] = (type == nullptr ? word[c] : word[c] + type[c]) + place[c];
    }
}

void ForwardPass::embed() {
    for (std::size_t s = 0; s < batch_.sequences(); ++s) {
        for (std::size_t t = batch_.starts[s]; t < batch_.starts[s + 1]; ++t) {
            embed_row(t, t - batch_.starts[s]);
        }
    }
    normalise({work_.x_.data(), tokens_, hidden_, hidden_}, {}, weights_.embedding_norm);
}

// x = LayerNorm(x + residual), then quantized for the product that reads it next.
void ForwardPass::normalise(const Matrix& x, const ConstMatrix& residual, const NormWeights& norm) {
    aim(readable(x));
    by_rows(x.rows, x.cols, [&](std::size_t first, std::size_t count) {
        const ConstMatrix more =
            residual.data == nullptr ? residual : rows_from(residual, first, count);
        table_.add_layer_norm(
            rows_from(x, first, count), more,
            {norm.gamma.data(), norm.beta.data(), weights_.config.layer_norm_eps});
        if (weights_.precision == Precision::kInt8) {
            table_.quantize_rows(rows_from(readable(x), first, count),
                                 rows_from(quantized_, first, count));
        }
    });
}

void ForwardPass::aim(const ConstMatrix& x) {
    quantized_ = {work_.quantized_.data(), work_.row_scale_.data(), x.rows, x.cols,
                  kernels::quantized_stride(table_, x.cols)};
}

// Quantizes what the next products read; nothing to do in fp32.
void ForwardPass::prepare(const ConstMatrix& x) {
    if (weights_.precision == Precision::kInt8) {
        aim(x);
        by_rows(x.rows, x.cols, [&](std::size_t first, std::size_t count) {
            table_.quantize_rows(rows_from(x, first, count), rows_from(quantized_, first, count));
        });
    }
}

// y = activation(x * w + bias), shared out by blocks of outputs and, when there are many, of rows.
void ForwardPass::multiply(const ConstMatrix& x, const LinearWeights& w, const Matrix& y,
                           Activation activation) {
    const std::size_t panels = kernels::panels_of(w.n);
    const std::size_t panel_work = std::max<std::size_t>(x.rows * w.k * kPanel, 1);
    const std::size_t wide = std::min(
        panels, up_to(std::clamp<std::size_t>(kLeastTile / panel_work, 1, panels), kPanelBlock));
    const std::size_t most_rows = kMostTile / (wide * w.k * kPanel) / kRowBlock * kRowBlock;
    const std::size_t tall = std::min(x.rows, std::max(most_rows, kRowBlock));
    const std::size_t across = (panels + wide - 1) / wide;
    const std::size_t down = (x.rows + tall - 1) / tall;
    const kernels::Finish finish{w.bias.size() == 0 ? nullptr : w.bias.data(), activation};
    auto tile = [&](std::size_t index, std::size_t) {
        const std::size_t block = index / down;
        const PanelRange range{block * wide, std::min(panels, (block + 1) * wide)};
        const std::size_t first = index % down * tall;
        const std::size_t count = std::min(tall, x.rows - first);
        if (w.s8.size() > 0) {
            table_.linear_s8(rows_from(quantized_, first, count),
                             {w.s8.data(), w.scale.data(), w.sums.data(), w.n, w.k}, finish, range,
                             rows_from(y, first, count));
        } else {
            table_.linear_f32(rows_from(x, first, count), {w.f32.data(), w.n, w.k}, finish, range,
                              rows_from(y, first, count));
        }
    };
    lane_.run(across * down, tile);
}

// Heads of sequences: q has `query_rows_each` rows per sequence, 0 meaning one per token.
void ForwardPass::attend(std::size_t query_rows_each, const ConstMatrix& q, const Matrix& out) {
    const std::size_t heads = weights_.config.heads;
    const std::size_t width = hidden_ / heads;
    const float scale = 1.0F / std::sqrt(static_cast<float>(width));
    auto tile = [&](std::size_t index, std::size_t worker) {
        const std::size_t s = index / heads;
        const std::size_t column = index % heads * width;
        const std::size_t first = batch_.starts[s];
        const std::size_t positions = batch_.starts[s + 1] - first;
        const std::size_t q_first = query_rows_each == 0 ? first : s * query_rows_each;
        const std::size_t q_rows = query_rows_each == 0 ? positions : query_rows_each;
        const float* keys = work_.kv_.data() + first * 2 * hidden_ + column;
        table_.attention(
            {.q = {q.data + q_first * q.stride + column, q_rows, width, q.stride},
             .k = {keys, positions, width, 2 * hidden_},
             .v = {keys + hidden_, positions, width, 2 * hidden_},
             .scale = scale,
             .scratch = work_.attention_[worker].data(),
             .out = {out.data + q_first * out.stride + column, q_rows, width, out.stride}});
    };
    const std::size_t tiles = batch_.sequences() * heads;
    if (tokens_ * tokens_ / batch_.sequences() * hidden_ < 2 * kLeastTile) {
        for (std::size_t index = 0; index < tiles; ++index) {
            tile(index, 0);
        }
        return;
    }
    lane_.run(tiles, tile);
}

// x = LayerNorm(x + down(gelu(up(x)))), in place; x is quantized already, and is again at the end.
void ForwardPass::feed_forward(const LayerWeights& weights, const Matrix& x) {
    const std::size_t inner = weights_.config.intermediate_size;
    const Matrix wide{work_.wide_.data(), x.rows, inner, inner};
    const Matrix y{work_.y_.data(), x.rows, hidden_, hidden_};
    multiply(readable(x), weights.up, wide, weights_.config.activation);
    prepare(readable(wide));
    multiply(readable(wide), weights.down, y, Activation::kNone);
    normalise(x, readable(y), weights.output_norm);
}

// x is quantized already: by embed() or by the layer before.
void ForwardPass::layer(const LayerWeights& weights) {
    const Matrix x{work_.x_.data(), tokens_, hidden_, hidden_};
    const Matrix q{work_.q_.data(), tokens_, hidden_, hidden_};
    const Matrix y{work_.y_.data(), tokens_, hidden_, hidden_};
    multiply(readable(x), weights.q, q, Activation::kNone);
    multiply(readable(x), weights.kv, {work_.kv_.data(), tokens_, 2 * hidden_, 2 * hidden_},
             Activation::kNone);
    attend(0, readable(q), q);
    prepare(readable(q));
    multiply(readable(q), weights.out, y, Activation::kNone);
    normalise(x, readable(y), weights.attention_norm);
    feed_forward(weights, x);
}

// Only each sequence's first row asks; every row is asked.
void ForwardPass::last_layer(const LayerWeights& weights) {
    const std::size_t sequences = batch_.sequences();
    const Matrix x{work_.x_.data(), tokens_, hidden_, hidden_};
    const Matrix first = first_rows();
    const Matrix q{work_.q_.data(), sequences, hidden_, hidden_};
    const Matrix y{work_.y_.data(), sequences, hidden_, hidden_};
    multiply(readable(x), weights.kv, {work_.kv_.data(), tokens_, 2 * hidden_, 2 * hidden_},
             Activation::kNone);
    for (std::size_t s = 0; s < sequences; ++s) {
        const float* from = x.data + batch_.starts[s] * hidden_;
        std::copy(from, from + hidden_, first.data + s * hidden_);
    }
    prepare(readable(first));
    multiply(readable(first), weights.q, q, Activation::kNone);
    attend(1, readable(q), q);
    prepare(readable(q));
    multiply(readable(q), weights.out, y, Activation::kNone);
    normalise(first, readable(y), weights.attention_norm);
    feed_forward(weights, first);
}

void ForwardPass::run_all() {
    embed();
    for (const LayerWeights& weights : weights_.layers) {
        layer(weights);
    }
}

void ForwardPass::run_first_rows() {
    embed();
    for (std::size_t i = 0; i + 1 < weights_.layers.size(); ++i) {
        layer(weights_.layers[i]);
    }
    last_layer(weights_.layers.back());
}

void ForwardPass::apply_pooler() {
    if (!weights_.pooler) {
        return;
    }
    const Matrix first = first_rows();
    const Matrix out{work_.pooled_out_.data(), first.rows, hidden_, hidden_};
    const Activation activation = weights_.config.family == EncoderFamily::kDistilBert
                                      ? Activation::kRelu
                                      : Activation::kTanh;
    multiply(readable(first), *weights_.pooler, out, activation);
    std::copy(out.data, out.data + out.rows * hidden_, first.data);
}

void ForwardPass::classify(std::span<float> out) {
    TG_CHECK(weights_.classifier.has_value(), "the model has a classifier");
    const std::size_t labels = weights_.classifier->n;
    TG_CHECK(out.size() == batch_.sequences() * labels, "out: sequences x labels");
    multiply(readable(first_rows()), *weights_.classifier,
             {out.data(), batch_.sequences(), labels, labels}, Activation::kNone);
}

void ForwardPass::mean_rows(std::span<float> out) const {
    for (std::size_t s = 0; s < batch_.sequences(); ++s) {
        float* to = out.data() + s * hidden_;
        std::fill(to, to + hidden_, 0.0F);
        for (std::size_t t = batch_.starts[s]; t < batch_.starts[s + 1]; ++t) {
            const float* row = work_.x_.data() + t * hidden_;
            for (std::size_t c = 0; c < hidden_; ++c) {
                to[c] += row[c];
            }
        }
        const auto count = static_cast<float>(batch_.starts[s + 1] - batch_.starts[s]);
        for (std::size_t c = 0; c < hidden_; ++c) {
            to[c] /= count;
        }
    }
}

}  // namespace tollgate
