// The AVX2 table. Compiled for the baseline: only its functions are not.
#include "kernels/avx2/entry.h"
#include "kernels/tables.h"

namespace tollgate::kernels {

const KernelTable kAvx2Table{.name = "avx2",
                             .quantized_size = 2,
                             .linear_f32 = avx2::linear_f32,
                             .quantize_rows = avx2::quantize_rows,
                             .linear_s8 = avx2::linear_s8,
                             .activate = avx2::activate,
                             .add_layer_norm = avx2::add_layer_norm,
                             .attention = avx2::attention,
                             .peak_s8 = {avx2::peak_s8, 10 * 16},
                             .peak_f32 = {avx2::peak_f32, 10 * 8}};

}  // namespace tollgate::kernels
