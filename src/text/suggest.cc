// Edit distance in three rows on the stack.
#include "text/suggest.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace tollgate {
namespace {

constexpr std::size_t kMaxWord = 64;
constexpr std::size_t kMaxCandidate = kMaxWord + kMaxWord / 3;  // a longer one is too far away

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

// Optimal string alignment: the least number of edits when no part is edited twice.
std::size_t distance(std::string_view a, std::string_view b) {
    using Row = std::array<std::size_t, kMaxCandidate + 1>;
    Row before{};
    Row above{};
    Row here{};
    for (std::size_t j = 0; j <= b.size(); ++j) {
        above[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        here[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = lower(a[i - 1]) == lower(b[j - 1]);
            here[j] = std::min({above[j] + 1, here[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1])) {
                here[j] = std::min(here[j], before[j - 2] + 1);
            }
        }
        before = above;
        above = here;
    }
    return above[b.size()];
}

template <class Text>
std::optional<std::string_view> nearest(std::string_view word, std::span<const Text> candidates) {
    if (word.empty() || word.size() > kMaxWord) {
        return std::nullopt;
    }
    std::size_t limit = word.size() < 4 ? 1 : std::max<std::size_t>(2, word.size() / 3);
    std::optional<std::string_view> best;
    for (const Text& text : candidates) {
        const std::string_view candidate(text);
        const std::size_t size = candidate.size();
        const bool near = size <= word.size() + limit && word.size() <= size + limit;
        if (!near || size == 0) {
            continue;
        }
        const std::size_t edits = distance(word, candidate);
        // Strictly nearer than the best so far; replacing every byte is no likeness.
        if (edits <= limit && edits < std::max(word.size(), size)) {
            best = candidate;
            if (edits == 0) {
                break;
            }
            limit = edits - 1;
        }
    }
    return best;
}

}  // namespace

std::optional<std::string_view> nearest_name(std::string_view word,
                                             std::span<const std::string_view> candidates) {
    return nearest(word, candidates);
}
std::optional<std::string_view> nearest_name(std::string_view word,
                                             std::span<const std::string> candidates) {
    return nearest(word, candidates);
}

}  // namespace tollgate
