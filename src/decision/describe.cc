// Shortened quotes and the nearest known name by Damerau-Levenshtein distance.
#include "decision/describe.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "text/utf8.h"

namespace tollgate {
namespace {

constexpr std::size_t kMaxQuoted = 40;
constexpr std::size_t kMaxName = 64;

using Row = std::array<std::size_t, kMaxName + 1>;

std::size_t distance(std::string_view a, std::string_view b) {
    Row before{};
    Row last{};
    Row current{};
    for (std::size_t j = 0; j <= b.size(); ++j) {
        last[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        current[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            std::size_t best = std::min({replace, last[j] + 1, current[j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                best = std::min(best, before[j - 2] + 1);
            }
            current[j] = best;
        }
        before = last;
        last = current;
    }
    return last[b.size()];
}

template <class Name>
std::string_view nearest(std::string_view name, std::span<const Name> known) {
    std::string_view best;
    std::size_t best_distance = kMaxName;
    if (name.empty() || name.size() > kMaxName) {
        return best;
    }
    for (const std::string_view candidate : known) {
        if (candidate.empty() || candidate.size() > kMaxName) {
            continue;
        }
        const std::size_t d = distance(name, candidate);
        if (d <= (std::max(name.size(), candidate.size()) + 2) / 3 && d < best_distance) {
            best = candidate;
            best_distance = d;
        }
    }
    return best;
}

std::string suggestion(std::string_view near) {
    return near.empty() ? std::string{} : " (did you mean " + short_quote(near) + "?)";
}

}  // namespace

std::string short_quote(std::string_view text) {
    return '"' + printable(text, kMaxQuoted) + '"';
}

std::string_view nearest_name(std::string_view name, std::span<const std::string> known) {
    return nearest(name, known);
}
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
    return nearest(name, known);
}
std::string did_you_mean(std::string_view name, std::span<const std::string> known) {
    return suggestion(nearest(name, known));
}
std::string did_you_mean(std::string_view name, std::span<const std::string_view> known) {
    return suggestion(nearest(name, known));
}

}  // namespace tollgate
