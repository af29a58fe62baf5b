// Expressions of the template language, by Jinja's precedence.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/template.h"
#include "text/template_ast.h"
#include "text/template_lexer.h"
#include "text/template_scope.h"

namespace tollgate::jinja {

// The parser's lower half: tokens, and what stands between a tag's brackets.
class ExprParser {
  public:
    ExprParser(Program& program, std::vector<Token> tokens, const TemplateHost& host,
               const TemplateLimits& limits)
        : program_(program),
          tokens_(std::move(tokens)),
          host_(host),
          limits_(limits),
          scopes_(program) {}

  protected:
    const Token& peek(std::size_t ahead = 0) const {
        return tokens_[at_ + ahead < tokens_.size() ? at_ + ahead : tokens_.size() - 1];
    }
    Token next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : tokens_.size() - 1]; }
    bool take(std::string_view symbol);
    bool take_word(std::string_view word);
    bool at_word(std::string_view word) const;
    Status expect(Token::Kind kind, std::string_view what);
    void insert_symbol(std::string_view symbol);
    Error error(const std::string& what) const;
    Error too_deep() const;

    Result<Expr> expression();             // with "a if b else c"
    Result<Expr> expression_without_if();  // a loop's "if" is its filter
    Result<Expr> expression_list();        // a, b makes a list
    Result<Expr> filters_after(Expr input);

    Program& program_;
    std::vector<Token> tokens_;
    const TemplateHost& host_;
    const TemplateLimits& limits_;
    Scopes scopes_;
    std::size_t at_ = 0;
    std::size_t depth_ = 0;
    std::size_t loops_ = 0;  // that break and continue could leave

  private:
    Result<Expr> or_expr();
    Result<Expr> and_expr();
    Result<Expr> not_expr();
    Result<Expr> compare();
    Result<Expr> sum();
    Result<Expr> concat();
    Result<Expr> product();
    Result<Expr> power();
    Result<Expr> unary(bool with_filters);
    Result<Expr> primary();
    Result<Expr> number_or_text();
    Result<Expr> name();
    Result<Expr> loop_name();
    Result<Expr> list(std::string_view close);
    Result<Expr> map();
    Result<Expr> postfix(Expr node);
    Result<Expr> subscript(Expr node);
    Result<Expr> test_after(Expr input);
    Status call_arguments(Expr& call);
    Status filter_name(Expr& filter);
    Expr make(Op op) const;
    Result<Expr> binary(Op op, Expr left, Expr right) const;
    Result<Expr> sealed(Expr node) const;
};

}  // namespace tollgate::jinja
