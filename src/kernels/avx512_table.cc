// The AVX-512 table. Compiled for the baseline: only its functions are not.
#include "kernels/avx512/entry.h"
#include "kernels/tables.h"

namespace tollgate::kernels {

const KernelTable kAvx512Table{.name = "avx512",
                               .zero_byte = 128,
                               .linear_f32 = avx512::linear_f32,
                               .quantize_rows = avx512::quantize_rows,
                               .linear_s8 = avx512::linear_s8,
                               .activate = avx512::activate,
                               .add_layer_norm = avx512::add_layer_norm,
                               .attention = avx512::attention,
                               .peak_s8 = {avx512::peak_s8, 12 * 64},
                               .peak_f32 = {avx512::peak_f32, 12 * 16}};

}  // namespace tollgate::kernels
