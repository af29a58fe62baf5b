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

// Multiply-adds below which a tile is not worth another thread: about 20 us of one AVX2 core.
constexpr std::size_t kTileWork = 400'000;

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

void ForwardPass::embed() {
    for (std::size_t s = 0; s < batch_.sequences(); ++s) {
        for (std::size_t t = batch_.starts[s]; t < batch_.starts[s + 1]; ++t) {
            const auto id = static_cast<std::size_t>(batch_.ids[t]);
            TG_CHECK(batch_.ids[t] >= 0 && id < weights_.config.vocab_size, "id in vocabulary");
            const float* word = weights_.words.data() + id * hidden_;
            const float* place = weights_.positions.data() + (t - batch_.starts[s]) * hidden_;
            const float* type = weights_.types.size() == 0 ? nullptr : weights_.types.data();
            float* to = work_.x_.data() + t * hidden_;
            for (std::size_t c = 0; c < hidden_; ++c) {
                to[c] = (type == nullptr ? word[c] : word[c] + type[c]) + place[c];
            }
        }
    }
    table_.add_layer_norm({work_.x_.data(), tokens_, hidden_, hidden_}, {},
                          {weights_.embedding_norm.gamma.data(),
                           weights_.embedding_norm.beta.data(), weights_.config.layer_norm_eps});
}

// Quantizes what the next products read; nothing to do in fp32.
void ForwardPass::prepare(const ConstMatrix& x) {
    if (weights_.precision == Precision::kInt8) {
        quantized_ = {work_.quantized_.data(), work_.row_scale_.data(), x.rows, x.cols,
                      (x.cols + 3) / 4 * 4};
        table_.quantize_rows(x, quantized_);
    }
}

// y = activation(x * w + bias), shared out by panels of outputs.
void ForwardPass::multiply(const ConstMatrix& x, const LinearWeights& w, const Matrix& y,
                           const Activation* activation) {
    const std::size_t panels = kernels::panels_of(w.n);
    const std::size_t panel_work = x.rows * w.k * kPanel;
    const std::size_t each =
        std::clamp<std::size_t>(kTileWork / std::max<std::size_t>(panel_work, 1), 1, panels);
    const std::size_t tiles = (panels + each - 1) / each;
    const float* bias = w.bias.size() == 0 ? nullptr : w.bias.data();
    auto tile = [&](std::size_t index, std::size_t) {
        const PanelRange range{index * each, std::min(panels, (index + 1) * each)};
        if (w.s8.size() > 0) {
            table_.linear_s8(quantized_, {w.s8.data(), w.scale.data(), w.n, w.k}, bias, range, y);
        } else {
            table_.linear_f32(x, {w.f32.data(), w.n, w.k}, bias, range, y);
        }
        if (activation == nullptr) {
            return;
        }
        const std::size_t begin = range.begin * kPanel;
        const std::size_t end = std::min(range.end * kPanel, w.n);
        for (std::size_t r = 0; r < y.rows; ++r) {
            table_.activate(*activation, y.data + r * y.stride + begin, end - begin);
        }
    };
    lane_.run(tiles, tile);
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
    if (tokens_ * tokens_ / batch_.sequences() * hidden_ < 2 * kTileWork) {
        for (std::size_t index = 0; index < tiles; ++index) {
            tile(index, 0);
        }
        return;
    }
    lane_.run(tiles, tile);
}

// x = LayerNorm(x + down(gelu(up(x)))), in place.
void ForwardPass::feed_forward(const LayerWeights& weights, const Matrix& x) {
    const std::size_t inner = weights_.config.intermediate_size;
    const Matrix wide{work_.wide_.data(), x.rows, inner, inner};
    const Matrix y{work_.y_.data(), x.rows, hidden_, hidden_};
    prepare(readable(x));
    multiply(readable(x), weights.up, wide, &weights_.config.activation);
    prepare(readable(wide));
    multiply(readable(wide), weights.down, y, nullptr);
    table_.add_layer_norm(x, readable(y),
                          {weights.output_norm.gamma.data(), weights.output_norm.beta.data(),
                           weights_.config.layer_norm_eps});
}

void ForwardPass::layer(const LayerWeights& weights) {
    const Matrix x{work_.x_.data(), tokens_, hidden_, hidden_};
    const Matrix q{work_.q_.data(), tokens_, hidden_, hidden_};
    const Matrix y{work_.y_.data(), tokens_, hidden_, hidden_};
    prepare(readable(x));
    multiply(readable(x), weights.q, q, nullptr);
    multiply(readable(x), weights.kv, {work_.kv_.data(), tokens_, 2 * hidden_, 2 * hidden_},
             nullptr);
    attend(0, readable(q), q);
    prepare(readable(q));
    multiply(readable(q), weights.out, y, nullptr);
    table_.add_layer_norm(x, readable(y),
                          {weights.attention_norm.gamma.data(), weights.attention_norm.beta.data(),
                           weights_.config.layer_norm_eps});
    feed_forward(weights, x);
}

// Only each sequence's first row asks; every row is asked.
void ForwardPass::last_layer(const LayerWeights& weights) {
    const std::size_t sequences = batch_.sequences();
    const Matrix x{work_.x_.data(), tokens_, hidden_, hidden_};
    const Matrix first = first_rows();
    const Matrix q{work_.q_.data(), sequences, hidden_, hidden_};
    const Matrix y{work_.y_.data(), sequences, hidden_, hidden_};
    prepare(readable(x));
    multiply(readable(x), weights.kv, {work_.kv_.data(), tokens_, 2 * hidden_, 2 * hidden_},
             nullptr);
    for (std::size_t s = 0; s < sequences; ++s) {
        const float* from = x.data + batch_.starts[s] * hidden_;
        std::copy(from, from + hidden_, first.data + s * hidden_);
    }
    prepare(readable(first));
    multiply(readable(first), weights.q, q, nullptr);
    attend(1, readable(q), q);
    prepare(readable(q));
    multiply(readable(q), weights.out, y, nullptr);
    table_.add_layer_norm(first, readable(y),
                          {weights.attention_norm.gamma.data(), weights.attention_norm.beta.data(),
                           weights_.config.layer_norm_eps});
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
    multiply(readable(first), *weights_.pooler, out, &activation);
    std::copy(out.data, out.data + out.rows * hidden_, first.data);
}

void ForwardPass::classify(std::span<float> out) {
    TG_CHECK(weights_.classifier.has_value(), "the model has a classifier");
    const std::size_t labels = weights_.classifier->n;
    TG_CHECK(out.size() == batch_.sequences() * labels, "out: sequences x labels");
    multiply(readable(first_rows()), *weights_.classifier,
             {out.data(), batch_.sequences(), labels, labels}, nullptr);
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
