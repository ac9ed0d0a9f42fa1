// Continuous adjoints: the adjoint differential equation, integrated backwards with its own error control.
//
//   lambda' = -f_x' lambda,   mu' = -f_p' lambda,   from lambda(t1) = dL/dx(t1), mu(t1) = 0 down to t0
//   dL/dy0 = lambda(t0),  dL/dp = mu(t0),  dL/dt1 = <lambda, f>(t1),  dL/dt0 = -<lambda, f>(t0)
//
// lambda jumps by the cotangent of each sample. At an event,
//
//   w = f+ - R_x f- - R_t,   gdot = g_t + g_x f-,   s = (<w, lambda+> - t_e_bar) / gdot
//   lambda- = R_x' lambda+ + s g_x',   mu += R_p' lambda+ + s g_p'
//
// (f+ is zero after a terminal event, where the solution ends with the event.) At a knot tau of controls f
// jumps with u, and tau moves with t0 and t1:
//
//   tau_bar = <lambda, f- - f+>,   mu is that of the interval's own row (controls.h)
//
// The result is the derivative
// of the flow up to the tolerances of both passes; it is not the derivative of the numbers solve() returned,
// for which see discrete_adjoint.h.
//
// Interpolating: x(t) comes from the dense output of the forward solution.
//
// Backsolve: x(t) is integrated backwards along with lambda. That needs no memory of the forward pass, and is
// unstable wherever the forward problem forgets: an error grows like e^{a t} for x' = -a x. The state that
// comes out at t0 is compared with the one that went in, and the report says what it means.
//
// Chen et al., Neural Ordinary Differential Equations (2018) for backsolve; Gholami, Keutzer, Biros, ANODE
// (2019) for why not.
// Tests: tests/ode/adjoints/continuous_adjoint_test.cpp.
#pragma once

#include <string>

#include "costate/ode/gradient.h"
#include "costate/ode/loss.h"

namespace costate::ode {

struct AdjointOptions {
  std::string method = "dopri5";
  double rtol = 1e-8, atol = 1e-8;
  long max_steps = 100000;
};

Gradient interpolating_adjoint(const Solution& solution, const Loss& loss,
                               const AdjointOptions& options = {});
Gradient interpolating_adjoint(const Solution& solution, const OutputCotangents& cotangents,
                               const AdjointOptions& options = {});

// The report has the error of the reconstruction, and is labelled biased where that spoils the gradient.
Gradient backsolve_adjoint(const Solution& solution, const Loss& loss, const AdjointOptions& options = {});
Gradient backsolve_adjoint(const Solution& solution, const OutputCotangents& cotangents,
                           const AdjointOptions& options = {});

}  // namespace costate::ode
