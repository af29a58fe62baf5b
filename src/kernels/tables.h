// The tables that exist, for kernels.cc alone.
#pragma once

#include "kernels/kernels.h"

namespace tollgate::kernels {

extern const KernelTable kRefTable;
extern const KernelTable kAvx2Table;  // only to be called where avx2 and fma are on

}  // namespace tollgate::kernels
