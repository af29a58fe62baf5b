// FloatMode: the SSE control register, which every x86-64 processor has.
#include <xmmintrin.h>

#include "kernels/kernels.h"

namespace tollgate::kernels {

namespace {

constexpr std::uint32_t kFlush = 0x8040;       // FTZ and DAZ
constexpr std::uint32_t kRounding = 0x6000;    // 0: to nearest even
constexpr std::uint32_t kExceptions = 0x1F80;  // masked

}  // namespace

FloatMode::FloatMode() : before_(_mm_getcsr()) {
    _mm_setcsr((before_ & ~kRounding) | kFlush | kExceptions);
}
FloatMode::~FloatMode() {
    _mm_setcsr(before_);
}

}  // namespace tollgate::kernels
