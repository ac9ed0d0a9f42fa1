// Optimising a scene: from the file's variables downhill along the gradient, with a state that survives being stopped.
//
// After every iteration the state (the optimiser's memory, the best point, the loss of every iteration) is written to `state_file`, a
// JSON object; a run that is given the same scene and that file continues where it left off, with the same bits as if it had never
// stopped. Tests: tests/io/scene_problem_test.cpp.
#pragma once

#include <functional>

#include "costate/io/scene_function.h"
#include "costate/optim/minimize.h"

namespace costate::io {

struct SceneOptimum {
  std::vector<double> start, best;  // variables / scales
  double start_value = 0, best_value = 0;
  std::vector<double> losses;  // of every iteration, the start first
  int iterations = 0;
  long evaluations = 0;
  std::string reason;
};

struct SceneProgress {
  int iteration = 0, iterations = 0;
  double value = 0, best = 0, gradient_norm = 0;
  double seconds = 0, seconds_left = 0;
};

struct SceneOptimizeOptions {
  std::string state_file = {};                              // empty: none is written
  bool resume = false;                                      // start from the state file, where there is one
  std::function<bool(const SceneProgress&)> progress = {};  // false stops, keeping the best so far
};

// Error if the scene has no [optimize], or the state file belongs to another scene.
SceneOptimum optimize(SceneFunction& problem, const SceneOptimizeOptions& options = {});

}  // namespace costate::io
