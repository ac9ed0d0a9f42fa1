// The Van der Pol oscillator, with a time-dependent drive for testing non-autonomous problems:
//
//   y'' = mu (1 - y^2) y' - y + a cos(w t)
//
// Tests: tests/ode/lanes/fixed_step_test.cpp.
#pragma once

#include "costate/core/functions.h"
#include "costate/core/vec.h"
#include "costate/system/signature.h"

namespace costate::ode {

struct VanDerPol {
  static constexpr int states = 2, controls = 0, parameters = 3;
  static constexpr bool autonomous = false, separable = false;
  enum { kMu, kAmplitude, kFrequency };

  static void describe(Signature& s) {
    s.state("y")
        .state("v")
        .parameter("mu", 1.0)
        .parameter("amplitude", 0.0)
        .parameter("frequency", 1.0, "rad/s");
  }

  template <class S>
  static COSTATE_HD COSTATE_INLINE Vec<S, 2> value(S t, const Vec<S, 2>& x, const Vec<S, 0>&,
                                                   const Vec<S, 3>& p) {
    return {{x[1], p[kMu] * (S(1) - x[0] * x[0]) * x[1] - x[0] + p[kAmplitude] * cos(p[kFrequency] * t)}};
  }
  template <class S>
  static COSTATE_HD COSTATE_INLINE Vec<S, 2> vjp(S t, const Vec<S, 2>& x, const Vec<S, 0>&,
                                                 const Vec<S, 3>& p, const Vec<S, 2>& d, S& t_bar, Vec<S, 0>&,
                                                 Vec<S, 3>& p_bar) {
    const S gap = S(1) - x[0] * x[0], phase = p[kFrequency] * t;
    const S phase_bar = -p[kAmplitude] * sin(phase) * d[1];
    t_bar += p[kFrequency] * phase_bar;
    p_bar[kMu] += gap * x[1] * d[1];
    p_bar[kAmplitude] += cos(phase) * d[1];
    p_bar[kFrequency] += t * phase_bar;
    return {{(S(-2) * p[kMu] * x[0] * x[1] - S(1)) * d[1], d[0] + p[kMu] * gap * d[1]}};
  }
};

}  // namespace costate::ode
