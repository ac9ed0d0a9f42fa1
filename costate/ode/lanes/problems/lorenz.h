// The Lorenz system (Lorenz 1963, eqs. 25-27): three modes of convection, chaotic at the usual parameters.
//
//   x' = sigma (y - x)
//   y' = x (rho - z) - y
//   z' = x y - beta z
//
// Tests: tests/ode/lanes/fixed_step_test.cpp.
#pragma once

#include "costate/core/vec.h"
#include "costate/system/signature.h"

namespace costate::ode {

struct Lorenz {
  static constexpr int states = 3, controls = 0, parameters = 3;
  static constexpr bool autonomous = true, separable = false;
  enum { kSigma, kRho, kBeta };
  static constexpr unsigned long active_patterns[] = {1ul << kRho};

  static void describe(Signature& s) {
    s.state("x")
        .state("y")
        .state("z")
        .parameter("sigma", 10.0)
        .parameter("rho", 28.0)
        .parameter("beta", 8.0 / 3);
  }

  template <class S>
  static COSTATE_HD COSTATE_INLINE Vec<S, 3> value(S, const Vec<S, 3>& x, const Vec<S, 0>&,
                                                   const Vec<S, 3>& p) {
    return {{p[kSigma] * (x[1] - x[0]), x[0] * (p[kRho] - x[2]) - x[1], x[0] * x[1] - p[kBeta] * x[2]}};
  }
  template <class S>
  static COSTATE_HD COSTATE_INLINE Vec<S, 3> vjp(S, const Vec<S, 3>& x, const Vec<S, 0>&, const Vec<S, 3>& p,
                                                 const Vec<S, 3>& d, S&, Vec<S, 0>&, Vec<S, 3>& p_bar) {
    p_bar[kSigma] += (x[1] - x[0]) * d[0];
    p_bar[kRho] += x[0] * d[1];
    p_bar[kBeta] -= x[2] * d[2];
    const S flow = p[kSigma] * d[0];
    return {{x[1] * d[2] + ((p[kRho] - x[2]) * d[1] - flow), x[0] * d[2] + (flow - d[1]),
             -x[0] * d[1] - p[kBeta] * d[2]}};
  }
};

}  // namespace costate::ode
