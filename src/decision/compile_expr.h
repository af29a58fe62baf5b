// From a checked tree to bytecode, with its worst-case cost.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "decision/ast.h"
#include "decision/program.h"

namespace tollgate {

// Null when the expression needs more than 64 values on the stack. The tree must have passed the
// type checker and its references must be final (WindowId, slot).
std::unique_ptr<Program> compile_expr(const Expr& expr);

// Rewrites the references of windows and slots by the two tables (index: old, value: new).
void remap(Expr& expr, const std::vector<std::uint32_t>& windows,
           const std::vector<std::uint32_t>& slots);

// Every window that the tree reads, inlined kept numbers included.
void windows_of(const Expr& expr, std::vector<std::uint32_t>& out);
// The slots of stored events it reads, likewise.
void slots_of(const Expr& expr, std::vector<std::uint32_t>& out);

}  // namespace tollgate
