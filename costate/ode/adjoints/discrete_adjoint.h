// Discrete adjoint: the exact transpose of the steps that a solution took.
//
//   x_{k+1}  = step(t_k, h_k, x_k, p)
//   lambda_k = step_x' lambda_{k+1},     p_bar = sum_k step_p' lambda_{k+1}
//
// The accepted (t_k, h_k) are replayed as constants: the gradient is exact for this sequence of steps, and
// within the tolerance of the derivative of the flow. Times move with the ends of their segment, which goes
// from a = t0, an event or a knot of the controls to the next of them or to t1:
//
//   up to t1 or a knot, b = t0 + w (t1 - t0):
//                   t_k = a + s_k (b - a), h_k = w_k (b - a), fractions frozen
//                   (fixed dt after an event: t_k = a + k dt, and the last step ends at b)
//   up to an event: t_k = a + const, h_k constant but for the last, h_e, which solves
//                   G(t, h, x, p) = g(t + h, y, p) = 0 with y = step(t, h, x, p)
//
// Saltation. With x+ = R(t_e, y, p), t_e = t + h, and the cotangents x+_bar and t_e_bar:
//
//   y_bar, t_e_bar, p_bar += R' x+_bar
//   s = -(<y_bar, step_h> + t_e_bar) / G_h,     G_h = g_t + <g_x, step_h>  (dg/dt along the step)
//   (t, x, p)_bar += step'(y_bar + s g_x),      t_bar += t_e_bar + s g_t,    p_bar += s g_p
//
// which is the classical saltation matrix (Hiskens, Pai, IEEE TCAS-I 47 (2000)) with the step's own
// h-derivative in place of f.
//
// The p of a step is the row of its interval (controls.h); cotangents of rows become those of p, u, t0 and
// t1. Tangents of the same map: forward_sensitivity.h; second derivatives: hessian.h.
// Tests: tests/ode/adjoints/discrete_adjoint_test.cpp, tests/ode/events_test.cpp,
// tests/ode/controls_test.cpp.
#pragma once

#include "costate/ode/gradient.h"
#include "costate/ode/loss.h"

namespace costate::ode {

Gradient gradient(const Solution& solution, const Loss& loss);
Gradient gradient(const Solution& solution, const OutputCotangents& cotangents);

}  // namespace costate::ode
