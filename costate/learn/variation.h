// Variation: parameters of a plant that differ from world to world, and are drawn anew when an episode
// begins, so that a policy does not learn one body, one floor, one motor (domain randomisation [1]).
//
//   p = p0 (1 + by (2 r - 1)),   r uniform, one per parameter, world and episode: a function of the seed
//
// All numbers of a parameter (the six of an inertia) get the same factor. Rewards and observations see the
// plant's own values.
//
// [1] Tobin et al.: Domain randomization for transferring deep neural networks from simulation to the real
//     world, IROS 2017.
// Tests: tests/learn/variation_test.cpp.
#pragma once

#include "costate/learn/task.h"
#include "costate/system/parameters.h"

namespace costate::learn {

class Variation {
 public:
  // Throws Error for names that match no parameter, and for a spread that is not between 0 and 1.
  Variation(const Task& task, std::int64_t worlds);

  // The parameters of a world in an episode.
  void draw(std::uint64_t seed, std::int64_t world, std::int64_t episode) {
    draw(seed, world, episode, world);
  }
  // World `to` gets what `world` gets in that episode.
  void draw(std::uint64_t seed, std::int64_t world, std::int64_t episode, std::int64_t to);
  // Of all worlds.
  const Parameters<double>& parameters() const { return parameters_; }

 private:
  struct Varying {
    std::size_t field;  // among the plant's parameters
    double by;
    std::vector<double> own;  // values, of one world
  };
  std::vector<Varying> varying_;
  Parameters<double> parameters_;
};

}  // namespace costate::learn
