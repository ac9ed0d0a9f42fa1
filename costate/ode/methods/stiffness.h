// Why a solution failed: is the problem stiff, or does its solution run away?
//
// Stiff: the equations are far quicker than the solution, so that stability rather than accuracy limits an
// explicit method (h rho about 2 to 6, with rho the spectral radius of f_x). Where both are equally quick and
// the state grows, the solution itself runs away: x' = x^2 does so at t + |x| / |x'|.
// Tests: tests/ode/solve_test.cpp.
#pragma once

#include <string>

#include "costate/ode/fields/vector_field.h"

namespace costate::ode {

// By power iteration on exact tangents: how fast the fastest mode of the system is.
double spectral_radius(const VectorField& field, double t, const double* x, const double* p);

// Where a solution to t1 stood when it failed, with steps of length h.
struct Standing {
  double t, h, t1;
  const double* x;
  const double* p;
  int states;  // of the user: the integral of a running cost is not one
};
// "; the problem looks stiff here ...", or "" where nothing is known.
std::string hint_about(const VectorField& field, const Standing& at, bool implicit);

}  // namespace costate::ode
