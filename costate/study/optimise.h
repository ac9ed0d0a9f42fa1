// Optimising a study: from the file's variables downhill along the gradient, or by least squares towards
// measurements, with a state that survives being stopped.
//
//   [optimize]   min L(z)                                  lbfgs, adam, gradient_descent; or cma_es
//   [fit]        min 1/2 sum_k ((y(t_k) - y_k) / sigma)^2  Levenberg-Marquardt (fit.h)
//
// A point at which the physics cannot be simulated counts as one whose loss is not finite: the optimisers
// step back from it. The file's own start must work.
//
// After every iteration the state (the optimiser's memory, the best point, the loss of every iteration) is
// written to `state_file`, a JSON object (state_file.h); a run that is given the same study and that file
// continues where it left off, with the same bits as if it had never stopped. Tests:
// tests/io/scene/particles_study_test.cpp.
#pragma once

#include <functional>

#include "costate/study/study.h"

namespace costate::study {

// The rate of adam where the file gives none. Scales say which changes matter: a step is a good part of one.
constexpr double kAdamRate = 0.1;

struct Optimum {
  std::vector<double> start, best;  // z: variables / scales
  double start_value = 0, best_value = 0;
  std::vector<double> losses;  // of every iteration, the start first
  // Of a fit, from its Jacobian and residuals, in the variables' own units. Infinite for what the data do not
  // determine; empty where there are not more residuals than variables.
  std::vector<double> standard_deviation;
  std::vector<double> correlation;  // variables x variables
  // The same by Laplace's approximation (control/identifiability.h), where [fit] says laplace = true:
  // infinite where the point is not a minimum.
  std::vector<double> laplace_deviation;
  std::vector<std::string> unseen;  // directions that the data cannot see, in words
  double residual_rms = 0;          // of the measurements, in standard deviations: 1 where sigma is right
  int iterations = 0;
  long evaluations = 0;
  bool converged = false;
  std::string method, reason;
  std::vector<std::string> advice;  // which setting would have done better, as far as the run shows it
};

struct OptimiseProgress {
  int iteration = 0, iterations = 0;
  double value = 0, best = 0, gradient_norm = 0;
  double seconds = 0, seconds_left = 0;
};

struct OptimiseOptions {
  std::string state_file = {};  // empty: none is written
  bool resume = false;          // start from the state file, where there is one
  std::function<bool(const OptimiseProgress&)> progress = {};  // false stops, keeping the best so far
  // Losses of a generation of cma_es, where others compute them (cluster/); infinite for a point that cannot
  // be simulated. Empty: one after the other, here.
  std::function<void(const double* points, int count, double* values)> values = {};
  // Study::residuals() of a fit, where others compute it. Empty: here.
  std::function<void(const std::vector<double>& z, double* residual, double* jacobian)> residuals = {};
};

// Error if the file has neither [optimize] nor [fit], if it cannot be simulated as it stands, or if the state
// file belongs to another study.
Optimum optimise(Study& study, const OptimiseOptions& options = {});

}  // namespace costate::study
