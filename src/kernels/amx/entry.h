// Entry points of the AMX table's own files; what it lacks it takes from avx512.
#pragma once

#include "kernels/kernels.h"

namespace tollgate::kernels::amx {

void linear_s8(const QuantizedRows& x, const PackedS8& w, const Finish& finish, PanelRange panels,
               const Matrix& y);
void peak_s8(std::size_t rounds);

}  // namespace tollgate::kernels::amx

namespace tollgate::kernels::amx_emulated {

// The same code over tiles in memory (testing/): shows on any AVX-512 machine that packing,
// loops and tails are right.
void linear_s8(const QuantizedRows& x, const PackedS8& w, const Finish& finish, PanelRange panels,
               const Matrix& y);

}  // namespace tollgate::kernels::amx_emulated
