// How many multiply-adds a second this core does when nothing comes from memory.
#include <immintrin.h>

#include "kernels/avx2/entry.h"

namespace tollgate::kernels::avx2 {

void peak_s8(std::size_t rounds) {
    __m256i sum[10];
    for (auto& lane : sum) {
        lane = _mm256_setzero_si256();
    }
    __m256i a = _mm256_set1_epi16(1);
    for (std::size_t i = 0; i < rounds; ++i) {
        asm volatile("" : "+x"(a));  // or the loop is one multiplication to the compiler
#pragma GCC unroll 10
        for (auto& lane : sum) {
            lane = _mm256_add_epi32(lane, _mm256_madd_epi16(a, a));
            asm volatile("" : "+x"(a));
        }
    }
    for (auto& lane : sum) {
        asm volatile("" : : "x"(lane));
    }
}

void peak_f32(std::size_t rounds) {
    __m256 sum[10];
    for (auto& lane : sum) {
        lane = _mm256_setzero_ps();
    }
    __m256 a = _mm256_set1_ps(0.5F);
    for (std::size_t i = 0; i < rounds; ++i) {
        asm volatile("" : "+x"(a));
#pragma GCC unroll 10
        for (auto& lane : sum) {
            lane = _mm256_fmadd_ps(a, a, lane);
        }
    }
    for (auto& lane : sum) {
        asm volatile("" : : "x"(lane));
    }
}

}  // namespace tollgate::kernels::avx2
