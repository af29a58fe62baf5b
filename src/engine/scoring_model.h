// ScoringModel: a classifier and its tokenizer out of one folder; text in, one logit out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/lanes.h"
#include "base/result.h"
#include "model/encoder.h"
#include "model/wordpiece.h"

namespace tollgate {

// Immutable once loaded; any thread.
struct ScoringModel {
    std::string folder;
    std::string digest;  // 64 hexadecimal digits over every file that decides a score
    WordPiece tokenizer;
    std::unique_ptr<const Encoder> encoder;

    // Beside Encoder::load's errors: kBadInput when the vocabulary and the configuration disagree,
    // or the classifier has neither one label (its logit) nor two (the second minus the first).
    static Result<ScoringModel> load(const std::string& folder, const kernels::KernelTable& table,
                                     const EncoderOptions& options);
};

// SHA-256 over the names and contents of the model's files: config.json, model.safetensors, the
// tokenizer's files, buckets.json, calibration.json; those that are there.
Result<std::string> model_digest(const std::string& folder);

// A small file of the folder (at most 64 MiB), for what others keep beside the weights; nullopt
// when there is none.
Result<std::optional<std::string>> model_file(const std::string& folder, const std::string& name);

struct ScoredText {
    float logit = 0.0F;
    std::uint32_t tokens = 0;  // as scored, [CLS] and [SEP] included
    std::uint32_t cut = 0;     // tokens of the text past the model's longest input
};

// One batch being filled and scored. One thread's; sized once, then allocates nothing.
class TextBatch {
  public:
    TextBatch(const ScoringModel& model, std::size_t max_tokens, std::size_t max_sequences,
              std::size_t lane_threads);

    void clear();
    // False when the batch has no room for it (never for the first text).
    bool add(std::string_view text);
    std::size_t size() const { return scored_.size(); }
    // The texts' logits, in the order added; valid until clear().
    std::span<const ScoredText> score(TileLane& lane);
    std::size_t bytes() const { return work_.bytes(); }

  private:
    const ScoringModel& model_;
    EncoderWorkspace work_;
    WordPiece::Scratch scratch_;
    Tokens tokens_;
    std::vector<std::int32_t> ids_;
    std::vector<std::uint32_t> starts_;
    std::vector<ScoredText> scored_;
    std::vector<float> logits_;
};

}  // namespace tollgate
