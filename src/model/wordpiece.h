// WordPiece: text to the token ids of a BERT-family model, exactly as Hugging Face's tokenizer
// gives them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/bert_normalize.h"

namespace tollgate {

struct Tokens {
    std::vector<std::int32_t> ids;  // [CLS] … [SEP], at most as many as asked for
    std::size_t total = 0;          // as many as there would be without the bound; see encode
};

struct WordPieceOptions {
    BertNormalizer normalizer;
    std::size_t max_word_chars = 100;  // characters of a word after normalising; longer is [UNK]
    std::string unknown = "[UNK]";
    std::string first = "[CLS]";
    std::string last = "[SEP]";
};

// Immutable once made; any thread, each with a scratch of its own.
//
// One difference on purpose: "[SEP]" and its like typed in a text stay text (three words), where
// Hugging Face's tokenizer would make control tokens of them: a payment's memo cannot end the
// sequence.
//
// Source: Wu et al. 2016, arXiv 1609.08144, section 4.1 (greedy longest match first).
class WordPiece {
  public:
    static constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20;  // what follows is left out
    static constexpr std::size_t kMaxVocabulary = 1'000'000;

    // From a model's folder: tokenizer.json if it is there, else vocab.txt with
    // tokenizer_config.json. kBadInput names what is missing or of another kind.
    static Result<WordPiece> load(const std::string& folder);
    // Piece i has id i. Duplicates, and special tokens that are not there, are refused by name.
    static Result<WordPiece> from_vocabulary(const std::vector<std::string>& pieces,
                                             const WordPieceOptions& options);
    // The two kinds of file, as bytes.
    static Result<WordPiece> from_vocab_txt(std::string_view text, const WordPieceOptions& options);
    static Result<WordPiece> from_tokenizer_json(std::string_view text);

    std::size_t size() const { return size_; }  // ids are below it

    // Buffers of one thread's calls; they keep their memory.
    struct Scratch {
        std::vector<char32_t> chars;
        std::string word;                   // UTF-8
        std::vector<std::uint32_t> starts;  // of its characters, and its end
    };
    // max_tokens >= 2: [CLS] and [SEP] always stay. A text past kMaxTextBytes is cut there, and its
    // rest counts one in total. A byte that is no UTF-8 is dropped where the normalizer cleans.
    // Cost: one table probe for a word that is in the vocabulary. Allocates nothing once the
    // buffers have their size.
    void encode(std::string_view text, std::size_t max_tokens, Scratch& scratch, Tokens& out) const;

  private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const;
    };
    using Table = std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>>;

    void encode_word(const char32_t* begin, const char32_t* end, std::size_t max_tokens,
                     Scratch& scratch, Tokens& out) const;
    bool match_word(Scratch& scratch, Tokens& out, std::size_t room) const;

    WordPieceOptions options_;
    Table heads_;  // pieces that begin a word
    Table tails_;  // "##" pieces, without the mark
    std::size_t size_ = 0;
    std::size_t longest_ = 0;  // bytes of the longest piece
    std::int32_t unknown_ = 0;
    std::int32_t first_ = 0;
    std::int32_t last_ = 0;
};

}  // namespace tollgate
