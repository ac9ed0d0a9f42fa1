// costate info model.xml: the tree of bodies with their masses and joints, counts, and what the loader wants
// to be known.
#include <fmt/core.h>

#include "commands.h"
#include "costate/core/error.h"
#include "costate/core/names.h"
#include "costate/io/model/load_model.h"
#include "json.h"
#include "table.h"

namespace costate::app {
namespace {

using rigid::Model;

const char* name_of(rigid::JointType type) {
  switch (type) {
    case rigid::JointType::free:
      return "free";
    case rigid::JointType::ball:
      return "ball";
    case rigid::JointType::slide:
      return "slide";
    case rigid::JointType::hinge:
      return "hinge";
  }
  return "";
}
const char* name_of(rigid::Integrator integrator) {
  for (const auto& [name, kind] : rigid::kIntegrators)
    if (kind == integrator) return name;
  return "";
}

std::string label(const std::string& name, const char* kind, std::size_t index) {
  return name.empty() ? fmt::format("{} {}", kind, index) : name;
}

double total_mass(const Model& m) {
  double total = 0;
  for (const rigid::Body& b : m.bodies) total += b.mass;
  return total;
}

int depth_of(const Model& m, int body) {
  int depth = 0;
  for (int b = body; b > 0; b = m.bodies[b].parent) ++depth;
  return depth;
}

// One number for what pulls along a line; a force and a torque for what acts on a frame.
std::string gear_text(const Model& m, const rigid::Actuator& a) {
  using Transmission = rigid::TransmissionType;
  const bool on_joint =
      a.transmission == Transmission::joint || a.transmission == Transmission::joint_in_parent;
  const bool frame = on_joint ? dof_size(m.joints[a.target].type) > 1 : a.transmission == Transmission::site;
  std::string text = fmt::format("{:.4g}", a.gear[0]);
  for (std::size_t i = 1; frame && i < a.gear.size(); ++i) text += fmt::format(" {:.4g}", a.gear[i]);
  return text;
}

std::string range_text(bool limited, const rigid::Double2& range) {
  return limited ? fmt::format("{:.4g} to {:.4g}", range[0], range[1]) : "";
}

std::string target_of(const Model& m, const rigid::Actuator& a) {
  const std::size_t at = a.target;
  switch (a.transmission) {
    case rigid::TransmissionType::joint:
    case rigid::TransmissionType::joint_in_parent:
      return "joint " + label(m.joints[at].name, "joint", at);
    case rigid::TransmissionType::tendon:
      return "tendon " + label(m.tendons[at].name, "tendon", at);
    case rigid::TransmissionType::site:
      return "site " + label(m.sites[at].name, "site", at);
  }
  return "";
}

struct Count {
  const char* name;
  std::size_t value;
};
std::vector<Count> counts_of(const Model& m) {
  return {
      {"bodies", m.bodies.size() - 1}, {"joints", m.joints.size()},         {"nq", std::size_t(m.nq)},
      {"nv", std::size_t(m.nv)},       {"na", std::size_t(m.na)},           {"actuators", m.actuators.size()},
      {"geoms", m.geoms.size()},       {"sites", m.sites.size()},           {"meshes", m.meshes.size()},
      {"tendons", m.tendons.size()},   {"equalities", m.equalities.size()}, {"contact pairs", m.pairs.size()},
      {"sensors", m.sensors.size()},   {"keyframes", m.keyframes.size()}};
}

Json as_json(const Model& m, const rigid::Spec& spec) {
  Json json;
  json["file"] = spec.file;
  json["model"] = m.name;
  Json counts = Json::object();
  for (const Count& c : counts_of(m)) counts[c.name] = c.value;
  json["counts"] = counts;
  json["mass"] = total_mass(m);
  json["timestep"] = m.options.timestep;
  json["integrator"] = name_of(m.options.integrator);
  json["gravity"] = m.options.gravity;
  Json bodies = Json::array();
  for (std::size_t i = 1; i < m.bodies.size(); ++i) {
    const rigid::Body& b = m.bodies[i];
    Json joints = Json::array();
    for (int k = b.first_joint; k >= 0 && k < b.first_joint + b.joints; ++k) {
      const rigid::Joint& j = m.joints[k];
      Json joint = {{"name", j.name}, {"type", name_of(j.type)}, {"qpos", j.qpos}, {"dof", j.dof}};
      if (j.limited) joint["range"] = j.range;
      joints.push_back(joint);
    }
    bodies.push_back({{"name", b.name},
                      {"parent", m.bodies[b.parent].name},
                      {"mass", b.mass},
                      {"com", b.com},
                      {"inertia", b.inertia},
                      {"joints", joints}});
  }
  json["bodies"] = bodies;
  Json actuators = Json::array();
  for (const rigid::Actuator& a : m.actuators) {
    Json actuator = {{"name", a.name}, {"target", target_of(m, a)}, {"gear", a.gear[0]}};
    if (a.control_limited) actuator["ctrlrange"] = a.control_range;
    actuators.push_back(actuator);
  }
  json["actuators"] = actuators;
  json["qpos0"] = m.qpos0;
  json["warnings"] = spec.warnings;
  return json;
}

std::string joints_text(const Model& m, const rigid::Body& b) {
  std::string text;
  for (int k = b.first_joint; k >= 0 && k < b.first_joint + b.joints; ++k) {
    const rigid::Joint& j = m.joints[k];
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", label(j.name, "joint", std::size_t(k)),
                        name_of(j.type));
  }
  return text.empty() ? "fixed" : text;
}

}  // namespace

int run_model_info(const Arguments& arguments) {
  if (!arguments.set.empty())
    throw Error({"--set is for studies", arguments.file, "change the model itself"});
  const rigid::Spec spec = rigid::load_spec(arguments.file);
  const Model m = rigid::compile(spec);
  if (arguments.json) {
    print(as_json(m, spec));
    return 0;
  }
  fmt::print("{}: {:.6g} kg, {}, {}\n\n", m.name, total_mass(m), counted(m.nv, "dof"),
             counted(m.nu(), "actuator"));
  Table tree({"body", "mass", "joints"});
  for (std::size_t i = 1; i < m.bodies.size(); ++i) {
    const rigid::Body& b = m.bodies[i];
    tree.row({std::string(2 * std::size_t(depth_of(m, int(i)) - 1), ' ') + label(b.name, "body", i),
              fmt::format("{:.6g}", b.mass), joints_text(m, b)});
  }
  fmt::print("{}", tree.text());
  if (!m.joints.empty()) {
    Table joints({"joint", "type", "qpos", "dof", "range", "damping", "stiffness", "armature"});
    for (std::size_t k = 0; k < m.joints.size(); ++k) {
      const rigid::Joint& j = m.joints[k];
      joints.row({label(j.name, "joint", k), name_of(j.type), std::to_string(j.qpos), std::to_string(j.dof),
                  range_text(j.limited, j.range), fmt::format("{:.4g}", j.damping),
                  fmt::format("{:.4g}", j.stiffness), fmt::format("{:.4g}", j.armature)});
    }
    fmt::print("\n{}", joints.text());
  }
  if (!m.actuators.empty()) {
    Table actuators({"actuator", "acts on", "gear", "control"});
    for (std::size_t k = 0; k < m.actuators.size(); ++k) {
      const rigid::Actuator& a = m.actuators[k];
      actuators.row({label(a.name, "actuator", k), target_of(m, a), gear_text(m, a),
                     range_text(a.control_limited, a.control_range)});
    }
    fmt::print("\n{}", actuators.text());
  }
  fmt::print("\n");
  Table rest;
  std::string counts;
  for (const Count& c : counts_of(m)) {
    if (c.value > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", c.name, c.value);
  }
  rest.row({"counts", counts});
  rest.row({"time step", fmt::format("{:.6g} s, {}", m.options.timestep, name_of(m.options.integrator))});
  rest.row({"gravity", fmt::format("{:.6g} {:.6g} {:.6g}", m.options.gravity[0], m.options.gravity[1],
                                   m.options.gravity[2])});
  for (const std::string& warning : spec.warnings) rest.row({"warning", warning});
  fmt::print("{}", rest.text());
  return 0;
}

}  // namespace costate::app
