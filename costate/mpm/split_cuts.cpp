#include "costate/mpm/split_cuts.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/mpm/transfer/particle_order.h"

namespace costate::mpm {

std::vector<std::int32_t> split_cuts(const std::vector<std::int64_t>& particles_of_row, int ranks) {
  const auto rows = std::int32_t(particles_of_row.size()), pairs = (rows + 1) / 2;
  if (ranks > pairs) {
    throw Error({"a grid of " + std::to_string(rows * ParticleOrder::kBlock) +
                     " nodes along its first axis is too short for " + std::to_string(ranks) + " ranks",
                 {},
                 "a rank needs " + std::to_string(2 * ParticleOrder::kBlock) + " of them: use at most " +
                     std::to_string(pairs) + " ranks, or lay the longest side of the scene along x"});
  }
  std::vector<std::int64_t> before(std::size_t(pairs) + 1, 0);  // particles before each pair of rows
  for (std::int32_t a = 0; a < rows; ++a) before[std::size_t(a / 2) + 1] += particles_of_row[std::size_t(a)];
  for (std::size_t i = 1; i < before.size(); ++i) before[i] += before[i - 1];
  std::vector<std::int32_t> cuts = {0};
  for (int r = 1; r < ranks; ++r) {
    const double wanted = double(before.back()) * r / ranks;
    std::int32_t best = cuts.back() / 2 + 1;
    for (std::int32_t i = best; i <= pairs - (ranks - r); ++i) {
      if (std::abs(double(before[std::size_t(i)]) - wanted) <
          std::abs(double(before[std::size_t(best)]) - wanted))
        best = i;
    }
    cuts.push_back(2 * best);
  }
  cuts.push_back(rows);
  return cuts;
}

void check_split(const Model& model) {
  std::string pushed;
  for (const Body& body : model.bodies) pushed += (pushed.empty() ? "" : ", ") + body.name;
  if (model.mechanism) pushed += std::string(pushed.empty() ? "" : ", ") + "the bodies of the model";
  if (!pushed.empty())
    throw Error({"a world with bodies that the material pushes cannot be split over ranks: " + pushed,
                 {},
                 "use one rank, or colliders whose motion is given"});
  if (model.largest_courant > ParticleOrder::kBlock)
    throw Error({"a particle may move " + number(model.largest_courant, 4) +
                     " cells in a step, and a split world allows " + std::to_string(ParticleOrder::kBlock),
                 {},
                 "reduce largest_courant"});
}

}  // namespace costate::mpm
