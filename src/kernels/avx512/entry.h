// Entry points of the AVX-512 table's files; kernels.h says what each does.
#pragma once

#include "kernels/kernels.h"

namespace tollgate::kernels::avx512 {

void linear_f32(const ConstMatrix& x, const PackedF32& w, const Finish& finish, PanelRange panels,
                const Matrix& y);
void linear_s8(const QuantizedRows& x, const PackedS8& w, const Finish& finish, PanelRange panels,
               const Matrix& y);
void quantize_rows(const ConstMatrix& x, const QuantizedRows& out);
void quantize_signed_rows(const ConstMatrix& x, const QuantizedRows& out);  // zero_byte 0
void activate(Activation kind, float* x, std::size_t n);
void add_layer_norm(const Matrix& x, const ConstMatrix& residual, const LayerNormArgs& norm);
void attention(const AttentionArgs& args);
void peak_s8(std::size_t rounds);
void peak_f32(std::size_t rounds);

}  // namespace tollgate::kernels::avx512
