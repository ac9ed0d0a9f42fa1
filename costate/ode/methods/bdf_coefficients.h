// Coefficients of bdf.h, by order: [1, table 1] there.
#pragma once

namespace costate::ode::bdf {

inline constexpr double kKappa[] = {0, -0.1850, -1.0 / 9, -0.0823, -0.0415, 0};
inline constexpr double kGamma[] = {0, 1, 3.0 / 2, 11.0 / 6, 25.0 / 12, 137.0 / 60};

inline double alpha(int order) { return (1 - kKappa[order]) * kGamma[order]; }
inline double error_constant(int order) { return kKappa[order] * kGamma[order] + 1.0 / (order + 1); }

}  // namespace costate::ode::bdf
