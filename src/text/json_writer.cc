// Canonical JSON, appended piece by piece.
#include "text/json_writer.h"

#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/utf8_char.h"

namespace tollgate {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr double kFirstLarge = 9223372036854775808.0;  // 2^63
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The letter of a two-character escape, or 0.
char short_escape(char c) {
    switch (c) {
        case '"':
        case '\\':
            return c;
        case '\b':
            return 'b';
        case '\f':
            return 'f';
        case '\n':
            return 'n';
        case '\r':
            return 'r';
        case '\t':
            return 't';
        default:
            return 0;
    }
}

bool is_plain(char c) {
    return c >= ' ' && c < 0x7F && c != '"' && c != '\\';
}

template <class T>
void append_number(std::string& out, T v) {
    std::array<char, 32> text{};  // the longest double needs 24 characters
    const auto end = std::to_chars(text.data(), text.data() + text.size(), v).ptr;
    out.append(text.data(), end);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
    out.push_back('"');
    while (!text.empty()) {
        std::size_t plain = 0;
        while (plain < text.size() && is_plain(text[plain])) {
            ++plain;
        }
        out.append(text.substr(0, plain));
        text.remove_prefix(plain);
        if (text.empty()) {
            break;
        }
        std::size_t size = 1;
        const auto byte = static_cast<unsigned char>(text.front());
        if (const char letter = short_escape(text.front())) {
            out.push_back('\\');
            out.push_back(letter);
        } else if (byte < 0x20) {
            out.append("\\u00");
            out.push_back(kHex[byte >> 4U]);
            out.push_back(kHex[byte & 15U]);
        } else {
            size = utf8_char_size(text);
            out.append(size == 0 ? kReplacement : text.substr(0, size));
            size = size == 0 ? 1 : size;
        }
        text.remove_prefix(size);
    }
    out.push_back('"');
}

void JsonWriter::before_value() {
    Scope& scope = scopes_[depth_];
    if (depth_ == 0) {
        TG_CHECK(!scope.has_value, "a second JSON document");
    } else if (scope.object) {
        TG_CHECK(scope.key_open, "a JSON member without a name");
        scope.key_open = false;
    } else if (scope.has_value) {
        out_.push_back(',');
    }
    scope.has_value = true;
}

void JsonWriter::open(bool object) {
    before_value();
    TG_CHECK(depth_ < kMaxDepth, "JSON nested too deep");
    scopes_[++depth_] = Scope{.object = object};
    out_.push_back(object ? '{' : '[');
}

void JsonWriter::close(bool object) {
    TG_CHECK(depth_ > 0 && scopes_[depth_].object == object && !scopes_[depth_].key_open,
             "a JSON end that does not fit");
    --depth_;
    out_.push_back(object ? '}' : ']');
}

void JsonWriter::begin_object() {
    open(true);
}
void JsonWriter::end_object() {
    close(true);
}
void JsonWriter::begin_array() {
    open(false);
}
void JsonWriter::end_array() {
    close(false);
}

void JsonWriter::key(std::string_view name) {
    Scope& scope = scopes_[depth_];
    TG_CHECK(scope.object && !scope.key_open, "a JSON name where none is due");
    if (scope.has_value) {
        out_.push_back(',');
    }
    append_json_string(out_, name);
    out_.push_back(':');
    scope.key_open = true;
}

void JsonWriter::string(std::string_view v) {
    before_value();
    append_json_string(out_, v);
}
void JsonWriter::integer(std::int64_t v) {
    before_value();
    append_number(out_, v);
}
void JsonWriter::whole(std::uint64_t v) {
    before_value();
    append_number(out_, v);
}
void JsonWriter::number(double v) {
    if (!std::isfinite(v)) {
        return null();
    }
    before_value();
    // Written without an exponent, a whole number this large would read as an integer out of range.
    if (std::abs(v) >= kFirstLarge) {
        std::array<char, 32> text{};
        const auto format = std::chars_format::scientific;
        const auto end = std::to_chars(text.data(), text.data() + text.size(), v, format).ptr;
        out_.append(text.data(), end);
        return;
    }
    append_number(out_, v == 0.0 ? 0.0 : v);
}
void JsonWriter::boolean(bool v) {
    before_value();
    out_.append(v ? "true" : "false");
}
void JsonWriter::null() {
    before_value();
    out_.append("null");
}
void JsonWriter::raw(std::string_view json) {
    before_value();
    out_.append(json);
}

}  // namespace tollgate
