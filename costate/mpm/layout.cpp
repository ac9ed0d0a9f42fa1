#include "costate/mpm/layout.h"

#include <algorithm>

#include "costate/mpm/bodies/free_bodies.h"
#include "costate/mpm/laws/law.h"

namespace costate::mpm {

namespace {

template <class T>
std::vector<T> one_for_each(const std::vector<T>& values, std::int64_t count) {
  return values.size() == 1 ? std::vector<T>(static_cast<std::size_t>(count), values[0]) : values;
}

std::vector<double> first(const Vector& v, int count) { return {v.begin(), v.begin() + count}; }

// Of rotations: three in space, the third in a plane.
int turns(int dimension) { return dimension == 3 ? 3 : 1; }
std::vector<double> about_axes(const Vector& v, int dimension) {
  return dimension == 3 ? first(v, 3) : std::vector<double>{v[2]};
}

}  // namespace

Layout::Layout(const Model& model) {
  place_particles(model);
  place_gravity_and_dt(model);
  place_materials(model);
  place_wall_friction(model);
  if (!model.bodies.empty()) place_mechanism(free_bodies(model));
  place_colliders(model);
  actuation = model.actuators > 0 ? control("actuation", model.actuators, "") : -1;
  if (model.mechanism) place_mechanism(model.mechanism);
  for (const char* rough : {"wall/friction*", "collider/*/friction", "body/*/friction"})
    signature.limit(rough, kNotNegative);
}

double Layout::mass_floor(const Model& model, bool in_double) const {
  if (model.mass_floor > 0) return model.mass_floor;
  double lightest = 1e300;
  for (std::size_t i = 0; i < volume.size(); ++i)
    lightest = std::min(lightest, volume[i] * model.materials[material[i]].density);
  return (in_double ? 1e-16 : 1e-12) * lightest;
}

std::int64_t Layout::state(const std::string& name, std::int64_t size, const char* unit) {
  const std::int64_t at = signature.states();
  signature.state(name, size, unit);
  return at;
}
std::int64_t Layout::control(const std::string& name, int size, const char* unit) {
  const std::int64_t at = signature.controls();
  signature.control(name, size, unit);
  return at;
}
std::int64_t Layout::parameter(const std::string& name, std::vector<double> values, const char* unit) {
  const std::int64_t at = signature.parameters();
  signature.parameter(name, std::move(values), unit);
  return at;
}

void Layout::place_particles(const Model& model) {
  const int D = model.dimension;
  particles = particle_count(model);
  const Particles& p = model.particles;
  const auto materials_of = one_for_each(p.material, particles),
             actuators = one_for_each(p.actuator, particles);
  material.assign(materials_of.begin(), materials_of.end());
  actuator.assign(actuators.begin(), actuators.end());
  volume = one_for_each(p.volume, particles);
  x = state("particle/x", particles * D, "m");
  v = state("particle/v", particles * D, "m/s");
  C = state("particle/C", particles * D * D, "1/s");
  F = state("particle/F", particles * D * D, "");
  const bool flows = std::any_of(model.materials.begin(), model.materials.end(),
                                 [](const Material& m) { return law_of(m.kind).plastic.has_value(); });
  plastic = flows ? state("particle/plastic", particles, "") : -1;
}

void Layout::place_gravity_and_dt(const Model& model) {
  gravity = parameter("gravity", first(model.gravity, model.dimension), "m/s^2");
  dt = parameter("dt", {model.dt}, "s");
  signature.limit("dt", kPositive);
}

void Layout::place_materials(const Model& model) {
  std::vector<std::int64_t> count(model.materials.size(), 0);
  index_in_material.resize(particles);
  for (std::size_t i = 0; i < material.size(); ++i)
    index_in_material[i] = static_cast<std::int32_t>(count[material[i]]++);
  for (std::size_t m = 0; m < model.materials.size(); ++m) {
    const Material& source = model.materials[m];
    const auto& each = source.per_particle;
    const Law& law = law_of(source.kind);
    MaterialNumbers numbers{.numbers = {}, .contracts = law.contracts};
    for (const Number& n : law.numbers) {
      const bool per_particle = std::find(each.begin(), each.end(), n.name) != each.end();
      numbers.numbers.push_back({signature.parameters(), per_particle});
      const std::string name = "material/" + source.name + "/" + n.name;
      signature.parameter_field(name, per_particle ? count[m] : 1, source.*n.value, n.unit)
          .limit(name, n.range);
    }
    materials.push_back(numbers);
  }
}

void Layout::place_wall_friction(const Model& model) {
  std::vector<double> friction;
  bool rough = false;
  for (std::size_t face = 0; face < 2 * std::size_t(model.dimension); ++face) {
    rough |= model.walls[face].contact == Contact::coulomb;
    friction.push_back(model.walls[face].friction);
  }
  wall_friction = rough ? parameter("wall/friction", friction, "") : -1;
}

void Layout::place_colliders(const Model& model) {
  const int D = model.dimension;
  for (const Collider& c : model.colliders) {
    const std::string path = "collider/" + c.name + "/";
    ColliderNumbers n{-1, -1, -1, -1, -1, c.moves};
    n.friction = parameter(path + "friction", {c.friction}, "");
    if (c.moves) {
      n.position = control(path + "position", D, "m");
      n.rotation = control(path + "rotation", turns(D), "rad");
      n.velocity = control(path + "velocity", D, "m/s");
      n.angular_velocity = control(path + "angular_velocity", turns(D), "rad/s");
    } else {
      n.position = parameter(path + "position", first(c.position, D), "m");
      n.rotation = parameter(path + "rotation", about_axes(c.rotation, D), "rad");
    }
    colliders.push_back(n);
  }
}

void Layout::place_mechanism(std::shared_ptr<const Mechanism> mechanism) {
  const std::size_t shape = moved.empty() ? 0 : moved.back().shape + moved.back().by->shapes().size();
  moved.push_back({mechanism, signature.states(), signature.controls(), signature.parameters(), shape});
  const Signature& more = mechanism->signature();
  for (const Role role : {Role::state, Role::control, Role::parameter})
    signature.add(role, more.fields(role));
}

}  // namespace costate::mpm
