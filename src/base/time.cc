// RFC 3339 in and out, by hand: strict, bounded, no locale.
#include "base/time.h"

#include <algorithm>
#include <optional>

namespace tollgate {
namespace {

using std::chrono::day;
using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::month;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year;
using std::chrono::year_month_day;

constexpr std::int64_t kFirst = 0;  // 1970-01-01T00:00:00Z
constexpr EventTime kEnd{std::chrono::sys_days{std::chrono::year{2200} / 1 / 1}};  // exclusive
constexpr std::size_t kShown = 40;  // bytes of a refused text that its error repeats

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Reads the text from left to right; ok() turns false at the first thing that does not fit.
class Scanner {
  public:
    explicit Scanner(std::string_view text) : text_(text) {}

    // Exactly `width` digits, lowest..highest.
    int number(std::size_t width, int lowest, int highest) {
        if (text_.size() < width || !std::all_of(text_.begin(), text_.begin() + width, is_digit)) {
            ok_ = false;
            return lowest;
        }
        int value = 0;
        for (const char c : text_.substr(0, width)) {
            value = value * 10 + (c - '0');
        }
        text_.remove_prefix(width);
        ok_ = ok_ && value >= lowest && value <= highest;
        return value;
    }
    bool accept(char upper, char lower) {
        if (text_.empty() || (text_.front() != upper && text_.front() != lower)) {
            return false;
        }
        text_.remove_prefix(1);
        return true;
    }
    void expect(char upper, char lower) { ok_ = accept(upper, lower) && ok_; }
    // One to six digits as microseconds.
    std::int64_t fraction() {
        std::size_t digits = 0;
        std::int64_t value = 0;
        while (digits < 6 && digits < text_.size() && is_digit(text_[digits])) {
            value = value * 10 + (text_[digits] - '0');
            ++digits;
        }
        text_.remove_prefix(digits);
        ok_ = ok_ && digits > 0;
        for (; digits < 6; ++digits) {
            value *= 10;
        }
        return value;
    }
    bool done() const { return ok_ && text_.empty(); }

  private:
    std::string_view text_;
    bool ok_ = true;
};

std::optional<EventTime> scan(std::string_view text) {
    Scanner in(text);
    const int y = in.number(4, 0, 9999);
    in.expect('-', '-');
    const int mo = in.number(2, 1, 12);
    in.expect('-', '-');
    const int d = in.number(2, 1, 31);
    in.expect('T', 't');
    const int h = in.number(2, 0, 23);
    in.expect(':', ':');
    const int mi = in.number(2, 0, 59);
    in.expect(':', ':');
    const int s = in.number(2, 0, 60);
    const std::int64_t micros = in.accept('.', '.') ? in.fraction() : 0;
    minutes offset{0};
    if (!in.accept('Z', 'z')) {
        const bool east = in.accept('+', '+');
        if (!east) {
            in.expect('-', '-');
        }
        const int oh = in.number(2, 0, 23);
        in.expect(':', ':');
        const int om = in.number(2, 0, 59);
        offset = (east ? 1 : -1) * (hours{oh} + minutes{om});
    }
    const year_month_day date{year{y}, month{static_cast<unsigned>(mo)},
                              day{static_cast<unsigned>(d)}};
    if (!in.done() || !date.ok()) {
        return std::nullopt;
    }
    const auto minute = sys_days{date} + hours{h} + minutes{mi} - offset;
    // A leap second only ever ends a UTC day.
    const bool last_minute = minute - floor<days>(minute) == hours{23} + minutes{59};
    if (s == 60 && !last_minute) {
        return std::nullopt;
    }
    const EventTime t = EventTime{minute} + seconds{s} + Micros{micros};
    if (to_micros(t) < kFirst || t >= kEnd) {
        return std::nullopt;
    }
    return t;
}

void append_digits(std::string& out, std::int64_t value, int width) {
    std::int64_t unit = 1;
    for (int i = 1; i < width; ++i) {
        unit *= 10;
    }
    for (; unit > 0; unit /= 10) {
        out.push_back(static_cast<char>('0' + value / unit % 10));
    }
}

}  // namespace

Result<EventTime> parse_rfc3339(std::string_view field, std::string_view text) {
    if (const auto t = scan(text)) {
        return *t;
    }
    // The text is a stranger's: only printable ASCII of it reaches the message.
    std::string shown(text.substr(0, kShown));
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~' || c == '"'; }, '?');
    std::string message(field);
    message.append(": \"").append(shown).append(text.size() > kShown ? "...\"" : "\"");
    message.append(
        " is not an RFC 3339 time with an offset, such as 2026-11-30T08:15:30.123Z, "
        "with at most 6 fraction digits, in the years 1970 to 2199");
    return Error{Fault::kBadInput, std::move(message)};
}

void append_rfc3339(std::string& out, EventTime t) {
    constexpr EventTime kLowest{sys_days{year{0} / 1 / 1}};
    constexpr EventTime kHighest{sys_days{year{10000} / 1 / 1} - Micros{1}};
    t = std::clamp(t, kLowest, kHighest);
    const auto midnight = floor<days>(t);
    const year_month_day date{midnight};
    std::int64_t left = (t - midnight).count();
    const std::int64_t micros = left % 1'000'000;
    left /= 1'000'000;
    append_digits(out, int{date.year()}, 4);
    out.push_back('-');
    append_digits(out, unsigned{date.month()}, 2);
    out.push_back('-');
    append_digits(out, unsigned{date.day()}, 2);
    out.push_back('T');
    append_digits(out, left / 3600, 2);
    out.push_back(':');
    append_digits(out, left / 60 % 60, 2);
    out.push_back(':');
    append_digits(out, left % 60, 2);
    if (micros != 0) {
        out.push_back('.');
        if (micros % 1000 == 0) {
            append_digits(out, micros / 1000, 3);
        } else {
            append_digits(out, micros, 6);
        }
    }
    out.push_back('Z');
}

std::string format_rfc3339(EventTime t) {
    std::string out;
    out.reserve(27);
    append_rfc3339(out, t);
    return out;
}

}  // namespace tollgate
