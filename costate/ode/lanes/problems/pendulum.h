// Pendulum: a point mass on a massless rod, driven by a torque at the pivot; q from the downward vertical.
//
//   q'' = -(g / l) sin q + u / (m l^2)            E = m l^2 v^2 / 2 - m g l cos q
//
// Tests: tests/ode/lanes/fixed_step_test.cpp.
#pragma once

#include "costate/core/functions.h"
#include "costate/core/vec.h"
#include "costate/system/signature.h"

namespace costate::ode {

struct Pendulum {
  static constexpr int states = 2, controls = 1, parameters = 3;
  static constexpr bool autonomous = true, separable = true;
  enum { kGravity, kLength, kMass };

  static void describe(Signature& s) {
    s.state("q", 1, "rad").state("v", 1, "rad/s").control("torque", 1, "N m");
    s.parameter("gravity", 9.81, "m/s^2").parameter("length", 1.0, "m").parameter("mass", 1.0, "kg");
  }

  template <class S>
  static COSTATE_HD COSTATE_INLINE Vec<S, 1> acceleration(S, const Vec<S, 1>& q, const Vec<S, 1>& u,
                                                          const Vec<S, 3>& p) {
    return {{(u[0] / (p[kMass] * p[kLength]) - p[kGravity] * sin(q[0])) / p[kLength]}};
  }
  template <class S>
  static COSTATE_HD COSTATE_INLINE Vec<S, 1> acceleration_vjp(S, const Vec<S, 1>& q, const Vec<S, 1>& u,
                                                              const Vec<S, 3>& p, const Vec<S, 1>& a_bar, S&,
                                                              Vec<S, 1>& u_bar, Vec<S, 3>& p_bar) {
    const S m = p[kMass], l = p[kLength], g = p[kGravity];
    const S per_length = a_bar[0] / l, drive = per_length / (m * l);
    const S sine = sin(q[0]);
    u_bar[0] += drive;
    p_bar[kGravity] -= sine * per_length;
    p_bar[kMass] -= u[0] / m * drive;
    p_bar[kLength] += (g * sine * per_length - S(2) * u[0] * drive) / l;
    return {{-g * cos(q[0]) * per_length}};
  }

  template <class S>
  static COSTATE_HD COSTATE_INLINE Vec<S, 2> value(S t, const Vec<S, 2>& x, const Vec<S, 1>& u,
                                                   const Vec<S, 3>& p) {
    return {{x[1], acceleration(t, Vec<S, 1>{{x[0]}}, u, p)[0]}};
  }
  template <class S>
  static COSTATE_HD COSTATE_INLINE Vec<S, 2> vjp(S t, const Vec<S, 2>& x, const Vec<S, 1>& u,
                                                 const Vec<S, 3>& p, const Vec<S, 2>& d, S& t_bar,
                                                 Vec<S, 1>& u_bar, Vec<S, 3>& p_bar) {
    return {{acceleration_vjp(t, Vec<S, 1>{{x[0]}}, u, p, Vec<S, 1>{{d[1]}}, t_bar, u_bar, p_bar)[0], d[0]}};
  }

  template <class S>
  static COSTATE_HD COSTATE_INLINE S energy(const Vec<S, 2>& x, const Vec<S, 3>& p) {
    const S lv = p[kLength] * x[1];
    return p[kMass] * (S(0.5) * lv * lv - p[kGravity] * p[kLength] * cos(x[0]));
  }
};

}  // namespace costate::ode
