// RigidScene: a model of rigid bodies, how it is driven, what should happen, and what may be changed to make it happen; read from a TOML file
// with a table [model]. The format: docs/scenes.md.
//
//   const io::RigidScene scene = io::load_rigid_scene("swing_up.toml");
//   io::RigidSceneProblem<double> problem(scene);                        rigid_scene_problem.h
//
// Everything that can be wrong with a file is found here, and reported with its line and column.
// Tests: tests/io/rigid_scene_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "costate/ad/program.h"
#include "costate/io/scene_function.h"
#include "costate/io/scene_tables.h"
#include "costate/rigid/model.h"
#include "costate/rigid/observer.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/checkpoints.h"

namespace costate::io {

// The control of one actuator over the run: values that are held, joined by straight lines, or control points of a clamped cubic B-spline.
struct ControlPath {
  enum class Shape { hold, linear, spline };
  std::size_t actuator = 0;
  Shape shape = Shape::hold;
  std::vector<double> points;
  bool variable = true;  // false: a formula of t, one value per step
};

// u = sum of w[i] points[first + i] in step k of `steps`.
struct ControlWeights {
  std::size_t first = 0, count = 1;
  std::array<double, 4> w = {1, 0, 0, 0};
};
ControlWeights control_weights(const ControlPath& path, std::int64_t k, std::int64_t steps);

// One part of the loss: a formula of the state, the controls and the quantities at some steps, or measurements of one quantity.
struct RigidTerm {
  std::string name;
  std::vector<std::int64_t> steps;     // increasing
  std::optional<ad::Program> formula;  // with its weight
  bool reads_controls = false;
  std::string quantity;         // without a formula: 1/2 |quantity - target|^2 at each step ...
  std::vector<double> targets;  // ... steps x size numbers
  double weight = 1;
};

// A point to be marked in pictures: where something should go.
struct Mark {
  rigid::Double3 position = {0, 0, 0};
};

struct RigidScene {
  std::string file, title;
  std::string model_file;
  rigid::Model model;
  rigid::SystemOptions options;  // how contacts are simulated
  double dt = 0.01;
  std::int64_t steps = 1;
  std::int64_t path_steps = 1;  // over which the controls extend
  bool double_precision = true;
  Checkpoints checkpoints = store_all();
  std::vector<double> x0;                                               // q, v, act
  std::vector<double> rest_controls;                                    // of actuators without a path
  std::vector<std::pair<std::string, std::vector<double>>> parameters;  // other than the model's
  std::vector<ControlPath> controls;
  std::vector<rigid::Quantity> quantities;
  std::vector<RigidTerm> losses;
  std::vector<Mark> marks;
  std::optional<SceneOptimize> optimize;
  SceneCamera look;

  double duration() const { return dt * double(steps); }
};

// Throw Error (Kind::input) on any mistake. Settings: {"run.duration", "2"}, any key of a table that is not in an array.
RigidScene load_rigid_scene(const std::string& path, const std::vector<Setting>& settings = {});
RigidScene parse_rigid_scene(std::string text, const std::string& name,
                             const std::vector<Setting>& settings = {});
// A model alone, from its first keyframe or its reference configuration, for `run.duration` seconds (3).
RigidScene scene_of_model(const std::string& path, const std::vector<Setting>& settings = {});

// Cut off after so many steps, its losses moved to the new end where they lay beyond it.
RigidScene shortened(const RigidScene& scene, std::int64_t steps);

}  // namespace costate::io
