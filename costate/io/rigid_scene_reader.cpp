#include "costate/io/rigid_scene_reader.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "costate/core/error.h"
#include "costate/io/model/load_model.h"
#include "costate/io/scene_motion.h"
#include "costate/io/scope.h"
#include "costate/ode/fields/program_field.h"
#include "costate/rigid/dynamics/parameter_map.h"
#include "costate/rigid/rigid_system.h"

namespace costate::io {
namespace {

using Kind = TomlValue::Kind;

constexpr double kMostSteps = 1e7, kDefaultDuration = 3;
constexpr long kMostPoints = 1'000'000;

// A file named in another is looked for beside it.
std::string beside(const std::string& file, const std::string& path) {
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos || path.starts_with('/') ? path : file.substr(0, slash + 1) + path;
}

// In quotes, whatever is in it.
std::string toml_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    char code[8];
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      std::snprintf(code, sizeof code, "\\u%04x", unsigned(c));
      quoted += code;
    } else {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace

ControlWeights control_weights(const ControlPath& path, std::int64_t k, std::int64_t steps) {
  const std::size_t n = path.points.size();
  const double s = double(k) / double(steps);
  ControlWeights r;
  switch (path.shape) {
    case ControlPath::Shape::hold:
      r.first = std::min(std::size_t(double(n) * s * (1 + 1e-14)), n - 1);
      break;
    case ControlPath::Shape::linear: {
      const double u = s * double(n - 1);
      r.first = std::min(std::size_t(u), n - 2);
      r.count = 2;
      r.w[1] = u - double(r.first);
      r.w[0] = 1 - r.w[1];
      break;
    }
    case ControlPath::Shape::spline: {
      const SplineWeights spline = spline_weights(int(n), 1, s, 0);
      r.first = std::size_t(spline.first);
      r.count = 4;
      r.w = spline.w;
      break;
    }
  }
  return r;
}

RigidSceneReader::RigidSceneReader(TomlDocument document, const std::vector<Setting>& settings)
    : SceneTables(std::move(document), settings,
                  "run.duration=2, start.keyframe=up, parameters.body/pole/mass=0.3") {
  scene_.file = document_.name();
}

RigidScene RigidSceneReader::read() {
  document_.require_known_keys(
      root_,
      {"title", "model", "contact", "run", "start", "parameters", "controls", "loss", "optimize", "record"},
      "the file");
  if (const TomlValue* title = root_.find("title")) scene_.title = string(*title, "title");
  read_model();
  read_run();
  read_start();
  read_parameters();
  read_controls();
  read_losses();
  read_optimize();
  scene_.look = read_record();
  return std::move(scene_);
}

const RigidScene& RigidSceneReader::read_part() {
  read_model();
  read_start();
  return scene_;
}

const RigidScene& RigidSceneReader::read_part_controls(double dt, std::int64_t steps) {
  scene_.dt = scene_.model.options.timestep = dt;
  scene_.steps = scene_.path_steps = steps;
  read_controls();
  return scene_;
}

void RigidSceneReader::read_model() {
  const TomlValue* found = root_.find("model");
  if (!found) document_.fail({}, "there is no table [model]", "add [model] with file = \"arm.xml\"");
  const TomlValue& m = table(*found, "model");
  document_.require_known_keys(m, {"file", "integrator"}, "[model]");
  const TomlValue& file = required(m, "file", "[model]", "add the model: file = \"arm.xml\"");
  scene_.model_file = beside(document_.name(), string(file, "file"));
  // The model's own mistakes are told in the model's own file.
  scene_.model = rigid::load(scene_.model_file);
  if (scene_.title.empty()) scene_.title = scene_.model.name;
  rigid::Options& options = scene_.model.options;
  if (const TomlValue* v = m.find("integrator")) {
    std::vector<std::string> names;  // in lower case
    for (const auto& [name, kind] : rigid::kIntegrators) {
      std::string& lower = names.emplace_back(name);
      for (char& c : lower) c = char(std::tolower(c));
    }
    const auto chosen = std::find(names.begin(), names.end(), choice(*v, "integrator", names));
    options.integrator = rigid::kIntegrators.begin()[chosen - names.begin()].second;
  }
  read_contact();
  try {
    signature_ = rigid::make_system<double>(scene_.model, scene_.options)->signature();
  } catch (const Error& error) {
    document_.fail(file.place, error.message().what, error.message().advice);
  }
}

// Numbers of one contact model are refused where another is chosen: they would do nothing.
void RigidSceneReader::read_contact() {
  const TomlValue* found = root_.find("contact");
  if (!found) return;
  const TomlValue& c = table(*found, "contact");
  const TomlValue* model = c.find("model");
  const std::string name =
      model ? choice(*model, "model", {"none", "convex", "event", "penalty", "hard"}) : "convex";
  rigid::SystemOptions& options = scene_.options;
  std::vector<std::string> keys = {"model"};
  if (name == "none") {
    scene_.model.options.contact = false;
  } else if (name == "event" || name == "hard") {
    options.contact = name == "event" ? rigid::ContactModel::event : rigid::ContactModel::hard;
    keys.insert(keys.end(), {"restitution", "rest_speed"});
    if (name == "hard") keys.insert(keys.end(), {"recovery_speed", "aware"});
  } else {
    keys.emplace_back("onset");
    if (name == "penalty") {
      options.contact = rigid::ContactModel::penalty;
      keys.insert(keys.end(), {"stiffness", "damping", "slip_speed"});
    }
  }
  document_.require_known_keys(c, keys, "[contact] with model = \"" + name + "\"");
  if (const TomlValue* v = c.find("onset")) {
    const std::string& word = choice(*v, "onset", {"automatic", "none", "split"});
    options.onset = word == "split"  ? rigid::Onset::split
                    : word == "none" ? rigid::Onset::none
                                     : rigid::Onset::automatic;
  }
  const auto read = [&](const char* key, double& value, bool may_be_zero) {
    const TomlValue* v = c.find(key);
    if (!v) return;
    value = number(*v, key);
    if (!(may_be_zero ? value >= 0 : value > 0))
      document_.fail(v->place,
                     std::string(key) + (may_be_zero ? " must not be negative" : " must be positive"));
  };
  read("restitution", options.impact.restitution, true);
  read("rest_speed", options.impact.rest_speed, false);
  read("recovery_speed", options.hard.recovery_speed, true);
  if (const TomlValue* v = c.find("aware")) options.hard.aware = boolean(*v, "aware");
  read("stiffness", options.penalty.stiffness, false);
  read("damping", options.penalty.damping, true);
  read("slip_speed", options.penalty.slip_speed, false);
  if (options.impact.restitution > 1)
    document_.fail(c.find("restitution")->place, "restitution is more than 1", "1 returns all of the speed");
}

void RigidSceneReader::read_run() {
  static const TomlValue kEmpty;
  const TomlValue* found = root_.find("run");
  const TomlValue& r = found ? table(*found, "run") : kEmpty;
  document_.require_known_keys(r, {"dt", "duration", "steps", "precision", "checkpoints"}, "[run]");
  scene_.dt = r.find("dt") ? positive(*r.find("dt"), "dt") : scene_.model.options.timestep;
  scene_.model.options.timestep = scene_.dt;
  const TomlValue *duration = r.find("duration"), *steps = r.find("steps");
  if (duration && steps) document_.fail(steps->place, "give the duration or the number of steps, not both");
  const double seconds = duration ? positive(*duration, "duration") : kDefaultDuration;
  if (steps) {
    scene_.steps = count(*steps, "steps", long(kMostSteps));
  } else {
    const double number = std::max(1.0, std::round(seconds / scene_.dt));
    if (!(number <= kMostSteps))
      document_.fail(duration ? duration->place : r.place, "there are more than 10 million steps",
                     "reduce duration, or enlarge dt");
    scene_.steps = std::int64_t(number);
  }
  scene_.path_steps = scene_.steps;
  if (const TomlValue* v = r.find("precision"))
    scene_.double_precision = choice(*v, "precision", {"float", "double"}) == "double";
  if (const TomlValue* v = r.find("checkpoints")) scene_.checkpoints = read_checkpoints(*v);
  // dt is a parameter of the system: its default is that of the model.
  signature_ = rigid::make_system<double>(scene_.model, scene_.options)->signature();
}

std::size_t RigidSceneReader::joint(Place place, const std::string& name) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < scene_.model.joints.size(); ++i)
    names.push_back(rigid::name_of(scene_.model.joints[i].name, i));
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end())
    document_.fail(place, "the model has no joint '" + name + "'", suggestion(name, names));
  return std::size_t(at - names.begin());
}

std::vector<std::string> RigidSceneReader::actuator_names() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < scene_.model.actuators.size(); ++i)
    names.push_back(rigid::name_of(scene_.model.actuators[i].name, i));
  return names;
}

void RigidSceneReader::read_joint_values(const TomlValue& values, bool velocity) {
  for (std::size_t i = 0; i < values.keys.size(); ++i) {
    const rigid::Joint& j = scene_.model.joints[joint(values.key_places[i], values.keys[i])];
    const std::size_t size = std::size_t(velocity ? dof_size(j.type) : qpos_size(j.type));
    const TomlValue& v = values.items[i];
    const std::vector<double> list =
        v.is(Kind::number) ? std::vector<double>{number(v, j.name)} : numbers(v, j.name);
    if (list.size() != size)
      document_.fail(v.place, "the " + std::string(velocity ? "velocity" : "position") + " of joint '" +
                                  values.keys[i] + "' is " + std::to_string(size) +
                                  (size == 1 ? " number" : " numbers") + ", not " +
                                  std::to_string(list.size()));
    if (!velocity && size >= 4) {
      double square = 0;
      for (std::size_t k = size - 4; k < size; ++k) square += list[k] * list[k];
      if (!(square > 0))
        document_.fail(v.place, "a quaternion must not be zero", "no rotation is 1, 0, 0, 0");
    }
    std::copy(list.begin(), list.end(), scene_.x0.begin() + (velocity ? scene_.model.nq + j.dof : j.qpos));
  }
}

void RigidSceneReader::read_start() {
  const rigid::Model& m = scene_.model;
  scene_.x0 = rigid::initial_state(m);
  scene_.rest_controls.assign(m.actuators.size(), 0.0);
  const TomlValue* found = root_.find("start");
  if (!found) return;
  const TomlValue& s = table(*found, "start");
  document_.require_known_keys(s, {"keyframe", "position", "velocity"}, "[start]");
  if (const TomlValue* v = s.find("keyframe")) {
    std::vector<std::string> names;
    for (const rigid::Keyframe& k : m.keyframes) names.push_back(k.name);
    const auto at = std::find(names.begin(), names.end(), string(*v, "keyframe"));
    if (at == names.end())
      document_.fail(v->place, "the model has no keyframe '" + v->text + "'", suggestion(v->text, names));
    scene_.x0 = rigid::initial_state(m, v->text);
    const std::vector<double>& ctrl = m.keyframes[std::size_t(at - names.begin())].ctrl;
    std::copy(ctrl.begin(), ctrl.end(), scene_.rest_controls.begin());
  }
  if (const TomlValue* v = s.find("position")) read_joint_values(table(*v, "position"), false);
  if (const TomlValue* v = s.find("velocity")) read_joint_values(table(*v, "velocity"), true);
}

// "body/pole/mass" = 0.3, or a list for a field of several numbers.
void RigidSceneReader::read_parameters() {
  const TomlValue* found = root_.find("parameters");
  if (!found) return;
  const TomlValue& values = table(*found, "parameters");
  std::vector<std::string> names;
  for (const Field& f : signature_.fields(Role::parameter)) names.push_back(f.name);
  for (std::size_t i = 0; i < values.keys.size(); ++i) {
    const std::string& name = values.keys[i];
    const Field* field = signature_.find_if(Role::parameter, name);
    if (!field)
      document_.fail(values.key_places[i], "the model has no parameter '" + name + "'",
                     suggestion(name, names));
    if (name == "dt") document_.fail(values.key_places[i], "dt is given in [run]");
    const TomlValue& v = values.items[i];
    const std::vector<double> list =
        v.is(Kind::number) ? std::vector<double>{number(v, name)} : numbers(v, name);
    if (std::int64_t(list.size()) != field->size)
      document_.fail(v.place, "'" + name + "' is " + std::to_string(field->size) + " numbers, not " +
                                  std::to_string(list.size()));
    scene_.parameters.emplace_back(name, list);
  }
}

// A formula of t, at every step.
ControlPath RigidSceneReader::sampled(const TomlValue& formula) const {
  const ode::ProgramDerivatives value(Scope(document_, {}, {}).program({&formula}));
  std::vector<double> scratch(value.scratch_size());
  ControlPath path;
  path.variable = false;
  for (std::int64_t k = 0; k < scene_.steps; ++k) {
    double u = 0;
    value.value(scene_.dt * double(k), nullptr, nullptr, &u, scratch.data());
    if (!std::isfinite(u))
      document_.fail(formula.place, "this is not finite at t = " + brief_number(scene_.dt * double(k)));
    path.points.push_back(u);
  }
  return path;
}

ControlPath RigidSceneReader::read_control(const TomlValue& v, const std::string& name) const {
  if (v.is(Kind::string)) return sampled(v);
  ControlPath path;
  if (v.is(Kind::number)) {
    path.points = {number(v, name)};
    return path;
  }
  const TomlValue* values = &v;
  if (v.is(Kind::table)) {
    document_.require_known_keys(v, {"values", "count", "value", "interpolation"}, "the control " + name);
    if (const TomlValue* i = v.find("interpolation")) {
      const std::string& shape = choice(*i, "interpolation", {"hold", "linear", "spline"});
      path.shape = shape == "spline"   ? ControlPath::Shape::spline
                   : shape == "linear" ? ControlPath::Shape::linear
                                       : ControlPath::Shape::hold;
    }
    values = v.find("values");
    if (values && (v.find("count") || v.find("value")))
      document_.fail(v.place, "give either values, or count and value");
    if (!values) {
      const TomlValue& n =
          required(v, "count", "the control " + name, "add values = [0.0, 1.0], or count = 20");
      path.points.assign(std::size_t(count(n, "count", kMostPoints)),
                         v.find("value") ? number(*v.find("value"), "value") : 0.0);
    }
  }
  if (values) path.points = numbers(*values, name);
  const std::size_t least = path.shape == ControlPath::Shape::spline   ? 4
                            : path.shape == ControlPath::Shape::linear ? 2
                                                                       : 1;
  if (path.points.size() < least)
    document_.fail(v.place, "the control " + name + " needs at least " + std::to_string(least) + " values");
  if (std::int64_t(path.points.size()) > scene_.steps + 3)
    document_.fail(v.place, "the control " + name + " has more values than there are steps",
                   "give at most " + std::to_string(scene_.steps));
  return path;
}

// Keys are names of actuators, or globs over them.
void RigidSceneReader::read_controls() {
  const TomlValue* found = root_.find("controls");
  if (!found) return;
  const TomlValue& entries = table(*found, "controls");
  const std::vector<std::string> names = actuator_names();
  std::vector<bool> taken(names.size(), false);
  for (std::size_t i = 0; i < entries.keys.size(); ++i) {
    const std::string& key = entries.keys[i];
    const ControlPath path = read_control(entries.items[i], key);
    bool any = false;
    for (std::size_t a = 0; a < names.size(); ++a) {
      if (!glob_match(key, names[a])) continue;
      if (taken[a]) document_.fail(entries.key_places[i], "the control of '" + names[a] + "' is given twice");
      taken[a] = any = true;
      scene_.controls.push_back(path);
      scene_.controls.back().actuator = a;
    }
    if (!any)
      document_.fail(entries.key_places[i], "the model has no actuator '" + key + "'",
                     suggestion(key, names));
  }
}

RigidScene parse_rigid_scene(std::string text, const std::string& name,
                             const std::vector<Setting>& settings) {
  return RigidSceneReader(TomlDocument(std::move(text), name), settings).read();
}

RigidScene load_rigid_scene(const std::string& path, const std::vector<Setting>& settings) {
  return parse_rigid_scene(read_text(path), path, settings);
}

RigidScene scene_of_model(const std::string& path, const std::vector<Setting>& settings) {
  const rigid::Model model = rigid::load(path);
  std::string text =
      "[model]\nfile = " + toml_string(std::filesystem::absolute(path).string()) + "\n[run]\n[start]\n";
  if (!model.keyframes.empty() && !model.keyframes[0].name.empty())
    text += "keyframe = " + toml_string(model.keyframes[0].name) + "\n";
  text += "[parameters]\n[controls]\n[record]\n";
  try {
    return parse_rigid_scene(text, path, settings);
  } catch (const Error& error) {
    // Lines of that text are nobody's business: the user has a model and settings.
    const Error::Message& m = error.message();
    if (!m.where.starts_with(path + ":")) throw;
    throw Error({m.what.substr(0, m.what.find('\n')), path, m.advice}, error.kind());
  }
}

RigidScene shortened(const RigidScene& scene, std::int64_t steps) {
  if (steps >= scene.steps) return scene;
  RigidScene cut = scene;
  cut.steps = steps;
  for (RigidTerm& term : cut.losses) {
    const std::size_t before = term.steps.size(), width = before > 0 ? term.targets.size() / before : 0;
    // Terms that read a control have none at the end.
    const std::int64_t last = term.reads_controls ? steps - 1 : steps;
    std::erase_if(term.steps, [&](std::int64_t k) { return k > last; });
    if (term.steps.empty()) term.steps.push_back(last);
    term.targets.resize(width * term.steps.size());
  }
  return cut;
}

}  // namespace costate::io
