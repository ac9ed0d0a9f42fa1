// A plant and the network that controls it, as one System: y = step(x, policy(k, x, w), p).
//
// Rollouts, checkpoints, reports and checks then treat the weights like any other parameter: one gradient
// goes through physics and network. Any System with controls can be the plant.
//
//   state      those of the plant
//   control    none
//   parameter  those of the plant, then "policy/omega" (with waves), "policy/w1", "policy/b1", "policy/w2",
//              "policy/b2"
//
// Tangents and second derivatives exist where the plant has them. Tests: tests/learn/closed_loop_test.cpp.
#pragma once

#include <memory>

#include "costate/learn/policy_network.h"
#include "costate/system/system.h"

namespace costate::learn {

// Throws Error where the network does not fit the plant: no controls, a state that does not exist, waves
// without a parameter "dt".
template <class Real>
std::shared_ptr<System<Real>> closed_loop(std::shared_ptr<const System<Real>> plant,
                                          const PolicyNetwork& network);

extern template std::shared_ptr<System<float>> closed_loop<float>(std::shared_ptr<const System<float>>,
                                                                  const PolicyNetwork&);
extern template std::shared_ptr<System<double>> closed_loop<double>(std::shared_ptr<const System<double>>,
                                                                    const PolicyNetwork&);

}  // namespace costate::learn
