// Program: an expression as flat bytecode on a typed row, and its evaluator (Kleene's three-valued
// logic).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "decision/event.h"
#include "decision/value.h"
#include "decision/window_def.h"

namespace re2 {
class RE2;
}

namespace tollgate {

class ListSet;  // decision/lists.h

// What an evaluation may read. Spans are indexed by FieldId / WindowId. Plain views; built once per
// event.
struct EvalInput {
    std::span<const Value> fields;  // the event being decided
    std::span<const Value>
        windows;  // empty while windows are being computed for those not yet known
    const ListSet* lists = nullptr;
    EventTime now;                       // the reading event's own time
    const std::uint64_t* row = nullptr;  // `where` only: the stored event's words
    const RowLayout* layout = nullptr;   // `where` only
    Label row_label = Label::kNone;      // `where` only: the label known at `now`
};

// One instruction; `a` and `b` mean what the operation says. Defined in program.cc's table.
enum class Op : std::uint8_t;
struct Instruction {
    Op op{};
    std::uint8_t flags = 0;
    std::uint16_t a = 0;
    std::uint32_t b = 0;
};

struct Program {
    Program();
    ~Program();
    std::vector<Instruction> code;
    std::vector<Value> constants;  // string constants view into `texts`
    std::vector<std::unique_ptr<std::string>> texts;
    std::vector<std::unique_ptr<re2::RE2>> patterns;
    std::vector<std::vector<StringKey>> sets;  // literal sets of `in (...)`, sorted
    std::uint16_t max_stack = 0;               // <= 64
    std::uint32_t cost_ns = 0;                 // worst case, for the static limit
};

// Never fails, allocates nothing, bounded by the code's length (no jumps backwards).
Value evaluate(const Program& program, const EvalInput& input) noexcept;

}  // namespace tollgate
