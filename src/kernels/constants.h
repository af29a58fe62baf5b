// Coefficients that all tables share (docs/numerics.md, "Functions").
#pragma once

namespace tollgate::kernels {

// erf(x) = x P(x^2) / Q(x^2) on [-4, 4], lowest power first: our own minimax fit (Lawson's weights
// on the linearised problem), absolute error below 4e-7 in single precision.
constexpr float kErfP[7] = {1.1283786297e+00F, 2.1394640207e-01F, 5.2433710545e-02F,
                            4.2931195349e-03F, 1.5553788398e-04F, -1.9903154680e-06F,
                            1.9217004876e-08F};
constexpr float kErfQ[5] = {1.0F, 5.2293270826e-01F, 1.2080033869e-01F, 1.5551238321e-02F,
                            1.0980522493e-03F};

}  // namespace tollgate::kernels
