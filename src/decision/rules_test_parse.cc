// Reads rule test files with the words of the rule language.
#include "decision/rules_test_parse.h"

#include <algorithm>
#include <array>
#include <utility>

#include "decision/describe.h"
#include "decision/parser.h"

namespace tollgate {
namespace {

constexpr std::size_t kMaxCases = 1000;
constexpr std::uint32_t kMaxHistory = 1000;
constexpr std::int64_t kDefaultTime = 1'767'268'800'000'000;  // 2026-01-01T12:00:00Z, a Thursday
constexpr std::array<std::string_view, 11> kWords{"defaults", "case",  "history", "event",
                                                  "window",   "fault", "fires",   "not",
                                                  "unknown",  "error", "decision"};

class TestParser {
  public:
    TestParser(const std::vector<Token>& tokens, Reporter& report)
        : tokens_(tokens), report_(report), expr_(tokens, at_, 64, report) {}

    TestFile run() {
        while (peek().kind != TokenKind::kEnd) {
            const std::size_t start = at_;
            if (!line()) {
                do {
                    ++at_;
                } while (!peek().first_on_line);
            } else if (!peek().first_on_line) {
                (void)fail(peek(), "unexpected " + shown(peek()) + " at the end of the line");
                at_ = std::max(at_, start + 1);
                while (!peek().first_on_line) {
                    ++at_;
                }
            }
        }
        return std::move(out_);
    }

  private:
    const Token& peek(std::size_t ahead = 0) const {
        return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
    }
    bool fail(const Token& at, std::string message, std::string help = "") {
        if (at.kind != TokenKind::kBad) {
            report_.error(at.span, {"syntax", std::move(message), std::move(help)});
        }
        return false;
    }
    // A further token of the same line.
    bool take_word(std::string_view word) {
        if (peek().kind != TokenKind::kName || peek().text != word || peek().first_on_line) {
            return false;
        }
        ++at_;
        return true;
    }
    bool need_word(std::string_view word) {
        return take_word(word) ||
               fail(peek(), "expected \"" + std::string(word) + "\", found " + shown(peek()));
    }
    std::optional<std::int64_t> duration() {
        if (peek().kind != TokenKind::kDuration || peek().first_on_line) {
            (void)fail(peek(), "expected a duration such as 9m, found " + shown(peek()));
            return std::nullopt;
        }
        return static_cast<std::int64_t>(tokens_[at_++].number.num);
    }

    bool line() {
        const Token& t = peek();
        if (t.kind != TokenKind::kName) {
            return fail(t, "expected a field or one of the words of rule tests, found " + shown(t));
        }
        const Token& second = peek(1);
        if (second.kind == TokenKind::kSign && second.text == "=") {
            return setting();
        }
        ++at_;
        if (t.text == "defaults") {
            target_ = &out_.defaults;
            history_ = nullptr;
            return true;
        }
        if (t.text == "case") {
            return new_case();
        }
        if (std::find(kWords.begin(), kWords.end(), t.text) == kWords.end()) {
            const std::string_view near = nearest_name(t.text, kWords);
            return fail(t, "there is no word " + short_quote(t.text) + " in rule tests",
                        near.empty() ? "" : "did you mean " + std::string(near) + "?");
        }
        if (out_.cases.empty()) {
            return fail(t, short_quote(t.text) + " before the first case",
                        "case \"what it shows\"");
        }
        return case_line(t, out_.cases.back());
    }

    bool new_case() {
        if (peek().kind != TokenKind::kString || peek().first_on_line) {
            return fail(peek(), "expected the case's name in quotes, found " + shown(peek()));
        }
        if (out_.cases.size() >= kMaxCases) {
            return fail(peek(), "more than 1,000 cases in one file");
        }
        TestCase c;
        c.name = {peek().text, peek().span};
        c.at_us = kDefaultTime;
        ++at_;
        out_.cases.push_back(std::move(c));
        target_ = &out_.cases.back().settings;
        history_ = nullptr;
        return true;
    }

    bool case_line(const Token& t, TestCase& c) {
        if (t.text == "event") {
            target_ = &c.settings;
            history_ = nullptr;
            if (peek().kind == TokenKind::kInstant && !peek().first_on_line) {
                c.at_us = static_cast<std::int64_t>(tokens_[at_++].number.num);
            }
            return true;
        }
        if (t.text == "history") {
            return history(c);
        }
        if (t.text == "window") {
            return name_and_value(c.windows);
        }
        if (t.text == "fault") {
            c.model_fault = true;
            return need_word("model");
        }
        constexpr std::array<std::string_view, 5> kKinds{"fires", "not", "unknown", "error",
                                                         "decision"};
        const auto* kind = std::find(kKinds.begin(), kKinds.end(), t.text);
        if (peek().kind != TokenKind::kName || peek().first_on_line) {
            return fail(peek(), "expected a name after " + short_quote(t.text) + ", found " +
                                    shown(peek()));
        }
        c.expectations.push_back({static_cast<TestExpectation::Kind>(kind - kKinds.begin()),
                                  {peek().text, peek().span}});
        ++at_;
        return true;
    }

    bool history(TestCase& c) {
        TestHistory h;
        const auto before = duration();
        if (!before || !need_word("before")) {
            return false;
        }
        h.before_us = *before;
        if (peek().kind == TokenKind::kNumber && !peek().first_on_line) {
            const Token& count = tokens_[at_++];
            if (count.number.den != 1 || count.number.num < 1 || count.number.num > kMaxHistory) {
                return fail(count,
                            "a history event is repeated 1 to 1000 times, not " + count.text);
            }
            h.times = static_cast<std::uint32_t>(count.number.num);
            const auto every = need_word("times") && need_word("every") ? duration() : std::nullopt;
            if (!every) {
                return false;
            }
            h.every_us = *every;
        }
        c.history.push_back(std::move(h));
        history_ = &c.history.back();
        target_ = &history_->settings;
        return true;
    }

    bool setting() {
        if (target_ == nullptr) {
            return fail(peek(), "a field before \"defaults\" or the first case");
        }
        if (peek().text == "label") {
            return label();
        }
        return name_and_value(*target_);
    }

    bool name_and_value(std::vector<TestSetting>& into) {
        if (peek().kind != TokenKind::kName || peek(1).text != "=" ||
            peek(1).kind != TokenKind::kSign) {
            return fail(peek(), "expected NAME = VALUE, found " + shown(peek()));
        }
        TestSetting s;
        s.name = {peek().text, peek().span};
        at_ += 2;
        if (!take_word("unknown")) {
            s.value = expr_.literal();
            if (!s.value) {
                return false;
            }
        }
        into.push_back(std::move(s));
        return true;
    }

    bool label() {
        const Token& name = peek();
        at_ += 2;
        if (history_ == nullptr) {
            return fail(name, "only history events have a label");
        }
        if (take_word("fraud")) {
            history_->label = Label::kFraud;
        } else if (take_word("legit")) {
            history_->label = Label::kLegit;
        } else {
            return fail(peek(), "expected fraud or legit, found " + shown(peek()));
        }
        if (take_word("known")) {
            const auto before = duration();
            history_->known_before_us = before.value_or(0);
            return before && need_word("before");
        }
        return true;
    }

    const std::vector<Token>& tokens_;
    std::size_t at_ = 0;
    Reporter& report_;
    ExprParser expr_;
    TestFile out_;
    std::vector<TestSetting>* target_ = nullptr;  // where `field = value` goes
    TestHistory* history_ = nullptr;
};

}  // namespace

TestFile parse_rule_tests(std::string_view text, Reporter& report) {
    const std::vector<Token> tokens = tokenize(text, 0, report);
    return TestParser(tokens, report).run();
}

}  // namespace tollgate
