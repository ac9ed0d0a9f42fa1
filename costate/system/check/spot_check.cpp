#include "costate/system/check/spot_check.h"

#include <cmath>
#include <limits>

#include "costate/system/check/checks.h"
#include "costate/system/ranges.h"

namespace costate {

namespace {

constexpr double kAgrees = 1e-5;  // good enough to stop looking for a better step

// Over one step length. The error is relative to the terms of <gradient, 2 h d>, or to `rounding` of a loss
// where these are smaller.
template <class Real>
double error_over(Rollout<Real>& rollout, const Arguments<Real>& at, const Objective<Real>& objective,
                  const Gradient<Real>& gradient, const Arguments<Real>& direction, double h,
                  double rounding) {
  const Arguments<Real> plus = check::moved(at, direction, h), minus = check::moved(at, direction, -h);
  // The way between the two as rounding left it: in single precision that counts.
  double expected = 0, scale = rounding;
  const auto add = [&](std::span<const Real> p, std::span<const Real> m, std::span<const Real> g) {
    for (std::size_t i = 0; i < g.size(); ++i) {
      const double term = double(g[i]) * (double(p[i]) - double(m[i]));
      expected += term;
      scale += std::abs(term);
    }
  };
  add(plus.x0, minus.x0, gradient.x0);
  add(plus.controls, minus.controls, gradient.controls);
  for (std::size_t f = 0; f < at.parameters.signature().fields(Role::parameter).size(); ++f)
    add(plus.parameters.values(f), minus.parameters.values(f), gradient.parameters.values(f));
  const double difference = rollout.value(plus, objective) - rollout.value(minus, objective);
  return scale > 0 ? std::abs(difference - expected) / scale : std::abs(difference);
}

}  // namespace

template <class Real>
double spot_check(Rollout<Real>& rollout, const Arguments<Real>& at, const Objective<Real>& objective,
                  const Gradient<Real>& gradient) {
  const Arguments<Real> direction = check::random_direction(rollout, at, 2026);
  const AcrossRanges across;
  const double epsilon = std::numeric_limits<Real>::epsilon();
  double h = std::cbrt(epsilon), rounding = 1e3 * epsilon * std::abs(gradient.value);
  double best = error_over(rollout, at, objective, gradient, direction, h, rounding);
  // Too long a step for what is small here, or one that meets a kink nearby. Rounding excuses no more of a
  // slope over a shorter step.
  for (int k = 0; k < 2 && !(best <= kAgrees); ++k) {
    h /= 10;
    rounding /= 10;
    const double error = error_over(rollout, at, objective, gradient, direction, h, rounding);
    if (!(best <= error)) best = error;
  }
  return best;
}

template double spot_check(Rollout<float>&, const Arguments<float>&, const Objective<float>&,
                           const Gradient<float>&);
template double spot_check(Rollout<double>&, const Arguments<double>&, const Objective<double>&,
                           const Gradient<double>&);

}  // namespace costate
