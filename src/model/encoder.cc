// Encoder's public calls and the workspace's sizes.
#include "model/encoder.h"

#include <algorithm>
#include <cmath>

#include "model/encoder_weights.h"
#include "model/forward_pass.h"

namespace tollgate {

std::string_view to_text(Precision precision) {
    return precision == Precision::kF32 ? "fp32" : "int8";
}

Result<Precision> precision_of(std::string_view text) {
    if (text == "fp32") {
        return Precision::kF32;
    }
    if (text == "int8") {
        return Precision::kInt8;
    }
    return Error{Fault::kBadInput,
                 "precision = \"" + std::string(text) + "\": it is \"fp32\" or \"int8\""};
}

EncoderWorkspace::EncoderWorkspace(const EncoderConfig& config, std::size_t max_tokens,
                                   std::size_t max_sequences, std::size_t lane_threads)
    : max_tokens_(max_tokens),
      max_sequences_(max_sequences),
      x_(max_tokens * config.hidden_size),
      y_(max_tokens * config.hidden_size),
      q_(max_tokens * config.hidden_size),
      kv_(max_tokens * 2 * config.hidden_size),
      wide_(max_tokens * config.intermediate_size),
      pooled_(max_sequences * config.hidden_size),
      pooled_out_(max_sequences * config.hidden_size),
      quantized_(max_tokens * 2 * (std::max(config.hidden_size, config.intermediate_size) + 4)),
      row_scale_(max_tokens) {
    const std::size_t longest = std::min<std::size_t>(max_tokens, config.max_positions);
    attention_.reserve(lane_threads);
    for (std::size_t i = 0; i < lane_threads; ++i) {
        attention_.emplace_back(
            kernels::attention_scratch(longest, config.hidden_size / config.heads));
    }
}

std::size_t EncoderWorkspace::bytes() const {
    std::size_t floats = x_.size() + y_.size() + q_.size() + kv_.size() + wide_.size() +
                         pooled_.size() + pooled_out_.size() + row_scale_.size();
    for (const Aligned<float>& scratch : attention_) {
        floats += scratch.size();
    }
    return floats * sizeof(float) + quantized_.size();
}

Encoder::Encoder(std::unique_ptr<const Weights> weights) : weights_(std::move(weights)) {}
Encoder::~Encoder() = default;

const EncoderConfig& Encoder::config() const {
    return weights_->config;
}
const kernels::KernelTable& Encoder::table() const {
    return *weights_->table;
}
Precision Encoder::precision() const {
    return weights_->precision;
}
std::size_t Encoder::labels() const {
    return weights_->classifier ? weights_->classifier->n : 0;
}
std::size_t Encoder::weight_bytes() const {
    return weights_->bytes();
}
std::size_t Encoder::parameters() const {
    return weights_->parameters;
}

void Encoder::classify(const TokenBatch& batch, EncoderWorkspace& work, TileLane& lane,
                       std::span<float> out) const {
    ForwardPass pass(*this, batch, work, lane);
    pass.run_first_rows();
    pass.apply_pooler();
    pass.classify(out);
}

void Encoder::pool(const TokenBatch& batch, Pooling pooling, bool normalise, EncoderWorkspace& work,
                   TileLane& lane, std::span<float> out) const {
    const std::size_t hidden = config().hidden_size;
    TG_CHECK(out.size() == batch.sequences() * hidden, "out: sequences x hidden");
    ForwardPass pass(*this, batch, work, lane);
    if (pooling == Pooling::kMean) {
        pass.run_all();
        pass.mean_rows(out);
    } else {
        pass.run_first_rows();
        pass.apply_pooler();
        const kernels::Matrix first = pass.first_rows();
        std::copy(first.data, first.data + first.rows * hidden, out.data());
    }
    for (std::size_t s = 0; normalise && s < batch.sequences(); ++s) {
        const std::span<float> row = out.subspan(s * hidden, hidden);
        double squares = 0.0;
        for (const float v : row) {
            squares += static_cast<double>(v) * static_cast<double>(v);
        }
        const auto norm = static_cast<float>(std::sqrt(std::max(squares, 1e-24)));
        for (float& v : row) {
            v /= norm;
        }
    }
}

void Encoder::hidden(const TokenBatch& batch, EncoderWorkspace& work, TileLane& lane,
                     std::span<float> out) const {
    ForwardPass pass(*this, batch, work, lane);
    pass.run_all();
    const kernels::ConstMatrix rows = pass.rows();
    TG_CHECK(out.size() == rows.rows * rows.cols, "out: tokens x hidden");
    std::copy(rows.data, rows.data + out.size(), out.data());
}

}  // namespace tollgate
