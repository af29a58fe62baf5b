// Hand-written lexer: one pass, one token at a time, every fault with its place.
#include "decision/lexer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "base/time.h"
#include "base/utf8_char.h"
#include "decision/describe.h"

namespace tollgate {
namespace {

constexpr std::size_t kMaxString = 1024;
constexpr std::size_t kMaxName = 128;
constexpr std::int64_t kSecond = 1'000'000;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_name_char(char c) {
    return is_letter(c) || is_digit(c);
}

// Digits at fixed places: "2027-03-01" against "dddd-dd-dd".
bool shaped(std::string_view text, std::string_view shape) {
    if (text.size() < shape.size()) {
        return false;
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] == 'd' ? !is_digit(text[i]) : text[i] != shape[i]) {
            return false;
        }
    }
    return true;
}
int value_of(std::string_view digits) {
    int v = 0;
    for (const char c : digits) {
        v = v * 10 + (c - '0');
    }
    return v;
}

class Lexer {
  public:
    Lexer(std::string_view text, std::uint32_t file, Reporter& report)
        : text_(text), file_(file), report_(report) {}

    std::vector<Token> run() {
        std::vector<Token> tokens;
        while (skip_blanks()) {
            Token token = next();
            token.first_on_line = std::exchange(line_start_, false);
            token.span = {file_, static_cast<std::uint32_t>(start_),
                          static_cast<std::uint32_t>(at_ - start_)};
            tokens.push_back(std::move(token));
        }
        Token end;
        end.first_on_line = true;
        end.span = {file_, static_cast<std::uint32_t>(text_.size()), 0};
        tokens.push_back(end);
        return tokens;
    }

  private:
    char peek(std::size_t ahead = 0) const {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
    }
    std::string_view rest() const { return text_.substr(at_); }

    // False at the end.
    bool skip_blanks() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '#') {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (c == '\n') {
                line_start_ = true;
                ++at_;
            } else if (c == ' ' || c == '\t' || c == '\r') {
                ++at_;
            } else {
                break;
            }
        }
        start_ = at_;
        return at_ < text_.size();
    }

    Token bad(std::string code, std::string message, std::string suggestion = "") {
        report_.error({file_, static_cast<std::uint32_t>(start_),
                       static_cast<std::uint32_t>(std::max<std::size_t>(1, at_ - start_))},
                      {std::move(code), std::move(message), std::move(suggestion)});
        Token t;
        t.kind = TokenKind::kBad;
        return t;
    }

    Token next() {
        const char c = peek();
        if (is_digit(c)) {
            return digits();
        }
        if (is_letter(c)) {
            return name();
        }
        if (c == '"') {
            return string();
        }
        return sign();
    }

    Token name() {
        while (is_name_char(peek()) || (peek() == '.' && is_letter(peek(1)))) {
            ++at_;
        }
        Token t;
        t.kind = TokenKind::kName;
        t.text = text_.substr(start_, at_ - start_);
        if (t.text.size() > kMaxName) {
            return bad("name", "a name of " + std::to_string(t.text.size()) + " bytes; at most " +
                                   std::to_string(kMaxName) + " are allowed");
        }
        return t;
    }

    Token digits() {
        if (shaped(rest(), "dddd-dd-ddTdd:dd:dd")) {
            return instant();
        }
        if (shaped(rest(), "dddd-dd-dd") && !is_name_char(peek(10))) {
            return date();
        }
        if (shaped(rest(), "dd:dd") && !is_name_char(peek(5))) {
            return clock();
        }
        while (is_digit(peek())) {
            ++at_;
        }
        if (is_letter(peek())) {
            return duration();
        }
        if (peek() == '.' && is_digit(peek(1))) {
            ++at_;
            while (is_digit(peek())) {
                ++at_;
            }
        }
        if (is_name_char(peek())) {
            return bad_word("number", "\"; a number is digits with an optional fraction: 5 or 2.5");
        }
        Token t;
        t.kind = TokenKind::kNumber;
        t.text = text_.substr(start_, at_ - start_);
        const auto number = parse_number(t.text);
        if (!number) {
            return bad("number", "the number " + short_quote(t.text) +
                                     " has more than 18 digits on a side or leading zeros");
        }
        t.number = *number;
        return t;
    }

    // Takes the whole word, then reports it.
    Token bad_word(std::string code, std::string_view why) {
        while (is_name_char(peek()) || peek() == '.') {
            ++at_;
        }
        return bad(std::move(code),
                   "cannot read \"" +
                       std::string(text_.substr(start_, std::min<std::size_t>(at_ - start_, 40))) +
                       std::string(why));
    }

    Token duration() {
        const std::string_view count = text_.substr(start_, at_ - start_);
        const char unit = peek();
        ++at_;
        constexpr std::array<std::pair<char, std::int64_t>, 5> kUnits{
            {{'s', 1}, {'m', 60}, {'h', 3'600}, {'d', 86'400}, {'w', 604'800}}};
        const auto* found = std::find_if(kUnits.begin(), kUnits.end(),
                                         [unit](const auto& u) { return u.first == unit; });
        if (found == kUnits.end() || is_name_char(peek()) || count.size() > 9) {
            return bad_word(
                "duration",
                "\"; a duration is a whole number and s, m, h, d or w: 90s, 10m, 1h, 90d");
        }
        Token t;
        t.kind = TokenKind::kDuration;
        t.text = text_.substr(start_, at_ - start_);
        t.number = {Int128{value_of(count)} * found->second * kSecond, 1};
        return t;
    }

    Token clock() {
        const bool seconds = shaped(rest(), "dd:dd:dd");
        const int h = value_of(rest().substr(0, 2));
        const int m = value_of(rest().substr(3, 2));
        const int s = seconds ? value_of(rest().substr(6, 2)) : 0;
        at_ += seconds ? 8 : 5;
        if (h > 23 || m > 59 || s > 59) {
            return bad("time", "the time of day " +
                                   std::string(text_.substr(start_, at_ - start_)) +
                                   " is outside 00:00 .. 23:59:59");
        }
        Token t;
        t.kind = TokenKind::kClock;
        t.text = text_.substr(start_, at_ - start_);
        t.number = {Int128{(h * 60 + m) * 60 + s} * kSecond, 1};
        return t;
    }

    Token date() {
        const std::chrono::year_month_day day{
            std::chrono::year{value_of(rest().substr(0, 4))},
            std::chrono::month{static_cast<unsigned>(value_of(rest().substr(5, 2)))},
            std::chrono::day{static_cast<unsigned>(value_of(rest().substr(8, 2)))}};
        at_ += 10;
        if (!day.ok() || day.year() < std::chrono::year{1970} ||
            day.year() > std::chrono::year{2199}) {
            return bad("date", "there is no day " + std::string(text_.substr(start_, 10)) +
                                   "; years 1970 to 2199 are allowed");
        }
        Token t;
        t.kind = TokenKind::kDate;
        t.text = text_.substr(start_, 10);
        t.number = {std::chrono::sys_days{day}.time_since_epoch().count(), 1};
        return t;
    }

    Token instant() {
        while (is_name_char(peek()) || peek() == ':' || peek() == '-' || peek() == '+' ||
               (peek() == '.' && is_digit(peek(1)))) {
            ++at_;
        }
        Token t;
        t.kind = TokenKind::kInstant;
        t.text = text_.substr(start_, at_ - start_);
        const auto time = parse_rfc3339("time", t.text);
        if (!time) {
            return bad("time", time.error().message);
        }
        t.number = {to_micros(*time), 1};
        return t;
    }

    Token string() {
        std::string out;
        ++at_;
        while (peek() != '"') {
            if (at_ >= text_.size() || peek() == '\n') {
                return bad("string", "a string without its closing quote on the same line");
            }
            if (peek() == '\\') {
                const char c = peek(1);
                if (c != '"' && c != '\\' && c != 'n') {
                    // RE2's own escapes (\d, \b) pass through unchanged.
                    out += '\\';
                }
                out += c == 'n' ? '\n' : c;
                if (c == '\0' || c == '\n') {
                    return bad("string", "a string without its closing quote on the same line");
                }
                at_ += 2;
                continue;
            }
            const std::size_t size = utf8_char_size(rest());
            if (size == 0 || static_cast<unsigned char>(peek()) < 0x20U) {
                ++at_;
                return bad("string", "a byte that is not UTF-8 text inside a string");
            }
            out.append(rest().substr(0, size));
            at_ += size;
        }
        ++at_;
        if (out.size() > kMaxString) {
            return bad("string", "a string of " + std::to_string(out.size()) +
                                     " bytes; at most 1024 are allowed");
        }
        Token t;
        t.kind = TokenKind::kString;
        t.text = std::move(out);
        return t;
    }

    Token sign() {
        constexpr std::array<std::string_view, 5> kLong{"..", "<=", ">=", "<>", "!="};
        constexpr std::string_view kShort = "(),@+-*/=<>:";
        constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kForeign{
            {{"==", "write ="}, {"&&", "write and"}, {"||", "write or"}}};
        const std::string_view two = rest().substr(0, 2);
        for (const auto& [foreign, instead] : kForeign) {
            if (two == foreign) {
                at_ += 2;
                return bad("syntax",
                           "\"" + std::string(foreign) + "\" is not a sign of this language",
                           std::string(instead));
            }
        }
        Token t;
        t.kind = TokenKind::kSign;
        if (std::find(kLong.begin(), kLong.end(), two) != kLong.end()) {
            at_ += 2;
            t.text = two == "!=" ? "<>" : two;
            return t;
        }
        if (kShort.find(peek()) != std::string_view::npos) {
            t.text = rest().substr(0, 1);
            ++at_;
            return t;
        }
        const std::string shown =
            short_quote(rest().substr(0, std::max<std::size_t>(1, utf8_char_size(rest()))));
        at_ += std::max<std::size_t>(1, utf8_char_size(rest()));
        return bad("syntax", "unexpected character " + shown, shown == "\"!\"" ? "write not" : "");
    }

    std::string_view text_;
    std::uint32_t file_;
    Reporter& report_;
    std::size_t at_ = 0;
    std::size_t start_ = 0;
    bool line_start_ = true;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text, std::uint32_t file, Reporter& report) {
    return Lexer(text, file, report).run();
}

}  // namespace tollgate
