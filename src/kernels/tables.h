// The tables that exist, for kernels.cc alone.
#pragma once

#include "kernels/kernels.h"

namespace tollgate::kernels {

extern const KernelTable kRefTable;
extern const KernelTable kAvx2Table;    // only to be called where avx2 and fma are on
extern const KernelTable kAvx512Table;  // likewise avx512 f, bw, dq, vl and vnni
extern const KernelTable kAmxTable;     // and tiles of int8, once the kernel has let us

// Asks Linux for the tiles' registers, which it saves only for who asked; false when it refuses.
bool ask_for_tiles();

}  // namespace tollgate::kernels
