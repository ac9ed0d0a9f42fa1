// Projectile: a ball thrown in the plane, with drag quadratic in the speed relative to a steady wind.
//
//   r' = v,   v' = (0, -g) - (b / m) |v - w| (v - w)
//
// The speed |v - w| is softened to sqrt(|v - w|^2 + s^2) with s = 1e-9 m/s, so that its derivative exists at
// rest.
// Tests: tests/ode/lanes/fixed_step_test.cpp.
#pragma once

#include "costate/core/functions.h"
#include "costate/core/vec.h"
#include "costate/system/signature.h"

namespace costate::ode {

struct Projectile {
  static constexpr int states = 4, controls = 0, parameters = 4;
  static constexpr bool autonomous = true, separable = false;
  enum { kGravity, kDrag, kMass, kWind };

  static void describe(Signature& s) {
    s.state("position", 2, "m").state("velocity", 2, "m/s");
    s.parameter("gravity", 9.81, "m/s^2")
        .parameter("drag", 0.01, "kg/m")
        .parameter("mass", 1.0, "kg")
        .parameter("wind", 0.0, "m/s");
  }

  template <class S>
  static COSTATE_HD COSTATE_INLINE Vec<S, 4> value(S, const Vec<S, 4>& x, const Vec<S, 0>&,
                                                   const Vec<S, 4>& p) {
    const S rx = x[2] - p[kWind], ry = x[3];
    const S drag = p[kDrag] / p[kMass] * speed(rx, ry);
    return {{x[2], x[3], -drag * rx, -p[kGravity] - drag * ry}};
  }
  template <class S>
  static COSTATE_HD COSTATE_INLINE Vec<S, 4> vjp(S, const Vec<S, 4>& x, const Vec<S, 0>&, const Vec<S, 4>& p,
                                                 const Vec<S, 4>& d, S&, Vec<S, 0>&, Vec<S, 4>& p_bar) {
    const S rx = x[2] - p[kWind], ry = x[3], c = p[kDrag] / p[kMass], r = speed(rx, ry);
    const S along = rx * d[2] + ry * d[3];           // <v - w, v'_bar>
    const S c_bar = -r * along, r_bar = -c * along;  // of c |v - w|
    const S rx_bar = r_bar * rx / r - c * r * d[2], ry_bar = r_bar * ry / r - c * r * d[3];
    p_bar[kGravity] -= d[3];
    p_bar[kDrag] += c_bar / p[kMass];
    p_bar[kMass] -= c_bar * c / p[kMass];
    p_bar[kWind] -= rx_bar;
    return {{S(0), S(0), d[0] + rx_bar, d[1] + ry_bar}};
  }

 private:
  template <class S>
  static COSTATE_HD COSTATE_INLINE S speed(S rx, S ry) {
    return sqrt(rx * rx + ry * ry + S(1e-18));
  }
};

}  // namespace costate::ode
