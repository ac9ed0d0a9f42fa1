// One directional difference beside every gradient, where RolloutOptions::spot_check asks for it.
// Tests: tests/system/rollout_test.cpp.
#pragma once

#include "costate/system/rollout.h"

namespace costate {

// |L(z + h d) - L(z - h d) - <gradient, 2 h d>|, relative to the sum of the absolute terms of the product: d
// is a fixed pseudo-random direction over everything that is active. Two more forward passes, and up to six
// where the first two disagree: the best of three steps counts, since no step makes a wrong gradient right.
template <class Real>
double spot_check(Rollout<Real>& rollout, const Arguments<Real>& at, const Objective<Real>& objective,
                  const Gradient<Real>& gradient);

}  // namespace costate
