// Recursive descent over a tag's tokens; depth bounded by TemplateLimits::nesting.
#include "text/template_expr_parser.h"

#include <algorithm>
#include <charconv>

#include "text/suggest.h"
#include "text/template_builtins.h"

namespace tollgate::jinja {

namespace {

constexpr std::uint32_t kMaxHeight = 400;

constexpr std::string_view kLoopNames[] = {
    "index",    "index0",   "first", "last",    "length", "revindex", "revindex0",
    "previtem", "nextitem", "cycle", "changed", "depth",  "depth0"};

Expr constant(TemplateValue value, std::uint32_t line) {
    Expr node;
    node.line = line;
    node.value = std::move(value);
    return node;
}

template <class Names>
std::string did_you_mean(std::string_view word, const Names& known) {
    std::vector<std::string_view> names;
    names.reserve(known.size());
    for (const auto& entry : known) {
        names.push_back(entry.name);
    }
    const auto near = nearest_name(word, names);
    return near ? "; did you mean \"" + std::string(*near) + "\"?" : "";
}

}  // namespace

bool ExprParser::take(std::string_view symbol) {
    if (peek().kind == Token::Kind::kSymbol && peek().text == symbol) {
        ++at_;
        return true;
    }
    return false;
}

bool ExprParser::at_word(std::string_view word) const {
    return peek().kind == Token::Kind::kName && peek().text == word;
}

bool ExprParser::take_word(std::string_view word) {
    if (at_word(word)) {
        ++at_;
        return true;
    }
    return false;
}

Status ExprParser::expect(Token::Kind kind, std::string_view what) {
    if (peek().kind == kind) {
        next();
        return ok();
    }
    return error("expected " + std::string(what) + (peek().text.empty() ? "" : " before \"") +
                 peek().text + (peek().text.empty() ? "" : "\""));
}

void ExprParser::insert_symbol(std::string_view symbol) {
    tokens_.insert(
        tokens_.begin() + static_cast<std::ptrdiff_t>(at_),
        {.kind = Token::Kind::kSymbol, .text = std::string(symbol), .line = peek().line});
}

Error ExprParser::error(const std::string& what) const {
    return at_line(program_.name, peek().line, what);
}

Error ExprParser::too_deep() const {
    return {Fault::kTooLarge, program_.name + ":" + std::to_string(peek().line) +
                                  ": nested deeper than " + std::to_string(limits_.nesting)};
}

Expr ExprParser::make(Op op) const {
    Expr node;
    node.op = op;
    node.line = peek().line;
    return node;
}

// Long chains (a.b.c…, a + b + …) nest to the left without nesting the parser: their height is
// bounded too, or running and freeing them would use up the stack.
Result<Expr> ExprParser::sealed(Expr node) const {
    for (const Expr& kid : node.kids) {
        node.height = std::max(node.height, kid.height + 1);
    }
    for (const auto& [name, kid] : node.named) {
        node.height = std::max(node.height, kid.height + 1);
    }
    if (node.height > kMaxHeight) {
        return too_deep();
    }
    return node;
}

Result<Expr> ExprParser::binary(Op op, Expr left, Expr right) const {
    Expr node = make(op);
    node.kids.reserve(2);
    node.kids.push_back(std::move(left));
    node.kids.push_back(std::move(right));
    return sealed(std::move(node));
}

Result<Expr> ExprParser::expression() {
    if (++depth_ > limits_.nesting) {
        return too_deep();
    }
    TG_TRY(Expr value, or_expr());
    while (take_word("if")) {
        Expr node = make(Op::kIfElse);
        TG_TRY(Expr condition, or_expr());
        Expr otherwise = constant({}, node.line);
        if (take_word("else")) {
            TG_TRY(otherwise, expression());
        }
        node.kids.push_back(std::move(condition));
        node.kids.push_back(std::move(value));
        node.kids.push_back(std::move(otherwise));
        TG_TRY(value, sealed(std::move(node)));
    }
    --depth_;
    return value;
}

Result<Expr> ExprParser::expression_without_if() {
    return or_expr();
}

Result<Expr> ExprParser::expression_list() {
    TG_TRY(Expr first, expression());
    if (!take(",")) {
        return first;
    }
    Expr all = make(Op::kList);
    all.kids.push_back(std::move(first));
    while (peek().kind != Token::Kind::kBlockEnd) {
        TG_TRY(Expr more, expression());
        all.kids.push_back(std::move(more));
        if (!take(",")) {
            break;
        }
    }
    return sealed(std::move(all));
}

Result<Expr> ExprParser::or_expr() {
    TG_TRY(Expr left, and_expr());
    while (take_word("or")) {
        TG_TRY(Expr right, and_expr());
        TG_TRY(left, binary(Op::kOr, std::move(left), std::move(right)));
    }
    return left;
}

Result<Expr> ExprParser::and_expr() {
    TG_TRY(Expr left, not_expr());
    while (take_word("and")) {
        TG_TRY(Expr right, not_expr());
        TG_TRY(left, binary(Op::kAnd, std::move(left), std::move(right)));
    }
    return left;
}

Result<Expr> ExprParser::not_expr() {
    std::size_t times = 0;
    while (take_word("not")) {
        ++times;
    }
    TG_TRY(Expr node, compare());
    for (std::size_t i = 0; i < std::min<std::size_t>(times, 2 - times % 2); ++i) {
        Expr negated = make(Op::kNot);
        negated.kids.push_back(std::move(node));
        TG_TRY(node, sealed(std::move(negated)));
    }
    return node;
}

Result<Expr> ExprParser::compare() {
    TG_TRY(Expr first, sum());
    Expr node = make(Op::kCompare);
    for (;;) {
        constexpr std::pair<std::string_view, Compare> kOperators[] = {
            {"==", Compare::kEq}, {"!=", Compare::kNe}, {"<=", Compare::kLe},
            {">=", Compare::kGe}, {"<", Compare::kLt},  {">", Compare::kGt}};
        const auto found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                        [this](const auto& entry) { return take(entry.first); });
        Compare what = Compare::kEq;
        if (found != std::end(kOperators)) {
            what = found->second;
        } else if (take_word("in")) {
            what = Compare::kIn;
        } else if (at_word("not") && peek(1).text == "in" && peek(1).kind == Token::Kind::kName) {
            at_ += 2;
            what = Compare::kNotIn;
        } else {
            break;
        }
        TG_TRY(Expr right, sum());
        node.compares.push_back(what);
        node.kids.push_back(std::move(right));
    }
    if (node.compares.empty()) {
        return first;
    }
    node.kids.insert(node.kids.begin(), std::move(first));
    return sealed(std::move(node));
}

Result<Expr> ExprParser::sum() {
    TG_TRY(Expr left, concat());
    for (;;) {
        const bool add = take("+");
        if (!add && !take("-")) {
            return left;
        }
        TG_TRY(Expr right, concat());
        TG_TRY(left, binary(add ? Op::kAdd : Op::kSubtract, std::move(left), std::move(right)));
    }
}

Result<Expr> ExprParser::concat() {
    TG_TRY(Expr left, product());
    if (peek().text != "~" || peek().kind != Token::Kind::kSymbol) {
        return left;
    }
    Expr node = make(Op::kConcat);
    node.kids.push_back(std::move(left));
    while (take("~")) {
        TG_TRY(Expr right, product());
        node.kids.push_back(std::move(right));
    }
    return sealed(std::move(node));
}

Result<Expr> ExprParser::product() {
    TG_TRY(Expr left, power());
    for (;;) {
        constexpr std::pair<std::string_view, Op> kOperators[] = {
            {"*", Op::kMultiply}, {"/", Op::kDivide}, {"//", Op::kFloorDivide}, {"%", Op::kModulo}};
        const auto found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                        [this](const auto& entry) { return take(entry.first); });
        if (found == std::end(kOperators)) {
            return left;
        }
        TG_TRY(Expr right, power());
        TG_TRY(left, binary(found->second, std::move(left), std::move(right)));
    }
}

Result<Expr> ExprParser::power() {
    TG_TRY(Expr left, unary(true));
    while (take("**")) {
        TG_TRY(Expr right, unary(true));
        TG_TRY(left, binary(Op::kPower, std::move(left), std::move(right)));
    }
    return left;
}

Result<Expr> ExprParser::unary(bool with_filters) {
    if (++depth_ > limits_.nesting) {
        return too_deep();
    }
    Expr node;
    const bool minus = take("-");
    if (minus || take("+")) {
        node = make(minus ? Op::kMinus : Op::kPlus);
        TG_TRY(Expr inner, unary(false));
        node.kids.push_back(std::move(inner));
        TG_TRY(node, sealed(std::move(node)));
    } else {
        TG_TRY(Expr inner, primary());
        TG_TRY(node, postfix(std::move(inner)));
    }
    if (with_filters) {
        TG_TRY(node, filters_after(std::move(node)));
    }
    --depth_;
    return node;
}

Result<Expr> ExprParser::primary() {
    if (peek().kind == Token::Kind::kName) {
        return name();
    }
    if (take("(")) {
        if (take(")")) {
            return make(Op::kList);
        }
        TG_TRY(Expr first, expression());
        if (peek().text == "," && peek().kind == Token::Kind::kSymbol) {
            next();
            Expr all = make(Op::kList);
            all.kids.push_back(std::move(first));
            TG_TRY(Expr rest, list(")"));
            std::move(rest.kids.begin(), rest.kids.end(), std::back_inserter(all.kids));
            return sealed(std::move(all));
        }
        if (!take(")")) {
            return error("expected )");
        }
        return first;
    }
    if (take("[")) {
        return list("]");
    }
    if (take("{")) {
        return map();
    }
    return number_or_text();
}

Result<Expr> ExprParser::number_or_text() {
    const Token token = peek();
    if (token.kind == Token::Kind::kString) {
        std::string text;
        while (peek().kind == Token::Kind::kString) {  // neighbours are one text
            text += next().text;
        }
        return constant(TemplateValue::string(std::move(text)), token.line);
    }
    if (token.kind == Token::Kind::kInteger) {
        std::int64_t value = 0;
        const auto [end, fault] =
            std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
        if (fault != std::errc() || end != token.text.data() + token.text.size()) {
            return error("the number " + token.text + " does not fit 64 bits");
        }
        next();
        return constant(TemplateValue::integer(value), token.line);
    }
    if (token.kind == Token::Kind::kFloat) {
        double value = 0.0;
        const auto [end, fault] =
            std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
        if (fault != std::errc() || end != token.text.data() + token.text.size()) {
            return error("the number " + token.text + " is out of range");
        }
        next();
        return constant(TemplateValue::real(value), token.line);
    }
    return error(token.text.empty() ? "an expression is missing"
                                    : "unexpected \"" + token.text + "\"");
}

Result<Expr> ExprParser::name() {
    const Token token = next();
    const std::string& word = token.text;
    if (word == "true" || word == "True") {
        return constant(TemplateValue::boolean(true), token.line);
    }
    if (word == "false" || word == "False") {
        return constant(TemplateValue::boolean(false), token.line);
    }
    if (word == "none" || word == "None") {
        return constant(TemplateValue::none(), token.line);
    }
    if (word == "loop" && loops_ > 0) {
        return loop_name();
    }
    if (word == "in" || word == "and" || word == "or" || word == "not" || word == "if" ||
        word == "else" || word == "is") {
        return error("unexpected \"" + word + "\"");
    }
    Expr node = make(Op::kName);
    node.line = token.line;
    node.text = word;
    node.ref = scopes_.find(word);
    return node;
}

// The loop's state lives as long as the loop: it can be asked, not kept.
Result<Expr> ExprParser::loop_name() {
    if (!take(".") || peek().kind != Token::Kind::kName) {
        return error("loop is used as loop.index, loop.last, …");
    }
    Expr node = make(Op::kLoop);
    node.text = next().text;
    if (std::find(std::begin(kLoopNames), std::end(kLoopNames), node.text) ==
        std::end(kLoopNames)) {
        const auto near = nearest_name(node.text, kLoopNames);
        return error("loop has no \"" + node.text + "\"" +
                     (near ? "; did you mean \"" + std::string(*near) + "\"?" : ""));
    }
    if (node.text == "cycle" || node.text == "changed") {
        if (!take("(")) {
            return error("expected ( after loop." + node.text);
        }
        TG_TRY(Expr items, list(")"));
        node.kids = std::move(items.kids);
    }
    return node;
}

Result<Expr> ExprParser::list(std::string_view close) {
    Expr node = make(Op::kList);
    while (!take(close)) {
        TG_TRY(Expr item, expression());
        node.kids.push_back(std::move(item));
        if (!take(",") && peek().text != close) {
            return error("expected , or " + std::string(close));
        }
    }
    return sealed(std::move(node));
}

Result<Expr> ExprParser::map() {
    Expr node = make(Op::kMap);
    while (!take("}")) {
        TG_TRY(Expr key, expression());
        if (!take(":")) {
            return error("expected : after a key");
        }
        TG_TRY(Expr value, expression());
        node.kids.push_back(std::move(key));
        node.kids.push_back(std::move(value));
        if (!take(",") && peek().text != "}") {
            return error("expected , or }");
        }
    }
    return sealed(std::move(node));
}

Result<Expr> ExprParser::postfix(Expr node) {
    for (;;) {
        if (take(".")) {
            Expr member = make(Op::kAttribute);
            if (peek().kind == Token::Kind::kInteger) {
                member.op = Op::kItem;
                TG_TRY(Expr index, number_or_text());
                member.kids.push_back(std::move(node));
                member.kids.push_back(std::move(index));
            } else if (peek().kind == Token::Kind::kName) {
                member.text = next().text;
                member.kids.push_back(std::move(node));
            } else {
                return error("expected a name after the dot");
            }
            TG_TRY(node, sealed(std::move(member)));
        } else if (take("[")) {
            TG_TRY(node, subscript(std::move(node)));
        } else if (take("(")) {
            Expr call = make(Op::kCall);
            call.kids.push_back(std::move(node));
            if (Status read = call_arguments(call); !read) {
                return std::move(read).error();
            }
            TG_TRY(node, sealed(std::move(call)));
        } else {
            return node;
        }
    }
}

Result<Expr> ExprParser::subscript(Expr node) {
    Expr item = make(Op::kItem);
    item.kids.push_back(std::move(node));
    const Expr none = constant(TemplateValue::none(), item.line);
    std::vector<Expr> parts(1, none);
    bool given = false;
    while (!take("]")) {
        if (take(":")) {
            item.op = Op::kSlice;
            parts.push_back(none);
            if (parts.size() > 3) {
                return error("a slice has at most three parts");
            }
            continue;
        }
        TG_TRY(parts.back(), expression());
        given = true;
        if (peek().text != ":" && peek().text != "]") {
            return error("expected ]");
        }
    }
    if (item.op == Op::kItem && !given) {
        return error("an index is missing");
    }
    parts.resize(item.op == Op::kItem ? 1 : 3, none);
    std::move(parts.begin(), parts.end(), std::back_inserter(item.kids));
    return sealed(std::move(item));
}

Status ExprParser::call_arguments(Expr& call) {
    while (!take(")")) {
        if (peek().kind == Token::Kind::kName && peek(1).text == "=" &&
            peek(1).kind == Token::Kind::kSymbol) {
            std::string name = next().text;
            next();
            TG_TRY(Expr value, expression());
            call.named.push_back({std::move(name), std::move(value)});
        } else {
            if (!call.named.empty()) {
                return error("a positional argument follows a named one");
            }
            TG_TRY(Expr value, expression());
            call.kids.push_back(std::move(value));
        }
        if (!take(",") && peek().text != ")") {
            return error("expected , or ) in the arguments");
        }
    }
    return ok();
}

Status ExprParser::filter_name(Expr& filter) {
    if (peek().kind != Token::Kind::kName) {
        return error("expected a filter's name after |");
    }
    filter.text = next().text;
    const auto& own = host_.filters;
    const auto found = std::find_if(own.begin(), own.end(),
                                    [&](const auto& entry) { return entry.first == filter.text; });
    if (found != own.end()) {
        filter.host = static_cast<std::uint32_t>(found - own.begin());
        return ok();
    }
    filter.builtin = filter_index(filter.text);
    if (filter.builtin < 0 && !is_calling_filter(filter.text)) {
        --at_;
        return error("unknown filter \"" + filter.text + "\"" +
                     did_you_mean(filter.text, filters()));
    }
    if (filter.builtin < 0) {
        filter.builtin = INT32_MAX;  // the interpreter's own
    }
    return ok();
}

Result<Expr> ExprParser::filters_after(Expr input) {
    for (;;) {
        if (take("|")) {
            Expr filter = make(Op::kFilter);
            if (Status known = filter_name(filter); !known) {
                return std::move(known).error();
            }
            filter.kids.push_back(std::move(input));
            if (take("(")) {
                if (Status read = call_arguments(filter); !read) {
                    return std::move(read).error();
                }
            }
            TG_TRY(input, sealed(std::move(filter)));
        } else if (take_word("is")) {
            TG_TRY(input, test_after(std::move(input)));
        } else {
            return input;
        }
    }
}

Result<Expr> ExprParser::test_after(Expr input) {
    const bool negated = take_word("not");
    Expr test = make(Op::kTest);
    if (peek().kind != Token::Kind::kName) {
        return error("expected a test's name after is");
    }
    test.text = next().text;
    test.builtin = test_index(test.text);
    if (test.builtin < 0) {
        --at_;
        return error("unknown test \"" + test.text + "\"" + did_you_mean(test.text, tests()));
    }
    test.kids.push_back(std::move(input));
    const bool word = peek().kind == Token::Kind::kName && !at_word("else") && !at_word("or") &&
                      !at_word("and") && !at_word("if") && !at_word("is") && !at_word("in") &&
                      !at_word("not");
    if (take("(")) {
        if (Status read = call_arguments(test); !read) {
            return std::move(read).error();
        }
    } else if (word || peek().kind == Token::Kind::kString ||
               peek().kind == Token::Kind::kInteger || peek().kind == Token::Kind::kFloat ||
               peek().text == "[") {
        TG_TRY(Expr argument, primary());
        TG_TRY(argument, postfix(std::move(argument)));
        test.kids.push_back(std::move(argument));
    }
    if (!negated) {
        return sealed(std::move(test));
    }
    Expr node = make(Op::kNot);
    TG_TRY(Expr inner, sealed(std::move(test)));
    node.kids.push_back(std::move(inner));
    return sealed(std::move(node));
}

}  // namespace tollgate::jinja
