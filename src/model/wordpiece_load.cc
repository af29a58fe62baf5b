// A tokenizer out of a model's folder: tokenizer.json, or vocab.txt with tokenizer_config.json.
#include <algorithm>

#include "model/wordpiece.h"
#include "tensor/mapped_file.h"
#include "text/json.h"
#include "text/utf8.h"

namespace tollgate {

namespace {

Error bad(const std::string& what) {
    return {Fault::kBadInput, "tokenizer.json: " + what};
}

JsonDocument large_document() {
    return JsonDocument({.max_bytes = std::size_t{256} << 20,
                         .max_depth = 64,
                         .max_members = WordPiece::kMaxVocabulary});
}

// A member that must have a certain "type".
Result<JsonValue> part(const JsonValue& root, const char* name, std::string_view type) {
    const auto found = root.find(name);
    const auto kind =
        found && found->is(JsonKind::kObject) ? found->find("type") : std::optional<JsonValue>();
    if (!kind || !kind->is(JsonKind::kString) || kind->string() != type) {
        const std::string is = kind && kind->is(JsonKind::kString)
                                   ? "\"" + printable(kind->string(), 60) + "\""
                                   : "missing";
        return bad(std::string(name) + ".type is " + is + ", this server reads \"" +
                   std::string(type) + "\"");
    }
    return *found;
}

Result<bool> flag(const JsonValue& object, const char* name, bool otherwise) {
    const auto found = object.find(name);
    if (!found || found->is(JsonKind::kNull)) {
        return otherwise;
    }
    if (!found->is(JsonKind::kBool)) {
        return Error{Fault::kBadInput, std::string(name) + " is neither true nor false"};
    }
    return found->boolean();
}

Result<BertNormalizer> normalizer_of(const JsonValue& object, const char* lowercase,
                                     const char* chinese) {
    BertNormalizer out;
    TG_TRY(out.clean_text, flag(object, "clean_text", true));
    TG_TRY(out.lowercase, flag(object, lowercase, true));
    TG_TRY(out.chinese_characters, flag(object, chinese, true));
    const auto strip = object.find("strip_accents");
    if (strip && strip->is(JsonKind::kBool)) {
        out.strip_accents = strip->boolean();
    } else if (strip && !strip->is(JsonKind::kNull)) {
        return Error{Fault::kBadInput, "strip_accents is not true, false or null"};
    }
    return out;
}

Result<std::vector<std::string>> vocabulary(const JsonValue& model) {
    const auto vocab = model.find("vocab");
    if (!vocab || !vocab->is(JsonKind::kObject)) {
        return bad("model.vocab is no object");
    }
    const std::size_t size = vocab->size();
    std::vector<std::string> pieces(std::min(size, WordPiece::kMaxVocabulary));
    std::vector<bool> taken(pieces.size());
    std::string fault;
    vocab->each_member([&](std::string_view piece, const JsonValue& id) {
        const bool known = id.is(JsonKind::kInteger) && id.integer() >= 0 &&
                           static_cast<std::size_t>(id.integer()) < pieces.size();
        if (!known || taken[static_cast<std::size_t>(id.integer())]) {
            fault = "\"" + printable(piece, 80) + "\" has an id that is " +
                    (known ? "taken" : "not from 0 to " + std::to_string(pieces.size() - 1));
            return false;
        }
        taken[static_cast<std::size_t>(id.integer())] = true;
        pieces[static_cast<std::size_t>(id.integer())] = std::string(piece);
        return true;
    });
    if (!fault.empty()) {
        return bad("model.vocab: " + fault);
    }
    return pieces;
}

}  // namespace

Result<WordPiece> WordPiece::from_tokenizer_json(std::string_view text) {
    JsonDocument document = large_document();
    const auto root = document.parse(text);
    if (!root) {
        return bad(root.error().message);
    }
    if (!root->is(JsonKind::kObject)) {
        return bad("is not an object");
    }
    TG_TRY(const JsonValue model, part(*root, "model", "WordPiece"));
    TG_TRY(const JsonValue normalizer, part(*root, "normalizer", "BertNormalizer"));
    TG_TRY([[maybe_unused]] const JsonValue split,
           part(*root, "pre_tokenizer", "BertPreTokenizer"));
    WordPieceOptions options;
    TG_TRY(options.normalizer, normalizer_of(normalizer, "lowercase", "handle_chinese_chars"));
    const auto prefix = model.find("continuing_subword_prefix");
    if (prefix && (!prefix->is(JsonKind::kString) || prefix->string() != "##")) {
        return bad("model.continuing_subword_prefix is not \"##\"");
    }
    const auto limit = model.find("max_input_chars_per_word");
    if (limit) {
        if (!limit->is(JsonKind::kInteger) || limit->integer() < 1 || limit->integer() > 10'000) {
            return bad("model.max_input_chars_per_word is not from 1 to 10000");
        }
        options.max_word_chars = static_cast<std::size_t>(limit->integer());
    }
    const auto unknown = model.find("unk_token");
    if (unknown && unknown->is(JsonKind::kString)) {
        options.unknown = std::string(unknown->string());
    }
    TG_TRY(const std::vector<std::string> pieces, vocabulary(model));
    return from_vocabulary(pieces, options);
}

Result<WordPiece> WordPiece::load(const std::string& folder) {
    Result<MappedFile> json = MappedFile::open(folder + "/tokenizer.json");
    if (json) {
        Result<WordPiece> out = from_tokenizer_json(json->text());
        if (!out) {
            return Error{out.error().fault, folder + "/" + out.error().message};
        }
        return out;
    }
    if (json.error().fault != Fault::kNotFound) {
        return json.error();
    }
    TG_TRY(const MappedFile vocab, MappedFile::open(folder + "/vocab.txt"));
    WordPieceOptions options;
    Result<MappedFile> config = MappedFile::open(folder + "/tokenizer_config.json");
    if (config) {
        JsonDocument document = large_document();
        const auto root = document.parse(config->text());
        if (!root || !root->is(JsonKind::kObject)) {
            return Error{Fault::kBadInput, folder + "/tokenizer_config.json is no JSON object"};
        }
        Result<BertNormalizer> read =
            normalizer_of(*root, "do_lower_case", "tokenize_chinese_chars");
        if (!read) {
            return Error{Fault::kBadInput,
                         folder + "/tokenizer_config.json: " + read.error().message};
        }
        options.normalizer = *read;
    } else if (config.error().fault != Fault::kNotFound) {
        return config.error();
    }
    Result<WordPiece> out = from_vocab_txt(vocab.text(), options);
    if (!out) {
        return Error{out.error().fault, folder + "/vocab.txt: " + out.error().message};
    }
    return out;
}

}  // namespace tollgate
