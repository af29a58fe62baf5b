// Character classes through ICU, ASCII by hand.
#include "model/bert_normalize.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <cstddef>

#include "base/utf8_char.h"

namespace tollgate {

namespace {

char32_t next_char(std::string_view& text) {
    const std::size_t size = utf8_char_size(text);
    const auto byte = [&](std::size_t i) {
        return static_cast<char32_t>(static_cast<unsigned char>(text[i]));
    };
    char32_t c = 0xFFFD;
    switch (size) {
        case 1:
            c = byte(0);
            break;
        case 2:
            c = (byte(0) & 0x1FU) << 6 | (byte(1) & 0x3FU);
            break;
        case 3:
            c = (byte(0) & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
            break;
        case 4:
            c = (byte(0) & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 |
                (byte(3) & 0x3FU);
            break;
        default:
            break;
    }
    text.remove_prefix(size == 0 ? 1 : size);
    return c;
}

bool is_dropped(char32_t c) {
    if (c == 0 || c == 0xFFFD) {
        return true;
    }
    if (c == '\t' || c == '\n' || c == '\r') {
        return false;
    }
    if (c < 0x80) {
        return c < 0x20 || c == 0x7F;
    }
    const auto category = u_charType(static_cast<UChar32>(c));
    return category == U_CONTROL_CHAR || category == U_FORMAT_CHAR ||
           category == U_PRIVATE_USE_CHAR;
}

// The blocks of the original BERT: CJK ideographs, not kana and not Hangul.
bool is_ideograph(char32_t c) {
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
           (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
           (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

void push_lower(char32_t c, bool lowercase, std::vector<char32_t>& out) {
    if (!lowercase) {
        out.push_back(c);
    } else if (c == 0x130) {  // the only character whose lower case is two
        out.push_back('i');
        out.push_back(0x307);
    } else {
        out.push_back(static_cast<char32_t>(u_tolower(static_cast<UChar32>(c))));
    }
}

const icu::Normalizer2* decomposer() {
    UErrorCode status = U_ZERO_ERROR;
    return icu::Normalizer2::getNFDInstance(status);
}

// NFD without its non-spacing marks. (The order of the marks that NFD sets right does not matter:
// they go.)
void push_bare(char32_t c, bool lowercase, std::vector<char32_t>& out) {
    static const icu::Normalizer2* const kNfd = decomposer();
    icu::UnicodeString parts;
    if (kNfd == nullptr || kNfd->getDecomposition(static_cast<UChar32>(c), parts) == 0) {
        if (u_charType(static_cast<UChar32>(c)) != U_NON_SPACING_MARK) {
            push_lower(c, lowercase, out);
        }
        return;
    }
    for (std::int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1)) {
        const UChar32 part = parts.char32At(i);
        if (u_charType(part) != U_NON_SPACING_MARK) {
            push_lower(static_cast<char32_t>(part), lowercase, out);
        }
    }
}

}  // namespace

bool is_bert_space(char32_t c) {
    if (c < 0x80) {
        return c == ' ' || (c >= '\t' && c <= '\r');
    }
    return u_isUWhiteSpace(static_cast<UChar32>(c)) != 0;
}

bool is_bert_punctuation(char32_t c) {
    if (c < 0x80) {
        return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
               (c >= 123 && c <= 126);
    }
    return u_ispunct(static_cast<UChar32>(c)) != 0;
}

void normalize(const BertNormalizer& how, std::string_view text, std::vector<char32_t>& out) {
    const bool bare = how.strips_accents();
    while (!text.empty()) {
        char32_t c = next_char(text);
        if (how.clean_text) {
            if (is_dropped(c)) {
                continue;
            }
            if (is_bert_space(c)) {
                c = ' ';
            }
        }
        if (c < 0x80) {
            out.push_back(how.lowercase && c >= 'A' && c <= 'Z' ? c + 32 : c);
            continue;
        }
        const bool alone = how.chinese_characters && is_ideograph(c);
        if (alone) {
            out.push_back(' ');
        }
        if (bare) {
            push_bare(c, how.lowercase, out);
        } else {
            push_lower(c, how.lowercase, out);
        }
        if (alone) {
            out.push_back(' ');
        }
    }
}

}  // namespace tollgate
