// Gradient: the derivative of a loss with respect to everything that went into a simulation, and what it is
// worth.
//
// Rollout and ode::gradient both return one (the latter with the derivatives of its times: ode/gradient.h).
#pragma once

#include <vector>

#include "costate/system/gradient_report.h"
#include "costate/system/parameters.h"

namespace costate {

template <class Real>
struct Gradient {
  double value = 0;            // of the loss, summed over worlds; 0 where only cotangents were given
  std::vector<double> values;  // of each world
  std::vector<Real> x0, controls;
  Parameters<Real> parameters;  // inactive ones are zero
  GradientReport report;
};

}  // namespace costate
