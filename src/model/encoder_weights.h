// Encoder::Weights: a model's packed layers, for encoder.cc, encoder_load.cc and forward_pass.cc.
#pragma once

#include <optional>
#include <vector>

#include "model/encoder.h"

namespace tollgate {

// One linear layer in the form that its table multiplies; f32 or s8 is filled, not both.
struct LinearWeights {
    std::size_t n = 0;  // outputs
    std::size_t k = 0;  // inputs
    Aligned<float> f32;
    Aligned<std::int8_t> s8;
    Aligned<float> scale;
    Aligned<std::int32_t> sums;
    Aligned<float> bias;
    std::size_t bytes() const {
        return f32.size() * sizeof(float) + s8.size() +
               (scale.size() + sums.size() + bias.size()) * sizeof(float);
    }
};

struct NormWeights {
    Aligned<float> gamma;
    Aligned<float> beta;
};

struct LayerWeights {
    LinearWeights q, kv, out, up, down;
    NormWeights attention_norm, output_norm;
};

struct Encoder::Weights {
    EncoderConfig config;
    const kernels::KernelTable* table = nullptr;
    Precision precision = Precision::kF32;
    std::size_t parameters = 0;
    Aligned<float> words, positions, types;  // rows x hidden; types: its first row, or empty
    NormWeights embedding_norm;
    std::vector<LayerWeights> layers;
    std::optional<LinearWeights> pooler;      // fp32 in every mode, as is the classifier
    std::optional<LinearWeights> classifier;  // labels x hidden
    std::size_t bytes() const;
};

}  // namespace tollgate
