// Spectral radius of f_x by power iteration on exact tangents: how fast the fastest mode of the system is. It
// is asked for only when a solution has failed, to tell whether stability rather than accuracy limits an
// explicit method (h rho about 2 to 6).
#pragma once

#include "costate/ode/vector_field.h"

namespace costate::ode {

double spectral_radius(const VectorField& field, double t, const double* x, const double* p);

}  // namespace costate::ode
