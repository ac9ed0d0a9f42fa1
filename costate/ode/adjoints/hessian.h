// Second derivatives of a loss: the tangent of the discrete adjoint, exact for the steps taken.
//
// Forward over reverse. A tangent pass (forward_sensitivity.h) gives x_dot_k, t_dot_k, h_dot_k; the reverse
// sweep of discrete_adjoint.h is then differentiated line by line along it:
//
//   lambda_dot_k = step_vjp_jvp(in_k, in_dot_k; lambda_{k+1}, lambda_dot_{k+1})
//
// At an event the multiplier s = -h_bar / G_h moves too. Both h_bar and G_h are h-components of transposed
// steps, so their rates are h-components of step_vjp_jvp, and no third derivative appears. The field, guards,
// jumps and costs must have has_second_order().
// Tests: tests/ode/adjoints/hessian_test.cpp.
#pragma once

#include <vector>

#include "costate/ode/adjoints/forward_sensitivity.h"
#include "costate/ode/loss.h"

namespace costate::ode {

// H v for v = direction, over all inputs (x0, p, u, t0, t1): how the gradient moves along that direction.
Gradient hessian_vector(const Solution& solution, const Loss& loss, const InputTangent& direction);

// The Hessian by (y0, p, u): row-major, symmetric up to rounding.
std::vector<double> hessian(const Solution& solution, const Loss& loss);

}  // namespace costate::ode
