// "Did you mean": the known name that is nearest to a mistyped one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tollgate {

// The first of the nearest candidates by edit distance (insert, delete, replace, swap two
// neighbours; bytes; ASCII letter case free), if the distance is at most 1 for words below 4 bytes,
// else max(2, size / 3); nullopt otherwise, and for words above 64 bytes. The view is the
// candidate's. No allocation.
std::optional<std::string_view> nearest_name(std::string_view word,
                                             std::span<const std::string_view> candidates);
std::optional<std::string_view> nearest_name(std::string_view word,
                                             std::span<const std::string> candidates);

}  // namespace tollgate
