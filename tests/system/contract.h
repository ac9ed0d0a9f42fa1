// The contract: what every System must satisfy, whatever its physics, in one call.
//
//   expect_contract(system, {.states = sampler});
//
//   entry points   step, step_jvp, step_vjp, step_hvp, step_back, energy, advance, reverse (entry_points.h):
//                  a second call has the same bits, also after the workspace has served another state; inputs
//                  are left alone; nothing is allocated; every number of an output is written, and none
//                  beyond its end; a lane has the same bits whatever its neighbours are; runs are their
//                  steps; null pointers mean what they say
//   derivatives    each entry of the step's Jacobian by the transpose and by tangents (small systems
//                  completely, large ones sampled); <J v, w> = <v, J' w> over one step, over `steps` and over
//                  `long_steps`; where the physics is smooth a six-point stencil and Taylor's remainder;
//                  second order where claimed
//   rollouts       the same bits over checkpoint schedules, over 1, 2, 3 and 7 threads, on repetition, after
//                  another state, with and without a gradient, and for a world alone and among others
//
// A failure names the physics, the entry point and the number. tests/contract/ lists every physics; tests of
// one physics call this for what is particular to it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "costate/core/aligned_buffer.h"
#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/system/check/checks.h"
#include "costate/system/rollout.h"
#include "tests/allocation_guard.h"

namespace costate::test {

template <class Real>
struct Contract {
  // Valid arguments of the given rollout; another seed, another state if there is more than one. Empty:
  // normal numbers.
  std::function<Arguments<Real>(const Rollout<Real>&, unsigned seed)> states = {};
  // Empty: half the square of every state at the end and of every control.
  ObjectivePtr<Real> objective = {};
  std::string name = {};  // of the physics, for failures; empty: the test says enough
  std::int64_t steps = 60, worlds = 1, hold = 7;
  std::int64_t long_steps = 1000;  // of the long dot product; 0: there is none
  unsigned seeds = 3;              // states at which derivatives of a step are compared
  double dot_gate = sizeof(Real) == 8 ? 1e-13 : 1e-5;
  double transpose_gate = sizeof(Real) == 8 ? 1e-12 : 2e-5;
  // y of a tangent against y of a step. 0: the same bits.
  double value_gate = sizeof(Real) == 8 ? 1e-14 : 1e-5;
  // Transposes of a run against transposes of its steps. 0: the same bits. Steps that are cut add up their
  // parts in another order.
  double run_gate = 0;
  // Differences, in double: they must not reach a corner of the loss. smooth = false: there are corners
  // everywhere.
  bool smooth = true;
  double stencil_gate = 1e-9;
  double stencil_step = 1e-3;
  double taylor_step = 1e-3;  // 0: there is none, because all that is left before the next corner is rounding
  double second_order_gate = 1e-7;
  double second_order_step = 1e-3;
};

template <class Real>
void expect_contract(std::shared_ptr<const System<Real>> system, const Contract<Real>& contract);

template <class Real>
void expect_contract(const std::shared_ptr<System<Real>>& system,
                     const std::type_identity_t<Contract<Real>>& contract) {
  expect_contract<Real>(std::shared_ptr<const System<Real>>(system), contract);
}

// A sampler of one state: that of `at`, with its control knots repeated for longer rollouts.
template <class Real>
std::function<Arguments<Real>(const Rollout<Real>&, unsigned)> starting_at(const Arguments<Real>& at);

// --- its parts, for tests that look at many states ---------------------------------------------------------

// Each entry of the Jacobian of one step: by the transpose (hand-written) and by tangents (Dual of the
// primal).
template <class Real>
void expect_transpose_matches_dual(const System<Real>& system, const Arguments<Real>& at, double gate);

template <class Real>
bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b);
template <class Real>
bool same_bits(const Parameters<Real>& a, const Parameters<Real>& b);
template <class Real>
void expect_same_bits(const Gradient<Real>& a, const Gradient<Real>& b, const std::string& what);

}  // namespace costate::test
