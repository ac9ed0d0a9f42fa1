// Identification: the parameters of a system, and where its recordings began, from measurements.
//
//   minimise  1/2 sum rho(((y_k - h(x_k, p)) / sigma)^2) + 1/2 sum (gap / gap_sigma)^2 + 1/2 sum prior^2
//
// Gauss-Newton with bounds (optim/levenberg_marquardt.h). The Jacobian is exact: tangents of the steps with
// respect to the state and to the parameters, directions as lanes, carried along each piece of a recording.
//
// Multiple shooting: a recording is cut into pieces of `segment` steps, whose first states are unknowns too;
// a gap between two pieces costs as if it were noise of gap_sigma. Short pieces keep unstable and chaotic
// systems near their data, where one long rollout has many local minima.
//
// A measurement may count less the further it lies off (robust.h).
//
// Afterwards: the covariance of Gauss-Newton, and which directions of the parameters the data cannot see
// (identifiability.h); with `laplace` that of the whole Hessian as well, by exact second-order products of
// the steps (curvature.h).
//
// Tests: tests/control/identify_test.cpp, laplace_test.cpp.
#pragma once

#include <functional>
#include <string>

#include "costate/control/identify/identifiability.h"
#include "costate/control/identify/robust.h"
#include "costate/control/plant.h"

namespace costate::control {

struct Measurements {
  std::vector<double> y;         // (steps + 1) x measured; what is NaN was not measured
  std::vector<double> controls;  // steps x controls, or one row for all steps; empty: zero
  std::vector<double> x0;        // where it began, or a guess
  bool x0_free = false;          // an unknown, too
};

struct Unknown {
  std::string name;  // of a parameter
  double lower = -1e300, upper = 1e300;
  double scale = 0;  // how far it may sensibly move; 0: its own size, or 1
  // A prior: so far from `mean` counts as one standard deviation. 0: none.
  double mean = 0, deviation = 0;
  std::int64_t index = -1;  // which number of a field of several; -1: all of them
};

struct Identification {
  std::shared_ptr<const System<double>> system;
  Parameters<double> parameters;               // of one world: where the search starts
  std::vector<ObjectivePtr<double>> measured;  // terms of the final state, as in estimation.h
  std::vector<double> sigma;                   // of each measured number
  std::vector<Measurements> recordings;
  std::vector<Unknown> unknowns;
  std::int64_t segment = 0;  // steps of a piece; 0: a recording is one piece
  double gap_sigma = 1e-3;
  Robust robust = Robust::none;
  double robust_width = 2;  // in standard deviations
};

struct IdentifyOptions {
  int iterations = 100;
  double tolerance = 1e-8;  // of the gradient, in units of the scales
  bool laplace = false;     // Identified::laplace, too: needs second derivatives of system and measurements
};

struct Identified {
  Parameters<double> parameters;
  std::vector<std::string> names;          // "length", "friction[1]": of each number that was searched
  std::vector<double> values, deviations;  // with their standard deviations
  std::vector<double> covariance;          // names x names
  std::vector<std::vector<double>> x0;     // of each recording
  double value = 0;                        // of the loss
  double residual_rms = 0;  // of the measurements, in standard deviations: 1 where the noise is right
  int iterations = 0;
  bool converged = false;
  std::string reason;
  // Directions that the data cannot see, in words: "the data cannot tell length from gravity". Empty: none.
  std::vector<std::string> unseen;
  std::vector<double> singular_values;  // of the scaled Jacobian, largest first
  Laplace laplace;                      // empty unless it was asked for
};

// Error for measurements that are infinite, sizes that do not fit, a rollout that is not finite, and for
// `laplace` of a system without second derivatives.
Identified identify(const Identification& problem, const IdentifyOptions& options = {});

}  // namespace costate::control
