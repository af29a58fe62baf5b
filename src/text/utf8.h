// UTF-8 as text that came from strangers: validity, cutting, and showing it in an error message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tollgate {

bool is_valid_utf8(std::string_view text) noexcept;

// The longest prefix of at most `max_bytes` that does not end inside a character. Bytes that are no
// character count as one each.
std::string_view truncate_utf8(std::string_view text, std::size_t max_bytes) noexcept;

// Appends one character; `code` is at most U+10FFFF and no surrogate.
void append_utf8(std::string& out, char32_t code);

// `text` for a message: control characters and bytes that are no character as \xNN, a backslash
// doubled; more than `max_bytes` of the result are cut at a character and end in "…" (whose three
// bytes are counted, when max_bytes has room for them). Always valid UTF-8 on one line.
std::string printable(std::string_view text, std::size_t max_bytes);

}  // namespace tollgate
