// linearize: a rollout of one world as a chain of linear maps,
//
//   dx_{k+1} = A_k dx_k + B_k du_k + C_k dp,    A_k = d step / dx, B_k = d step / du, C_k = d step / dp,
//
// along the trajectory from x0. Controllers start from A and B; products of the chain are the Jacobians of
// every state with respect to the start, each control and each active parameter. The columns are tangents of
// single steps (System::step_jvp), as many at once as a block has lanes, and steps in parallel.
// Tests: tests/system/linearize_test.cpp.
#pragma once

#include <memory>
#include <vector>

#include "costate/system/rollout.h"

namespace costate {

template <class Real>
struct Linearization {
  std::vector<Real> states;  // (steps + 1) x states
  std::vector<Real> a;       // steps x states x states, row-major each
  std::vector<Real> b;       // steps x states x controls
  std::vector<Real> c;       // steps x states x numbers of the active parameters, in their order
};

template <class Real>
Linearization<Real> linearize(std::shared_ptr<const System<Real>> system, RolloutOptions options,
                              const Arguments<Real>& arguments);

}  // namespace costate
