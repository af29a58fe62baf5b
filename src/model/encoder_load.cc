// Reads an encoder out of a Hugging Face folder: names and shapes checked tensor by tensor, then
// packed for the table.
#include <algorithm>
#include <array>
#include <cstring>

#include "model/encoder_weights.h"
#include "tensor/safetensors.h"

namespace tollgate {

namespace {

// Where each part of a layer is called what. BERT and DistilBERT hold the same tensors.
struct Names {
    std::string_view layer;  // before the layer's number
    std::string_view q, k, v, out, attention_norm, up, down, output_norm;
    std::string_view prefix;
};
constexpr Names kBertNames{"encoder.layer.",         "attention.self.query",
                           "attention.self.key",     "attention.self.value",
                           "attention.output.dense", "attention.output.LayerNorm",
                           "intermediate.dense",     "output.dense",
                           "output.LayerNorm",       "bert."};
constexpr Names kDistilNames{"transformer.layer.", "attention.q_lin",   "attention.k_lin",
                             "attention.v_lin",    "attention.out_lin", "sa_layer_norm",
                             "ffn.lin1",           "ffn.lin2",          "output_layer_norm",
                             "distilbert."};

std::string shape_text(const std::vector<std::size_t>& shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
    }
    return text + "]";
}

// One model file being read into Encoder::Weights.
class Reader {
  public:
    Reader(const SafetensorsFile& file, Precision precision, std::string_view prefix)
        : file_(file), precision_(precision) {
        // A model saved without its head leaves the prefix out.
        const std::string probe = std::string(prefix) + "embeddings.word_embeddings.weight";
        prefix_ = file.find(probe) != nullptr ? std::string(prefix) : std::string();
    }

    std::size_t parameters() const { return parameters_; }
    bool has(const std::string& name) const { return file_.find(name) != nullptr; }
    std::string inner(const std::string& name) const { return prefix_ + name; }

    Result<Aligned<float>> tensor(const std::string& name, const std::vector<std::size_t>& shape) {
        const auto* found = file_.find(name);
        if (found == nullptr) {
            return Error{Fault::kBadInput, "model.safetensors has no tensor \"" + name + "\""};
        }
        if (found->shape != shape) {
            return Error{Fault::kBadInput, "model.safetensors: \"" + name + "\" has shape " +
                                               shape_text(found->shape) + ", config.json says " +
                                               shape_text(shape)};
        }
        TG_TRY(const std::vector<float> values, to_floats(*found));
        parameters_ += values.size();
        Aligned<float> out(values.size());
        std::copy(values.begin(), values.end(), out.begin());
        return out;
    }

    // One layer, or several stacked by their outputs (k and v). fp32 when `exact`.
    Result<LinearWeights> linear(const std::vector<std::string>& names, std::size_t n,
                                 std::size_t k, bool exact) {
        const std::size_t all = n * names.size();
        Aligned<float> stacked(all * k);
        LinearWeights out;
        out.n = all;
        out.k = k;
        out.bias = Aligned<float>(kernels::panels_of(all) * kernels::kPanel);
        for (std::size_t i = 0; i < names.size(); ++i) {
            TG_TRY(const Aligned<float> w, tensor(names[i] + ".weight", {n, k}));
            TG_TRY(const Aligned<float> b, tensor(names[i] + ".bias", {n}));
            std::copy(w.begin(), w.end(), stacked.begin() + i * n * k);
            std::copy(b.begin(), b.end(), out.bias.begin() + i * n);
        }
        const kernels::ConstMatrix view{stacked.data(), all, k, k};
        if (exact || precision_ == Precision::kF32) {
            out.f32 = Aligned<float>(kernels::packed_f32_floats(all, k));
            kernels::pack_f32(view, out.f32.data());
        } else {
            out.s8 = Aligned<std::int8_t>(kernels::packed_s8_bytes(all, k));
            out.scale = Aligned<float>(kernels::panels_of(all) * kernels::kPanel);
            out.sums = Aligned<std::int32_t>(kernels::panels_of(all) * kernels::kPanel);
            kernels::pack_s8(view, out.s8.data(), out.scale.data(), out.sums.data());
        }
        return out;
    }

    // Old files call gamma and beta by these names, newer ones weight and bias.
    Result<NormWeights> norm(const std::string& name, std::size_t n) {
        const bool old = has(name + ".gamma");
        TG_TRY(Aligned<float> gamma, tensor(name + (old ? ".gamma" : ".weight"), {n}));
        TG_TRY(Aligned<float> beta, tensor(name + (old ? ".beta" : ".bias"), {n}));
        return NormWeights{std::move(gamma), std::move(beta)};
    }

  private:
    const SafetensorsFile& file_;
    Precision precision_;
    std::string prefix_;
    std::size_t parameters_ = 0;
};

Result<LayerWeights> read_layer(Reader& reader, const Names& names, const EncoderConfig& config,
                                std::size_t index) {
    const std::string base = reader.inner(std::string(names.layer) + std::to_string(index) + ".");
    const std::size_t h = config.hidden_size;
    const std::size_t inner = config.intermediate_size;
    const auto of = [&](std::string_view part) { return base + std::string(part); };
    LayerWeights layer;
    TG_TRY(layer.q, reader.linear({of(names.q)}, h, h, false));
    TG_TRY(layer.kv, reader.linear({of(names.k), of(names.v)}, h, h, false));
    TG_TRY(layer.out, reader.linear({of(names.out)}, h, h, false));
    TG_TRY(layer.attention_norm, reader.norm(of(names.attention_norm), h));
    TG_TRY(layer.up, reader.linear({of(names.up)}, inner, h, false));
    TG_TRY(layer.down, reader.linear({of(names.down)}, h, inner, false));
    TG_TRY(layer.output_norm, reader.norm(of(names.output_norm), h));
    return layer;
}

Status read_embeddings(Reader& reader, const EncoderConfig& config, Encoder::Weights& out) {
    const std::size_t h = config.hidden_size;
    const auto of = [&](const char* part) {
        return reader.inner(std::string("embeddings.") + part);
    };
    TG_TRY(out.words, reader.tensor(of("word_embeddings.weight"), {config.vocab_size, h}));
    TG_TRY(out.positions,
           reader.tensor(of("position_embeddings.weight"), {config.max_positions, h}));
    if (config.type_vocab_size > 0) {
        TG_TRY(const Aligned<float> types,
               reader.tensor(of("token_type_embeddings.weight"), {config.type_vocab_size, h}));
        out.types = Aligned<float>(h);
        std::copy(types.begin(), types.begin() + h, out.types.begin());
    }
    TG_TRY(out.embedding_norm, reader.norm(of("LayerNorm"), h));
    return ok();
}

Status read_head(Reader& reader, const EncoderConfig& config, Encoder::Weights& out) {
    const std::size_t h = config.hidden_size;
    const bool distil = config.family == EncoderFamily::kDistilBert;
    const std::string pooler = distil ? "pre_classifier" : reader.inner("pooler.dense");
    if (reader.has(pooler + ".weight")) {
        TG_TRY(LinearWeights read, reader.linear({pooler}, h, h, true));
        out.pooler = std::move(read);
    } else if (config.labels > 0) {
        return Error{Fault::kBadInput, "model.safetensors has no tensor \"" + pooler + ".weight\""};
    }
    if (config.labels > 0) {
        TG_TRY(LinearWeights read, reader.linear({"classifier"}, config.labels, h, true));
        out.classifier = std::move(read);
    }
    return ok();
}

// What the weights will need in memory, from the configuration alone: refused before anything is
// allocated.
std::size_t weights_needed(const EncoderConfig& c, Precision precision) {
    const std::size_t each = precision == Precision::kF32 ? sizeof(float) : 1;
    const std::size_t per_layer =
        4 * c.hidden_size * c.hidden_size + 2 * c.hidden_size * c.intermediate_size;
    return (c.vocab_size + c.max_positions + c.hidden_size + c.labels) * c.hidden_size *
               sizeof(float) +
           c.layers * per_layer * each;
}

}  // namespace

std::size_t Encoder::Weights::bytes() const {
    std::size_t sum = (words.size() + positions.size() + types.size()) * sizeof(float);
    for (const LayerWeights& layer : layers) {
        for (const LinearWeights* linear :
             {&layer.q, &layer.kv, &layer.out, &layer.up, &layer.down}) {
            sum += linear->bytes();
        }
    }
    return sum + (pooler ? pooler->bytes() : 0) + (classifier ? classifier->bytes() : 0);
}

Result<std::unique_ptr<const Encoder>> Encoder::load(const std::string& folder,
                                                     const kernels::KernelTable& table,
                                                     const EncoderOptions& options) {
    TG_TRY(const EncoderConfig config, load_encoder_config(folder + "/config.json"));
    const std::size_t needed = weights_needed(config, options.precision);
    if (needed > options.max_bytes) {
        return Error{Fault::kTooLarge, folder + ": the model needs " +
                                           std::to_string(needed >> 10) + " KiB of memory, " +
                                           std::to_string(options.max_bytes >> 10) +
                                           " KiB are allowed"};
    }
    TG_TRY(const SafetensorsFile file, SafetensorsFile::open(folder + "/model.safetensors"));
    const Names& names = config.family == EncoderFamily::kDistilBert ? kDistilNames : kBertNames;
    Reader reader(file, options.precision, names.prefix);
    auto weights = std::make_unique<Weights>();
    weights->config = config;
    weights->table = &table;
    weights->precision = options.precision;
    if (Status read = read_embeddings(reader, config, *weights); !read) {
        return std::move(read).error();
    }
    weights->layers.reserve(config.layers);
    for (std::size_t i = 0; i < config.layers; ++i) {
        TG_TRY(LayerWeights layer, read_layer(reader, names, config, i));
        weights->layers.push_back(std::move(layer));
    }
    if (Status read = read_head(reader, config, *weights); !read) {
        return std::move(read).error();
    }
    weights->parameters = reader.parameters();
    return std::unique_ptr<const Encoder>(new Encoder(std::move(weights)));
}

}  // namespace tollgate
