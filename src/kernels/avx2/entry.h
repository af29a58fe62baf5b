// Entry points of the AVX2 table's files; kernels.h says what each does.
#pragma once

#include "kernels/kernels.h"

namespace tollgate::kernels::avx2 {

void linear_f32(const ConstMatrix& x, const PackedF32& w, const float* bias, PanelRange panels,
                const Matrix& y);
void linear_s8(const QuantizedRows& x, const PackedS8& w, const float* bias, PanelRange panels,
               const Matrix& y);
void quantize_rows(const ConstMatrix& x, const QuantizedRows& out);
void activate(Activation kind, float* x, std::size_t n);
void add_layer_norm(const Matrix& x, const ConstMatrix& residual, const LayerNormArgs& norm);
void attention(const AttentionArgs& args);

}  // namespace tollgate::kernels::avx2
