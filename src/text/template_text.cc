// Text operations by code points, and JSON as Python writes it.
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <cmath>

#include "base/utf8_char.h"
#include "text/template_builtins.h"
#include "text/utf8.h"

namespace tollgate::jinja {

namespace {

std::size_t char_size(std::string_view text) {
    return std::max<std::size_t>(utf8_char_size(text), 1);  // a bad byte counts as one
}

// The character that `text` begins with; U+FFFD for a bad byte.
char32_t decode(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return static_cast<char32_t>(static_cast<unsigned char>(text[i]));
    };
    switch (utf8_char_size(text)) {
        case 1:
            return byte(0);
        case 2:
            return (byte(0) & 0x1FU) << 6 | (byte(1) & 0x3FU);
        case 3:
            return (byte(0) & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
        case 4:
            return (byte(0) & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 |
                   (byte(3) & 0x3FU);
        default:
            return 0xFFFD;
    }
}

std::string from_icu(const icu::UnicodeString& text) {
    std::string out;
    text.toUTF8String(out);
    return out;
}

icu::UnicodeString to_icu(std::string_view text) {
    return icu::UnicodeString::fromUTF8({text.data(), static_cast<std::int32_t>(text.size())});
}

bool in_set(char32_t c, const std::string* set) {
    if (set == nullptr) {
        return u_isUWhiteSpace(static_cast<UChar32>(c)) != 0 || (c >= 0x1C && c <= 0x1F);
    }
    for (std::size_t i = 0; i < set->size();) {
        const std::string_view rest = std::string_view(*set).substr(i);
        if (decode(rest) == c) {
            return true;
        }
        i += char_size(rest);
    }
    return false;
}

}  // namespace

std::size_t code_points(std::string_view text) {
    std::size_t count = 0;
    for (; !text.empty(); ++count) {
        text.remove_prefix(char_size(text));
    }
    return count;
}

std::string_view code_point_range(std::string_view text, std::size_t begin, std::size_t end) {
    std::size_t from = 0;
    std::size_t at = 0;
    std::size_t index = 0;
    while (at < text.size() && index < end) {
        if (index == begin) {
            from = at;
        }
        at += char_size(text.substr(at));
        ++index;
    }
    return index <= begin ? std::string_view{} : text.substr(from, at - from);
}

std::string upper(std::string_view text) {
    return from_icu(to_icu(text).toUpper(icu::Locale::getRoot()));
}
std::string lower(std::string_view text) {
    return from_icu(to_icu(text).toLower(icu::Locale::getRoot()));
}

std::string capitalize(std::string_view text) {
    if (text.empty()) {
        return {};
    }
    const std::size_t first = char_size(text);
    return upper(text.substr(0, first)) + lower(text.substr(first));
}

// Python's str.title through Jinja's filter: words split at space and -([{<.
std::string title(std::string_view text) {
    std::string out;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        const bool edge = i == text.size() ||
                          std::string_view(" \t\n-([{<").find(text[i]) != std::string_view::npos;
        if (!edge) {
            continue;
        }
        out += capitalize(text.substr(begin, i - begin));
        if (i < text.size()) {
            out += text[i];
        }
        begin = i + 1;
    }
    return out;
}

std::string_view strip(std::string_view text, const std::string* set, bool left, bool right) {
    while (left && !text.empty() && in_set(decode(text), set)) {
        text.remove_prefix(char_size(text));
    }
    while (right && !text.empty()) {
        std::size_t last = text.size() - 1;
        while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0U) == 0x80U) {
            --last;
        }
        if (!in_set(decode(text.substr(last)), set)) {
            break;
        }
        text = text.substr(0, last);
    }
    return text;
}

namespace {

std::vector<std::string_view> split_space(std::string_view text, std::int64_t limit) {
    std::vector<std::string_view> parts;
    text = strip(text, nullptr, true, false);
    while (!text.empty()) {
        if (limit >= 0 && static_cast<std::int64_t>(parts.size()) == limit) {
            parts.push_back(strip(text, nullptr, false, true));
            break;
        }
        std::size_t end = 0;
        while (end < text.size() && !in_set(decode(text.substr(end)), nullptr)) {
            end += char_size(text.substr(end));
        }
        parts.push_back(text.substr(0, end));
        text = strip(text.substr(end), nullptr, true, false);
    }
    return parts;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, const std::string* separator,
                                    std::int64_t limit, bool from_right) {
    if (separator == nullptr || separator->empty()) {
        return split_space(text, limit);
    }
    std::vector<std::string_view> parts;
    while (limit < 0 || static_cast<std::int64_t>(parts.size()) < limit) {
        const std::size_t at = from_right ? text.rfind(*separator) : text.find(*separator);
        if (at == std::string_view::npos) {
            break;
        }
        if (from_right) {
            parts.push_back(text.substr(at + separator->size()));
            text = text.substr(0, at);
        } else {
            parts.push_back(text.substr(0, at));
            text = text.substr(at + separator->size());
        }
    }
    parts.push_back(text);
    if (from_right) {
        std::reverse(parts.begin(), parts.end());
    }
    return parts;
}

std::string replace(std::string_view text, std::string_view from, std::string_view to,
                    std::int64_t limit) {
    std::string out;
    for (std::int64_t done = 0; limit < 0 || done < limit; ++done) {
        const std::size_t at = text.find(from);
        if (at == std::string_view::npos || from.empty()) {
            break;
        }
        out.append(text.substr(0, at)).append(to);
        text = text.substr(at + from.size());
    }
    return out.append(text);
}

namespace {

void json_string(std::string_view text, bool ascii, std::string& out) {
    constexpr std::string_view kHex = "0123456789abcdef";
    const auto unit = [&](unsigned value) {
        out += "\\u";
        for (int shift = 12; shift >= 0; shift -= 4) {
            out += kHex[(value >> shift) & 0xFU];
        }
    };
    out += '"';
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        const std::size_t size = char_size(text.substr(i));
        const std::size_t known = std::string_view("\"\\\n\r\t\b\f").find(c);
        if (known != std::string_view::npos) {
            out += '\\';
            out += "\"\\nrtbf"[known];
        } else if (static_cast<unsigned char>(c) < 0x20) {
            unit(static_cast<unsigned char>(c));
        } else if (ascii && static_cast<unsigned char>(c) >= 0x80) {
            const char32_t code = decode(text.substr(i));
            if (code >= 0x10000) {
                unit(0xD800U + static_cast<unsigned>((code - 0x10000) >> 10));
                unit(0xDC00U + static_cast<unsigned>((code - 0x10000) & 0x3FFU));
            } else {
                unit(static_cast<unsigned>(code));
            }
        } else {
            out.append(text.substr(i, size));
        }
        i += size;
    }
    out += '"';
}

class JsonOut {
  public:
    JsonOut(const JsonStyle& style, std::string& out, Budget& budget)
        : style_(style), out_(out), budget_(budget) {}

    Status write(const TemplateValue& value, std::size_t depth, std::int64_t level) {
        using Kind = TemplateValue::Kind;
        if (Status paid = budget_.spend(1); !paid) {
            return paid;
        }
        switch (value.kind()) {
            case Kind::kUndefined:
                return Error{Fault::kBadInput, "an undefined value has no JSON"};
            case Kind::kNone:
                out_ += "null";
                break;
            case Kind::kBool:
                out_ += value.boolean() ? "true" : "false";
                break;
            case Kind::kInteger:
                out_ += std::to_string(value.integer());
                break;
            case Kind::kFloat:
                out_ += std::isnan(value.real())   ? "NaN"
                        : std::isinf(value.real()) ? (value.real() < 0 ? "-Infinity" : "Infinity")
                                                   : float_repr(value.real());
                break;
            case Kind::kString:
                json_string(value.string(), style_.ascii, out_);
                break;
            case Kind::kList:
            case Kind::kMap:
                if (depth == 0) {
                    return Error{Fault::kTooLarge, "a value is nested too deep for JSON"};
                }
                return value.is(Kind::kList) ? list(value.list(), depth, level)
                                             : map(value.map(), depth, level);
            case Kind::kObject:
            case Kind::kFunction:
                return Error{Fault::kBadInput, std::string(kind_name(value)) + " has no JSON"};
        }
        return budget_.text(out_.size());
    }

  private:
    void line(std::int64_t level) {
        if (style_.indent >= 0) {
            out_ += '\n';
            out_.append(static_cast<std::size_t>(style_.indent * level), ' ');
        }
    }
    void separate(bool first) {
        if (!first) {
            out_ += style_.indent >= 0 && style_.item_separator == ", " ? std::string_view(",")
                                                                        : style_.item_separator;
        }
    }

    Status list(const TemplateValue::List& items, std::size_t depth, std::int64_t level) {
        out_ += '[';
        for (std::size_t i = 0; i < items.size(); ++i) {
            separate(i == 0);
            line(level + 1);
            if (Status done = write(items[i], depth - 1, level + 1); !done) {
                return done;
            }
        }
        if (!items.empty()) {
            line(level);
        }
        out_ += ']';
        return ok();
    }

    Status map(const TemplateValue::Map& members, std::size_t depth, std::int64_t level) {
        std::vector<const TemplateValue::Map::value_type*> order;
        order.reserve(members.size());
        for (const auto& member : members) {
            order.push_back(&member);
        }
        if (style_.sort_keys) {
            std::sort(order.begin(), order.end(),
                      [](const auto* a, const auto* b) { return a->first < b->first; });
        }
        out_ += '{';
        for (std::size_t i = 0; i < order.size(); ++i) {
            separate(i == 0);
            line(level + 1);
            json_string(order[i]->first, style_.ascii, out_);
            out_ += style_.key_separator;
            if (Status done = write(order[i]->second, depth - 1, level + 1); !done) {
                return done;
            }
        }
        if (!order.empty()) {
            line(level);
        }
        out_ += '}';
        return ok();
    }

    const JsonStyle& style_;
    std::string& out_;
    Budget& budget_;
};

}  // namespace

Status write_json(const TemplateValue& value, const JsonStyle& style, std::size_t depth,
                  std::string& out, Budget& budget) {
    return JsonOut(style, out, budget).write(value, depth, 0);
}

}  // namespace tollgate::jinja
