// Implicit integrators as one equation for one unknown z per vertex.
//
//   m a (z - y) + grad E(z) + damping(rate (z - w)) = f            a = A/dt^2, rate = R/dt
//   y  = y1 x + y2 x_old + dt (y3 v + y4 v_old)                     w = w1 x + w2 x_old
//   x' = X1 z + X2 x,   v' = V1/dt (z - w) + V2 v
//
//   euler      z = x', y = x + dt v
//   bdf2       x' = (4 x - x_old)/3 + 2/3 dt v', and v' alike; its first step is one of euler
//   midpoint   z = (x + x')/2
//   still      a = rate = 0: equilibrium
//
// A held vertex is at x' = x + dt u with velocity u, so z = x + hold dt u.
// [1] Hairer, Wanner: Solving Ordinary Differential Equations II, chapters IV.3 and V.1.
#pragma once

#include "costate/soft/soft_model.h"

namespace costate::soft {

struct Scheme {
  double A, R, y1, y2, y3, y4, w1, w2, X1, X2, V1, V2, hold;
};

inline Scheme scheme_of(Integrator integrator, bool first) {
  if (integrator == Integrator::bdf2 && !first)
    return {9.0 / 4, 3.0 / 2, 4.0 / 3, -1.0 / 3, 8.0 / 9, -2.0 / 9, 4.0 / 3, -1.0 / 3, 1, 0, 1.5, 0, 1};
  if (integrator == Integrator::midpoint) return {4, 2, 1, 0, 0.5, 0, 1, 0, 2, -1, 4, -1, 0.5};
  if (integrator == Integrator::still) return {0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1};
  return {1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
}

}  // namespace costate::soft
