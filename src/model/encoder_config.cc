// Reads config.json of the two families, each with its own names for the same sizes.
#include "model/encoder_config.h"

#include "tensor/mapped_file.h"
#include "text/json.h"
#include "text/utf8.h"

namespace tollgate {

namespace {

class ConfigReader {
  public:
    explicit ConfigReader(const JsonValue& root) : root_(root) {}

    Result<std::size_t> size(const char* key, std::size_t low, std::size_t high) const {
        const auto found = root_.find(key);
        if (!found) {
            return Error{Fault::kBadInput, std::string(key) + " is missing"};
        }
        const bool good = found->is(JsonKind::kInteger) && found->integer() >= 0 &&
                          static_cast<std::size_t>(found->integer()) >= low &&
                          static_cast<std::size_t>(found->integer()) <= high;
        if (!good) {
            const std::string is =
                found->is(JsonKind::kInteger) ? std::to_string(found->integer()) : "no integer";
            return Error{Fault::kBadInput, std::string(key) + " = " + is + ": it is from " +
                                               std::to_string(low) + " to " + std::to_string(high)};
        }
        return static_cast<std::size_t>(found->integer());
    }

    Result<std::string> text(const char* key, const char* otherwise) const {
        const auto found = root_.find(key);
        if (!found || found->is(JsonKind::kNull)) {
            return std::string(otherwise);
        }
        if (!found->is(JsonKind::kString)) {
            return Error{Fault::kBadInput, std::string(key) + " is no text"};
        }
        return std::string(found->string());
    }

    const JsonValue& root() const { return root_; }

  private:
    const JsonValue& root_;
};

Result<kernels::Activation> activation_of(const ConfigReader& reader, const char* key) {
    TG_TRY(const std::string name, reader.text(key, "gelu"));
    if (name == "gelu") {
        return kernels::Activation::kGeluErf;
    }
    if (name == "gelu_new" || name == "gelu_pytorch_tanh") {
        return kernels::Activation::kGeluTanh;
    }
    if (name == "relu") {
        return kernels::Activation::kRelu;
    }
    return Error{Fault::kBadInput, std::string(key) + " = \"" + printable(name, 60) +
                                       "\": it is gelu, gelu_new, gelu_pytorch_tanh or relu"};
}

struct Keys {
    const char* hidden;
    const char* layers;
    const char* heads;
    const char* inner;
    const char* activation;
};
constexpr Keys kBertKeys{"hidden_size", "num_hidden_layers", "num_attention_heads",
                         "intermediate_size", "hidden_act"};
constexpr Keys kDistilKeys{"dim", "n_layers", "n_heads", "hidden_dim", "activation"};

Status read_sizes(const ConfigReader& reader, EncoderConfig& out) {
    const Keys& keys = out.family == EncoderFamily::kBert ? kBertKeys : kDistilKeys;
    TG_TRY(out.vocab_size, reader.size("vocab_size", 1, 1'000'000));
    TG_TRY(out.hidden_size, reader.size(keys.hidden, 1, 8192));
    TG_TRY(out.layers, reader.size(keys.layers, 1, 64));
    TG_TRY(out.heads, reader.size(keys.heads, 1, 128));
    TG_TRY(out.intermediate_size, reader.size(keys.inner, 1, 32'768));
    TG_TRY(out.max_positions, reader.size("max_position_embeddings", 2, 8192));
    TG_TRY(out.activation, activation_of(reader, keys.activation));
    if (out.family == EncoderFamily::kBert) {
        TG_TRY(out.type_vocab_size, reader.size("type_vocab_size", 1, 16));
    }
    if (out.hidden_size % out.heads != 0 || out.hidden_size / out.heads > 256) {
        return Error{Fault::kBadInput, std::string(keys.hidden) + " = " +
                                           std::to_string(out.hidden_size) +
                                           " is not a multiple of " + keys.heads + " = " +
                                           std::to_string(out.heads) + " by at most 256"};
    }
    return ok();
}

Status read_epsilon(const ConfigReader& reader, EncoderConfig& out) {
    const auto found = reader.root().find("layer_norm_eps");
    if (!found) {
        return ok();
    }
    const bool number = found->is(JsonKind::kDouble) || found->is(JsonKind::kInteger);
    if (!number || !(found->number() >= 0.0 && found->number() <= 0.1)) {
        return Error{Fault::kBadInput, "layer_norm_eps is not from 0 to 0.1"};
    }
    out.layer_norm_eps = static_cast<float>(found->number());
    return ok();
}

// How many labels the classifier has: transformers' rules, two when nothing is said.
Status read_labels(const ConfigReader& reader, EncoderConfig& out) {
    const auto architectures = reader.root().find("architectures");
    if (architectures && architectures->is(JsonKind::kArray)) {
        architectures->each_item([&](const JsonValue& item) {
            if (item.is(JsonKind::kString)) {
                out.architecture = std::string(item.string());
            }
            return false;
        });
    }
    if (!out.architecture.ends_with("ForSequenceClassification")) {
        return ok();
    }
    const auto names = reader.root().find("id2label");
    out.labels = 2;
    if (names && names->is(JsonKind::kObject)) {
        out.labels = names->size();
    } else if (reader.root().find("num_labels")) {
        TG_TRY(out.labels, reader.size("num_labels", 1, 1000));
    }
    if (out.labels < 1 || out.labels > 1000) {
        return Error{Fault::kBadInput,
                     "id2label has " + std::to_string(out.labels) + " labels: 1 to 1000"};
    }
    return ok();
}

}  // namespace

Result<EncoderConfig> parse_encoder_config(std::string_view json) {
    JsonDocument document(
        {.max_bytes = std::size_t{1} << 20, .max_depth = 16, .max_members = 4096});
    TG_TRY(const JsonValue root, document.parse(json));
    if (!root.is(JsonKind::kObject)) {
        return Error{Fault::kBadInput, "the configuration is not an object"};
    }
    const ConfigReader reader(root);
    EncoderConfig out;
    TG_TRY(const std::string type, reader.text("model_type", ""));
    if (type != "bert" && type != "distilbert") {
        return Error{Fault::kBadInput,
                     "model_type = \"" + printable(type, 60) + "\": it is bert or distilbert"};
    }
    out.family = type == "bert" ? EncoderFamily::kBert : EncoderFamily::kDistilBert;
    TG_TRY(const std::string positions, reader.text("position_embedding_type", "absolute"));
    if (positions != "absolute") {
        return Error{Fault::kBadInput, "position_embedding_type = \"" + printable(positions, 60) +
                                           "\": it is absolute"};
    }
    for (const auto& read : {read_sizes, read_epsilon, read_labels}) {
        if (Status done = read(reader, out); !done) {
            return std::move(done).error();
        }
    }
    return out;
}

Result<EncoderConfig> load_encoder_config(const std::string& path) {
    TG_TRY(const MappedFile file, MappedFile::open(path));
    Result<EncoderConfig> out = parse_encoder_config(file.text());
    if (!out) {
        return Error{out.error().fault, path + ": " + out.error().message};
    }
    return out;
}

}  // namespace tollgate
