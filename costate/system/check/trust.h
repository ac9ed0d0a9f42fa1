// Trust: how far a gradient can be followed. The largest change of the inputs over which the loss keeps to
// the straight line that the gradient predicts:
//
//   |L(z + h d) - L(z) - h <g, d>| <= tolerance * h max(|<g, d>|, |g|/sqrt(n))   for h up to the radius
//
// for d along -g and for random directions. Numbers are measured in units of max(1, |value|), and d has
// length one in these. A gradient can be exact and of no use: after twenty bounces its radius may be 1e-9.
//
// The lengths 1, 1/2, 1/4, ... are tried, several as worlds of one rollout, down to what rounding hides.
// Tests: tests/system/check/trust_test.cpp, tests/study/trust_test.cpp.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "costate/system/rollout.h"

namespace costate::check {

struct TrustOptions {
  double tolerance = 0.1;
  double longest = 1;
  int directions = 4;  // random ones
  std::uint64_t seed = 1;
};

// Of one group of inputs: the initial state, the controls, or the active parameters together.
struct Trust {
  std::string inputs;
  double along_gradient = 0;  // 0: over no change that can be told from rounding
  double random = 0;          // the smallest over the random directions
  double longest = 0;         // that was tried: a radius that is as large may be larger
  // "controls: trust radius 0.03 along the gradient, at least 1 along 4 random directions"
  std::string to_text() const;
};

// The loss at each of these lengths; NaN where it cannot be computed.
using Losses = std::function<std::vector<double>(std::span<const double> lengths)>;

// A radius, from a loss, its slope along a direction, and how large such slopes usually are. `noise`: of a
// loss. `batch`: how many lengths are asked for at once.
double trust_radius(double loss, double slope, double usual, double noise, int batch, const Losses& losses,
                    const TrustOptions& options);

// Of a rollout of one world. Groups whose gradient is zero are left out.
template <class Real>
std::vector<Trust> trust(std::shared_ptr<const System<Real>> system, RolloutOptions rollout,
                         const Arguments<Real>& at, const Objective<Real>& objective,
                         const TrustOptions& options = {});

}  // namespace costate::check
