// A plant and the policy with a memory that controls it, as one System:
//
//   (x, h) -> (step(x, policy(x, h, w), p), h+)
//
//   state      those of the plant, then "policy/memory"
//   control    none
//   parameter  those of the plant, then "policy/W", "policy/U", "policy/b", "policy/d", "policy/V",
//   "policy/e"
//
// The memory is a state like any other: rollouts keep it, checkpoints recompute it, and gradients go through
// it for as many steps as there are. Tangents and second derivatives exist where the plant has them.
// Tests: tests/learn/recurrent_loop_test.cpp.
#pragma once

#include <memory>

#include "costate/learn/recurrent_network.h"
#include "costate/system/system.h"

namespace costate::learn {

// Throws Error where the network does not fit the plant: no controls, a state that does not exist, nothing
// seen.
template <class Real>
std::shared_ptr<System<Real>> closed_loop(std::shared_ptr<const System<Real>> plant,
                                          const RecurrentNetwork& network);

}  // namespace costate::learn
