// BERT's text cleaning and word splitting, character by character, as Hugging Face's BertNormalizer
// and BertPreTokenizer do it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tollgate {

struct BertNormalizer {
    bool clean_text = true;             // drops control characters, makes white space a space
    bool chinese_characters = true;     // a CJK ideograph is a word of its own
    bool lowercase = true;              // each character by itself: a final sigma is a sigma
    std::optional<bool> strip_accents;  // unset: as lowercase (shared by all implementations)

    bool strips_accents() const { return strip_accents.value_or(lowercase); }
};

// Appends the normalised characters of `text`. A byte that is no UTF-8 counts as U+FFFD, which
// clean_text drops.
void normalize(const BertNormalizer& how, std::string_view text, std::vector<char32_t>& out);

bool is_bert_space(char32_t c);
// ASCII's symbols count as punctuation, beside Unicode's categories P*.
bool is_bert_punctuation(char32_t c);

}  // namespace tollgate
