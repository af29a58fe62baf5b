// The bytecode's operations: what compile_expr.cc writes and program.cc runs.
#pragma once

#include <cstdint>

namespace tollgate {

// Where CompareDirect finds an operand.
enum class Operand : std::uint8_t { kConst = 0, kField = 1, kWindow = 2 };

enum class Op : std::uint8_t {
    // Push one value.
    kConst,   // constants[b]
    kField,   // fields[b]
    kWindow,  // windows[b]
    kSlot,    // slot b of the stored event
    // the stored event's label: constants[b] is "fraud", constants[b + 1] "legit"; unknown when it
    // has none
    kLabel,
    // Push a truth value from two operands read in place: flags = Comparison | left Operand << 3 |
    // right << 5.
    kCompareDirect,  // left index a, right index b
    // Replace the two on top.
    kCompare,  // flags = Comparison
    kAnd,
    kOr,
    kAdd,  // flags = ValueKind of the result, for the arithmetic ones
    kSubtract,
    kMultiply,
    kDivide,
    kMin,
    kMax,
    kStartsWith,
    kEndsWith,
    kContains,
    // Replace the three on top: x, low, high.
    kBetween,
    kClockBetween,  // wraps midnight when low is after high
    // Replace the one on top.
    kNot,
    kNegate,
    kAbs,
    kRound,      // to 6 digits, as kept numbers are stored; what does not fit is unknown
    kIsUnknown,  // also is_missing
    kLength,
    kInSet,    // sets[b]
    kInList,   // list b
    kMatches,  // patterns[b]
    // Look at the one on top; jump forward to b, leaving it, when it decides the whole.
    kJumpIfFalse,
    kJumpIfTrue,
};

}  // namespace tollgate
