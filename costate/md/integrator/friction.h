// O: friction and noise, the exact solution of dv = -friction v dt + sqrt(2 friction kT / m) dW over h [1].
//
//   v' = c v + s g xi,   c = e^(-friction h),  s = sqrt(1 - c^2),  g = sqrt(kT / m),  xi standard normal
//
// Transpose: v_bar = c v'_bar; c_bar = v.v'_bar - (c / s) s_bar, s_bar = sum g xi v'_bar;
// kT_bar = s sum g xi v'_bar / (2 kT), m_bar = -s g xi v'_bar / (2 m). Where friction h is 0 the derivative
// with respect to it is infinite.
// [1] Leimkuhler, Matthews: Rational construction of stochastic numerical methods for molecular sampling,
//     Appl. Math. Res. Express 2013.
// Tests: tests/md/integrator_test.cpp, equilibrium_test.cpp.
#pragma once

#include "costate/md/integrator/part.h"

namespace costate::md {

struct Friction {
  template <class S>
  static void apply(const Part<S>& c, S* s) {
    S* v = s + c.at.v;
    each_coordinate<S>(c.at.dof, [=, decay = *c.decay, thermal = c.thermal, xi = c.xi](int i) {
      v[i] = decay.c * v[i] + decay.s * (thermal[i] * xi[i]);
    });
  }
  template <class S>
  static void apply_vjp(Part<S>& c, const S* s, S* bar) {
    const Decay<S>& decay = *c.decay;
    const S* v = s + c.at.v;
    S* v_bar = bar + c.at.v;
    if (c.numbers) {
      const S rate = c.p[c.at.friction];
      S c_bar(0), s_bar(0);
      for (int i = 0; i < c.at.dof; ++i) {
        const S noise = c.thermal[i] * c.xi[i] * v_bar[i];
        c_bar += v[i] * v_bar[i];
        s_bar += noise;
        c.mass_bar(i) -= S(0.5) * decay.s * noise / c.mass(i);
      }
      c.p_bar[c.at.kT] += S(0.5) * decay.s * s_bar / c.p[c.at.kT];
      const S exponent_bar = -decay.c * (c_bar - decay.c / decay.s * s_bar);  // of rate h
      c.p_bar[c.at.friction] += c.h * exponent_bar;
      c.h_bar += rate * exponent_bar;
    }
    each_coordinate<S>(c.at.dof, [=, keep = decay.c](int i) { v_bar[i] = keep * v_bar[i]; });
  }
  template <class S>
  static void undo(const Part<S>& c, S* s) {
    const Decay<S>& decay = *c.decay;
    S* v = s + c.at.v;
    for (int i = 0; i < c.at.dof; ++i) v[i] = (v[i] - decay.s * (c.thermal[i] * c.xi[i])) / decay.c;
  }
};

}  // namespace costate::md
