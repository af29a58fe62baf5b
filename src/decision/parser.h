// From a rules file's text to statements and expression trees; several faults are found in one
// pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "decision/ast.h"
#include "decision/compile_report.h"
#include "decision/lexer.h"

namespace tollgate {

// Statements with a syntax fault are reported and left out; reading goes on at the next line that
// begins a statement. `max_depth` bounds nesting, in the parser and of every tree.
FileAst parse_file(std::string_view text, std::uint32_t file, std::size_t max_depth,
                   Reporter& report);

// Reads one expression from tokens (Pratt): used by parse_file and by rule tests for values.
class ExprParser {
  public:
    ExprParser(const std::vector<Token>& tokens, std::size_t& at, std::size_t max_depth,
               Reporter& report)
        : tokens_(tokens), at_(at), max_depth_(max_depth), report_(report) {}
    ExprPtr parse();  // null after a reported fault
    // A literal, with an optional minus before numbers and money.
    ExprPtr literal();

  private:
    ExprPtr expression(int least);
    ExprPtr prefix(int least);
    ExprPtr infix(ExprPtr left, int least, bool& done);
    ExprPtr chain(ExprPtr first, ExprKind kind, std::string_view word, int least);
    ExprPtr comparison(ExprPtr left);
    ExprPtr membership(ExprPtr left);
    ExprPtr between(ExprPtr left);
    ExprPtr negatable(ExprPtr left);
    ExprPtr named();
    ExprPtr call(const Token& name);
    ExprPtr money(bool negative);
    ExprPtr number(bool negative);
    ExprPtr node(ExprKind kind, SourceSpan from);
    ExprPtr finish(ExprPtr expr);
    ExprPtr fail(const Token& at, std::string message, std::string suggestion = "");
    bool is_sign(std::string_view sign) const;
    bool is_word(std::string_view word) const;
    bool expect(std::string_view sign, std::string_view where);
    const Token& peek(std::size_t ahead = 0) const;

    const std::vector<Token>& tokens_;
    std::size_t& at_;
    std::size_t max_depth_;
    std::size_t nesting_ = 0;
    Reporter& report_;
};

// How a token is named in messages: `"foo"`, `the end of the file`.
std::string shown(const Token& token);

}  // namespace tollgate
