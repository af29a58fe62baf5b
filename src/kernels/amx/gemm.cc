// AMX matrix products: the tile instructions behind gemm.inc. Built with the flags of
// CMakeLists.txt.
#include <immintrin.h>

#include "kernels/amx/entry.h"
#include "kernels/constants.h"

namespace tollgate::kernels::amx {
namespace {

#include "kernels/avx512/math.inc"

struct TileShapes;

// The eight tile registers; one thread's, between shape() and release(). Written as assembly
// because g++ 12's intrinsics take a register's number from the source text, which a template has
// none of, and do not say that they read memory.
class Tiles {
  public:
    static void shape(const TileShapes& shapes) {
        asm volatile("ldtilecfg (%0)" : : "r"(&shapes) : "memory");
    }
    static void release() { asm volatile("tilerelease"); }
    template <int kTile>
    static void zero() {
        asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
    }
    template <int kTile>
    static void load(const std::int8_t* from, std::size_t stride) {
        asm volatile("tileloadd (%1,%2,1), %%tmm%c0"
                     :
                     : "i"(kTile), "r"(from), "r"(stride)
                     : "memory");
    }
    // Signed by signed; the assembler's order is w, x, sum.
    template <int kSum, int kX, int kW>
    static void multiply() {
        asm volatile("tdpbssd %%tmm%c0, %%tmm%c1, %%tmm%c2" : : "i"(kW), "i"(kX), "i"(kSum));
    }
    template <int kTile>
    static void store(std::int32_t* to, std::size_t stride) {
        asm volatile("tilestored %%tmm%c0, (%1,%2,1)"
                     :
                     : "i"(kTile), "r"(to), "r"(stride)
                     : "memory");
    }
};

#include "kernels/amx/gemm.inc"

}  // namespace

void linear_s8(const QuantizedRows& x, const PackedS8& w, const Finish& finish, PanelRange panels,
               const Matrix& y) {
    Tiles tiles;
    linear_s8_on(tiles, x, w, finish, panels, y);
}

// Four products over tiles that are there already, as the inner loop has them.
void peak_s8(std::size_t rounds) {
    alignas(64) std::int8_t ones[16 * 64];
    __builtin_memset(ones, 1, sizeof ones);
    Tiles::shape(shapes_for(16, 16));
    Tiles::zero<0>();
    Tiles::zero<1>();
    Tiles::zero<2>();
    Tiles::zero<3>();
    Tiles::load<4>(ones, 64);
    Tiles::load<5>(ones, 64);
    Tiles::load<6>(ones, 64);
    Tiles::load<7>(ones, 64);
    for (std::size_t i = 0; i < rounds / 16; ++i) {
        Tiles::multiply<0, 4, 6>();
        Tiles::multiply<1, 4, 7>();
        Tiles::multiply<2, 5, 6>();
        Tiles::multiply<3, 5, 7>();
    }
    Tiles::release();
}

}  // namespace tollgate::kernels::amx
