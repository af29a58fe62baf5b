// The tree of a rules file: expressions with their types, and the statements around them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decision/compile_report.h"
#include "decision/rules.h"
#include "decision/value.h"

namespace tollgate {

enum class ExprKind : std::uint8_t {
    kLiteral,  // `literal`
    kName,     // not resolved: `text`; as the parser leaves names
    kField,    // of the event being decided: ref = FieldId
    kSlot,     // of the stored event (in where): ref = slot
    kWindow,   // ref = window
    // a kept number of the event being decided: its expression is args[0], rounded to 6 digits
    kKept,
    kLabel,  // of the stored event
    kNot,
    kNegate,
    kAnd,  // two or more args
    kOr,
    kCompare,  // `compare`
    kArith,    // `sign`: + - * /
    kBetween,  // x, low, high
    kInSet,    // x, literals
    kInList,   // x; ref = list, text = its name
    kCall,     // `call`
};
enum class Comparison : std::uint8_t {
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual
};
enum class Call : std::uint8_t {
    kIsMissing,
    kIsUnknown,
    kAbs,
    kMin,
    kMax,
    kStartsWith,
    kEndsWith,
    kContains,
    kMatches,
    kLength,
};

// kind kUnknown: a fault was reported below, say nothing more. Money has its currency.
struct Type {
    ValueKind kind = ValueKind::kUnknown;
    Currency currency;
    friend bool operator==(const Type&, const Type&) = default;
};

struct Expr {
    ExprKind kind = ExprKind::kLiteral;
    Comparison compare = Comparison::kEqual;
    Call call = Call::kIsMissing;
    char sign = '+';
    std::uint16_t depth = 1;  // of the tree below, itself included
    std::uint32_t ref = 0;
    std::string text;  // names as written; a literal's canonical text
    Value literal;     // string literals: `literal.text` views into `string`
    std::unique_ptr<std::string> string;
    std::vector<std::unique_ptr<Expr>> args;
    SourceSpan span;
    Type type;
};
using ExprPtr = std::unique_ptr<Expr>;

ExprPtr clone(const Expr& expr);
// Canonical text, which parses back to an equal tree.
std::string to_text(const Expr& expr);
std::string_view to_text(Comparison compare);
std::string_view to_text(Call call);
std::optional<Call> call_of(std::string_view name);
std::string quoted(std::string_view text);  // as a string literal

// A word of the source with its place.
struct Word {
    std::string text;
    SourceSpan span;
};

struct HeaderAst {
    Word name;
    std::uint32_t version = 0;
    std::optional<Word> currency;
    std::optional<Word> zone;
    std::optional<Word> on_error;
    SourceSpan span;
};
struct ListAst {
    Word name;
    Word file;
    Word key;
};
struct WindowAst {
    Word name;
    Word function;
    std::optional<Word> argument;
    std::vector<Word> keys;
    Micros span{0};
    std::uint32_t last_n = 0;
    Micros delay{0};
    std::optional<bool> include_current;
    ExprPtr where;
    ExprPtr otherwise;
    SourceSpan span_text;
};
struct KeepAst {
    Word name;
    ExprPtr value;
};
struct RuleAst {
    Word id;
    Word title;
    Severity severity = Severity::kMedium;
    std::string owner;
    RuleMode mode = RuleMode::kLive;
    bool hard = false;
    std::optional<std::int64_t> shadow_until_day;
    SourceSpan shadow_span;
    Verdict action = Verdict::kReview;
    ExprPtr when;
    std::string reason;
    SourceSpan span;
};
struct FileAst {
    std::optional<HeaderAst> header;
    std::vector<ListAst> lists;
    std::vector<WindowAst> windows;
    std::vector<KeepAst> keeps;
    std::vector<RuleAst> rules;
    std::vector<std::string> broken;  // names of statements that were left out
};

}  // namespace tollgate
