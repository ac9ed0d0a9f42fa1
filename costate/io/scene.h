// Scene: a simulation of particles, what should happen in it, and what may be changed to make it happen; read from a TOML file.
// The format: docs/scenes.md.
//
//   const io::Scene scene = io::load_scene("coffee.toml");
//   io::SceneProblem<float> problem(scene);                        scene_problem.h
//   const double loss = problem.value_and_gradient(x, gradient);
//
// Everything that can be wrong with a file is found here, and reported with its line and column.
// Tests: tests/io/scene_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "costate/coupled/articulated.h"
#include "costate/io/rigid_scene.h"
#include "costate/io/scene_function.h"
#include "costate/io/scene_loss.h"
#include "costate/io/scene_motion.h"
#include "costate/mpm/model.h"
#include "costate/system/checkpoints.h"

namespace costate::io {

// A price on the way a collider moves; added to the loss.
struct Regulariser {
  enum class Kind { jerk, overshoot };
  Kind kind = Kind::jerk;
  std::size_t motion = 0;
  bool position = true, angle = true;  // jerk: of which paths
  double limit = 0;                    // overshoot: of the angle [rad]
  double weight = 1;
};

// What the recording of a scene looks like.
struct SceneLook {
  std::vector<Color> material_colors, collider_colors, body_colors, attached_colors;
  std::vector<float> collider_opacity, attached_opacity;
  double frames_per_second = 30;
  Camera camera = {};
};

struct Scene {
  std::string file, title;
  mpm::Model model;
  double duration = 1;
  std::int64_t steps = 1;
  bool double_precision = false;
  Checkpoints checkpoints = segments();
  std::vector<Motion> motions;  // one per collider that moves, in the model's order
  // Where there is a table [model]: the rigid model, how it starts and is driven; and the colliders on its bodies, which model.mechanism moves.
  std::optional<RigidScene> rigid;
  std::vector<coupled::Attached> attached;
  std::vector<LossTerm> losses;
  std::vector<Regulariser> regularisers;
  std::optional<SceneOptimize> optimize;
  SceneLook look;
};

// Throw Error (Kind::input) on any mistake. Settings: {"domain.dx", "0.01"}, any key of a table that is not in an array.
Scene load_scene(const std::string& path, const std::vector<Setting>& settings = {});
Scene parse_scene(std::string text, const std::string& name, const std::vector<Setting>& settings = {});

// Where the pivot of a moving collider starts, and other poses, as bodies of a recording: scene_shape.cpp.
Shape picture_of(const mpm::Shape& shape);
Pose picture_pose(const mpm::Shape& shape, const std::array<double, 3>& position,
                  const std::array<double, 3>& rotation);

}  // namespace costate::io
