#include "costate/mpm/bodies/collider.h"

#include <gtest/gtest.h>

#include "tests/mpm/models.h"
#include "tests/system/contract.h"

namespace costate::mpm {
namespace {

// A block that falls onto a body which moves and turns.
Model impact(int dimension, Shape shape, Contact contact) {
  Model m;
  m.dimension = dimension;
  m.nodes = {18, 18, 18};
  m.dx = 0.1;
  m.dt = 1e-3;
  m.materials = {{.name = "body", .density = 900, .E = 2e4, .nu = 0.28}};
  m.colliders = {{.name = "tool",
                  .shape = std::move(shape),
                  .contact = contact,
                  .friction = 0.3,
                  .band = 1.3,
                  .moves = true}};
  fill(m, Shape::box(0.22, 0.17, 0.22), {0.9, 0.9, 0.9}, 0.05, 0, {0.2, -1.1, 0.1});
  for (std::size_t i = 0; i < m.particles.x.size(); ++i) m.particles.x[i] += 0.003 * std::sin(double(7 * i));
  return m;
}

void expect_gradients(const Model& model, std::vector<double> position, std::vector<double> rotation) {
  const auto system = mpm::system<double>(model);
  Rollout<double> rollout(system, {.steps = 6, .hold = 2});
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state<double>(model);
  const int D = model.dimension, turns = D == 3 ? 3 : 1;
  const std::vector<double> velocity = {0.3, 0.4, -0.2}, spin = {0.5, -0.7, 0.4};
  const std::size_t controls = std::size_t(system->signature().controls());
  for (std::size_t k = 0; k < std::size_t(rollout.knots()); ++k) {
    double* u = &at.controls[k * controls];
    for (int a = 0; a < D; ++a)
      u[a] = position[std::size_t(a)] + 0.001 * double(k), u[D + turns + a] = velocity[std::size_t(a)];
    for (int a = 0; a < turns; ++a)
      u[D + a] = rotation[std::size_t(a)], u[2 * D + turns + a] = spin[std::size_t(a)];
  }
  const auto objective = test::mean_position<double>(particle_count(model), D, {0.5, 0.2, 0.3});
  test::expect_exact_gradient(system, at, objective, 6, 2, {.stencil = D == 3 ? 1e-6 : 3e-7});
  // The collider matters: every one of its inputs has a gradient.
  const auto g = rollout.value_and_gradient(at, *objective);
  double size = 0;
  for (std::size_t c = 0; c < std::size_t(2 * D + 2 * turns); ++c) size += std::abs(g.controls[c]);
  EXPECT_GT(size, 1e-8);
}

TEST(Collider, SphereHasExactGradients) {
  expect_gradients(impact(3, Shape::sphere(0.3), Contact::coulomb), {0.92, 0.46, 0.88}, {0.2, 0.1, -0.3});
  expect_gradients(impact(2, Shape::sphere(0.3), Contact::coulomb), {0.92, 0.46}, {0.2});
}
TEST(Collider, BoxHasExactGradients) {
  expect_gradients(impact(3, Shape::box(0.4, 0.15, 0.35), Contact::separate), {0.92, 0.56, 0.88},
                   {0.1, 0.3, -0.12});
  expect_gradients(impact(2, Shape::box(0.4, 0.15), Contact::coulomb), {0.92, 0.56}, {0.2});
}
TEST(Collider, CapsuleHasExactGradients) {
  expect_gradients(impact(3, Shape::capsule(0.2, 0.3), Contact::coulomb), {0.92, 0.56, 0.88},
                   {0.1, 0.3, 1.4});
}
TEST(Collider, CylinderHasExactGradients) {
  expect_gradients(impact(3, Shape::cylinder(0.35, 0.15), Contact::slip), {0.92, 0.56, 0.88},
                   {0.1, 0.3, 0.2});
}
TEST(Collider, HalfSpaceHasExactGradients) {
  expect_gradients(impact(3, Shape::half_space(), Contact::coulomb), {0.9, 0.7, 0.9}, {0.1, 0.2, -0.15});
  expect_gradients(impact(2, Shape::half_space(), Contact::sticky), {0.9, 0.7}, {0.1});
}
TEST(Collider, CupHasExactGradients) {
  expect_gradients(impact(3, Shape::cup(0.33, 0.5, 0.2), Contact::coulomb), {0.91, 0.62, 0.88},
                   {0.1, 0.2, -0.15});
  expect_gradients(impact(2, Shape::cup(0.33, 0.5, 0.2), Contact::separate), {0.91, 0.62}, {0.1});
}
// The normal of a sampled shape jumps at the faces of its lattice: this pose keeps every node away from them.
TEST(Collider, SampledShapeHasExactGradients) {
  DistanceLattice lattice{.points = {13, 13, 13}, .origin = {-0.6, -0.6, -0.6}, .spacing = 0.1};
  for (int i = 0; i < 13; ++i)
    for (int j = 0; j < 13; ++j)
      for (int k = 0; k < 13; ++k)
        lattice.phi.push_back(
            std::sqrt(0.01 * ((i - 6) * (i - 6) + (j - 6) * (j - 6) + 2 * (k - 6) * (k - 6))) - 0.3);
  expect_gradients(impact(3, Shape::sampled(lattice), Contact::coulomb), {0.945, 0.46, 0.8885},
                   {0.1, 0.2, -0.15});
}

// A resting collider's pose is a parameter.
TEST(Collider, RestingPoseIsDifferentiable) {
  Model m = impact(3, Shape::sphere(0.3), Contact::coulomb);
  m.colliders[0].moves = false;
  m.colliders[0].position = {0.92, 0.46, 0.88};
  m.walls[2] = {Contact::coulomb, 3, 0.2};
  const auto system = mpm::system<double>(m);
  Rollout<double> rollout(system, {.steps = 6});
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state<double>(m);
  const auto objective = test::mean_position<double>(particle_count(m), 3, {0.5, 0.2, 0.3});
  test::expect_exact_gradient(system, at, objective, 6);
  const auto g = rollout.value_and_gradient(at, *objective);
  EXPECT_GT(std::abs(g.parameters["collider/tool/position"][1]), 1e-6);
  EXPECT_GT(std::abs(g.parameters["collider/tool/friction"][0]), 1e-9);
}

// A sliding block: every node loses mu times the normal impulse it receives, so dv_x = -mu (g T + dv_y) for
// the mean velocity.
TEST(Wall, FrictionDeceleratesASlidingBlock) {
  Model m;
  m.dimension = 2;
  m.nodes = {64, 24, 1};
  m.dx = 0.05;
  m.dt = 5e-4;
  m.materials = {{.name = "brick", .density = 1000, .E = 4e5, .nu = 0.2}};
  m.walls[2] = {Contact::coulomb, 3, 0.3};
  fill(m, Shape::box(0.3, 0.1), {0.8, 0.225}, 0.025, 0, {1.5, 0});
  Rollout<double> rollout(mpm::system<double>(m), {.steps = 600});
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state<double>(m);
  const auto end = rollout.simulate(at).final_state;
  const std::int64_t n = particle_count(m);
  double vx = 0, vy = 0;
  for (std::int64_t p = 0; p < n; ++p) {
    vx += end[std::size_t(2 * (n + p))] / double(n);
    vy += end[std::size_t(2 * (n + p) + 1)] / double(n);
  }
  EXPECT_NEAR(vx, 1.5 - 0.3 * (9.81 * 0.3 + vy), 1e-10);
  EXPECT_LT(vx, 0.7);
}

TEST(Wall, EveryKindOfContactHasExactGradients) {
  for (const Contact contact : {Contact::sticky, Contact::slip, Contact::separate, Contact::coulomb}) {
    Model m = impact(3, Shape::sphere(0.3), Contact::coulomb);
    m.colliders.clear();
    for (std::size_t f = 0; f < 6; ++f) m.walls[f] = {contact, f % 2 == 0 ? 7 : 5, 0.1 + 0.1 * double(f)};
    const auto system = mpm::system<double>(m);
    Rollout<double> rollout(system, {.steps = 6});
    Arguments<double> at = rollout.arguments();
    at.x0 = initial_state<double>(m);
    const auto objective = test::mean_position<double>(particle_count(m), 3, {0.5, 0.2, 0.3});
    // Taylor's remainder would be all rounding before the next corner.
    test::expect_exact_gradient(system, at, objective, 6, 1, {.taylor = 0});
  }
}

}  // namespace
}  // namespace costate::mpm
