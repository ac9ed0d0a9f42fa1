// Adam [1, algorithm 1]: steps of about `rate` in every variable, whatever the scale of the gradient.
//
//   m = beta1 m + (1 - beta1) g,   v = beta2 v + (1 - beta2) g^2
//   x = projection(x - rate_k  m/(1 - beta1^k) / (sqrt(v/(1 - beta2^k)) + epsilon)),    rate_k = rate decay^k
//
// A step to a point that is not finite is halved until it is. The value may rise between iterations: the best
// point is kept.
//
// [1] Kingma, Ba: Adam: a method for stochastic optimization, ICLR 2015.
// Tests: tests/optim/adam_test.cpp.
#pragma once

#include "costate/optim/minimize.h"

namespace costate::optim {

struct AdamOptions {
  double rate = 1e-2;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double decay = 1;  // of the rate, per iteration
  Stopping stopping = {};
  Bounds bounds = {};
  Callback callback = {};
};

struct AdamState : DescentState {
  std::vector<double> m, v;
};

Result minimize(const Objective& objective, const std::vector<double>& x0, const AdamOptions& options,
                AdamState* state = nullptr);

}  // namespace costate::optim
