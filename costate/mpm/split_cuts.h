// Where a world of material points is cut into slabs, and what cannot be cut (split_points.h).
#pragma once

#include <cstdint>
#include <vector>

#include "costate/mpm/model.h"

namespace costate::mpm {

// Rows of blocks [cuts[r], cuts[r + 1]) are rank r's: even numbers, with about the same count of particles
// each. Error where there are fewer than two rows per rank.
std::vector<std::int32_t> split_cuts(const std::vector<std::int64_t>& particles_of_row, int ranks);
// Error for what cannot be split.
void check_split(const Model& model);

}  // namespace costate::mpm
