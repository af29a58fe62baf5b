// How messages name things: a quoted, shortened value and the nearest known name.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tollgate {

// The text in double quotes, as printable() of text/utf8.h shows it in at most 40 bytes.
std::string short_quote(std::string_view text);

// nearest_name() of text/suggest.h over any list of names, empty when no name is near.
std::string_view near_or_empty(std::string_view name, std::span<const std::string> known);
std::string_view near_or_empty(std::string_view name, std::span<const std::string_view> known);
template <class Names>
std::string_view nearest_name(std::string_view name, const Names& known) {
    return near_or_empty(name, std::span(known));
}

// " (did you mean \"x\"?)" with nearest_name() of text/suggest.h, or nothing when no name is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);
std::string did_you_mean(std::string_view name, std::span<const std::string_view> known);

}  // namespace tollgate
