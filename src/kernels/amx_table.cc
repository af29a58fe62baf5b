// The AMX table, and the permission that its tiles need. Compiled for the baseline.
#include <sys/syscall.h>
#include <unistd.h>

#include "kernels/amx/entry.h"
#include "kernels/avx512/entry.h"
#include "kernels/tables.h"

namespace tollgate::kernels {

const KernelTable kAmxTable{.name = "amx",
                            .linear_f32 = avx512::linear_f32,
                            .quantize_rows = avx512::quantize_signed_rows,
                            .linear_s8 = amx::linear_s8,
                            .activate = avx512::activate,
                            .add_layer_norm = avx512::add_layer_norm,
                            .attention = avx512::attention,
                            .peak_s8 = {amx::peak_s8, 4 * 16 * 16 * 64 / 16},
                            .peak_f32 = {avx512::peak_f32, 12 * 16}};

bool ask_for_tiles() {
    // arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA), Linux 5.16; holds for the whole
    // process.
    constexpr long kRequestPermission = 0x1023;
    constexpr long kTileData = 18;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace tollgate::kernels
