#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/io/rigid_scene_reader.h"
#include "costate/rigid/dynamics/parameter_map.h"

namespace costate::io {

void RigidSceneReader::read_optimize() {
  const TomlValue* found = root_.find("optimize");
  if (!found) return;
  const TomlValue& o = table(*found, "optimize");
  SceneOptimize& optimize = scene_.optimize.emplace();
  for (const TomlValue& v : SceneTables::read_optimize(o, "{name = \"controls.*\"}", scene_.dt, scene_.steps,
                                                       optimize, scene_.checkpoints))
    read_variable(v);
  if (scene_.losses.empty()) document_.fail(o.place, "there is no loss to optimise", "add [[loss]]");
}

// {name = "controls.push", scale = 0.5}, "start.position.hinge", "start.velocity.hinge" or "parameters.body/*/mass".
void RigidSceneReader::read_variable(const TomlValue& v) {
  document_.require_known_keys(v, {"name", "scale", "lower", "upper"}, "a variable");
  const TomlValue& place = required(v, "name", "this variable", "add name = \"controls.*\"");
  const std::string& name = string(place, "name");
  const SceneVariable base = read_bounds(v);
  const std::size_t dot = name.find('.');
  const std::string owner = name.substr(0, dot), rest = dot == std::string::npos ? "" : name.substr(dot + 1);
  if (owner == "controls" && !rest.empty()) return add_controls(v, base, rest);
  if (owner == "start" && !rest.empty()) return add_state(v, base, rest);
  if (owner == "parameters" && !rest.empty()) return add_parameters(v, base, rest);
  document_.fail(place.place, "'" + name + "' is no variable",
                 "write controls.NAME, start.position.NAME, start.velocity.NAME or parameters.NAME");
}

std::vector<SceneVariable> RigidSceneReader::variables_of(const TomlValue& v) {
  scene_.optimize.emplace();
  read_variable(v);
  return std::move(scene_.optimize->variables);
}

void RigidSceneReader::add_controls(const TomlValue& v, const SceneVariable& base, const std::string& glob) {
  const TomlValue& place = *v.find("name");
  const std::vector<std::string> names = actuator_names();
  bool any = false;
  for (std::size_t c = 0; c < scene_.controls.size(); ++c) {
    const ControlPath& path = scene_.controls[c];
    if (!glob_match(glob, names[path.actuator])) continue;
    if (!path.variable)
      document_.fail(
          place.place,
          "the control of '" + names[path.actuator] + "' is a formula, which has no values to change",
          "give values, or count");
    any = true;
    const rigid::Actuator& a = scene_.model.actuators[path.actuator];
    for (std::size_t i = 0; i < path.points.size(); ++i) {
      SceneVariable variable = base;
      variable.kind = SceneVariable::Kind::control;
      variable.motion = c;
      variable.point = i;
      variable.name = "controls." + names[path.actuator] + "[" + std::to_string(i) + "]";
      variable.start = path.points[i];
      // Past its range a control has no effect, and so no gradient.
      if (a.control_limited && scene_.model.options.clampctrl) {
        if (!v.find("lower")) variable.lower = a.control_range[0];
        if (!v.find("upper")) variable.upper = a.control_range[1];
      }
      add_variable(v, variable, *scene_.optimize);
    }
  }
  if (any) return;
  const bool exists =
      std::any_of(names.begin(), names.end(), [&](const std::string& n) { return glob_match(glob, n); });
  document_.fail(
      place.place,
      exists ? "the actuator '" + glob + "' is not driven" : "the model has no actuator '" + glob + "'",
      exists ? "give it values in [controls]" : suggestion(glob, names));
}

void RigidSceneReader::add_state(const TomlValue& v, SceneVariable base, const std::string& path) {
  const TomlValue& place = *v.find("name");
  const std::size_t dot = path.find('.');
  const std::string part = path.substr(0, dot);
  if (dot == std::string::npos || (part != "position" && part != "velocity"))
    document_.fail(place.place, "'start." + path + "' is no variable",
                   "write start.position.NAME or start.velocity.NAME, of a joint");
  const bool velocity = part == "velocity";
  const std::size_t index = joint(place.place, path.substr(dot + 1));
  const rigid::Joint& j = scene_.model.joints[index];
  const int size = velocity ? dof_size(j.type) : qpos_size(j.type);
  for (int i = 0; i < size; ++i) {
    base.kind = SceneVariable::Kind::state;
    base.point = std::size_t((velocity ? scene_.model.nq + j.dof : j.qpos) + i);
    base.name = "start." + path + (size > 1 ? "[" + std::to_string(i) + "]" : "");
    base.start = scene_.x0[base.point];
    add_variable(v, base, *scene_.optimize);
  }
}

void RigidSceneReader::add_parameters(const TomlValue& v, SceneVariable base, const std::string& glob) {
  const TomlValue& place = *v.find("name");
  std::vector<std::string> names;
  bool any = false;
  for (const Field& f : signature_.fields(Role::parameter)) {
    names.push_back(f.name);
    if (!glob_match(glob, f.name)) continue;
    any = true;
    std::vector<double> values = f.defaults;
    if (std::int64_t(values.size()) != f.size) values.assign(std::size_t(f.size), f.defaults[0]);
    for (const auto& [name, list] : scene_.parameters)
      if (name == f.name) values = list;
    for (std::int64_t i = 0; i < f.size; ++i) {
      base.kind = SceneVariable::Kind::parameter;
      base.parameter = f.name;
      base.point = std::size_t(i);
      base.name = "parameters." + f.name + (f.size > 1 ? "[" + std::to_string(i) + "]" : "");
      base.start = values[std::size_t(i)];
      add_variable(v, base, *scene_.optimize);
    }
  }
  if (!any) document_.fail(place.place, "the model has no parameter '" + glob + "'", suggestion(glob, names));
}

}  // namespace costate::io
