#include "costate/mpm/layout.h"

#include <algorithm>

#include "costate/mpm/bodies/mechanism.h"
#include "costate/mpm/laws/material_numbers.h"

namespace costate::mpm {

namespace {

template <class T>
std::vector<T> one_for_each(const std::vector<T>& values, std::int64_t count) {
  return values.size() == 1 ? std::vector<T>(static_cast<std::size_t>(count), values[0]) : values;
}

bool has_plastic_state(MaterialKind kind) {
  return kind == MaterialKind::snow || kind == MaterialKind::drucker_prager;
}

std::vector<double> first(const Vector& v, int count) { return {v.begin(), v.begin() + count}; }

}  // namespace

Layout::Layout(const Model& model) {
  const int D = model.dimension;
  particles = particle_count(model);
  const Particles& p = model.particles;
  const auto materials_of = one_for_each(p.material, particles),
             actuators = one_for_each(p.actuator, particles);
  material.assign(materials_of.begin(), materials_of.end());
  actuator.assign(actuators.begin(), actuators.end());
  volume = one_for_each(p.volume, particles);
  std::vector<std::int64_t> count(model.materials.size(), 0);
  index_in_material.resize(static_cast<std::size_t>(particles));
  for (std::size_t i = 0; i < material.size(); ++i)
    index_in_material[i] = static_cast<std::int32_t>(count[static_cast<std::size_t>(material[i])]++);

  const auto state = [&](const char* name, std::int64_t size, const char* unit) {
    const std::int64_t at = signature.states();
    signature.state(name, size, unit);
    return at;
  };
  x = state("particle/x", particles * D, "m");
  v = state("particle/v", particles * D, "m/s");
  C = state("particle/C", particles * D * D, "1/s");
  F = state("particle/F", particles * D * D, "");
  plastic = -1;
  if (std::any_of(model.materials.begin(), model.materials.end(),
                  [](const Material& m) { return has_plastic_state(m.kind); }))
    plastic = state("particle/plastic", particles, "");

  const int turns = D == 3 ? 3 : 1;
  for (const Body& b : model.bodies) {
    const std::string path = "body/" + b.name + "/";
    const auto body_state = [&](const char* name, std::int64_t size, const char* unit) {
      return state((path + name).c_str(), size, unit);
    };
    bodies.push_back({body_state("position", D, "m"), body_state("orientation", D == 3 ? 4 : 1, ""),
                      body_state("velocity", D, "m/s"), body_state("angular_velocity", turns, "rad/s"), -1,
                      -1, -1});
  }

  const auto parameter = [&](const std::string& name, std::vector<double> values, const std::string& unit) {
    const std::int64_t at = signature.parameters();
    signature.parameter(name, std::move(values), unit);
    return at;
  };
  gravity = parameter("gravity", first(model.gravity, D), "m/s^2");
  dt = parameter("dt", {model.dt}, "s");
  for (std::size_t m = 0; m < model.materials.size(); ++m) {
    const Material& source = model.materials[m];
    MaterialNumbers numbers;
    for (const std::string& name : parameters_of(source.kind)) {
      const bool each = std::find(source.per_particle.begin(), source.per_particle.end(), name) !=
                        source.per_particle.end();
      const std::int64_t at = signature.parameters();
      signature.parameter_field("material/" + source.name + "/" + name, each ? count[m] : 1,
                                number_of(source, name), unit_of(name));
      numbers.numbers.push_back({at, each});
    }
    materials.push_back(numbers);
  }
  wall_friction = -1;
  std::vector<double> friction;
  bool rough = false;
  for (int face = 0; face < 2 * D; ++face) {
    const Wall& wall = model.walls[static_cast<std::size_t>(face)];
    rough |= wall.contact == Contact::coulomb;
    friction.push_back(wall.friction);
  }
  if (rough) wall_friction = parameter("wall/friction", friction, "");

  const auto control = [&](const std::string& name, int size, const char* unit) {
    const std::int64_t at = signature.controls();
    signature.control(name, size, unit);
    return at;
  };
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const Body& body = model.bodies[b];
    const std::string path = "body/" + body.name + "/";
    bodies[b].mass = parameter(path + "mass", {body.mass}, "kg");
    bodies[b].inertia = parameter(
        path + "inertia", D == 3 ? first(body.inertia, 3) : std::vector<double>{body.inertia[2]}, "kg m^2");
    bodies[b].friction = parameter(path + "friction", {body.friction}, "");
  }
  for (const Collider& c : model.colliders) {
    const std::string path = "collider/" + c.name + "/";
    ColliderNumbers n{-1, -1, -1, -1, -1};
    n.friction = parameter(path + "friction", {c.friction}, "");
    if (c.moves) {
      n.position = control(path + "position", D, "m");
      n.rotation = control(path + "rotation", turns, "rad");
      n.velocity = control(path + "velocity", D, "m/s");
      n.angular_velocity = control(path + "angular_velocity", turns, "rad/s");
    } else {
      n.position = parameter(path + "position", first(c.position, D), "m");
      n.rotation = parameter(path + "rotation",
                             D == 3 ? first(c.rotation, 3) : std::vector<double>{c.rotation[2]}, "rad");
    }
    colliders.push_back(n);
  }
  actuation = model.actuators > 0 ? control("actuation", model.actuators, "") : -1;

  mechanism_x = signature.states(), mechanism_u = signature.controls(), mechanism_p = signature.parameters();
  if (!model.mechanism) return;
  const Signature& more = model.mechanism->signature();
  for (const Field& f : more.fields(Role::state)) signature.state(f.name, f.size, f.unit);
  for (const Field& f : more.fields(Role::control)) signature.control(f.name, f.size, f.unit);
  for (const Field& f : more.fields(Role::parameter)) {
    if (f.defaults.size() == 1)
      signature.parameter_field(f.name, f.size, f.defaults[0], f.unit);
    else
      signature.parameter(f.name, f.defaults, f.unit);
  }
}

}  // namespace costate::mpm
