// Character classes through ICU, ASCII by hand.
#include "model/bert_normalize.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <cstddef>
#include <utility>

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

// The reference's tables are older than ICU's: its categories are those of Unicode 8, and it
// decomposes as Unicode 12 does. What was assigned later is no mark, no punctuation and no control
// character to it (tests/golden/wordpiece/*.chars hold every character). Letters that ICU does not
// know yet stay as they are.
constexpr std::uint8_t kCategoryVersion = 8;
constexpr std::uint8_t kDecompositionVersion = 12;

bool assigned_in(char32_t c, std::uint8_t version) {
    UVersionInfo age{};
    u_charAge(static_cast<UChar32>(c), age);
    return age[0] != 0 && age[0] <= version;
}

bool is_mark(char32_t c) {
    switch (c) {
        case 0x1734:  // a mark in Unicode 8, a spacing one since
            return true;
        case 0x1885:  // marks since, others in Unicode 8
        case 0x1886:
        case 0xA9BD:
        case 0x111C9:
            return false;
        default:
            return u_charType(static_cast<UChar32>(c)) == U_NON_SPACING_MARK &&
                   assigned_in(c, kCategoryVersion);
    }
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
    return category == U_CONTROL_CHAR || category == U_PRIVATE_USE_CHAR ||
           (category == U_FORMAT_CHAR && assigned_in(c, kCategoryVersion));
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

// NFD without its non-spacing marks, one character after the other.
class BareWriter {
  public:
    BareWriter(bool lowercase, std::vector<char32_t>& out)
        : lowercase_(lowercase), out_(out), barrier_(out.size()) {}

    void push(char32_t c) {
        static const icu::Normalizer2* const nfd = decomposer();
        icu::UnicodeString parts;
        if (c < 0xC0 || nfd == nullptr || !assigned_in(c, kDecompositionVersion) ||
            nfd->getDecomposition(static_cast<UChar32>(c), parts) == 0) {
            push_part(c);
            return;
        }
        for (std::int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1)) {
            push_part(static_cast<char32_t>(parts.char32At(i)));
        }
    }

  private:
    // Marks that stay (spacing ones) stand in the order of their classes, as NFD demands; one
    // without a class parts those before it from those behind it even where it is taken out.
    void push_part(char32_t c) {
        const std::uint8_t order = combining_class(c);
        if (is_mark(c)) {
            barrier_ = order == 0 ? out_.size() : barrier_;
            return;
        }
        push_lower(c, lowercase_, out_);
        if (order == 0) {
            barrier_ = out_.size();
            return;
        }
        for (std::size_t at = out_.size() - 1;
             at > barrier_ && combining_class(out_[at - 1]) > order; --at) {
            std::swap(out_[at], out_[at - 1]);
        }
    }

    static std::uint8_t combining_class(char32_t c) {
        return c >= 0x300 && assigned_in(c, kDecompositionVersion)
                   ? u_getCombiningClass(static_cast<UChar32>(c))
                   : std::uint8_t{0};
    }

    bool lowercase_;
    std::vector<char32_t>& out_;
    std::size_t barrier_;  // no mark moves before this
};

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
    // The last two are punctuation in Unicode 8 and were made a symbol and a mark later.
    return (u_ispunct(static_cast<UChar32>(c)) != 0 && assigned_in(c, kCategoryVersion)) ||
           c == 0x166D || c == 0x111C9;
}

void normalize(const BertNormalizer& how, std::string_view text, std::vector<char32_t>& out) {
    const bool bare = how.strips_accents();
    BareWriter writer(how.lowercase, out);
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
            writer.push(c);
        } else {
            push_lower(c, how.lowercase, out);
        }
        if (alone) {
            out.push_back(' ');
        }
    }
}

}  // namespace tollgate
