// Shortened quotes and suggestions for messages.
#include "decision/describe.h"

#include <cstddef>
#include <optional>

#include "text/suggest.h"
#include "text/utf8.h"

namespace tollgate {
namespace {

constexpr std::size_t kMaxQuoted = 40;

std::string suggestion(std::optional<std::string_view> near) {
    return near ? " (did you mean " + short_quote(*near) + "?)" : std::string{};
}

}  // namespace

std::string short_quote(std::string_view text) {
    return '"' + printable(text, kMaxQuoted) + '"';
}

std::string_view near_or_empty(std::string_view name, std::span<const std::string> known) {
    return nearest_name(name, known).value_or(std::string_view{});
}
std::string_view near_or_empty(std::string_view name, std::span<const std::string_view> known) {
    return nearest_name(name, known).value_or(std::string_view{});
}
std::string did_you_mean(std::string_view name, std::span<const std::string> known) {
    return suggestion(nearest_name(name, known));
}
std::string did_you_mean(std::string_view name, std::span<const std::string_view> known) {
    return suggestion(nearest_name(name, known));
}

}  // namespace tollgate
