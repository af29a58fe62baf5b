// Statements: header, lists, windows, kept numbers and rules.
#include "decision/parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "decision/describe.h"

namespace tollgate {
namespace {

constexpr std::array<std::string_view, 5> kStatements{"ruleset", "list", "window", "keep", "rule"};
// Words that may begin a line inside a statement.
constexpr std::array<std::string_view, 24> kLineWords{
    "by",      "over",     "last",   "delayed",  "excluding", "including", "where",   "else",
    "version", "currency", "tz",     "on_error", "file",      "key",       "mode",    "owner",
    "hard",    "severity", "shadow", "approve",  "challenge", "review",    "decline", "reason"};
constexpr std::array<std::string_view, 4> kSeverities{"low", "medium", "high", "critical"};
constexpr std::int64_t kMaxSpanUs = std::int64_t{400} * 86'400 * 1'000'000;
constexpr std::uint32_t kMaxLast = 10'000;

std::string near_help(std::string_view word, std::span<const std::string_view> known) {
    const std::string_view near = nearest_name(word, known);
    return near.empty() ? "" : "did you mean " + std::string(near) + "?";
}
std::string one_of(std::span<const std::string_view> known) {
    std::string out;
    for (const std::string_view k : known) {
        out += (out.empty() ? "" : ", ") + std::string(k);
    }
    return out;
}

class FileParser {
  public:
    FileParser(const std::vector<Token>& tokens, std::size_t max_depth, Reporter& report)
        : tokens_(tokens), report_(report), expr_(tokens, at_, max_depth, report) {}

    FileAst run() {
        while (peek().kind != TokenKind::kEnd) {
            const std::size_t start = at_;
            named_ = nullptr;
            if (!statement()) {
                // Its name is known all the same: uses of it are no further faults.
                if (named_ != nullptr) {
                    out_.broken.push_back(named_->text);
                }
                skip();
            }
            at_ = std::max(at_, start + (at_ == start ? 1U : 0U));
        }
        return std::move(out_);
    }

  private:
    const Token& peek(std::size_t ahead = 0) const {
        return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
    }
    const Token& previous() const { return tokens_[at_ - 1]; }
    bool is_word(std::string_view word) const {
        return peek().kind == TokenKind::kName && peek().text == word;
    }
    bool take_word(std::string_view word) {
        if (!is_word(word)) {
            return false;
        }
        ++at_;
        return true;
    }
    // At the end, at a statement's word, or at a line that begins with a misspelt one.
    bool at_statement() const {
        const Token& t = peek();
        if (t.kind == TokenKind::kEnd) {
            return true;
        }
        if (t.kind != TokenKind::kName || !t.first_on_line) {
            return false;
        }
        return is_statement(t.text) ||
               (std::find(kLineWords.begin(), kLineWords.end(), t.text) == kLineWords.end() &&
                !nearest_name(t.text, kStatements).empty());
    }
    static bool is_statement(std::string_view word) {
        return std::find(kStatements.begin(), kStatements.end(), word) != kStatements.end();
    }
    void skip() {
        do {
            ++at_;
        } while (!at_statement());
    }

    bool fail(const Token& at, std::string message, std::string suggestion = "") {
        if (at.kind != TokenKind::kBad) {
            report_.error(at.span, {"syntax", std::move(message), std::move(suggestion)});
        }
        return false;
    }
    // Takes a token of that kind; `what` says what was expected.
    std::optional<Word> take(TokenKind kind, std::string_view what) {
        if (peek().kind != kind || (kind == TokenKind::kName && at_statement())) {
            (void)fail(peek(), "expected " + std::string(what) + ", found " + shown(peek()));
            return std::nullopt;
        }
        Word word{peek().text, peek().span};
        ++at_;
        return word;
    }
    bool take_sign(std::string_view sign, std::string_view where) {
        if (peek().kind == TokenKind::kSign && peek().text == sign) {
            ++at_;
            return true;
        }
        return fail(peek(), "expected \"" + std::string(sign) + "\" " + std::string(where) +
                                ", found " + shown(peek()));
    }
    std::optional<std::int64_t> whole(std::string_view what, std::int64_t most) {
        const Token& t = peek();
        if (t.kind != TokenKind::kNumber || t.number.den != 1 || t.number.num < 1 ||
            t.number.num > most) {
            (void)fail(t, "expected " + std::string(what) + ", a whole number from 1 to " +
                              std::to_string(most) + ", found " + shown(t));
            return std::nullopt;
        }
        ++at_;
        return static_cast<std::int64_t>(t.number.num);
    }
    std::optional<Micros> span(std::string_view what) {
        const Token& t = peek();
        if (t.kind != TokenKind::kDuration || t.number.num < 1 || t.number.num > kMaxSpanUs) {
            (void)fail(t, "expected " + std::string(what) + " from 1s to 400d, found " + shown(t),
                       t.kind == TokenKind::kNumber ? "give the unit: s, m, h, d or w" : "");
            return std::nullopt;
        }
        ++at_;
        return Micros{static_cast<std::int64_t>(t.number.num)};
    }

    bool statement() {
        const Token& t = peek();
        if (!is_statement(t.text) || !at_statement()) {
            return fail(t, "expected ruleset, list, window, keep or rule, found " + shown(t),
                        near_help(t.text, kStatements));
        }
        ++at_;
        named_ = &peek();
        if (t.text == "ruleset") {
            return header(t);
        }
        if (!out_.header && !missing_header_) {
            missing_header_ = true;
            (void)fail(t, "the file begins without its rule set line",
                       "ruleset \"name\" version 1 currency USD tz \"UTC\" on_error review");
        }
        if (t.text == "list") {
            return list();
        }
        if (t.text == "window") {
            return window(t);
        }
        return t.text == "keep" ? keep() : rule(t);
    }

    bool ends_here() {
        return at_statement() ||
               fail(peek(), "unexpected " + shown(peek()) + ": the statement ends before it");
    }

    bool header(const Token& start) {
        missing_header_ = true;  // a broken header is one fault, not two
        if (out_.header) {
            return fail(start, "a second rule set in one file", "put it in a file of its own");
        }
        auto name = take(TokenKind::kString, "the rule set's name in quotes");
        if (!name) {
            return false;
        }
        HeaderAst h;
        h.name = std::move(*name);
        while (!at_statement()) {
            if (!header_clause(h)) {
                return false;
            }
        }
        h.span = joined(start.span, previous().span);
        out_.header = std::move(h);
        return true;
    }
    bool header_clause(HeaderAst& h) {
        constexpr std::array<std::string_view, 4> kClauses{"version", "currency", "tz", "on_error"};
        if (take_word("version")) {
            const auto v = whole("the version", 1'000'000'000);
            h.version = static_cast<std::uint32_t>(v.value_or(0));
            return v.has_value();
        }
        if (take_word("currency")) {
            h.currency = take(TokenKind::kName, "a currency code such as USD");
            return h.currency.has_value();
        }
        if (take_word("tz")) {
            h.zone = take(TokenKind::kString, "a time zone in quotes such as \"Asia/Seoul\"");
            return h.zone.has_value();
        }
        if (take_word("on_error")) {
            h.on_error = take(TokenKind::kName, "review, decline, challenge or ignore");
            return h.on_error.has_value();
        }
        return fail(peek(), "expected " + one_of(kClauses) + ", found " + shown(peek()),
                    near_help(peek().text, kClauses));
    }

    bool list() {
        ListAst l;
        auto name = take(TokenKind::kName, "the list's name");
        if (!name) {
            return false;
        }
        l.name = std::move(*name);
        while (!at_statement()) {
            const bool file = take_word("file");
            if (!file && !take_word("key")) {
                return fail(peek(), "expected file or key, found " + shown(peek()));
            }
            auto word = file ? take(TokenKind::kString, "the list's file in quotes")
                             : take(TokenKind::kName, "the field that the list holds");
            if (!word) {
                return false;
            }
            (file ? l.file : l.key) = std::move(*word);
        }
        if (l.file.text.empty() || l.key.text.empty()) {
            return fail(
                previous(),
                "the list " + l.name.text + " has no " + (l.file.text.empty() ? "file" : "key"),
                "list vip file \"lists/vip.csv\" key account_id");
        }
        out_.lists.push_back(std::move(l));
        return true;
    }

    bool window(const Token& start) {
        WindowAst w;
        auto name = take(TokenKind::kName, "the window's name");
        auto function =
            name ? take(TokenKind::kName, "the window's function, such as count()") : std::nullopt;
        if (!function || !take_sign("(", "after the function's name")) {
            return false;
        }
        w.name = std::move(*name);
        w.function = std::move(*function);
        if (peek().kind == TokenKind::kName) {
            w.argument = take(TokenKind::kName, "a field");
        }
        if (!take_sign(")", "after the function's argument")) {
            return false;
        }
        while (!at_statement()) {
            if (!window_clause(w)) {
                return false;
            }
        }
        w.span_text = joined(start.span, previous().span);
        out_.windows.push_back(std::move(w));
        return true;
    }
    bool window_clause(WindowAst& w) {
        if (take_word("by")) {
            do {
                auto key = take(TokenKind::kName, "a key field");
                if (!key) {
                    return false;
                }
                w.keys.push_back(std::move(*key));
            } while (peek().kind == TokenKind::kSign && peek().text == "," && ++at_ != 0);
            return true;
        }
        if (take_word("over")) {
            const auto s = span("a duration");
            w.span = s.value_or(Micros{0});
            return s.has_value();
        }
        if (take_word("last")) {
            const auto n = whole("how many events", kMaxLast);
            w.last_n = static_cast<std::uint32_t>(n.value_or(0));
            return n.has_value();
        }
        if (take_word("delayed")) {
            const auto s = span("a duration");
            w.delay = s.value_or(Micros{0});
            return s.has_value();
        }
        if (is_word("excluding") || is_word("including")) {
            w.include_current = is_word("including");
            ++at_;
            return take_word("current") ||
                   fail(peek(), "expected \"current\", found " + shown(peek()));
        }
        return window_condition(w);
    }
    bool window_condition(WindowAst& w) {
        constexpr std::array<std::string_view, 8> kClauses{
            "by", "over", "last", "delayed", "excluding", "including", "where", "else"};
        if (take_word("where")) {
            if (w.where) {
                return fail(previous(), "a second where", "join the two with and");
            }
            w.where = expr_.parse();
            return w.where != nullptr;
        }
        if (take_word("else")) {
            w.otherwise = expr_.literal();
            return w.otherwise != nullptr;
        }
        return fail(peek(), "expected " + one_of(kClauses) + ", found " + shown(peek()),
                    near_help(peek().text, kClauses));
    }

    bool keep() {
        KeepAst k;
        auto name = take(TokenKind::kName, "the kept number's name");
        if (!name || !take_sign("=", "after the name")) {
            return false;
        }
        k.name = std::move(*name);
        k.value = expr_.parse();
        if (!k.value || !ends_here()) {
            return false;
        }
        out_.keeps.push_back(std::move(k));
        return true;
    }

    bool rule(const Token& start) {
        RuleAst r;
        auto id = take(TokenKind::kName, "the rule's id, such as R017");
        auto title = id ? take(TokenKind::kString, "the rule's title in quotes") : std::nullopt;
        if (!title) {
            return false;
        }
        r.id = std::move(*id);
        r.title = std::move(*title);
        while (!at_statement() && !action(r)) {
            if (!rule_clause(r)) {
                return false;
            }
        }
        if (at_statement()) {
            return fail(previous(), "the rule " + r.id.text + " has no action",
                        "add a line such as: review if amount > USD 100.00");
        }
        ++at_;
        if (!take_word("if")) {
            return fail(peek(), "expected \"if\" after the action, found " + shown(peek()));
        }
        r.when = expr_.parse();
        if (!r.when) {
            return false;
        }
        if (take_word("reason")) {
            auto reason = take(TokenKind::kString, "the reason in quotes");
            if (!reason) {
                return false;
            }
            r.reason = std::move(reason->text);
        }
        if (!ends_here()) {
            return false;
        }
        r.span = joined(start.span, previous().span);
        out_.rules.push_back(std::move(r));
        return true;
    }
    bool action(RuleAst& r) {
        const auto verdict =
            peek().kind == TokenKind::kName ? verdict_of(peek().text) : std::nullopt;
        r.action = verdict.value_or(r.action);
        return verdict.has_value();
    }
    bool rule_clause(RuleAst& r) {
        if (take_word("severity")) {
            const auto* found = std::find(kSeverities.begin(), kSeverities.end(), peek().text);
            if (found == kSeverities.end()) {
                return fail(peek(), "expected " + one_of(kSeverities) + ", found " + shown(peek()),
                            near_help(peek().text, kSeverities));
            }
            ++at_;
            r.severity = static_cast<Severity>(found - kSeverities.begin());
            return true;
        }
        if (take_word("owner")) {
            auto owner = take(TokenKind::kString, "the owner in quotes");
            r.owner = owner ? owner->text : "";
            return owner.has_value();
        }
        if (take_word("mode")) {
            if (!take_word("fallback")) {
                return fail(peek(), "the only mode is \"fallback\", found " + shown(peek()));
            }
            return set_mode(r, RuleMode::kFallback);
        }
        if (take_word("hard")) {
            r.hard = true;
            return true;
        }
        if (take_word("shadow")) {
            return set_mode(r, RuleMode::kShadow) && shadow_end(r);
        }
        constexpr std::array<std::string_view, 9> kNext{"severity",  "owner",  "mode",
                                                        "hard",      "shadow", "approve",
                                                        "challenge", "review", "decline"};
        return fail(peek(), "expected " + one_of(kNext) + ", found " + shown(peek()),
                    near_help(peek().text, kNext));
    }
    bool set_mode(RuleAst& r, RuleMode mode) {
        if (r.mode != RuleMode::kLive && r.mode != mode) {
            return fail(previous(), "a rule cannot be both shadow and fallback");
        }
        r.mode = mode;
        return true;
    }
    bool shadow_end(RuleAst& r) {
        r.shadow_span = previous().span;
        if (!take_word("until")) {
            return true;
        }
        if (peek().kind != TokenKind::kDate) {
            return fail(peek(), "expected a day such as 2027-03-01, found " + shown(peek()));
        }
        r.shadow_until_day = static_cast<std::int64_t>(peek().number.num);
        r.shadow_span = peek().span;
        ++at_;
        return true;
    }

    const std::vector<Token>& tokens_;
    std::size_t at_ = 0;
    Reporter& report_;
    ExprParser expr_;
    FileAst out_;
    bool missing_header_ = false;
    const Token* named_ = nullptr;  // what the statement declares
};

}  // namespace

FileAst parse_file(std::string_view text, std::uint32_t file, std::size_t max_depth,
                   Reporter& report) {
    const std::vector<Token> tokens = tokenize(text, file, report);
    return FileParser(tokens, max_depth, report).run();
}

}  // namespace tollgate
