// Loads a scoring model and fills batches for it.
#include "engine/scoring_model.h"

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "tensor/mapped_file.h"

namespace tollgate {

namespace {

constexpr std::array<const char*, 7> kModelFiles = {
    "buckets.json",   "calibration.json",      "config.json", "model.safetensors",
    "tokenizer.json", "tokenizer_config.json", "vocab.txt"};

Status check_fit(const std::string& folder, const WordPiece& tokenizer, const Encoder& encoder) {
    if (tokenizer.size() > encoder.config().vocab_size) {
        return Error{Fault::kBadInput, folder + ": the vocabulary has " +
                                           std::to_string(tokenizer.size()) +
                                           " entries, config.json's vocab_size is " +
                                           std::to_string(encoder.config().vocab_size)};
    }
    if (encoder.labels() != 1 && encoder.labels() != 2) {
        return Error{Fault::kBadInput, folder + ": a scoring model has 1 or 2 labels, this one " +
                                           std::to_string(encoder.labels())};
    }
    return ok();
}

}  // namespace

Result<std::string> model_digest(const std::string& folder) {
    Sha256 hash;
    for (const char* name : kModelFiles) {
        const Result<MappedFile> file = MappedFile::open(folder + "/" + name);
        if (!file) {
            if (file.error().fault == Fault::kNotFound) {
                continue;
            }
            return file.error();
        }
        const auto bytes = file->bytes();
        hash.update(std::to_string(std::string_view(name).size()) + ":" + name + ":" +
                    std::to_string(bytes.size()) + ":");
        hash.update({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    return to_hex(hash.finish());
}

Result<std::optional<std::string>> model_file(const std::string& folder, const std::string& name) {
    constexpr std::size_t kMost = std::size_t{64} << 20;
    const std::string path = folder + "/" + name;
    const Result<MappedFile> file = MappedFile::open(path);
    if (!file) {
        if (file.error().fault == Fault::kNotFound) {
            return std::optional<std::string>();
        }
        return file.error();
    }
    if (file->bytes().size() > kMost) {
        return Error{Fault::kTooLarge, path + ": " + std::to_string(file->bytes().size()) +
                                           " bytes, at most " + std::to_string(kMost)};
    }
    return std::optional(std::string(file->text()));
}

Result<ScoringModel> ScoringModel::load(const std::string& folder,
                                        const kernels::KernelTable& table,
                                        const EncoderOptions& options) {
    TG_TRY(WordPiece tokenizer, WordPiece::load(folder));
    TG_TRY(std::unique_ptr<const Encoder> encoder, Encoder::load(folder, table, options));
    if (Status fits = check_fit(folder, tokenizer, *encoder); !fits) {
        return std::move(fits).error();
    }
    TG_TRY(std::string digest, model_digest(folder));
    return ScoringModel{.folder = folder,
                        .digest = std::move(digest),
                        .tokenizer = std::move(tokenizer),
                        .encoder = std::move(encoder)};
}

TextBatch::TextBatch(const ScoringModel& model, std::size_t max_tokens, std::size_t max_sequences,
                     std::size_t lane_threads)
    : model_(model),
      work_(model.encoder->config(),
            std::max<std::size_t>(max_tokens, model.encoder->config().max_positions), max_sequences,
            lane_threads) {
    ids_.reserve(work_.max_tokens());
    tokens_.ids.reserve(work_.max_tokens());
    starts_.reserve(max_sequences + 1);
    scored_.reserve(max_sequences);
    logits_.resize(max_sequences * 2);
    clear();
}

void TextBatch::clear() {
    ids_.clear();
    scored_.clear();
    starts_.assign(1, 0);
}

bool TextBatch::add(std::string_view text) {
    if (scored_.size() >= work_.max_sequences()) {
        return false;
    }
    model_.tokenizer.encode(text, model_.encoder->config().max_positions, scratch_, tokens_);
    if (ids_.size() + tokens_.ids.size() > work_.max_tokens()) {
        return false;
    }
    ids_.insert(ids_.end(), tokens_.ids.begin(), tokens_.ids.end());
    starts_.push_back(static_cast<std::uint32_t>(ids_.size()));
    scored_.push_back({.logit = 0.0F,
                       .tokens = static_cast<std::uint32_t>(tokens_.ids.size()),
                       .cut = static_cast<std::uint32_t>(tokens_.total - tokens_.ids.size())});
    return true;
}

std::span<const ScoredText> TextBatch::score(TileLane& lane) {
    if (scored_.empty()) {
        return {};
    }
    const std::size_t labels = model_.encoder->labels();
    const std::span<float> out(logits_.data(), scored_.size() * labels);
    model_.encoder->classify({.ids = ids_, .starts = starts_}, work_, lane, out);
    for (std::size_t i = 0; i < scored_.size(); ++i) {
        scored_[i].logit = labels == 1 ? out[i] : out[2 * i + 1] - out[2 * i];
    }
    return scored_;
}

}  // namespace tollgate
