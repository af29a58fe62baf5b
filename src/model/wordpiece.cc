// Greedy longest match over a word's characters.
#include "model/wordpiece.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"
#include "base/utf8_char.h"
#include "text/utf8.h"

namespace tollgate {

std::size_t WordPiece::Hash::operator()(std::string_view text) const {
    return static_cast<std::size_t>(hash64(text));
}

Result<WordPiece> WordPiece::from_vocabulary(const std::vector<std::string>& pieces,
                                             const WordPieceOptions& options) {
    if (pieces.empty() || pieces.size() > kMaxVocabulary) {
        return Error{Fault::kBadInput, "the vocabulary has " + std::to_string(pieces.size()) +
                                           " pieces: 1 to " + std::to_string(kMaxVocabulary)};
    }
    WordPiece out;
    out.options_ = options;
    out.size_ = pieces.size();
    out.heads_.reserve(pieces.size());
    for (std::size_t id = 0; id < pieces.size(); ++id) {
        const std::string& piece = pieces[id];
        const bool tail = piece.size() > 2 && piece.starts_with("##");
        Table& table = tail ? out.tails_ : out.heads_;
        const auto value = static_cast<std::int32_t>(id);
        if (!table.emplace(tail ? piece.substr(2) : piece, value).second) {
            return Error{Fault::kBadInput, "the vocabulary has \"" + printable(piece, 80) +
                                               "\" twice (again at " + std::to_string(id) + ")"};
        }
        out.longest_ = std::max(out.longest_, piece.size());
    }
    const std::pair<const std::string*, std::int32_t*> specials[] = {
        {&options.unknown, &out.unknown_},
        {&options.first, &out.first_},
        {&options.last, &out.last_}};
    for (const auto& [name, id] : specials) {
        const auto found = out.heads_.find(*name);
        if (found == out.heads_.end()) {
            return Error{Fault::kBadInput,
                         "the vocabulary has no \"" + printable(*name, 80) + "\""};
        }
        *id = found->second;
    }
    return out;
}

Result<WordPiece> WordPiece::from_vocab_txt(std::string_view text,
                                            const WordPieceOptions& options) {
    std::vector<std::string> pieces;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        if (pieces.size() >= kMaxVocabulary) {
            return Error{Fault::kTooLarge,
                         "vocab.txt has more than " + std::to_string(kMaxVocabulary) + " lines"};
        }
        pieces.emplace_back(line);
    }
    return from_vocabulary(pieces, options);
}

void WordPiece::encode(std::string_view text, std::size_t max_tokens, Scratch& scratch,
                       Tokens& out) const {
    TG_CHECK(max_tokens >= 2, "room for the first and the last token");
    const std::string_view kept = truncate_utf8(text, kMaxTextBytes);
    out.ids.clear();
    out.total = kept.size() < text.size() ? 3 : 2;
    out.ids.push_back(first_);
    scratch.chars.clear();
    normalize(options_.normalizer, kept, scratch.chars);
    const char32_t* at = scratch.chars.data();
    const char32_t* const end = at + scratch.chars.size();
    while (at != end) {
        if (is_bert_space(*at)) {
            ++at;
            continue;
        }
        const char32_t* to = at + 1;
        if (!is_bert_punctuation(*at)) {
            while (to != end && !is_bert_space(*to) && !is_bert_punctuation(*to)) {
                ++to;
            }
        }
        encode_word(at, to, max_tokens, scratch, out);
        at = to;
    }
    out.ids.push_back(last_);
}

void WordPiece::encode_word(const char32_t* begin, const char32_t* end, std::size_t max_tokens,
                            Scratch& scratch, Tokens& out) const {
    const std::size_t room = max_tokens - std::min(max_tokens, out.ids.size() + 1);
    scratch.word.clear();
    scratch.starts.clear();
    const auto count = static_cast<std::size_t>(end - begin);
    if (count <= options_.max_word_chars) {
        for (const char32_t* c = begin; c != end; ++c) {
            scratch.starts.push_back(static_cast<std::uint32_t>(scratch.word.size()));
            append_utf8(scratch.word, *c);
        }
        scratch.starts.push_back(static_cast<std::uint32_t>(scratch.word.size()));
        if (match_word(scratch, out, room)) {
            return;
        }
    }
    ++out.total;
    if (room > 0) {
        out.ids.push_back(unknown_);
    }
}

// Appends the word's pieces; false, and nothing appended, when one part of it has none.
bool WordPiece::match_word(Scratch& scratch, Tokens& out, std::size_t room) const {
    const std::string_view word = scratch.word;
    const std::vector<std::uint32_t>& starts = scratch.starts;
    const std::size_t chars = starts.size() - 1;
    const std::size_t before = out.ids.size();
    std::size_t pieces = 0;
    for (std::size_t from = 0; from < chars; ++pieces) {
        const Table& table = from == 0 ? heads_ : tails_;
        std::size_t to = chars;
        while (to > from && starts[to] - starts[from] > longest_) {
            --to;
        }
        auto found = table.end();
        for (; to > from; --to) {
            found = table.find(word.substr(starts[from], starts[to] - starts[from]));
            if (found != table.end()) {
                break;
            }
        }
        if (found == table.end()) {
            out.ids.resize(before);
            return false;
        }
        if (pieces < room) {
            out.ids.push_back(found->second);
        }
        from = to;
    }
    out.total += pieces;
    return true;
}

}  // namespace tollgate
