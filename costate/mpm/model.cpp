#include "costate/mpm/model.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "costate/core/error.h"
#include "costate/mpm/bodies/mechanism.h"
#include "costate/mpm/laws/material_numbers.h"
#include "costate/mpm/number_text.h"

namespace costate::mpm {

std::vector<std::string> parameters_of(MaterialKind kind) {
  switch (kind) {
    case MaterialKind::liquid:
      return {"density", "bulk_modulus", "gamma", "viscosity", "tension"};
    case MaterialKind::fixed_corotated:
    case MaterialKind::neo_hookean:
    case MaterialKind::stvk_hencky:
      return {"density", "E", "nu"};
    case MaterialKind::von_mises:
      return {"density", "E", "nu", "yield_stress"};
    case MaterialKind::drucker_prager:
      return {"density", "E", "nu", "friction_angle"};
    case MaterialKind::snow:
      return {"density", "E", "nu", "critical_compression", "critical_stretch", "hardening"};
    case MaterialKind::muscle:
      return {"density", "E", "nu", "strength"};
  }
  return {};
}

double number_of(const Material& material, const std::string& name) {
  if (name == "density") return material.density;
  if (name == "E") return material.E;
  if (name == "nu") return material.nu;
  if (name == "bulk_modulus") return material.bulk_modulus;
  if (name == "gamma") return material.gamma;
  if (name == "viscosity") return material.viscosity;
  if (name == "tension") return material.tension;
  if (name == "yield_stress") return material.yield_stress;
  if (name == "friction_angle") return material.friction_angle;
  if (name == "critical_compression") return material.critical_compression;
  if (name == "critical_stretch") return material.critical_stretch;
  if (name == "hardening") return material.hardening;
  return material.strength;
}

std::string unit_of(const std::string& name) {
  if (name == "density") return "kg/m^3";
  if (name == "viscosity") return "Pa s";
  if (name == "friction_angle") return "rad";
  if (name == "E" || name == "bulk_modulus" || name == "yield_stress" || name == "strength") return "Pa";
  return "";
}

std::int64_t particle_count(const Model& model) {
  return static_cast<std::int64_t>(model.particles.x.size()) / model.dimension;
}

namespace {

// Half extents of a box about the origin (and its centre) that holds the shape.
void bounds(const Shape& shape, Vector& low, Vector& high) {
  const double a = shape.size[0], b = shape.size[1], c = shape.size[2];
  switch (shape.kind) {
    case ShapeKind::sphere:
      low = {-a, -a, -a}, high = {a, a, a};
      return;
    case ShapeKind::box:
      low = {-a, -b, -c}, high = {a, b, c};
      return;
    case ShapeKind::capsule:
      low = {-a, -b - a, -a}, high = {a, b + a, a};
      return;
    case ShapeKind::cylinder:
      low = {-a, -b, -a}, high = {a, b, a};
      return;
    case ShapeKind::cup: {
      double radius = 0, bottom = shape.profile[0][1], top = bottom;
      for (const auto& p : shape.profile)
        radius = std::max(radius, p[0]), bottom = std::min(bottom, p[1]), top = std::max(top, p[1]);
      low = {-radius - a / 2, bottom - a / 2, -radius - a / 2};
      high = {radius + a / 2, top + a / 2, radius + a / 2};
      return;
    }
    case ShapeKind::sampled:
      low = high = shape.lattice->origin;
      for (std::size_t i = 0; i < 3; ++i) high[i] += shape.lattice->spacing * (shape.lattice->points[i] - 1);
      return;
    case ShapeKind::half_space:
      throw Error("a half space has no end: fill a box");
  }
}

template <class T>
void repeat_to(std::vector<T>& values, std::int64_t count, T otherwise) {
  const T value = values.empty() ? otherwise : values[0];
  if (values.size() <= 1) values.assign(static_cast<std::size_t>(count), value);
}

double sound_speed(const Material& m) {
  if (m.kind == MaterialKind::liquid) return std::sqrt(m.bulk_modulus / m.density);
  const double mu = m.E / (2 * (1 + m.nu)), lambda = m.E * m.nu / ((1 + m.nu) * (1 - 2 * m.nu));
  return std::sqrt((lambda + 2 * mu) / m.density);
}

void check_material(const Model& model, const Material& m) {
  const std::string who = "material \"" + m.name + "\"";
  if (m.name.empty() || m.name.find('/') != std::string::npos)
    throw Error("a material needs a name without '/'");
  for (const std::string& name : parameters_of(m.kind)) {
    const double value = number_of(m, name);
    const bool signed_number = name == "nu" || name == "strength";
    const bool may_vanish = name == "viscosity" || name == "hardening" || name == "friction_angle" ||
                            name == "critical_compression" || name == "critical_stretch";
    if (!std::isfinite(value) || (!signed_number && !(may_vanish ? value >= 0 : value > 0)))
      throw Error(who + " needs a positive " + name + ", not " + text_of(value));
    // The cone would open into the wrong half; the smallest stretch would not be one.
    if (name == "friction_angle" && !(value < 1.5707963267948966))
      throw Error(who + " needs a friction_angle below pi/2, not " + text_of(value));
    if (name == "critical_compression" && !(value < 1))
      throw Error(who + " needs a critical_compression below 1, not " + text_of(value));
  }
  if (m.kind != MaterialKind::liquid && !(m.nu > -1 && m.nu < 0.5))
    throw Error(who + " needs -1 < nu < 0.5, not " + text_of(m.nu));
  for (const std::string& name : m.per_particle) {
    const auto known = parameters_of(m.kind);
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error(who + " has no parameter \"" + name + "\" to give to each particle");
  }
  const double courant = sound_speed(m) * model.dt / model.dx;
  if (courant > 1) {
    throw Error({who + ": sound crosses " + text_of(courant) + " cells in a step",
                 {},
                 "reduce dt below " + text_of(model.dx / sound_speed(m)) +
                     ", or make the material softer or the cells larger"});
  }
}

}  // namespace

std::int64_t fill(Model& model, const Shape& shape, const Vector& position, double spacing, int material,
                  const Vector& velocity) {
  check(shape);
  if (!(spacing > 0)) throw Error("filling a shape needs a positive spacing");
  Vector low, high;
  bounds(shape, low, high);
  const int D = model.dimension;
  std::array<std::int64_t, 3> count = {1, 1, 1};
  double volume = 1;
  for (int a = 0; a < D; ++a) {
    const auto i = static_cast<std::size_t>(a);
    count[i] = std::max<std::int64_t>(1, std::llround(std::floor((high[i] - low[i]) / spacing + 1e-9)));
    volume *= spacing;
  }
  Particles& p = model.particles;
  const std::int64_t before = particle_count(model);
  repeat_to(p.volume, before, volume);
  repeat_to(p.material, before, 0);
  repeat_to(p.actuator, before, -1);
  p.v.resize(p.x.size(), 0.0);
  std::int64_t added = 0;
  for (std::int64_t i = 0; i < count[0]; ++i) {
    for (std::int64_t j = 0; j < count[1]; ++j) {
      for (std::int64_t k = 0; k < count[2]; ++k) {
        const Vector x = {low[0] + (double(i) + 0.5) * spacing, low[1] + (double(j) + 0.5) * spacing,
                          D == 3 ? low[2] + (double(k) + 0.5) * spacing : 0.0};
        if (!(signed_distance(shape, x) < 0)) continue;
        for (int a = 0; a < D; ++a) {
          p.x.push_back(x[static_cast<std::size_t>(a)] + position[static_cast<std::size_t>(a)]);
          p.v.push_back(velocity[static_cast<std::size_t>(a)]);
        }
        p.volume.push_back(volume);
        p.material.push_back(material);
        p.actuator.push_back(-1);
        ++added;
      }
    }
  }
  return added;
}

void set_density(Body& body, double density, int dimension) {
  check(body.shape);
  Vector low, high;
  bounds(body.shape, low, high);
  constexpr int kPoints = 80;  // along each axis
  double inside = 0, square[3] = {0, 0, 0}, cell = 1;
  const auto place = [&](std::size_t a, int i) {
    return low[a] + (high[a] - low[a]) * (double(i) + 0.5) / kPoints;
  };
  for (int a = 0; a < dimension; ++a)
    cell *= (high[static_cast<std::size_t>(a)] - low[static_cast<std::size_t>(a)]) / kPoints;
  for (int i = 0; i < kPoints; ++i) {
    for (int j = 0; j < kPoints; ++j) {
      for (int k = 0; k < (dimension == 3 ? kPoints : 1); ++k) {
        const Vector x = {place(0, i), place(1, j), dimension == 3 ? place(2, k) : 0.0};
        if (!(signed_distance(body.shape, x) < 0)) continue;
        inside += 1;
        for (std::size_t a = 0; a < 3; ++a) square[a] += x[a] * x[a];
      }
    }
  }
  body.mass = density * cell * inside;
  const double share = density * cell;
  body.inertia = {share * (square[1] + square[2]), share * (square[0] + square[2]),
                  share * (square[0] + square[1])};
}

void check(const Model& model) {
  const int D = model.dimension;
  if (D != 2 && D != 3) throw Error("a material point model has 2 or 3 dimensions, not " + std::to_string(D));
  if (!(model.dx > 0) || !(model.dt > 0)) throw Error("a material point model needs dx > 0 and dt > 0");
  std::int64_t node_count = 1;
  for (int a = 0; a < D; ++a) {
    const int n = model.nodes[static_cast<std::size_t>(a)];
    if (n < 8) throw Error("the grid needs 8 nodes or more along each axis, not " + std::to_string(n));
    node_count *= n;
    if (node_count > (std::int64_t(1) << 31)) throw Error("the grid has more than 2^31 nodes");
    const Wall &low = model.walls[static_cast<std::size_t>(2 * a)],
               &high = model.walls[static_cast<std::size_t>(2 * a + 1)];
    if (low.nodes < 0 || high.nodes < 0 || low.nodes + high.nodes >= n)
      throw Error("walls of " + std::to_string(low.nodes) + " and " + std::to_string(high.nodes) +
                  " nodes leave no space on a grid of " + std::to_string(n));
    if (!(low.friction >= 0) || !(high.friction >= 0)) throw Error("a wall's friction is not negative");
  }
  if (model.materials.empty()) throw Error("a material point model needs a material");
  std::set<std::string> names;
  for (const Material& m : model.materials) {
    check_material(model, m);
    if (!names.insert(m.name).second) throw Error("two materials are called \"" + m.name + "\"");
  }
  names.clear();
  if (model.colliders.size() > 64) throw Error("at most 64 colliders");
  for (const Collider& c : model.colliders) {
    check(c.shape);
    if (c.name.empty() || c.name.find('/') != std::string::npos)
      throw Error("a collider needs a name without '/'");
    if (!names.insert(c.name).second) throw Error("two colliders are called \"" + c.name + "\"");
    if (!(c.friction >= 0) || !(c.band >= 0))
      throw Error("collider \"" + c.name + "\" needs friction and band that are not negative");
  }
  names.clear();
  const std::vector<Collider> none;
  const std::vector<Collider>& moved = model.mechanism ? model.mechanism->shapes() : none;
  if (model.bodies.size() + moved.size() > 64) throw Error("at most 64 bodies");
  for (const Body& b : model.bodies) {
    check(b.shape);
    if (b.name.empty() || b.name.find('/') != std::string::npos)
      throw Error("a body needs a name without '/'");
    if (!names.insert(b.name).second) throw Error("two bodies are called \"" + b.name + "\"");
    if (!(b.friction >= 0) || !(b.band >= 0))
      throw Error("body \"" + b.name + "\" needs friction and band that are not negative");
    if (b.contact == Contact::none || b.contact == Contact::sticky)
      throw Error("body \"" + b.name + "\" needs slip, separate or coulomb contact");
    bool heavy = b.mass > 0 && b.inertia[2] > 0;
    if (D == 3) heavy = heavy && b.inertia[0] > 0 && b.inertia[1] > 0;
    if (!heavy) throw Error("body \"" + b.name + "\" needs a positive mass and inertia");
  }
  for (const Collider& c : moved) {
    check(c.shape);
    if (!(c.friction >= 0) || !(c.band >= 0))
      throw Error("collider \"" + c.name + "\" needs friction and band that are not negative");
    if (c.contact == Contact::none || c.contact == Contact::sticky)
      throw Error("collider \"" + c.name +
                  "\" moves with a body: it needs slip, separate or coulomb contact");
  }
  if (model.mechanism) {
    if (const std::string objection = model.mechanism->objection(D); !objection.empty())
      throw Error(objection);
  }
  const Particles& p = model.particles;
  const std::int64_t n = particle_count(model);
  if (n == 0 || n * D != static_cast<std::int64_t>(p.x.size()))
    throw Error("particles need " + std::to_string(D) + " coordinates each, and there must be one at least");
  if (n > (std::int64_t(1) << 30)) throw Error("more than 2^30 particles");
  const auto fits = [&](std::size_t size, std::int64_t each, const char* what) {
    if (static_cast<std::int64_t>(size) != each && size != 1)
      throw Error(std::string("particles have ") + std::to_string(size) + " " + what + ", but there are " +
                  std::to_string(n) + " particles");
  };
  if (!p.v.empty() && static_cast<std::int64_t>(p.v.size()) != n * D)
    throw Error("particles have another number of velocities than of positions");
  fits(p.volume.size(), n, "volumes");
  fits(p.material.size(), n, "materials");
  fits(p.actuator.size(), n, "actuators");
  for (double volume : p.volume)
    if (!(volume > 0)) throw Error("a particle's volume is positive");
  for (int m : p.material)
    if (m < 0 || m >= static_cast<int>(model.materials.size()))
      throw Error("particles refer to material " + std::to_string(m) + ", but there are " +
                  std::to_string(model.materials.size()));
  for (int a : p.actuator)
    if (a < -1 || a >= model.actuators)
      throw Error("particles refer to actuator " + std::to_string(a) + ", but there are " +
                  std::to_string(model.actuators));
  if (!(model.largest_courant > 0)) throw Error("largest_courant is positive");
  if (!(model.mass_floor >= 0)) throw Error("mass_floor is not negative");
}

}  // namespace costate::mpm
