// What policies that are networks share: what they may look at, and the weights that they begin with.
#pragma once

#include <cstdint>
#include <vector>

#include "costate/learn/closed_loop.h"

namespace costate::learn {

// Throws Error where there is nothing to control, or an observation is of no state.
void check_plant(const Signature& plant, const std::vector<Observation>& observations);

// Of one layer: normal numbers of size 1 / sqrt(inputs).
std::vector<double> first_weights(std::uint64_t seed, std::uint64_t layer, std::int64_t outputs,
                                  std::int64_t inputs);

}  // namespace costate::learn
