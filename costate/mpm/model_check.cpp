// What can be wrong with a model, told before the first step.
#include <set>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/mpm/bodies/mechanism.h"
#include "costate/mpm/laws/law.h"

namespace costate::mpm {
namespace {

constexpr std::size_t kMostShapes = 64;

void check_grid(const Model& model) {
  std::int64_t node_count = 1;
  for (std::size_t a = 0; a < std::size_t(model.dimension); ++a) {
    const int n = model.nodes[a];
    if (n < 8) throw Error("the grid needs 8 nodes or more along each axis, not " + std::to_string(n));
    node_count *= n;
    if (node_count > (std::int64_t(1) << 31)) throw Error("the grid has more than 2^31 nodes");
    const Wall &low = model.walls[2 * a], &high = model.walls[2 * a + 1];
    if (low.nodes < 0 || high.nodes < 0 || low.nodes + high.nodes >= n)
      throw Error("walls of " + std::to_string(low.nodes) + " and " + std::to_string(high.nodes) +
                  " nodes leave no space on a grid of " + std::to_string(n));
    if (!(low.friction >= 0) || !(high.friction >= 0)) throw Error("a wall's friction is not negative");
  }
}

// Names are parts of "material/<name>/E", and no two are the same.
void check_name(const std::string& kind, const std::string& plural, const std::string& name,
                std::set<std::string>& names) {
  if (name.empty() || name.find('/') != std::string::npos)
    throw Error("a " + kind + " needs a name without '/'");
  if (!names.insert(name).second) throw Error("two " + plural + " are called \"" + name + "\"");
}

void check_material(const Model& model, const Material& m) {
  const std::string who = "material \"" + m.name + "\"";
  const Law& law = law_of(m.kind);
  if (const std::string wrong = objection(m); !wrong.empty()) throw Error(who + " " + wrong);
  for (const std::string& name : m.per_particle) {
    if (!law.find(name)) throw Error(who + " has no parameter \"" + name + "\" to give to each particle");
  }
  const double speed = law.wave_speed(m), courant = speed * model.dt / model.dx;
  if (courant > 1) {
    throw Error({who + ": sound crosses " + number(courant, 4) + " cells in a step",
                 {},
                 "reduce dt below " + number(model.dx / speed, 4) +
                     ", or make the material softer or the cells larger"});
  }
}

void check_materials(const Model& model) {
  if (model.materials.empty()) throw Error("a material point model needs a material");
  std::set<std::string> names;
  for (const Material& m : model.materials) {
    check_name("material", "materials", m.name, names);
    check_material(model, m);
  }
}

void check_surface(const std::string& who, const Shape& shape, double friction, double band) {
  check(shape);
  if (!(friction >= 0) || !(band >= 0)) throw Error(who + " needs friction and band that are not negative");
}

void check_colliders(const Model& model) {
  if (model.colliders.size() > kMostShapes) throw Error("at most 64 colliders");
  std::set<std::string> names;
  for (const Collider& c : model.colliders) {
    check_name("collider", "colliders", c.name, names);
    check_surface("collider \"" + c.name + "\"", c.shape, c.friction, c.band);
  }
}

bool pushes_back(Contact contact) { return contact != Contact::none && contact != Contact::sticky; }

void check_bodies(const Model& model) {
  const std::size_t moved = model.mechanism ? model.mechanism->shapes().size() : 0;
  if (model.bodies.size() + moved > kMostShapes) throw Error("at most 64 bodies");
  std::set<std::string> names;
  for (const Body& b : model.bodies) {
    const std::string who = "body \"" + b.name + "\"";
    check_name("body", "bodies", b.name, names);
    check_surface(who, b.shape, b.friction, b.band);
    if (!pushes_back(b.contact)) throw Error(who + " needs slip, separate or coulomb contact");
    bool heavy = b.mass > 0 && b.inertia[2] > 0;
    if (model.dimension == 3) heavy = heavy && b.inertia[0] > 0 && b.inertia[1] > 0;
    if (!heavy) throw Error(who + " needs a positive mass and inertia");
  }
}

void check_mechanism(const Mechanism& mechanism, int dimension) {
  for (const Collider& c : mechanism.shapes()) {
    const std::string who = "collider \"" + c.name + "\"";
    check_surface(who, c.shape, c.friction, c.band);
    if (!pushes_back(c.contact))
      throw Error(who + " moves with a body: it needs slip, separate or coulomb contact");
  }
  if (const std::string wrong = mechanism.objection(dimension); !wrong.empty()) throw Error(wrong);
}

void check_particles(const Model& model) {
  const Particles& p = model.particles;
  const int D = model.dimension;
  const std::int64_t n = particle_count(model);
  if (n == 0 || n * D != static_cast<std::int64_t>(p.x.size()))
    throw Error("particles need " + std::to_string(D) + " coordinates each, and there must be one at least");
  if (n > (std::int64_t(1) << 30)) throw Error("more than 2^30 particles");
  const auto fits = [&](std::size_t size, const char* what) {
    if (static_cast<std::int64_t>(size) != n && size != 1)
      throw Error(std::string("particles have ") + std::to_string(size) + " " + what + ", but there are " +
                  std::to_string(n) + " particles");
  };
  if (!p.v.empty() && static_cast<std::int64_t>(p.v.size()) != n * D)
    throw Error("particles have another number of velocities than of positions");
  fits(p.volume.size(), "volumes");
  fits(p.material.size(), "materials");
  fits(p.actuator.size(), "actuators");
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
}

}  // namespace

void check(const Model& model) {
  const int D = model.dimension;
  if (D != 2 && D != 3) throw Error("a material point model has 2 or 3 dimensions, not " + std::to_string(D));
  if (!(model.dx > 0) || !(model.dt > 0)) throw Error("a material point model needs dx > 0 and dt > 0");
  check_grid(model);
  check_materials(model);
  check_colliders(model);
  check_bodies(model);
  if (model.mechanism) check_mechanism(*model.mechanism, D);
  check_particles(model);
  if (!(model.largest_courant > 0)) throw Error("largest_courant is positive");
  if (!(model.mass_floor >= 0)) throw Error("mass_floor is not negative");
}

}  // namespace costate::mpm
