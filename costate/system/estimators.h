// Estimators: the gradient of a smoothed loss, for losses with corners and jumps (contact, thresholds,
// chaos).
//
//   F(x) = E[f(x + s e)],   e standard normal, s = sigma times the scale of each input
//
//   first order    grad F = E[grad f(x + s e)]                              few samples; blind to jumps of f
//   zeroth order   grad F = E[(f(x + s e) - f(x - s e)) e / (2 s)]
//                  sees jumps; variance grows with the number of inputs
//   mixed          a first + (1 - a) zeroth                                  [1]
//
// The weight a = var_0 / (var_0 + var_1) makes the variance of the mean least. It is capped so that a
// |first - zeroth| stays within twice the standard error of the zeroth order: where a jump makes the two
// disagree, the zeroth order has the say. Variances are those of s times the gradient, so that inputs of
// different units add up.
//
// Samples come in pairs e, -e, and run as worlds of one rollout. The noise is a pure function of the seed:
// the same call has the same bits.
//
// [1] Suh, Simchowitz, Zhang, Tedrake: Do differentiable simulators give better policy gradients?, ICML 2022.
// Tests: tests/system/estimators_test.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "costate/system/rollout.h"

namespace costate::estimate {

enum class Order { first, zeroth, mixed };

struct Smoothing {
  double sigma =
      0.01;  // of states and controls as it is; of a parameter times its size (as it is where that is 0)
  int samples = 256;  // even
  std::uint64_t seed = 0;
  // What is perturbed, and gets a gradient.
  bool x0 = false, controls = true;
  std::vector<std::string> parameters = {};  // globs
};

template <class Real>
struct Estimate {
  Gradient<Real> gradient;    // value: the smoothed loss; arrays of what is not perturbed are empty or zero
  double standard_error = 0;  // of the gradient, relative to its size (both times s)
  double value_error = 0;     // standard error of the smoothed loss
  std::vector<double> errors =
      {};                        // standard error of every number that is perturbed: x0, controls, parameters
  double first_order_share = 0;  // a
  double disagreement = 0;       // |first - zeroth| in standard errors of the difference; above 3: f jumps
};

// Of one world: options.worlds = 1.
template <class Real>
Estimate<Real> smoothed_gradient(std::shared_ptr<const System<Real>> system, RolloutOptions options,
                                 const Arguments<Real>& at, const Objective<Real>& objective,
                                 const Smoothing& smoothing, Order order = Order::mixed);

}  // namespace costate::estimate
