#include "costate/rigid/spec.h"

#include <utility>

#include "costate/core/error.h"
#include "costate/core/names.h"

namespace costate::rigid {
namespace {

GeomSpec between(std::string name, GeomType type, Vector from, Vector to, double radius) {
  GeomSpec geom{.name = std::move(name), .type = type, .size = {radius, 0, 0}};
  geom.fromto = {from.x, from.y, from.z, to.x, to.y, to.z};
  return geom;
}

// Calls visit(body) for the whole tree until it returns a pointer.
template <class Visit>
auto search(BodySpec& body, const Visit& visit) -> decltype(visit(body)) {
  if (auto* found = visit(body)) return found;
  for (BodySpec& child : body.children) {
    if (auto* found = search(child, visit)) return found;
  }
  return nullptr;
}

[[noreturn]] void unknown(const char* kind, const std::string& name, const std::vector<std::string>& known) {
  const std::string near = nearest_name(name, known);
  throw Error({std::string("there is no ") + kind + " '" + name + "'",
               {},
               near.empty() ? std::string() : "did you mean '" + near + "'?"});
}

template <class Elements>
auto* find(Elements& elements, const std::string& name, std::vector<std::string>& known) {
  for (auto& element : elements) {
    if (element.name == name) return &element;
    if (!element.name.empty()) known.push_back(element.name);
  }
  return static_cast<decltype(&elements.front())>(nullptr);
}

}  // namespace

BodySpec& BodySpec::body(std::string child_name, Vector position, Rotation rotation) {
  BodySpec child;
  child.name = std::move(child_name);
  child.pos = position;
  child.quat = rotation;
  return add(std::move(child));
}
BodySpec& BodySpec::add(BodySpec child) {
  children.push_back(std::move(child));
  return children.back();
}
BodySpec& BodySpec::add(JointSpec joint) {
  joints.push_back(std::move(joint));
  return *this;
}
BodySpec& BodySpec::add(GeomSpec geom) {
  geoms.push_back(std::move(geom));
  return *this;
}
BodySpec& BodySpec::add(SiteSpec s) {
  sites.push_back(std::move(s));
  return *this;
}
BodySpec& BodySpec::set(InertialSpec value) {
  inertial = std::move(value);
  return *this;
}
BodySpec& BodySpec::mass(double value, const Vector& center, const Sym3<double>& inertia) {
  return set({.mass = value, .pos = center, .inertia = inertia});
}

BodySpec& BodySpec::free(std::string joint_name) {
  return add(JointSpec{.name = std::move(joint_name), .type = JointType::free});
}
BodySpec& BodySpec::ball(std::string joint_name, Vector position) {
  return add(JointSpec{.name = std::move(joint_name), .type = JointType::ball, .pos = position});
}
BodySpec& BodySpec::hinge(std::string joint_name, Vector axis, Vector position) {
  return add(JointSpec{.name = std::move(joint_name), .pos = position, .axis = axis});
}
BodySpec& BodySpec::slide(std::string joint_name, Vector axis) {
  return add(JointSpec{.name = std::move(joint_name), .type = JointType::slide, .axis = axis});
}

BodySpec& BodySpec::sphere(std::string geom_name, Vector center, double radius) {
  return add(GeomSpec{.name = std::move(geom_name), .size = {radius, 0, 0}, .pos = center});
}
BodySpec& BodySpec::capsule(std::string geom_name, Vector from, Vector to, double radius) {
  return add(between(std::move(geom_name), GeomType::capsule, from, to, radius));
}
BodySpec& BodySpec::cylinder(std::string geom_name, Vector from, Vector to, double radius) {
  return add(between(std::move(geom_name), GeomType::cylinder, from, to, radius));
}
BodySpec& BodySpec::box(std::string geom_name, Vector center, Vector half) {
  return add(GeomSpec{
      .name = std::move(geom_name), .type = GeomType::box, .size = {half.x, half.y, half.z}, .pos = center});
}
BodySpec& BodySpec::ellipsoid(std::string geom_name, Vector center, Vector half) {
  return add(GeomSpec{.name = std::move(geom_name),
                      .type = GeomType::ellipsoid,
                      .size = {half.x, half.y, half.z},
                      .pos = center});
}
BodySpec& BodySpec::plane(std::string geom_name, Vector position) {
  return add(
      GeomSpec{.name = std::move(geom_name), .type = GeomType::plane, .size = {0, 0, 1}, .pos = position});
}
BodySpec& BodySpec::site(std::string site_name, Vector position) {
  return add(SiteSpec{.name = std::move(site_name), .pos = position});
}

JointSpec& BodySpec::last_joint() {
  if (joints.empty()) throw Error("body '" + name + "' has no joint yet");
  return joints.back();
}
GeomSpec& BodySpec::last_geom() {
  if (geoms.empty()) throw Error("body '" + name + "' has no geom yet");
  return geoms.back();
}

ActuatorSpec ActuatorSpec::motor(std::string name, std::string joint, double gear) {
  ActuatorSpec a;
  a.name = std::move(name);
  a.target = std::move(joint);
  a.gear[0] = gear;
  return a;
}
ActuatorSpec ActuatorSpec::position(std::string name, std::string joint, double kp, double kv) {
  ActuatorSpec a = motor(std::move(name), std::move(joint));
  a.bias = BiasType::affine;
  a.gainprm[0] = kp;
  a.biasprm[1] = -kp;
  a.biasprm[2] = -kv;
  return a;
}
ActuatorSpec ActuatorSpec::velocity(std::string name, std::string joint, double kv) {
  ActuatorSpec a = motor(std::move(name), std::move(joint));
  a.bias = BiasType::affine;
  a.gainprm[0] = kv;
  a.biasprm[2] = -kv;
  return a;
}
ActuatorSpec ActuatorSpec::damper(std::string name, std::string joint, double kv, double ctrl_max) {
  ActuatorSpec a = motor(std::move(name), std::move(joint));
  a.gain = GainType::affine;
  a.gainprm = {0, 0, -kv};
  return a.limit_ctrl(0, ctrl_max);
}
ActuatorSpec& ActuatorSpec::limit_ctrl(double low, double high) {
  ctrl_limited = true;
  ctrl_range = {low, high};
  return *this;
}
ActuatorSpec& ActuatorSpec::limit_force(double low, double high) {
  force_limited = true;
  force_range = {low, high};
  return *this;
}

Spec::Spec(std::string model_name) : name(std::move(model_name)) { world.name = "world"; }

Spec& Spec::add(MeshSpec mesh) { return meshes.push_back(std::move(mesh)), *this; }
Spec& Spec::add(HeightFieldSpec hfield) { return hfields.push_back(std::move(hfield)), *this; }
Spec& Spec::add(PairSpec pair) { return pairs.push_back(std::move(pair)), *this; }
Spec& Spec::add(ExcludeSpec exclude) { return excludes.push_back(std::move(exclude)), *this; }
Spec& Spec::add(EqualitySpec equality) { return equalities.push_back(std::move(equality)), *this; }
Spec& Spec::add(TendonSpec tendon) { return tendons.push_back(std::move(tendon)), *this; }
Spec& Spec::add(ActuatorSpec actuator) { return actuators.push_back(std::move(actuator)), *this; }
Spec& Spec::add(SensorSpec sensor) { return sensors.push_back(std::move(sensor)), *this; }
Spec& Spec::add(KeyframeSpec keyframe) { return keyframes.push_back(std::move(keyframe)), *this; }

BodySpec& Spec::body(const std::string& body_name) {
  std::vector<std::string> known;
  BodySpec* const found = search(world, [&](BodySpec& b) -> BodySpec* {
    known.push_back(b.name);
    return b.name == body_name ? &b : nullptr;
  });
  if (!found) unknown("body", body_name, known);
  return *found;
}
JointSpec& Spec::joint(const std::string& joint_name) {
  std::vector<std::string> known;
  JointSpec* const found = search(world, [&](BodySpec& b) { return find(b.joints, joint_name, known); });
  if (!found) unknown("joint", joint_name, known);
  return *found;
}
GeomSpec& Spec::geom(const std::string& geom_name) {
  std::vector<std::string> known;
  GeomSpec* const found = search(world, [&](BodySpec& b) { return find(b.geoms, geom_name, known); });
  if (!found) unknown("geom", geom_name, known);
  return *found;
}

}  // namespace costate::rigid
