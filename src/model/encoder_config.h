// EncoderConfig: what an encoder's config.json says, bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kernels/kernels.h"

namespace tollgate {

enum class EncoderFamily : std::uint8_t { kBert, kDistilBert };

struct EncoderConfig {
    EncoderFamily family = EncoderFamily::kBert;
    std::string architecture;           // "BertForSequenceClassification"
    std::size_t vocab_size = 0;         // 1 .. 1,000,000
    std::size_t hidden_size = 0;        // 1 .. 8,192, a multiple of heads
    std::size_t layers = 0;             // 1 .. 64
    std::size_t heads = 0;              // 1 .. 128; hidden_size / heads at most 256
    std::size_t intermediate_size = 0;  // 1 .. 32,768
    std::size_t max_positions = 0;      // 2 .. 8,192
    std::size_t type_vocab_size = 0;    // 0 (DistilBERT) .. 16
    float layer_norm_eps = 1e-12F;
    kernels::Activation activation = kernels::Activation::kGeluErf;
    std::size_t labels = 0;  // 0: the architecture has no classifier; at most 1,000
};

// kBadInput names the key, its value and the allowed range. model_type is bert or distilbert;
// position_embedding_type must be absolute.
Result<EncoderConfig> parse_encoder_config(std::string_view json);
Result<EncoderConfig> load_encoder_config(const std::string& path);

}  // namespace tollgate
