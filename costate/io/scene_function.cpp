#include "costate/io/scene_function.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "costate/core/error.h"
#include "costate/io/rigid_scene_problem.h"
#include "costate/io/scene_check.h"
#include "costate/io/scene_problem.h"
#include "costate/io/scene_tables.h"

namespace costate::io {

const std::vector<SceneVariable>& SceneFunction::variables() const {
  static const std::vector<SceneVariable> kNone;
  return optimize() ? optimize()->variables : kNone;
}

std::vector<double> SceneFunction::start() const {
  std::vector<double> x;
  for (const SceneVariable& v : variables()) x.push_back(v.start / v.scale);
  return x;
}

void SceneFunction::require_finite(double value, const double* gradient) const {
  if (!std::isfinite(value))
    throw Error({"the loss is not finite", file(), "look for a width, weight or distance that is absurd"},
                Error::Kind::numerics);
  for (std::size_t i = 0; i < variables().size(); ++i) {
    if (!std::isfinite(gradient[i]))
      throw Error({"the loss is finite, but its derivative by " + variables()[i].name + " is not", file(),
                   "shorten the simulation, or set gradient_window in [optimize]"},
                  Error::Kind::numerics);
  }
}

std::vector<std::string> parameters_among(const std::vector<SceneVariable>& variables) {
  std::vector<std::string> names;
  for (const SceneVariable& v : variables) {
    if (v.kind == SceneVariable::Kind::parameter &&
        std::find(names.begin(), names.end(), v.parameter) == names.end())
      names.push_back(v.parameter);
  }
  return names;
}

std::string brief_number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

namespace {

// Which table says what a file is about.
bool has_table(const std::string& path, const char* name) {
  try {
    return TomlDocument(read_text(path), path).root().find(name) != nullptr;
  } catch (const Error&) {
    return false;
  }
}

std::unique_ptr<SceneFunction> open_particles(const std::string& path, const SceneOpening& opening) {
  Scene scene = load_scene(path, opening.settings);
  if (!opening.from.empty()) start_from(opening.from, path, scene.optimize);
  if (opening.most_steps > 0) scene = shortened(scene, opening.most_steps);
  if (scene.double_precision || opening.double_precision)
    return std::make_unique<SceneProblem<double>>(scene);
  return std::make_unique<SceneProblem<float>>(scene);
}

std::unique_ptr<SceneFunction> open_bodies(const std::string& path, const SceneOpening& opening) {
  RigidScene scene =
      is_model_file(path) ? scene_of_model(path, opening.settings) : load_rigid_scene(path, opening.settings);
  if (!opening.from.empty()) start_from(opening.from, path, scene.optimize);
  if (opening.most_steps > 0) scene = shortened(scene, opening.most_steps);
  if (scene.double_precision || opening.double_precision)
    return std::make_unique<RigidSceneProblem<double>>(scene);
  return std::make_unique<RigidSceneProblem<float>>(scene);
}

}  // namespace

bool is_model_file(const std::string& path) { return path.ends_with(".xml") || path.ends_with(".urdf"); }

bool is_scene(const std::string& path) { return has_table(path, "domain") || has_table(path, "model"); }

std::unique_ptr<SceneFunction> open_scene(const std::string& path, const SceneOpening& opening) {
  const bool particles = !is_model_file(path) && (has_table(path, "domain") || !has_table(path, "model"));
  return particles ? open_particles(path, opening) : open_bodies(path, opening);
}

}  // namespace costate::io
