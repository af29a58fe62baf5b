// One UTF-8 character at a time: the only place that knows which byte sequences are well formed.
#pragma once

#include <cstddef>
#include <string_view>

namespace tollgate {

// Bytes of the well-formed character (Unicode 15, table 3-7: no overlong forms, no surrogates,
// nothing above U+10FFFF) that `text` begins with; 0 when it begins with none or is empty.
std::size_t utf8_char_size(std::string_view text) noexcept;

}  // namespace tollgate
