#include "costate/io/scene/sections/bodies.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "costate/core/names.h"
#include "costate/core/text.h"
#include "costate/io/model/load_model.h"
#include "costate/io/scene/section.h"
#include "costate/rigid/dynamics/parameter_map.h"
#include "costate/study/bodies_picture.h"
#include "costate/study/rigid_quantities.h"

namespace costate::io {
namespace {

constexpr double kDefaultDuration = 3;

std::string absolute(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

// Numbers of one contact model are refused where another is chosen: they would do nothing.
void read_contact(const SceneFile& file, BodiesPart& part) {
  const TomlValue* found = file.root().find("contact");
  if (!found) return;
  const TomlValue& c = file.table(*found, "contact");
  const TomlValue* model = c.find("model");
  const std::string name =
      model ? file.choice(*model, "model", {"none", "convex", "event", "penalty", "hard"}) : "convex";
  rigid::SystemOptions& options = part.options;
  std::vector<std::string> keys = {"model"};
  if (name == "none") {
    part.model->options.contact = false;
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
  file.require_known_keys(c, keys, "[contact] with model = \"" + name + "\"");
  if (const TomlValue* v = c.find("onset")) {
    const std::string& word = file.choice(*v, "onset", {"automatic", "none", "split"});
    options.onset = word == "split"  ? rigid::Onset::split
                    : word == "none" ? rigid::Onset::none
                                     : rigid::Onset::automatic;
  }
  const auto read = [&](const char* key, double& value, bool may_be_zero) {
    const TomlValue* v = c.find(key);
    if (!v) return;
    value = file.number(*v, key);
    if (!(may_be_zero ? value >= 0 : value > 0))
      file.fail(v->place, std::string(key) + (may_be_zero ? " must not be negative" : " must be positive"));
  };
  read("restitution", options.impact.restitution, true);
  read("rest_speed", options.impact.rest_speed, false);
  read("recovery_speed", options.hard.recovery_speed, true);
  if (const TomlValue* v = c.find("aware")) options.hard.aware = file.boolean(*v, "aware");
  read("stiffness", options.penalty.stiffness, false);
  read("damping", options.penalty.damping, true);
  read("slip_speed", options.penalty.slip_speed, false);
  if (options.impact.restitution > 1)
    file.fail(c.find("restitution")->place, "restitution is more than 1", "1 returns all of the speed");
}

std::size_t joint(const SceneFile& file, const rigid::Model& m, Place place, const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < m.joints.size(); ++i) names.push_back(rigid::name_of(m.joints[i].name, i));
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) file.fail(place, "the model has no joint '" + name + "'", suggestion(name, names));
  return std::size_t(at - names.begin());
}

void read_joint_values(const SceneFile& file, const TomlValue& values, bool velocity, BodiesPart& part) {
  const rigid::Model& m = *part.model;
  for (std::size_t i = 0; i < values.keys.size(); ++i) {
    const rigid::Joint& j = m.joints[joint(file, m, values.key_places[i], values.keys[i])];
    const std::size_t size = std::size_t(velocity ? dof_size(j.type) : qpos_size(j.type));
    const TomlValue& v = values.items[i];
    const std::vector<double> list = file.one_or_more(v, j.name);
    if (list.size() != size)
      file.fail(v.place, "the " + std::string(velocity ? "velocity" : "position") + " of joint '" +
                             values.keys[i] + "' is " + std::to_string(size) +
                             (size == 1 ? " number" : " numbers") + ", not " + std::to_string(list.size()));
    if (!velocity && size >= 4) {
      double square = 0;
      for (std::size_t k = size - 4; k < size; ++k) square += list[k] * list[k];
      if (!(square > 0)) file.fail(v.place, "a quaternion must not be zero", "no rotation is 1, 0, 0, 0");
    }
    std::copy(list.begin(), list.end(), part.x0.begin() + (velocity ? m.nq + j.dof : j.qpos));
  }
}

void read_start(const SceneFile& file, const std::vector<std::string>& others, BodiesPart& part) {
  const rigid::Model& m = *part.model;
  part.x0 = rigid::initial_state(m);
  part.rest_controls.assign(m.actuators.size(), 0.0);
  const TomlValue* found = file.root().find("start");
  if (!found) return;
  const TomlValue& s = file.table(*found, "start");
  std::vector<std::string> known = {"keyframe", "position", "velocity"};
  known.insert(known.end(), others.begin(), others.end());
  file.require_known_keys(s, known, "[start]");
  if (const TomlValue* v = s.find("keyframe")) {
    std::vector<std::string> names;
    for (const rigid::Keyframe& k : m.keyframes) names.push_back(k.name);
    const auto at = std::find(names.begin(), names.end(), file.string(*v, "keyframe"));
    if (at == names.end())
      file.fail(v->place, "the model has no keyframe '" + v->text + "'", suggestion(v->text, names));
    part.x0 = rigid::initial_state(m, v->text);
    const std::vector<double>& ctrl = m.keyframes[std::size_t(at - names.begin())].ctrl;
    std::copy(ctrl.begin(), ctrl.end(), part.rest_controls.begin());
  }
  if (const TomlValue* v = s.find("position"))
    read_joint_values(file, file.table(*v, "position"), false, part);
  if (const TomlValue* v = s.find("velocity"))
    read_joint_values(file, file.table(*v, "velocity"), true, part);
}

}  // namespace

BodiesPart read_bodies_part(const SceneFile& file, bool with_contact, const OtherKeys& others) {
  const TomlValue& m = file.table(*file.root().find("model"), "model");
  std::vector<std::string> keys = {"file", "integrator", "rtol", "atol"};
  keys.insert(keys.end(), others.model.begin(), others.model.end());
  file.require_known_keys(m, keys, "[model]");
  const TomlValue& name = file.required(m, "file", "[model]", "add the model: file = \"arm.xml\"");
  BodiesPart part{.model_file = file.beside(file.string(name, "file"))};
  if (!std::filesystem::exists(part.model_file))
    file.fail(name.place, "there is no model file '" + name.text + "'",
              "it was looked for beside the scene, as " + absolute(part.model_file));
  // The model's own mistakes are told in the model's own file.
  part.model = std::make_shared<rigid::Model>(rigid::load(part.model_file));
  if (const TomlValue* v = m.find("integrator")) {
    std::vector<std::string> names;  // in lower case
    for (const auto& [known, kind] : rigid::kIntegrators) {
      std::string& lower = names.emplace_back(known);
      for (char& c : lower) c = char(std::tolower(c));
    }
    const auto chosen = std::find(names.begin(), names.end(), file.choice(*v, "integrator", names));
    part.model->options.integrator = rigid::kIntegrators.begin()[chosen - names.begin()].second;
  }
  rigid::Options& options = part.model->options;
  for (const auto& [key, value] : {std::pair{"rtol", &options.rtol}, {"atol", &options.atol}}) {
    const TomlValue* const v = m.find(key);
    if (!v) continue;
    if (options.integrator != rigid::Integrator::adaptive)
      file.fail(v->place, std::string(key) + " has no effect with this integrator",
                "use integrator = \"adaptive\"");
    *value = file.number(*v, key);
    if (!(*value > 0)) file.fail(v->place, std::string(key) + " must be positive");
  }
  if (with_contact) read_contact(file, part);
  file.told_at(name.place,
               [&] { return rigid::make_system<double>(*part.model, part.options)->signature(); });
  read_start(file, others.start, part);
  return part;
}

void add_bodies(const BodiesPart& part, std::size_t q, std::size_t ctrl, Draft& draft) {
  const rigid::Model& m = *part.model;
  study::Setup& setup = draft.setup;
  setup.reports_modes = true;
  setup.rest_controls.resize(std::size_t(setup.signature.controls()), 0.0);
  for (std::size_t i = 0; i < m.actuators.size(); ++i) {
    const rigid::Actuator& a = m.actuators[i];
    setup.rest_controls[ctrl + i] = part.rest_controls[i];
    Drivable drivable{.name = rigid::name_of(a.name, i), .control = ctrl + i};
    // Past its range a control has no effect, and so no gradient.
    if (a.control_limited && m.options.clampctrl) {
      drivable.lower = a.control_range[0];
      drivable.upper = a.control_range[1];
    }
    draft.drivable.push_back(drivable);
  }
  for (std::size_t i = 0; i < m.joints.size(); ++i) {
    const rigid::Joint& j = m.joints[i];
    const std::string name = rigid::name_of(j.name, i);
    draft.groups.push_back({.name = "start.position." + name,
                            .first = q + std::size_t(j.qpos),
                            .count = std::size_t(qpos_size(j.type))});
    draft.groups.push_back({.name = "start.velocity." + name,
                            .first = q + std::size_t(m.nq + j.dof),
                            .count = std::size_t(dof_size(j.type))});
  }
}

Draft read_bodies(const SceneFile& file) {
  BodiesPart part = read_bodies_part(file);
  Draft draft;
  study::Setup& setup = draft.setup;
  read_run(file, part.model->options.timestep, kDefaultDuration, setup);
  part.model->options.timestep = setup.dt;
  setup.signature = rigid::make_system<double>(*part.model, part.options)->signature();
  setup.system = study::any_system([model = part.model, options = part.options](auto real) {
    return std::shared_ptr<const System<decltype(real)>>(rigid::make_system<decltype(real)>(*model, options));
  });
  setup.inputs.x0 = part.x0;
  add_bodies(part, 0, 0, draft);
  const rigid::Model& m = *part.model;
  setup.title = m.name;
  setup.facts = {{"model", part.model_file},     {"bodies", std::to_string(m.bodies.size() - 1)},
                 {"dofs", std::to_string(m.nv)}, {"actuators", std::to_string(m.nu())},
                 {"dt", number(setup.dt)},       {"steps", std::to_string(setup.steps)}};
  setup.headline = counted(std::int64_t(m.bodies.size()) - 1, "body", "bodies") + ", " +
                   counted(m.nv, "dof") + ", " + counted(setup.steps, "step") + " of " + number(setup.dt) +
                   " s";
  setup.identity = m.name + " " + std::to_string(setup.steps) + " " + std::to_string(setup.dt);
  setup.quantities = std::make_shared<study::RigidQuantities>(part.model, setup.signature, part.options);
  setup.picture = std::make_shared<study::BodiesPicture>(part.model, setup.signature);
  // Long enough for the rounding of a loss over many steps, short enough for limits and clamps.
  setup.stencil = {.step = 1e-4, .gate = 1e-6};
  draft.up = 2;
  return draft;
}

}  // namespace costate::io
