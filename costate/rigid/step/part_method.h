// Which parts of a split step are taken by rk4, where the model's integrator is of first order.
//
// A first-order step errs by O(dt) between impacts, and each impact multiplies that: over two of them the
// gradient of a tossed capsule is a third off the physics at dt = 0.002, of a cylinder two thirds. So a part
// is rk4's wherever something moves, in flight and in contact (part_lengths.h), and the model's own where all
// is at rest:
//
//   some contact point or limit holds, none of those that hold moves, and no velocity is above kStillSpeed
//
// and in worlds whose dampers are too stiff for rk4, which is stable while h times a rate of decay is below
// 2.8. The rates are the eigenvalues of M^-1 D, and of a long uniform chain with a damper in each joint the
// largest is 16/6 of the largest diagonal entry. So rk4 is taken where
//
//   h D_i (M^-1)_ii <= kMostDecay = 1    for every dof and tendon, (M^-1)_ii at the reference configuration
//
// which depends on parameters alone: a world keeps its side of it through a rollout. Worlds on the far side
// take their own steps throughout, and a gradient through their impacts has the label `time grid`
// (step_report.h).
// Tests: tests/rigid/contact/flight_test.cpp.
#pragma once

#include "costate/rigid/step/part_lengths.h"

namespace costate::rigid {

inline constexpr double kMostDecay = 1;

// Worlds whose dampers rk4 can follow.
template <class S>
mask_t<S> rk4_follows(const Stepper& stepper, const StepWork<S>& w) {
  const S dt = held(w.p[stepper.tree.p.whole_dt]);
  S most(0);
  for (const auto& dampers : stepper.dampers) {
    S sum(0);
    for (const Stepper::Damper& d : dampers)
      sum += abs(held(w.p[std::size_t(d.number)])) * S(value_t<S>(d.weight));
    most = max(most, sum);
  }
  return dt * most <= S(value_t<S>(kMostDecay));
}

// Worlds whose bodies fly by rk4.
template <class S>
mask_t<S> flies_by_rk4(const Stepper& stepper, const StepWork<S>& w) {
  if (stepper.integrator == Integrator::rk4) return mask_t<S>(true);
  return stepper.by_rk4 ? rk4_follows(stepper, w) : mask_t<S>(false);
}

// Worlds that begin a part in which something moves. Needs the gaps and their rates there.
template <class S>
mask_t<S> something_moves(const Stepper& stepper, const mask_t<S>& worlds, const StepWork<S>& w,
                          const SplitWork<S>& split) {
  S fastest(0), holds(0);
  for (int i = 0; i < stepper.tree.nv; ++i)
    fastest = max(fastest, abs(split.now.x[std::size_t(stepper.tree.nq + i)]));
  for (const S& mode : split.now.modes) holds = select(mode > S(0), S(1), holds);
  const mask_t<S> moves = worlds & ((fastest > S(value_t<S>(kStillSpeed))) | (holds == S(0)));
  return stepper.graded() ? moves | some_point_moves(stepper, worlds & !moves, w, split) : moves;
}

}  // namespace costate::rigid
