// Episodes of a task, played from their start to their end without gradients: what scores a policy.
//
// Where an episode starts, and what differs in it, is a function of (seed, world, episode).
// Tests: tests/learn/learner_test.cpp, variation_test.cpp.
#pragma once

#include <functional>
#include <vector>

#include "costate/learn/policy.h"
#include "costate/learn/task.h"

namespace costate::learn {

// A state that an episode starts from.
std::vector<double> start_of(const Task& task, std::uint64_t seed, std::int64_t world, std::int64_t episode);

struct Scores {
  std::vector<double> returns, lengths;  // of each world
};

struct Starts {
  std::int64_t worlds = 1;
  std::int64_t different = 1;  // world w starts as world w mod `different` does
  std::uint64_t seed = 0;
  std::int64_t episode = 0;
};
// From what is seen in all worlds to the controls of all. running: 1, or 0 where the episode has ended.
using Act =
    std::function<std::vector<double>(const std::vector<double>& o, const std::vector<double>& running)>;

// One episode of each world.
Scores play(const Task& task, const Starts& starts, const Act& act);
// By a policy without noise, from starts that all differ.
Scores evaluate(const Task& task, const Policy& policy, std::int64_t worlds, std::uint64_t seed);

}  // namespace costate::learn
