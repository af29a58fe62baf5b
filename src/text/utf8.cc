// Validity, cutting and printing of UTF-8.
#include "text/utf8.h"

#include <algorithm>
#include <array>

#include "base/utf8_char.h"

namespace tollgate {
namespace {

constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

}  // namespace

bool is_valid_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const std::size_t size = utf8_char_size(text);
        if (size == 0) {
            return false;
        }
        text.remove_prefix(size);
    }
    return true;
}

std::string_view truncate_utf8(std::string_view text, std::size_t max_bytes) noexcept {
    if (text.size() <= max_bytes) {
        return text;
    }
    // A character has at most four bytes: if one crosses the cut, it begins within three of it.
    for (std::size_t back = 1; back <= std::min<std::size_t>(3, max_bytes); ++back) {
        const std::size_t start = max_bytes - back;
        if (utf8_char_size(text.substr(start)) > back) {
            return text.substr(0, start);
        }
    }
    return text.substr(0, max_bytes);
}

std::string printable(std::string_view text, std::size_t max_bytes) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    std::string out;
    std::size_t fits = 0;  // bytes of `out` that leave room for the ellipsis
    const std::size_t reserve = max_bytes >= kEllipsis.size() ? kEllipsis.size() : 0;
    while (!text.empty()) {
        const auto byte = static_cast<unsigned char>(text.front());
        std::size_t size = utf8_char_size(text);
        std::array<char, 4> escape{'\\', 'x', kHex[byte >> 4U], kHex[byte & 15U]};
        std::string_view piece = text.substr(0, size);
        // C1 controls (C2 80 to C2 9F) can move a terminal's cursor as C0 ones do.
        const bool c1 = size == 2 && byte == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
        if (size == 0 || byte < 0x20 || byte == 0x7F || c1) {
            piece = {escape.data(), escape.size()};
            size = 1;
        } else if (byte == '\\') {
            piece = "\\\\";
        }
        if (out.size() + piece.size() > max_bytes) {
            out.resize(fits);
            out.append(reserve != 0 ? kEllipsis : std::string_view());
            return out;
        }
        out.append(piece);
        if (out.size() + reserve <= max_bytes) {
            fits = out.size();
        }
        text.remove_prefix(size);
    }
    return out;
}

void append_utf8(std::string& out, char32_t code) {
    const auto tail = [&](int shift) {
        out += static_cast<char>(0x80U | ((code >> shift) & 0x3FU));
    };
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xC0U | (code >> 6));
        tail(0);
    } else if (code < 0x10000) {
        out += static_cast<char>(0xE0U | (code >> 12));
        tail(6);
        tail(0);
    } else {
        out += static_cast<char>(0xF0U | (code >> 18));
        tail(12);
        tail(6);
        tail(0);
    }
}

}  // namespace tollgate
