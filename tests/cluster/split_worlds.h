// Worlds that are worth splitting, in small, and the bits of their rollouts.
#pragma once

#include <cmath>
#include <cstring>

#include "costate/cluster/world/channels.h"
#include "costate/cluster/world/split_rollout.h"
#include "costate/grid/heat.h"
#include "costate/grid/shallow_water.h"
#include "costate/grid/wave.h"
#include "costate/mpm/system.h"

namespace costate::cluster::test {

// A long beam that is torn apart and turns, so that particles cross every cut. With everything a step can
// have: two materials, a number for each particle, muscles, walls with friction, a collider that is moved.
inline mpm::Model beam(int dimension, mpm::Kernel kernel = mpm::Kernel::quadratic) {
  mpm::Model m;
  m.dimension = dimension;
  m.nodes = {52, 20, dimension == 3 ? 18 : 20};
  m.dx = 0.1;
  m.dt = 2e-3;
  m.kernel = kernel;
  m.materials = {{.name = "gum", .kind = mpm::MaterialKind::neo_hookean, .E = 2e4, .per_particle = {"E"}},
                 {.name = "arm", .kind = mpm::MaterialKind::muscle, .E = 3e4, .strength = 2e3}};
  m.actuators = 2;
  const double half = dimension == 3 ? 0.15 : 0.3;
  fill(m, mpm::Shape::box(0.9, half, half), {1.5, 0.9, 0.9}, 0.05, 0);
  fill(m, mpm::Shape::box(0.8, half, half), {3.2, 0.9, 0.9}, 0.05, 1);
  const std::int64_t n = particle_count(m);
  m.particles.actuator.resize(std::size_t(n), -1);
  for (std::int64_t p = 0; p < n; ++p) {
    const double x = m.particles.x[std::size_t(p * dimension)];
    m.particles.actuator[std::size_t(p)] = int(p % 3) - 1;
    for (int a = 0; a < dimension; ++a)
      m.particles.v[std::size_t(p * dimension + a)] =
          2.5 * std::sin(3 * x + 2 * a) + 0.3 * std::cos(double(p));
  }
  // Neighbours in space are not neighbours in memory.
  for (std::int64_t p = 0; p < n / 2; p += 3)
    for (int a = 0; a < dimension; ++a)
      std::swap(m.particles.x[std::size_t(p * dimension + a)],
                m.particles.x[std::size_t((n - 1 - p) * dimension + a)]);
  m.walls[2] = {.contact = mpm::Contact::coulomb, .friction = 0.4};
  m.colliders = {{.name = "ball", .shape = mpm::Shape::sphere(0.3), .friction = 0.3, .moves = true},
                 {.name = "post", .shape = mpm::Shape::sphere(0.2), .position = {3.1, 1.3, 0.9}}};
  return m;
}

template <class Real>
struct World {
  std::shared_ptr<System<Real>> system;
  Arguments<Real> arguments;
  ObjectivePtr<Real> loss;
  std::int64_t steps = 1;
};

template <class Real>
Arguments<Real> filled(const System<Real>& system, std::int64_t steps) {
  Arguments<Real> a;
  a.parameters = Parameters<Real>(system.signature());
  a.x0.resize(std::size_t(system.signature().states()));
  for (std::size_t i = 0; i < a.x0.size(); ++i) a.x0[i] = Real(0.1 * std::sin(0.37 * double(i)));
  a.controls.resize(std::size_t(steps * system.signature().controls()));
  for (std::size_t i = 0; i < a.controls.size(); ++i) a.controls[i] = Real(0.1 * std::cos(double(i)));
  return a;
}

template <class Real>
World<Real> points(int dimension, std::int64_t steps, mpm::Kernel kernel = mpm::Kernel::quadratic) {
  const mpm::Model model = beam(dimension, kernel);
  World<Real> w;
  w.system = mpm::system<Real>(model);
  w.steps = steps;
  w.arguments = filled(*w.system, steps);
  w.arguments.x0 = mpm::initial_state<Real>(model);
  const Signature& s = w.system->signature();
  const Field& where = s.find(Role::control, "collider/ball/position");
  for (std::int64_t k = 0; k < steps; ++k) {
    Real* u = w.arguments.controls.data() + k * s.controls();
    u[where.offset] = Real(1.4 + 0.004 * double(k)), u[where.offset + 1] = Real(1.35);
    if (dimension == 3) u[where.offset + 2] = Real(0.9);
  }
  std::vector<Real> stiffness(std::size_t(s.find(Role::parameter, "material/gum/E").size));
  for (std::size_t i = 0; i < stiffness.size(); ++i) stiffness[i] = Real(2e4 + 5e3 * std::sin(double(i)));
  w.arguments.parameters.set("material/gum/E", stiffness);
  w.loss = loss::sum<Real>({loss::final<Real>(s, "particle/x", {}),
                            loss::track<Real>(s, "particle/v", {steps / 2}, {}, 0.1),
                            loss::final_value<Real>(s, "particle/F", 7)});
  return w;
}

// A particle of rank 0, far from every cut, that will be said to be too fast.
inline World<double> too_fast() {
  World<double> w = points<double>(2, 24);
  const std::int64_t v = w.system->signature().find(Role::state, "particle/v").offset;
  std::size_t p = 0;
  while (std::abs(w.arguments.x0[2 * p] - 1.0) > 0.03) ++p;
  w.arguments.x0[std::size_t(v) + 2 * p] = 1e3;
  return w;
}

template <class Real>
World<Real> rows(std::shared_ptr<System<Real>> system, std::int64_t steps) {
  World<Real> w{std::move(system), {}, {}, steps};
  w.arguments = filled(*w.system, steps);
  const Signature& s = w.system->signature();
  std::vector<ObjectivePtr<Real>> terms = {loss::final<Real>(s, s.fields(Role::state)[0].name, {}),
                                           loss::track<Real>(s, s.fields(Role::state).back().name, {2}, {})};
  if (s.controls() > 0) terms.push_back(loss::effort<Real>(s, 0.3));
  w.loss = loss::sum<Real>(terms);
  return w;
}
template <class Real>
World<Real> wave() {
  return rows(grid::wave<Real>({.nx = 21, .ny = 17, .damping = 0.01, .sources = {5, 100, 200, 201, 340}}), 9);
}
template <class Real>
World<Real> warm_ring() {
  const grid::HeatSide ring{grid::HeatSide::Kind::periodic}, warm{grid::HeatSide::Kind::temperature, 1.5};
  return rows(grid::heat<Real>({.nx = 13, .ny = 16, .west = warm, .south = ring, .north = ring}), 8);
}
template <class Real>
World<Real> warm_plate() {
  const grid::HeatSide slope{grid::HeatSide::Kind::gradient, 0.3},
      warm{grid::HeatSide::Kind::temperature, 1.5};
  return rows(grid::heat<Real>(
                  {.nx = 12, .ny = 19, .east = slope, .south = warm, .north = slope, .heaters = {3, 150}}),
              8);
}
template <class Real>
World<Real> lake() {
  return rows(grid::shallow_water<Real>({.nx = 15, .ny = 18, .dt = 0.02, .drag = 0.1}), 7);
}

template <class Real>
struct Answer {
  double value = 0;
  std::vector<Real> final_state, x0, controls, parameters;
  std::int64_t halo = 0, moved = 0;  // bytes of all ranks
};

template <class Real>
void append_parameters(const Parameters<Real>& from, std::vector<Real>& to) {
  for (std::size_t f = 0; f < from.signature().fields(Role::parameter).size(); ++f)
    to.insert(to.end(), from.values(f).begin(), from.values(f).end());
}

// By Rollout.
template <class Real>
Answer<Real> alone(const World<Real>& w) {
  Rollout<Real> rollout(w.system, {.steps = w.steps});
  Answer<Real> a;
  a.final_state = rollout.simulate(w.arguments).final_state;
  const auto g = rollout.value_and_gradient(w.arguments, *w.loss);
  a.value = g.value, a.x0 = g.x0, a.controls = g.controls;
  append_parameters(g.parameters, a.parameters);
  return a;
}

// What one rank of many computes: whole on each.
template <class Real>
Answer<Real> of_rank(const World<Real>& w, Channel& channel, const Checkpoints& checkpoints = store_all()) {
  SplitRollout<Real> rollout(w.system, {.steps = w.steps, .checkpoints = checkpoints}, channel);
  const Piece<Real> x0 = rollout.start(w.arguments.x0);
  Answer<Real> a;
  a.final_state = rollout.whole(rollout.simulate(x0, w.arguments));
  a.halo = -channel.sent(Traffic::halo), a.moved = -channel.sent(Traffic::moved);
  const auto g = rollout.value_and_gradient(x0, w.arguments, *w.loss);
  a.halo += channel.sent(Traffic::halo), a.moved += channel.sent(Traffic::moved);
  a.value = g.value, a.x0 = rollout.whole(g.x0), a.controls = g.controls;
  append_parameters(g.parameters, a.parameters);
  return a;
}

template <class Real>
bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0;
}

}  // namespace costate::cluster::test
