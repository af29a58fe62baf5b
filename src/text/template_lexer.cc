// The template lexer: text between tags, tags into tokens.
#include "text/template_lexer.h"

#include <algorithm>
#include <array>

#include "text/utf8.h"

namespace tollgate::jinja {

namespace {

bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool starts_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

constexpr std::array<std::string_view, 27> kSymbols = {
    "//", "**", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "(", ")",
    "[",  "]",  "{",  "}",  ".",  ",",  ":", "|", "=", "<", ">", ";", "!"};

class Lexer {
  public:
    Lexer(const std::string& name, std::string_view source) : name_(name) {
        source_.reserve(source.size());
        for (std::size_t i = 0; i < source.size(); ++i) {
            const bool pair = source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n';
            if (!pair) {
                source_ += source[i] == '\r' ? '\n' : source[i];
            }
        }
        if (!source_.empty() && source_.back() == '\n') {
            source_.pop_back();
        }
    }

    Result<std::vector<Token>> run() {
        while (at_ < source_.size()) {
            if (Status step = text_or_tag(); !step) {
                return std::move(step).error();
            }
        }
        push(Token::Kind::kEnd, "");
        return std::move(tokens_);
    }

  private:
    Error error(const std::string& what) const { return at_line(name_, line_, what); }

    void push(Token::Kind kind, std::string text) {
        tokens_.push_back({.kind = kind, .text = std::move(text), .line = line_});
    }

    bool looking_at(std::string_view what, std::size_t from) const {
        return std::string_view(source_).substr(from).starts_with(what);
    }

    void advance_to(std::size_t to) {
        line_ += static_cast<std::uint32_t>(
            std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                       source_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
        at_ = to;
    }

    std::size_t next_tag() const {
        for (std::size_t i = at_; i + 1 < source_.size(); ++i) {
            if (source_[i] == '{' &&
                (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#')) {
                return i;
            }
        }
        return source_.size();
    }

    // Text before a tag: the tag's sign and lstrip_blocks take white space off its end.
    void push_text(std::size_t end, bool tag_is_block) {
        std::string_view text = std::string_view(source_).substr(at_, end - at_);
        const char sign = end + 2 < source_.size() ? source_[end + 2] : '\0';
        if (end < source_.size() && sign == '-') {
            while (!text.empty() && is_space(text.back())) {
                text.remove_suffix(1);
            }
        } else if (end < source_.size() && tag_is_block && sign != '+') {
            const std::size_t newline = text.rfind('\n');
            const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
            const bool at_line_start = newline != std::string_view::npos || line_starting_;
            if (at_line_start && text.find_first_not_of(" \t", begin) == std::string_view::npos) {
                text = text.substr(0, begin);
            }
        }
        if (!text.empty()) {
            push(Token::Kind::kText, std::string(text));
        }
        advance_to(end);
    }

    // After the end of a tag: "-" takes all white space, a block's end one newline.
    void after_tag(bool strip, bool block, bool keep) {
        std::size_t to = at_;
        if (strip) {
            while (to < source_.size() && is_space(source_[to])) {
                ++to;
            }
        } else if (block && !keep && to < source_.size() && source_[to] == '\n') {
            ++to;
        }
        line_starting_ = to > 0 && source_[to - 1] == '\n';
        advance_to(to);
    }

    Status text_or_tag() {
        const std::size_t tag = next_tag();
        const bool more = tag < source_.size();
        push_text(tag, more && source_[tag + 1] != '{');
        if (!more) {
            return ok();
        }
        if (source_[tag + 1] == '#') {
            return comment();
        }
        if (source_[tag + 1] == '%' && is_raw()) {
            return raw();
        }
        return tokens_of_tag();
    }

    Status comment() {
        const std::size_t end = source_.find("#}", at_ + 2);
        if (end == std::string::npos) {
            return error("a comment {# has no #}");
        }
        const bool strip = source_[end - 1] == '-' && end > at_ + 2;
        const bool keep = source_[end - 1] == '+' && end > at_ + 2;
        advance_to(end + 2);
        after_tag(strip, true, keep);
        return ok();
    }

    // Past "{%", its sign, and spaces.
    std::size_t inside(std::size_t tag) const {
        std::size_t i = tag + 2;
        if (i < source_.size() && (source_[i] == '-' || source_[i] == '+')) {
            ++i;
        }
        while (i < source_.size() && is_space(source_[i])) {
            ++i;
        }
        return i;
    }

    // The end of "{% WORD %}" at `tag`; npos when it is something else.
    std::size_t end_of_word_tag(std::size_t tag, std::string_view word, bool& strip) const {
        std::size_t i = inside(tag);
        if (!looking_at(word, i)) {
            return std::string::npos;
        }
        i += word.size();
        while (i < source_.size() && is_space(source_[i])) {
            ++i;
        }
        strip = i < source_.size() && source_[i] == '-';
        if (i < source_.size() && (source_[i] == '-' || source_[i] == '+')) {
            ++i;
        }
        return looking_at("%}", i) ? i + 2 : std::string::npos;
    }

    bool is_raw() const {
        bool strip = false;
        return end_of_word_tag(at_, "raw", strip) != std::string::npos;
    }

    Status raw() {
        bool strip = false;
        const std::size_t begin = end_of_word_tag(at_, "raw", strip);
        advance_to(begin);
        after_tag(strip, false, true);
        for (std::size_t tag = source_.find("{%", at_); tag != std::string::npos;
             tag = source_.find("{%", tag + 2)) {
            const std::size_t end = end_of_word_tag(tag, "endraw", strip);
            if (end == std::string::npos) {
                continue;
            }
            push_text(tag, true);
            advance_to(end);
            after_tag(strip, true, source_[end - 3] == '+');
            return ok();
        }
        return error("{% raw %} has no {% endraw %}");
    }

    Status tokens_of_tag() {
        const bool block = source_[at_ + 1] == '%';
        const std::string_view close = block ? "%}" : "}}";
        push(block ? Token::Kind::kBlockBegin : Token::Kind::kPrintBegin, "");
        std::size_t i = at_ + 2;
        if (i < source_.size() && (source_[i] == '-' || source_[i] == '+')) {
            ++i;
        }
        advance_to(i);
        std::size_t braces = 0;
        for (;;) {
            while (at_ < source_.size() && is_space(source_[at_])) {
                advance_to(at_ + 1);
            }
            if (at_ >= source_.size()) {
                return error(block ? "a block {% has no %}" : "an expression {{ has no }}");
            }
            const char c = source_[at_];
            const bool sign = (c == '-' || c == '+') && looking_at(close, at_ + 1);
            if (braces == 0 && (sign || looking_at(close, at_))) {
                push(block ? Token::Kind::kBlockEnd : Token::Kind::kPrintEnd, "");
                advance_to(at_ + (sign ? 3 : 2));
                after_tag(sign && c == '-', block, sign && c == '+');
                return ok();
            }
            if (Status one = one_token(braces); !one) {
                return one;
            }
        }
    }

    Status one_token(std::size_t& braces) {
        const char c = source_[at_];
        if (starts_name(c)) {
            std::size_t end = at_;
            while (end < source_.size() && (starts_name(source_[end]) || is_digit(source_[end]))) {
                ++end;
            }
            push(Token::Kind::kName, source_.substr(at_, end - at_));
            advance_to(end);
            return ok();
        }
        if (is_digit(c)) {
            return number();
        }
        if (c == '"' || c == '\'') {
            return string(c);
        }
        for (const std::string_view symbol : kSymbols) {
            if (looking_at(symbol, at_)) {
                braces += symbol == "{" ? 1U : 0U;
                braces -= symbol == "}" && braces > 0 ? 1U : 0U;
                push(Token::Kind::kSymbol, std::string(symbol));
                advance_to(at_ + symbol.size());
                return ok();
            }
        }
        return error(std::string("the character '") + c + "' has no meaning here");
    }

    Status number() {
        std::size_t end = at_;
        std::string digits;
        bool real = false;
        const auto take_digits = [&] {
            while (end < source_.size() && (is_digit(source_[end]) || source_[end] == '_')) {
                if (source_[end] != '_') {
                    digits += source_[end];
                }
                ++end;
            }
        };
        take_digits();
        if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
            real = true;
            digits += '.';
            ++end;
            take_digits();
        }
        if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
            std::size_t exponent = end + 1;
            if (exponent < source_.size() &&
                (source_[exponent] == '+' || source_[exponent] == '-')) {
                ++exponent;
            }
            if (exponent < source_.size() && is_digit(source_[exponent])) {
                real = true;
                digits.append(source_, end, exponent - end);
                end = exponent;
                take_digits();
            }
        }
        push(real ? Token::Kind::kFloat : Token::Kind::kInteger, digits);
        advance_to(end);
        return ok();
    }

    // One \ sequence at `i` (past the backslash) of a string.
    Status escape(std::size_t& i, std::string& text) {
        const char c = source_[i++];
        constexpr std::string_view kFrom = "ntrbfav0\\'\"";
        constexpr std::string_view kTo("\n\t\r\b\f\a\v\0\\'\"", 11);
        if (const std::size_t known = kFrom.find(c); known != std::string_view::npos) {
            text += kTo[known];
            return ok();
        }
        const std::size_t size = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
        if (size == 0) {
            text += c == '\n' ? "" : std::string("\\") + c;
            return ok();
        }
        char32_t code = 0;
        for (std::size_t k = 0; k < size; ++k, ++i) {
            const char h = i < source_.size() ? source_[i] : '\0';
            const int digit = is_digit(h)            ? h - '0'
                              : h >= 'a' && h <= 'f' ? h - 'a' + 10
                              : h >= 'A' && h <= 'F' ? h - 'A' + 10
                                                     : -1;
            if (digit < 0) {
                return error("a \\" + std::string(1, c) + " escape has " + std::to_string(size) +
                             " hexadecimal digits");
            }
            code = code * 16 + static_cast<char32_t>(digit);
        }
        if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
            return error("an escape names no character");
        }
        append_utf8(text, code);
        return ok();
    }

    Status string(char quote) {
        std::string text;
        std::size_t i = at_ + 1;
        while (i < source_.size() && source_[i] != quote) {
            if (source_[i] != '\\') {
                text += source_[i++];
                continue;
            }
            if (++i >= source_.size()) {
                break;
            }
            if (Status done = escape(i, text); !done) {
                return done;
            }
        }
        if (i >= source_.size()) {
            return error("a string has no end");
        }
        push(Token::Kind::kString, std::move(text));
        advance_to(i + 1);
        return ok();
    }

    const std::string& name_;
    std::string source_;
    std::size_t at_ = 0;
    std::uint32_t line_ = 1;
    bool line_starting_ = true;
    std::vector<Token> tokens_;
};

}  // namespace

Error at_line(const std::string& name, std::uint32_t line, const std::string& what) {
    return {Fault::kBadInput, name + ":" + std::to_string(line) + ": " + what};
}

Result<std::vector<Token>> tokenize(const std::string& name, std::string_view source) {
    return Lexer(name, source).run();
}

}  // namespace tollgate::jinja
