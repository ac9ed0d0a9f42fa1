// SceneFunction: a scene as a function of its variables, whatever its physics. The commands of the tool, the optimisers and the checks
// are written against it; particles (scene_problem.h) and rigid bodies (rigid_scene_problem.h) implement it.
//
//   x (variables, each divided by its scale) -> inputs of the simulation -> loss
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "costate/io/problem.h"
#include "costate/io/recording.h"
#include "costate/system/checks.h"
#include "costate/system/gradient_report.h"

namespace costate::io {

// One number that an optimiser changes. It sees value / scale, so that steps of equal size mean equally much.
struct SceneVariable {
  enum class Kind {
    position,   // particles: control point of a collider's path
    angle,      // particles: control point of a collider's angle
    parameter,  // of the physics
    state,      // rigid bodies: number of their state at the start
    control     // rigid bodies: value of an actuator's control over time
  };
  Kind kind = Kind::position;
  std::string name;        // "jug.angle[3]", "jug.position[2].x", "parameters.gravity[1]", "controls.push[4]"
  std::size_t motion = 0;  // position and angle: of which collider; control: which of the controls
  std::size_t axis = 0;    // of position
  std::size_t point = 0;   // control point, element of the parameter, or number of the state
  std::string parameter;   // name in the signature
  double start = 0;
  double scale = 1;
  double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();
};

struct SceneOptimize {
  std::vector<SceneVariable> variables;
  std::string method = "adam";  // adam, lbfgs, gradient_descent, cma_es
  int iterations = 30;
  double rate = 0.1, decay = 1;
  double target = -std::numeric_limits<double>::infinity();  // a loss that is good enough
  double gradient_limit = 0;  // > 0: longer gradients are scaled down to this length
};

// What a run came to.
struct SceneOutcome {
  double loss = 0;
  std::vector<std::pair<std::string, double>> terms;  // every part of the loss, weighted
  std::vector<std::pair<std::string, double>>
      fractions;  // particles inside the region of each in_region, at its last step
};

class SceneFunction {
 public:
  virtual ~SceneFunction() = default;

  virtual const std::string& file() const = 0;
  virtual const std::string& title() const = 0;
  virtual std::int64_t steps() const = 0;
  virtual bool has_loss() const = 0;
  // Null where the file has no [optimize]; then there are no variables.
  virtual const SceneOptimize* optimize() const = 0;
  // What was understood of the file, as rows of a table; and in one line what is simulated.
  virtual std::vector<std::pair<std::string, std::string>> facts() const = 0;
  virtual std::string headline() const = 0;
  // Equal for two scenes whose optimisations can continue each other.
  virtual std::string identity() const = 0;
  // Words for what separates two sets of variables; empty: none.
  virtual std::string difference(const std::vector<double>& before,
                                 const std::vector<double>& after) const = 0;

  virtual double value(const std::vector<double>& x) = 0;
  virtual double value_and_gradient(const std::vector<double>& x, double* gradient) = 0;
  virtual const GradientReport& report() const = 0;  // of the latest gradient
  // Runs the scene and records it; `outcome`, where not null, is filled in.
  virtual Recording record(const std::vector<double>& x, SceneOutcome* outcome) = 0;
  // Told now and then while a scene is recorded: steps done, of how many. May be empty.
  std::function<void(std::int64_t done, std::int64_t steps)> on_recording;
  // <J v, w> against <v, J' w> of the physics, over everything it depends on.
  virtual check::Result dot_product(std::uint64_t seed) = 0;
  // For a check: how long its differences may be, in units of the scales, and how well they then agree with the gradient.
  struct Stencil {
    double step = 1e-3, gate = 1e-8;
  };
  virtual Stencil stencil() const = 0;

  // Where the file starts, in units of the scales.
  std::vector<double> start() const;
  const std::vector<SceneVariable>& variables() const;

 protected:
  // Throws where the loss or its gradient is not finite.
  void require_finite(double value, const double* gradient) const;
};

// How a file is opened: as it says, or as a check wants it.
struct SceneOpening {
  std::vector<Setting> settings = {};
  std::string from = {};          // state file whose best variables are the start; empty: the file's own
  bool double_precision = false;  // even where the file says float
  std::int64_t most_steps =
      0;  // > 0: cut off after so many, its losses moved to the new end where they lay beyond it
};

// A scene of particles ([domain], and [model] for a model among them), of rigid bodies ([model] alone), or a model of rigid bodies itself (.xml, .urdf). Throws Error.
std::unique_ptr<SceneFunction> open_scene(const std::string& path, const SceneOpening& opening = {});

// Whether a file describes a scene rather than equations. False where it cannot be read.
bool is_scene(const std::string& path);
// Whether its name is that of a model: .xml or .urdf.
bool is_model_file(const std::string& path);

// Names of the parameters among the variables, each once.
std::vector<std::string> parameters_among(const std::vector<SceneVariable>& variables);
// Six digits.
std::string brief_number(double value);

// The variables started where a state file is best, each of the same name; the rest of the scene may be another. Error if that is no state
// file, or has not one of the variables. `scene` is for messages.
void start_from(const std::string& state_file, const std::string& scene,
                std::optional<SceneOptimize>& optimize);

}  // namespace costate::io
