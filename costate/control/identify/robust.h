// Robust losses [1] of a scaled residual r, s = r^2, with width d:
//
//   none     s
//   huber    s, and 2 d|r| - d^2 beyond d
//   cauchy   d^2 log(1 + s/d^2)
//
// Each residual enters a least-squares problem as sign(r) sqrt(rho(s)), so that 1/2 |r|^2 is the loss.
//
// [1] Barron: A general and adaptive robust loss function, CVPR 2019.
// Tests: tests/control/identify_test.cpp.
#pragma once

#include <cmath>

namespace costate::control {

enum class Robust { none, huber, cauchy };

// sign(r) sqrt(rho(r^2)), and its derivative.
inline double softened(Robust kind, double width, double r, double& slope) {
  slope = 1;
  const double s = r * r;
  if (kind == Robust::huber && std::abs(r) > width) {
    const double rho = 2 * width * std::abs(r) - width * width;
    slope = width / std::sqrt(rho);
    return std::copysign(std::sqrt(rho), r);
  }
  if (kind == Robust::cauchy && s > 1e-12 * width * width) {
    const double rho = width * width * std::log1p(s / (width * width));
    slope = std::abs(r) / ((1 + s / (width * width)) * std::sqrt(rho));
    return std::copysign(std::sqrt(rho), r);
  }
  return r;
}

// Second derivative of 1/2 rho(r^2): 1 where a residual counts in full.
inline double bent(Robust kind, double width, double r) {
  const double s = r * r / (width * width);
  if (kind == Robust::huber) return s > 1 ? 0 : 1;
  if (kind == Robust::cauchy) return (1 - s) / ((1 + s) * (1 + s));
  return 1;
}

}  // namespace costate::control
