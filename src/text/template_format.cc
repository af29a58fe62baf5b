// % formatting through snprintf, one conversion at a time, widths bounded.
#include "text/template_format.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace tollgate::jinja {

namespace {

struct Spec {
    std::string flags;
    int width = 0;
    int precision = -1;
    char kind = 's';
};

constexpr int kMost = 200;

Result<int> digits(std::string_view text, std::size_t& at) {
    int value = 0;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
        value = value * 10 + (text[at++] - '0');
        if (value > kMost) {
            return Error{Fault::kBadInput, "a format's width is at most 200"};
        }
    }
    return value;
}

Result<Spec> read_spec(std::string_view text, std::size_t& at) {
    Spec spec;
    while (at < text.size() && std::string_view("-+ 0#").find(text[at]) != std::string_view::npos &&
           spec.flags.size() < 5) {
        spec.flags += text[at++];
    }
    TG_TRY(spec.width, digits(text, at));
    if (at < text.size() && text[at] == '.') {
        ++at;
        TG_TRY(spec.precision, digits(text, at));
    }
    if (at >= text.size()) {
        return Error{Fault::kBadInput, "a format ends in the middle of a %"};
    }
    spec.kind = text[at++];
    return spec;
}

std::string padded(std::string text, const Spec& spec) {
    const std::size_t size = code_points(text);
    const auto width = static_cast<std::size_t>(spec.width);
    if (size >= width) {
        return text;
    }
    const std::string pad(width - size, ' ');
    return spec.flags.find('-') != std::string::npos ? text + pad : pad + text;
}

Result<std::string> number(const Spec& spec, const TemplateValue& value) {
    double real = 0.0;
    if (!value.to_number(real)) {
        return Error{Fault::kBadInput, std::string("%") + spec.kind + " takes a number, not " +
                                           std::string(kind_name(value))};
    }
    std::array<char, 1024> room{};
    int size = 0;
    std::string pattern = "%" + spec.flags + "*.*";
    if (std::string_view("diuxXo").find(spec.kind) != std::string_view::npos) {
        if (!value.is(TemplateValue::Kind::kInteger) && std::fabs(real) >= 9.2e18) {
            return Error{Fault::kBadInput, "a number for %d does not fit 64 bits"};
        }
        const long long whole = value.is(TemplateValue::Kind::kInteger)
                                    ? value.integer()
                                    : static_cast<long long>(real);
        pattern += std::string("ll") + (spec.kind == 'u' ? 'd' : spec.kind);
        size = std::snprintf(room.data(), room.size(), pattern.c_str(), spec.width, spec.precision,
                             whole);
    } else {
        pattern += spec.kind;
        size = std::snprintf(room.data(), room.size(), pattern.c_str(), spec.width, spec.precision,
                             real);
    }
    if (size < 0 || static_cast<std::size_t>(size) >= room.size()) {
        return Error{Fault::kTooLarge, "a formatted number is too long"};
    }
    return std::string(room.data(), static_cast<std::size_t>(size));
}

}  // namespace

Result<std::string> format_number(char kind, int precision, const TemplateValue& value) {
    return number({.flags = {}, .width = 0, .precision = precision, .kind = kind}, value);
}

Result<TemplateValue> format_text(std::string_view pattern, std::span<const TemplateValue> values,
                                  Budget& budget) {
    std::string out;
    std::size_t used = 0;
    for (std::size_t at = 0; at < pattern.size();) {
        if (pattern[at] != '%') {
            out += pattern[at++];
            continue;
        }
        ++at;
        if (at < pattern.size() && pattern[at] == '%') {
            out += pattern[at++];
            continue;
        }
        TG_TRY(const Spec spec, read_spec(pattern, at));
        if (used >= values.size()) {
            return Error{Fault::kBadInput, "not enough arguments for the format"};
        }
        const TemplateValue& value = values[used++];
        if (spec.kind == 's' || spec.kind == 'r') {
            std::string text = spec.kind == 's' ? to_str(value, 64) : to_repr(value, 64);
            if (spec.precision >= 0) {
                text = std::string(
                    code_point_range(text, 0, static_cast<std::size_t>(spec.precision)));
            }
            out += padded(std::move(text), spec);
        } else if (std::string_view("diufFeEgGxXo").find(spec.kind) != std::string_view::npos) {
            TG_TRY(const std::string text, number(spec, value));
            out += text;
        } else {
            return Error{Fault::kBadInput,
                         std::string("%") + spec.kind + " is no format this language has"};
        }
        if (Status fits = budget.text(out.size()); !fits) {
            return std::move(fits).error();
        }
    }
    if (used < values.size()) {
        return Error{Fault::kBadInput, "not all arguments were used by the format"};
    }
    return TemplateValue::string(std::move(out));
}

}  // namespace tollgate::jinja
