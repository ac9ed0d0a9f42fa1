// Checks: is this gradient right? For any physics, on the user's own scene; the same checks test the engine
// itself.
//
//   dot_product   <J v, w> = <v, J' w> for random v, w: forward and reverse mode are transposes of each
//                 other. Catches every wrong adjoint of a right tangent, to rounding. Where a rounding of the
//                 start moves <J v, w> by more than the two differ, they are not comparable: the check says
//                 `skip` instead of `pass`.
//   stencil       the gradient along random directions against a six-point difference, whose error is O(h^6):
//                 catches a wrong tangent as well.
//   taylor        |f(x + h d) - f(x) - h <g, d>| falls like h^2 or faster. Weak (an error of 1e-3 can hide),
//                 but it needs no step size.
//   time_step     gradients at dt and dt/2. If they disagree while the losses agree, the gradient is that of
//                 the time grid and not of the physics.
// Tests: tests/system/check/checks_test.cpp, and every physics' own.
#pragma once

#include <string>

#include "costate/system/check/check_line.h"
#include "costate/system/rollout.h"

namespace costate::check {

struct Options {
  std::uint64_t seed = 1;
  int directions = 3;   // random directions, the worst counts
  double step = 1e-3;   // the longest, relative to the scale of each input; check_line.h says when it shrinks
  double gate = 0;      // of the stencil; 0: 1e-9 in double precision, 1e-2 in single
  double dot_gate = 0;  // of the dot product; 0: 1e-13 in double precision, 1e-5 in single
};

template <class Real>
Result dot_product(Rollout<Real>& rollout, const Arguments<Real>& at, const Options& options = {});

template <class Real>
Result stencil(Rollout<Real>& rollout, const Arguments<Real>& at, const Objective<Real>& objective,
               const Options& options = {});
template <class Real>
Result taylor(Rollout<Real>& rollout, const Arguments<Real>& at, const Objective<Real>& objective,
              const Options& options = {});

// Needs a parameter "dt", shared by all worlds; the rollout with dt/2 has twice the steps and holds controls
// twice as long. The objective must only have a final term.
struct TimeStepChange {
  double gradient = 0, loss = 0;  // relative
};
template <class Real>
TimeStepChange time_step_change(std::shared_ptr<const System<Real>> system, RolloutOptions options,
                                const Arguments<Real>& at, const Objective<Real>& objective);
template <class Real>
Result time_step(std::shared_ptr<const System<Real>> system, RolloutOptions options,
                 const Arguments<Real>& at, const Objective<Real>& objective);

// A random direction over x0, controls and the active parameters, each scaled by max(1, |value|).
template <class Real>
Arguments<Real> random_direction(const Rollout<Real>& rollout, const Arguments<Real>& at, std::uint64_t seed);

// <gradient, direction>, and at + h direction.
template <class Real>
double inner(const Gradient<Real>& gradient, const Arguments<Real>& direction);
template <class Real>
Arguments<Real> moved(const Arguments<Real>& at, const Arguments<Real>& direction, double h);

}  // namespace costate::check
