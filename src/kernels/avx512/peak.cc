// How many multiply-adds a second this core does when nothing comes from memory.
#include <immintrin.h>

#include "kernels/avx512/entry.h"

namespace tollgate::kernels::avx512 {

void peak_s8(std::size_t rounds) {
    __m512i sum[12];
    for (auto& lane : sum) {
        lane = _mm512_setzero_si512();
    }
    __m512i a = _mm512_set1_epi8(1);
    for (std::size_t i = 0; i < rounds; ++i) {
        asm volatile("" : "+v"(a));  // or the loop is one multiplication to the compiler
#pragma GCC unroll 12
        for (auto& lane : sum) {
            lane = _mm512_dpbusd_epi32(lane, a, a);
        }
    }
    for (auto& lane : sum) {
        asm volatile("" : : "v"(lane));
    }
}

void peak_f32(std::size_t rounds) {
    __m512 sum[12];
    for (auto& lane : sum) {
        lane = _mm512_setzero_ps();
    }
    __m512 a = _mm512_set1_ps(0.5F);
    for (std::size_t i = 0; i < rounds; ++i) {
        asm volatile("" : "+v"(a));
#pragma GCC unroll 12
        for (auto& lane : sum) {
            lane = _mm512_fmadd_ps(a, a, lane);
        }
    }
    for (auto& lane : sum) {
        asm volatile("" : : "v"(lane));
    }
}

}  // namespace tollgate::kernels::avx512
