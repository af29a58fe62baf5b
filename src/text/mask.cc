// Finds card numbers among groups of digits.
#include "text/mask.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace tollgate {
namespace {

constexpr std::size_t kShortest = 13;
constexpr std::size_t kLongest = 19;
constexpr std::size_t kShown = 4;

// A digit to be masked keeps its value until its stretch is done, because another run may need it:
// the mark is the top bit, which neither a digit nor a separator has.
constexpr unsigned char kMark = 0x80;

char unmarked(char c) {
    return static_cast<char>(static_cast<unsigned char>(c) & ~kMark);
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_separator(char c) {
    return c == ' ' || c == '-';
}

// The end of the stretch of digits and single separators that begins at the digit `at`.
std::size_t stretch_end(std::string_view text, std::size_t at) {
    while (at < text.size()) {
        if (is_digit(text[at])) {
            ++at;
        } else if (is_separator(text[at]) && at + 1 < text.size() && is_digit(text[at + 1])) {
            at += 2;
        } else {
            break;
        }
    }
    return at;
}

bool luhn_valid(const std::array<std::size_t, kLongest>& at, std::size_t count,
                const std::string& text) {
    int sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
        int digit = unmarked(text[at[count - 1 - i]]) - '0';
        digit *= i % 2 == 0 ? 1 : 2;
        sum += digit > 9 ? digit - 9 : digit;
    }
    return sum % 10 == 0;
}

// Marks the runs of whole groups that begin with the group at `begin`.
bool mark_runs(std::string& text, std::size_t begin, std::size_t end) {
    std::array<std::size_t, kLongest> at{};
    std::size_t count = 0;
    bool found = false;
    for (std::size_t i = begin; i < end; ++i) {
        if (!is_digit(unmarked(text[i]))) {
            continue;
        }
        if (count == kLongest) {
            break;
        }
        at[count++] = i;
        const bool group_ends = i + 1 == end || !is_digit(unmarked(text[i + 1]));
        if (count >= kShortest && group_ends && luhn_valid(at, count, text)) {
            found = true;
            std::for_each(at.begin(), at.begin() + (count - kShown), [&](std::size_t digit) {
                text[digit] = static_cast<char>(static_cast<unsigned char>(text[digit]) | kMark);
            });
        }
    }
    return found;
}

}  // namespace

bool mask_card_numbers(std::string& text) {
    bool found = false;
    for (std::size_t at = 0; at < text.size();) {
        if (!is_digit(text[at])) {
            ++at;
            continue;
        }
        const std::size_t end = stretch_end(text, at);
        bool here = false;
        for (std::size_t i = at; i < end; ++i) {
            const bool group_begins = i == at || is_separator(text[i - 1]);
            here = (group_begins && mark_runs(text, i, end)) || here;
        }
        for (std::size_t i = at; here && i < end; ++i) {
            text[i] = unmarked(text[i]) == text[i] ? text[i] : '*';
        }
        found = found || here;
        // The digits left over may form a run with their neighbours: look again until none does.
        // Each round masks nine digits or more, so this ends.
        at = here ? at : end;
    }
    return found;
}

}  // namespace tollgate
