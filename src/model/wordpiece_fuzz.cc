// Any text through a small vocabulary: every id is one of it, the bound holds, twice alike; any
// bytes as tokenizer.json are refused or read.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "model/wordpiece.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using tollgate::Tokens;
    using tollgate::WordPiece;
    static const auto* const kTokenizer = [] {
        return new WordPiece(WordPiece::from_vocabulary({"[UNK]", "[CLS]", "[SEP]", "a", "b", "##a",
                                                         "##b", "ab", "1", "##1", "é", "日"},
                                                        {})
                                 .value_or_die());
    }();
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    WordPiece::Scratch scratch;
    Tokens first;
    Tokens second;
    for (const std::size_t most : {std::size_t{2}, std::size_t{7}, std::size_t{4096}}) {
        kTokenizer->encode(text, most, scratch, first);
        kTokenizer->encode(text, most, scratch, second);
        const bool good = first.ids == second.ids && first.ids.size() <= most &&
                          first.ids.size() >= 2 && first.total >= first.ids.size() &&
                          first.ids.front() == 1 && first.ids.back() == 2;
        if (!good) {
            std::abort();
        }
        for (const std::int32_t id : first.ids) {
            if (id < 0 || static_cast<std::size_t>(id) >= kTokenizer->size()) {
                std::abort();
            }
        }
    }
    (void)WordPiece::from_tokenizer_json(text);
    return 0;
}
