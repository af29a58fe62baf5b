// The AMX products over tiles in memory, step by step as the manual describes the instructions.
#include <immintrin.h>

#include "kernels/amx/entry.h"
#include "kernels/constants.h"

namespace tollgate::kernels::amx_emulated {
namespace {

#include "kernels/avx512/math.inc"

struct TileShapes;

class Tiles {
  public:
    void shape(const TileShapes& shapes);
    void release() { __builtin_memset(rows_, 0, sizeof rows_); }
    template <int kTile>
    void zero() {
        __builtin_memset(bytes_[kTile], 0, sizeof bytes_[kTile]);
    }
    template <int kTile>
    void load(const std::int8_t* from, std::size_t stride) {
        zero<kTile>();
        for (std::size_t r = 0; r < rows_[kTile]; ++r) {
            __builtin_memcpy(bytes_[kTile][r], from + r * stride, row_bytes_[kTile]);
        }
    }
    template <int kSum, int kX, int kW>
    void multiply() {
        for (std::size_t m = 0; m < rows_[kSum]; ++m) {
            for (std::size_t k = 0; k < row_bytes_[kX] / 4U; ++k) {
                for (std::size_t n = 0; n < row_bytes_[kSum] / 4U; ++n) {
                    std::int32_t sum = 0;
                    __builtin_memcpy(&sum, &bytes_[kSum][m][n * 4], sizeof sum);
                    for (std::size_t i = 0; i < 4; ++i) {
                        sum += bytes_[kX][m][k * 4 + i] * bytes_[kW][k][n * 4 + i];
                    }
                    __builtin_memcpy(&bytes_[kSum][m][n * 4], &sum, sizeof sum);
                }
            }
        }
    }
    template <int kTile>
    void store(std::int32_t* to, std::size_t stride) {
        for (std::size_t r = 0; r < rows_[kTile]; ++r) {
            __builtin_memcpy(reinterpret_cast<std::int8_t*>(to) + r * stride, bytes_[kTile][r],
                             row_bytes_[kTile]);
        }
    }

  private:
    std::int8_t bytes_[8][16][64] = {};
    std::size_t rows_[8] = {};
    std::size_t row_bytes_[8] = {};
};

#include "kernels/amx/gemm.inc"

void Tiles::shape(const TileShapes& shapes) {
    __builtin_memset(bytes_, 0, sizeof bytes_);
    for (std::size_t i = 0; i < 8; ++i) {
        rows_[i] = shapes.rows[i];
        row_bytes_[i] = shapes.row_bytes[i];
    }
}

}  // namespace

void linear_s8(const QuantizedRows& x, const PackedS8& w, const Finish& finish, PanelRange panels,
               const Matrix& y) {
    Tiles tiles;
    linear_s8_on(tiles, x, w, finish, panels, y);
}

}  // namespace tollgate::kernels::amx_emulated
