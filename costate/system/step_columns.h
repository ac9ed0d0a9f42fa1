// step_columns: derivatives of one step along many directions, as many at once as there are lanes.
//
//   dy = A dx + B du + C dp       column c of [A B C] is the tangent of the step along direction c
//
// Every lane carries the same world and moves along another direction. linearize() and control::Plant take
// their matrices from here. Tests: tests/system/linearize_test.cpp, tests/control/manifold_test.cpp.
#pragma once

#include <algorithm>

#include "costate/system/block_memory.h"
#include "costate/system/system.h"

namespace costate {

// Where the tangents of a block lie, [index][lane]. u or p null: it does not move.
template <class Real>
struct StepRates {
  Real *x, *u, *p;
};

// `in` is the same in the first `copies` lanes. set(c, lane) writes direction c into `rates`, which are zero
// before; take(c, lane) reads column c from that lane of y_dot.
template <class Real, class Set, class Take>
void step_columns(const System<Real>& system, const StepContext& context, const Inputs<Real>& in,
                  const StepRates<Real>& rates, std::int64_t count, int copies, Real* y, Real* y_dot,
                  Workspace& work, const Set& set, const Take& take) {
  for (std::int64_t first = 0; first < count; first += copies) {
    fill_zero(rates.x, system.state_size());
    if (rates.u) fill_zero(rates.u, system.control_size());
    if (rates.p) fill_zero(rates.p, system.parameter_size());
    const int now = int(std::min<std::int64_t>(copies, count - first));
    for (int l = 0; l < now; ++l) set(first + l, l);
    system.step_jvp(context, in, {rates.x, rates.u, rates.p}, y, y_dot, work);
    for (int l = 0; l < now; ++l) take(first + l, l);
  }
}

}  // namespace costate
