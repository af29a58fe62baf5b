// The parsed form of a template: expressions and statements with names resolved to slots.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/template_value.h"

namespace tollgate::jinja {

// Where a name's value is: in the frame being run (a macro's or the template's), in the template's
// own frame seen from a macro, or among the host's values.
struct Ref {
    enum class Place : std::uint8_t { kLocal, kOuter, kHost } place = Place::kLocal;
    std::uint32_t slot = 0;
};

enum class Op : std::uint8_t {
    kConstant,   // value
    kName,       // ref
    kList,       // kids; a tuple is a list
    kMap,        // kids: key, value, key, value
    kAttribute,  // kids[0] . text
    kItem,       // kids[0] [ kids[1] ]
    kSlice,      // kids[0] [ kids[1] : kids[2] : kids[3] ], a missing one is a kConstant none
    kCall,       // kids[0] ( kids[1..], named )
    kFilter,     // kids[0] | text ( kids[1..], named )
    kTest,       // kids[0] is text ( kids[1..] )
    kLoop,       // loop.text; kids: the arguments of loop.cycle() and loop.changed()
    kNot,
    kMinus,
    kPlus,
    kAnd,
    kOr,
    kIfElse,  // kids: condition, then, else (kConstant undefined when left out)
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kFloorDivide,
    kModulo,
    kPower,
    kConcat,
    kCompare,  // kids: first, then one per operator in `compares`
};
enum class Compare : std::uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };

struct NamedExpr;

struct Expr {
    Op op = Op::kConstant;
    std::uint32_t line = 0;
    std::uint32_t height = 0;  // of the tree below
    Ref ref;
    TemplateValue value;
    std::string text;
    std::vector<Expr> kids;
    std::vector<NamedExpr> named;
    std::vector<Compare> compares;
    std::int32_t builtin = -1;  // kFilter, kTest: which; -1 for a host's filter at `host`
    std::uint32_t host = 0;
};

struct NamedExpr {
    std::string name;
    Expr value;
};

enum class Do : std::uint8_t {
    kText,         // text
    kPrint,        // expr
    kIf,           // branches: (condition, body) ...; an else has no condition
    kFor,          // targets, expr, filter, body, otherwise
    kSet,          // targets = expr
    kSetField,     // targets[0].text = expr
    kSetBlock,     // targets[0] = body, through the filters of expr (its innermost input is a slot)
    kMacro,        // targets[0], macro
    kCallBlock,    // expr is the call; macro is the caller
    kFilterBlock,  // body through the filters of expr
    kBreak,
    kContinue,
    kBody,  // body as it is: {% generation %}, {% with %}
};

struct Node;
using Nodes = std::vector<Node>;

struct Branch {
    bool has_condition = false;
    Expr condition;
    std::shared_ptr<Nodes> body;
};

struct Macro {
    std::string name;
    std::vector<std::string> names;
    std::vector<std::uint32_t> slots;  // of the arguments
    std::vector<Expr> defaults;        // of the last ones
    std::uint32_t caller_slot = 0;
    std::uint32_t frame_size = 0;
    std::vector<std::pair<std::uint32_t, Ref>> begin;  // slots that start as an outer name's value
    std::shared_ptr<Nodes> body;
};

struct Node {
    Do kind = Do::kText;
    std::uint32_t line = 0;
    std::string text;
    Expr expr;
    std::vector<Ref> targets;
    std::vector<std::pair<std::uint32_t, Ref>> begin;  // at the start of each iteration of a for
    bool has_filter = false;
    Expr filter;                   // for ... if
    std::uint32_t input_slot = 0;  // kSetBlock, kFilterBlock: where expr finds the body's text
    std::shared_ptr<Nodes> body;
    std::shared_ptr<Nodes> otherwise;
    std::vector<Branch> branches;
    std::shared_ptr<Macro> macro;
};

struct Program {
    std::string name;
    Nodes body;
    std::uint32_t frame_size = 0;
    std::vector<std::pair<std::uint32_t, Ref>> begin;
    std::vector<std::string> host_names;
    std::vector<bool> host_read;  // read as such, not only what a conditional `set` starts as
};

}  // namespace tollgate::jinja
