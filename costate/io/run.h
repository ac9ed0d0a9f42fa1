// What one does with a Problem: solve it, and differentiate its loss by any of the methods of the ode layer.
// Algebraic states start where the algebraic equations put them, and derivatives follow them there.
// Tests: tests/io/reference_problems_test.cpp.
#pragma once

#include "costate/io/problem.h"
#include "costate/ode/adjoints/forward_sensitivity.h"
#include "costate/ode/gradient.h"
#include "costate/ode/solution.h"

namespace costate::io {

// The initial state, made consistent with the algebraic equations if there are any.
std::vector<double> initial_state(const Problem& problem);
// A direction of the file's inputs as one of the solution's: the algebraic states move along.
ode::InputTangent initial_tangent(const Problem& problem, ode::InputTangent direction);

// Solution::notes also names the events that never happened.
ode::Solution solve(const Problem& problem);

//   discrete        transpose of the steps taken: exact for the numbers solve() returned
//   forward         tangents of the steps taken: the same derivative, one pass per input
//   interpolating   the adjoint differential equation, along the dense output
//   backsolve       the same, with the state integrated backwards: unstable, says how much
//   cvodes          SUNDIALS: an independent solution and adjoint
std::vector<std::string> adjoint_names();

// Unknown name, or a method that does not apply (cvodes knows no events): Error.
ode::Gradient gradient(const Problem& problem, const ode::Solution& solution,
                       const std::string& adjoint = "discrete");

}  // namespace costate::io
