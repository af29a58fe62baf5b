// Encoder: the forward pass of a BERT-family model read from an ordinary Hugging Face folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/aligned.h"
#include "base/lanes.h"
#include "base/result.h"
#include "kernels/kernels.h"
#include "model/encoder_config.h"

namespace tollgate {

class SafetensorsFile;

enum class Precision : std::uint8_t { kF32, kInt8 };
std::string_view to_text(Precision precision);  // "fp32", "int8"
Result<Precision> precision_of(std::string_view text);

enum class Pooling : std::uint8_t {
    kCls,   // the pooler's output where the model has one, else the first row
    kMean,  // the mean of the sequence's rows, special tokens included
};

struct EncoderOptions {
    Precision precision = Precision::kF32;
    std::size_t max_bytes = std::size_t{8} << 30;  // of weights in memory; more is refused
};

// Sequences one after the other, without padding: sequence i is ids[starts[i] .. starts[i + 1]).
// Each id is below the vocabulary's size, each sequence has 1 .. max_positions ids.
struct TokenBatch {
    std::span<const std::int32_t> ids;
    std::span<const std::uint32_t> starts;  // sequences + 1 offsets, the first 0
    std::size_t sequences() const { return starts.empty() ? 0 : starts.size() - 1; }
};

// The arena of one forward pass, sized once. One per thread that calls the encoder.
class EncoderWorkspace {
  public:
    EncoderWorkspace(const EncoderConfig& config, std::size_t max_tokens, std::size_t max_sequences,
                     std::size_t lane_threads);

    std::size_t max_tokens() const { return max_tokens_; }
    std::size_t max_sequences() const { return max_sequences_; }
    std::size_t bytes() const;

  private:
    friend class ForwardPass;
    std::size_t max_tokens_;
    std::size_t max_sequences_;
    Aligned<float> x_, y_, q_, kv_, wide_;  // rows x hidden, kv_: 2 hidden, wide_: intermediate
    Aligned<float> pooled_, pooled_out_;    // sequences x hidden
    Aligned<std::int8_t> quantized_;        // rows x max(hidden, intermediate), 2 bytes each
    Aligned<float> row_scale_;
    std::vector<Aligned<float>> attention_;  // one per lane thread
};

// Immutable once loaded; any thread, each with its own workspace. Results depend on nothing but the
// ids of their own sequence (docs/numerics.md): not on the batch, the lane, or the table.
//
// Source: Devlin et al. 2018, arXiv 1810.04805; Sanh et al. 2019, arXiv 1910.01108.
class Encoder {
  public:
    // kNotFound for a missing file, kBadInput for a model of another family, a missing tensor or a
    // wrong shape (named), kTooLarge when its weights need more than options.max_bytes.
    static Result<std::unique_ptr<const Encoder>> load(const std::string& folder,
                                                       const kernels::KernelTable& table,
                                                       const EncoderOptions& options);
    ~Encoder();
    Encoder(const Encoder&) = delete;
    Encoder& operator=(const Encoder&) = delete;

    const EncoderConfig& config() const;
    const kernels::KernelTable& table() const;
    Precision precision() const;
    std::size_t labels() const;        // 0: no classifier, only hidden() and pool()
    std::size_t weight_bytes() const;  // in memory, packed
    std::size_t parameters() const;

    // All of these allocate nothing. `lane` may be shared by encoders, not by concurrent calls.
    //
    // out: sequences x labels(), row-major.
    void classify(const TokenBatch& batch, EncoderWorkspace& work, TileLane& lane,
                  std::span<float> out) const;
    // out: sequences x hidden. With `normalise` each row is divided by its Euclidean norm.
    void pool(const TokenBatch& batch, Pooling pooling, bool normalise, EncoderWorkspace& work,
              TileLane& lane, std::span<float> out) const;
    // The last hidden states. out: tokens x hidden.
    void hidden(const TokenBatch& batch, EncoderWorkspace& work, TileLane& lane,
                std::span<float> out) const;

    struct Weights;  // model/encoder_weights.h, for this room's files

  private:
    friend class ForwardPass;
    explicit Encoder(std::unique_ptr<const Weights> weights);
    std::unique_ptr<const Weights> weights_;
};

}  // namespace tollgate
