// Cuts a template's source into text and tokens, white space control applied.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tollgate::jinja {

struct Token {
    enum class Kind : std::uint8_t {
        kText,
        kPrintBegin,  // {{
        kPrintEnd,    // }}
        kBlockBegin,  // {%
        kBlockEnd,    // %}
        kName,
        kString,
        kInteger,
        kFloat,
        kSymbol,  // text is one of + - * / // ** % ~ ( ) [ ] { } . , : | = == != < <= > >=
        kEnd,
    } kind = Kind::kEnd;
    std::string text;
    std::uint32_t line = 0;
};

// The rules of Jinja with trim_blocks and lstrip_blocks on and one trailing newline dropped.
// kBadInput with "NAME:LINE: what".
Result<std::vector<Token>> tokenize(const std::string& name, std::string_view source);

Error at_line(const std::string& name, std::uint32_t line, const std::string& what);

}  // namespace tollgate::jinja
