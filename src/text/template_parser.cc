// Statements of the template language.
#include "text/template_parser.h"

#include <algorithm>
#include <optional>

#include "text/suggest.h"
#include "text/template_expr_parser.h"

namespace tollgate::jinja {

namespace {

class Parser : public ExprParser {
  public:
    using ExprParser::ExprParser;

    // Statements up to one of the block words in `ends` (which stays), or to the end of the source.
    Result<std::shared_ptr<Nodes>> body(std::initializer_list<std::string_view> ends) {
        if (++depth_ > limits_.nesting) {
            return too_deep();
        }
        auto nodes = std::make_shared<Nodes>();
        for (;;) {
            const Token& token = peek();
            if (token.kind == Token::Kind::kEnd) {
                if (ends.size() != 0) {
                    return error("the end of the template came before {% " +
                                 std::string(*ends.begin()) + " %}");
                }
                break;
            }
            if (token.kind == Token::Kind::kBlockBegin &&
                std::find(ends.begin(), ends.end(), peek(1).text) != ends.end() &&
                peek(1).kind == Token::Kind::kName) {
                break;
            }
            TG_TRY(Node node, statement());
            nodes->push_back(std::move(node));
        }
        --depth_;
        return nodes;
    }

  private:
    Result<Node> statement() {
        Node node;
        node.line = peek().line;
        if (peek().kind == Token::Kind::kText) {
            node.text = next().text;
            return node;
        }
        if (peek().kind == Token::Kind::kPrintBegin) {
            next();
            node.kind = Do::kPrint;
            TG_TRY(node.expr, expression());
            if (Status end = expect(Token::Kind::kPrintEnd, "}}"); !end) {
                return std::move(end).error();
            }
            return node;
        }
        next();
        if (peek().kind != Token::Kind::kName) {
            return error("a block begins with a word such as if, for or set");
        }
        const std::string word = next().text;
        return block(word, std::move(node));
    }

    Result<Node> block(const std::string& word, Node node) {
        if (word == "if") {
            return if_block(std::move(node));
        }
        if (word == "for") {
            return for_block(std::move(node));
        }
        if (word == "set") {
            return set_block(std::move(node));
        }
        if (word == "macro") {
            return macro_block(std::move(node));
        }
        if (word == "call") {
            return call_block(std::move(node));
        }
        if (word == "filter") {
            return filter_block(std::move(node));
        }
        if (word == "generation") {
            return plain_block(std::move(node), "endgeneration");
        }
        if (word == "break" || word == "continue") {
            if (loops_ == 0) {
                return error("{% " + word + " %} outside of a loop");
            }
            node.kind = word == "break" ? Do::kBreak : Do::kContinue;
            return closed(std::move(node));
        }
        constexpr std::string_view kWords[] = {"if",     "for",        "set",   "macro",    "call",
                                               "filter", "generation", "break", "continue", "raw"};
        const auto near = nearest_name(word, kWords);
        return error("unknown block \"" + word + "\"" +
                     (near ? "; did you mean \"" + std::string(*near) + "\"?" : ""));
    }

    Result<Node> closed(Node node) {
        if (Status end = expect(Token::Kind::kBlockEnd, "%}"); !end) {
            return std::move(end).error();
        }
        return node;
    }
    // "{% word %}", which body() stopped at.
    Status end_word(std::string_view word) {
        next();
        if (peek().text != word) {
            return error("expected {% " + std::string(word) + " %}, found {% " + peek().text +
                         " %}");
        }
        next();
        return expect(Token::Kind::kBlockEnd, "%}");
    }

    Result<Node> plain_block(Node node, std::string_view end) {
        node.kind = Do::kBody;
        TG_TRY(node, closed(std::move(node)));
        TG_TRY(node.body, body({end}));
        if (Status done = end_word(end); !done) {
            return std::move(done).error();
        }
        return node;
    }

    Result<Node> if_block(Node node) {
        node.kind = Do::kIf;
        scopes_.enter_branch();
        for (bool last = false; !last;) {
            Branch branch;
            branch.has_condition = true;
            TG_TRY(branch.condition, expression());
            TG_TRY(node, closed(std::move(node)));
            TG_TRY(branch.body, body({"endif", "elif", "else"}));
            node.branches.push_back(std::move(branch));
            next();
            const std::string word = next().text;
            if (word == "elif") {
                continue;
            }
            TG_TRY(node, closed(std::move(node)));
            if (word == "else") {
                Branch otherwise;
                TG_TRY(otherwise.body, body({"endif"}));
                node.branches.push_back(std::move(otherwise));
                if (Status done = end_word("endif"); !done) {
                    return std::move(done).error();
                }
            }
            last = true;
        }
        scopes_.leave_branch();
        return node;
    }

    // a, b  or  (a, b)
    Result<std::vector<std::string>> target_names() {
        std::vector<std::string> names;
        const bool parens = take("(");
        do {
            if (peek().kind != Token::Kind::kName) {
                return error("expected a name to set");
            }
            names.push_back(next().text);
        } while (take(",") && peek().kind == Token::Kind::kName);
        if (parens && !take(")")) {
            return error("expected ) after the names");
        }
        return names;
    }

    Result<Node> for_block(Node node) {
        node.kind = Do::kFor;
        TG_TRY(const std::vector<std::string> names, target_names());
        if (!take_word("in")) {
            return error("expected \"in\" after the loop's names");
        }
        TG_TRY(node.expr, expression_without_if());
        auto begin = std::make_unique<Scopes::Begin>();
        scopes_.push(begin.get());
        for (const std::string& name : names) {
            node.targets.push_back({Ref::Place::kLocal, scopes_.declare(name)});
        }
        if (take_word("if")) {
            node.has_filter = true;
            TG_TRY(node.filter, expression());
        }
        if (take_word("recursive")) {
            return error("recursive loops are not part of this language");
        }
        ++loops_;
        TG_TRY(node, closed(std::move(node)));
        TG_TRY(node.body, body({"endfor", "else"}));
        --loops_;
        node.begin = *begin;
        scopes_.pop();
        if (peek(1).text == "else") {
            if (Status done = end_word("else"); !done) {
                return std::move(done).error();
            }
            scopes_.enter_branch();
            TG_TRY(node.otherwise, body({"endfor"}));
            scopes_.leave_branch();
        }
        if (Status done = end_word("endfor"); !done) {
            return std::move(done).error();
        }
        return node;
    }

    Result<Node> set_block(Node node) {
        if (peek().kind == Token::Kind::kName && peek(1).text == "." &&
            peek(1).kind == Token::Kind::kSymbol) {
            node.kind = Do::kSetField;
            node.targets.push_back(scopes_.find(next().text));
            next();
            if (peek().kind != Token::Kind::kName) {
                return error("expected a name after the dot");
            }
            node.text = next().text;
            if (!take("=")) {
                return error("expected = after the name");
            }
            TG_TRY(node.expr, expression_list());
            return closed(std::move(node));
        }
        TG_TRY(const std::vector<std::string> names, target_names());
        if (take("=")) {
            node.kind = Do::kSet;
            TG_TRY(node.expr, expression_list());
            for (const std::string& name : names) {
                node.targets.push_back({Ref::Place::kLocal, scopes_.assign(name)});
            }
            return closed(std::move(node));
        }
        node.kind = Do::kSetBlock;
        TG_TRY(node, through_filters(std::move(node), "endset"));
        for (const std::string& name : names) {
            node.targets.push_back({Ref::Place::kLocal, scopes_.assign(name)});
        }
        return node;
    }

    // The rest of {% set x | f %}…{% endset %} and {% filter f %}…{% endfilter %}: the body's text
    // goes into a slot that the filters' expression reads.
    Result<Node> through_filters(Node node, std::string_view end) {
        node.input_slot = scopes_.new_slot();
        Expr input;
        input.op = Op::kName;
        input.line = node.line;
        input.ref = {Ref::Place::kLocal, node.input_slot};
        TG_TRY(node.expr, filters_after(std::move(input)));
        TG_TRY(node, closed(std::move(node)));
        TG_TRY(node.body, body({end}));
        if (Status done = end_word(end); !done) {
            return std::move(done).error();
        }
        return node;
    }

    Result<Node> filter_block(Node node) {
        node.kind = Do::kFilterBlock;
        insert_symbol("|");
        return through_filters(std::move(node), "endfilter");
    }

    // (a, b=1) of a macro or a caller.
    Status arguments(Macro& macro) {
        if (!take("(")) {
            return error("expected ( after the macro's name");
        }
        while (!take(")")) {
            if (peek().kind != Token::Kind::kName) {
                return error("expected an argument's name");
            }
            macro.names.push_back(next().text);
            if (take("=")) {
                TG_TRY(Expr value, expression());
                macro.defaults.push_back(std::move(value));
            } else if (!macro.defaults.empty()) {
                return error("an argument without a default follows one that has one");
            }
            macro.slots.push_back(scopes_.declare(macro.names.back()));
            if (!take(",") && peek().text != ")") {
                return error("expected , or ) in the macro's arguments");
            }
        }
        return ok();
    }

    Status macro_head(Macro& macro, bool has_arguments) {
        scopes_.push_frame(&macro.frame_size, &macro.begin);
        macro.caller_slot = scopes_.declare("caller");
        return has_arguments ? arguments(macro) : ok();
    }

    Status macro_body(Macro& macro, std::string_view end) {
        const std::size_t loops = std::exchange(loops_, 0);
        if (Status close = expect(Token::Kind::kBlockEnd, "%}"); !close) {
            return close;
        }
        TG_TRY(macro.body, body({end}));
        loops_ = loops;
        scopes_.pop_frame();
        return end_word(end);
    }

    Result<Node> macro_block(Node node) {
        node.kind = Do::kMacro;
        if (scopes_.in_macro()) {
            return error("a macro inside a macro is not part of this language");
        }
        if (peek().kind != Token::Kind::kName) {
            return error("expected the macro's name");
        }
        node.macro = std::make_shared<Macro>();
        node.macro->name = next().text;
        node.targets.push_back({Ref::Place::kLocal, scopes_.assign(node.macro->name)});
        if (Status head = macro_head(*node.macro, true); !head) {
            return std::move(head).error();
        }
        if (Status rest = macro_body(*node.macro, "endmacro"); !rest) {
            return std::move(rest).error();
        }
        return node;
    }

    // {% call(args) f(x) %}…{% endcall %}: the body is a macro of the name "caller". It is run in
    // the template's own frame's sight, as a macro is.
    Result<Node> call_block(Node node) {
        node.kind = Do::kCallBlock;
        if (scopes_.in_macro()) {
            return error("a call block inside a macro is not part of this language");
        }
        node.macro = std::make_shared<Macro>();
        node.macro->name = "caller";
        if (Status head = macro_head(*node.macro, peek().text == "("); !head) {
            return std::move(head).error();
        }
        scopes_.suspend_frame();  // the call itself is outside of the caller's scope
        TG_TRY(node.expr, expression());
        scopes_.resume_frame();
        if (node.expr.op != Op::kCall) {
            return error("a call block calls a macro: {% call f(x) %}");
        }
        if (Status rest = macro_body(*node.macro, "endcall"); !rest) {
            return std::move(rest).error();
        }
        return node;
    }
};

}  // namespace

Result<Program> parse_program(const std::string& name, std::string_view source,
                              const TemplateHost& host, const TemplateLimits& limits) {
    if (source.size() > limits.source_bytes) {
        return Error{Fault::kTooLarge, name + ": " + std::to_string(source.size()) +
                                           " bytes, a template has at most " +
                                           std::to_string(limits.source_bytes)};
    }
    TG_TRY(std::vector<Token> tokens, tokenize(name, source));
    Program program;
    program.name = name;
    Parser parser(program, std::move(tokens), host, limits);
    TG_TRY(const std::shared_ptr<Nodes> body, parser.body({}));
    program.body = std::move(*body);
    return program;
}

}  // namespace tollgate::jinja
