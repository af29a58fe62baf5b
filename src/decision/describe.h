// How messages name things: a quoted, shortened value and the nearest known name.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tollgate {

// The text in double quotes, as printable() of text/utf8.h shows it in at most 40 bytes.
std::string short_quote(std::string_view text);

// The known name with the smallest edit distance (insert, delete, replace, swap of neighbours),
// when that is at most a third of the longer name's length, rounded up; else empty. Ties go to the
// first. Names over 64 bytes match nothing.
std::string_view nearest_name(std::string_view name, std::span<const std::string> known);
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

// " (did you mean \"x\"?)", or nothing when there is no near name.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);
std::string did_you_mean(std::string_view name, std::span<const std::string_view> known);

}  // namespace tollgate
