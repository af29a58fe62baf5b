// Fuzzes model/wordpiece.h. An input that begins with '{' is a tokenizer.json; of any other one the
// first byte chooses a setting and a bound, the second splits the rest into a vocabulary (lines)
// and a text. Ids are below the vocabulary's size, a shorter bound gives a prefix, twice is alike.
#include <algorithm>

#include "base/check.h"
#include "model/wordpiece.h"
#include "text/utf8.h"

namespace {

using tollgate::Tokens;
using tollgate::WordPiece;

void use(const WordPiece& tokenizer, std::string_view text, std::size_t most) {
    WordPiece::Scratch scratch;
    Tokens whole;
    Tokens cut;
    tokenizer.encode(text, 1 << 20, scratch, whole);
    tokenizer.encode(text, most, scratch, cut);
    TG_CHECK(whole.ids.size() == whole.total && cut.total == whole.total, "the counts differ");
    TG_CHECK(cut.ids.size() == std::min(most, whole.total), "the bound is not kept");
    TG_CHECK(std::equal(cut.ids.begin(), cut.ids.end() - 1, whole.ids.begin()), "not a prefix");
    TG_CHECK(cut.ids.back() == whole.ids.back(), "the last token is lost");
    for (const std::int32_t id : whole.ids) {
        TG_CHECK(id >= 0 && static_cast<std::size_t>(id) < tokenizer.size(), "an id out of range");
    }
    tokenizer.encode(text, 1 << 20, scratch, cut);
    TG_CHECK(cut.ids == whole.ids, "used buffers change the ids");
}

void check_error(const tollgate::Error& error) {
    TG_CHECK(!error.message.empty(), "an error that says nothing");
    TG_CHECK(tollgate::is_valid_utf8(error.message), "a message that is not UTF-8");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view all(reinterpret_cast<const char*>(data), size);
    if (all.starts_with('{')) {
        const auto tokenizer = WordPiece::from_tokenizer_json(all);
        if (!tokenizer) {
            check_error(tokenizer.error());
            return 0;
        }
        use(*tokenizer, all, 16);
        return 0;
    }
    if (size < 2) {
        return 0;
    }
    tollgate::WordPieceOptions options;
    options.normalizer.clean_text = (data[0] & 1U) == 0;
    options.normalizer.chinese_characters = (data[0] & 2U) == 0;
    options.normalizer.lowercase = (data[0] & 4U) == 0;
    if ((data[0] & 8U) != 0) {
        options.normalizer.strip_accents = (data[0] & 16U) != 0;
    }
    options.max_word_chars = (data[0] & 128U) != 0 ? 4 : 100;
    const std::string_view rest = all.substr(2);
    const std::size_t split = std::min<std::size_t>(rest.size(), data[1]);
    // The three are given, so that most inputs reach encode.
    std::string vocabulary = "[UNK]\n[CLS]\n[SEP]\n";
    vocabulary += rest.substr(0, split);
    const auto tokenizer = WordPiece::from_vocab_txt(vocabulary, options);
    if (!tokenizer) {
        check_error(tokenizer.error());
        return 0;
    }
    use(*tokenizer, rest.substr(split), std::size_t{2} + (data[0] >> 5U));
    return 0;
}
