// Free rigid bodies among material points: momentum, flotation, exact gradients.
#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "costate/mpm/bodies/body_motion.h"
#include "tests/expect_error.h"
#include "tests/mpm/models.h"

namespace costate::mpm {
namespace {

// A jelly that moves into a turning body, away from every wall.
Model collision(int dimension, Contact contact, Shape shape) {
  Model m;
  m.dimension = dimension;
  m.nodes = {18, 18, 18};
  m.dx = 0.1;
  m.dt = 1e-3;
  m.gravity = {0, 0, 0};
  m.materials = {{.name = "jelly", .kind = MaterialKind::neo_hookean, .density = 1000, .E = 2e4, .nu = 0.3}};
  fill(m, Shape::box(0.2, 0.25, 0.2), {0.7, 0.9, 0.9}, 0.05, 0, {1.5, 0.1, -0.2});
  for (std::size_t i = 0; i < m.particles.x.size(); ++i)
    m.particles.x[i] += 0.011 * std::sin(3.0 * double(i));
  m.bodies = {{.name = "block",
               .shape = std::move(shape),
               .contact = contact,
               .friction = 0.3,
               .mass = dimension == 3 ? 12.0 : 60.0,
               .inertia = {0.11, 0.13, dimension == 3 ? 0.17 : 0.8},
               .position = {1.05, 0.93, 0.88},
               .rotation = {0.1, 0.2, 0.3},
               .velocity = {-0.5, 0.2, 0.1},
               .angular_velocity = {0.4, -0.3, 0.8}}};
  return m;
}

// Half the squared distance of the body's position, orientation and velocity from numbers of no meaning, with
// some of the particles.
ObjectivePtr<double> mixed(const Signature& signature, std::int64_t steps) {
  std::vector<double> weights(std::size_t(signature.states()));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 1e-3 * std::sin(1.0 + double(i));
  for (const Field& f : signature.fields(Role::state)) {
    if (f.name.starts_with("body/"))
      for (std::int64_t i = 0; i < f.size; ++i)
        weights[std::size_t(f.offset + i)] = std::cos(double(3 * f.offset + i));
  }
  return loss::cotangents<double>(signature, {steps}, {weights});
}

constexpr test::Reach kSmooth{
    .stencil = 1e-4, .gate = 1e-9, .taylor = 3e-4};  // no node begins to touch or to slide

void expect_gradients(const Model& m, std::int64_t steps, const test::Reach& reach = kSmooth) {
  const auto system = mpm::system<double>(m);
  Rollout<double> rollout(system, {.steps = steps});
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state<double>(m);
  test::expect_exact_gradient(system, at, mixed(system->signature(), steps), steps, 1, reach);
}

TEST(Body, ExactGradientsInTwoDimensions) {
  expect_gradients(collision(2, Contact::separate, Shape::sphere(0.14)), 8);
}
TEST(Body, ExactGradientsInThreeDimensions) {
  expect_gradients(collision(3, Contact::slip, Shape::capsule(0.1, 0.06)), 4);
}
TEST(Body, ExactGradientsWithFriction) {
  expect_gradients(collision(3, Contact::coulomb, Shape::sphere(0.14)), 4,
                   {.stencil = 1e-6, .gate = 1e-9, .taylor = 3e-5});
}
TEST(Body, TwoBodiesAtOneNodeHaveExactGradients) {
  Model m = collision(2, Contact::separate, Shape::sphere(0.14));
  m.bodies.push_back(m.bodies[0]);
  m.bodies[1].name = "other";
  m.bodies[1].position = {1.02, 0.78, 0};  // not on a node: a sphere has no normal at its centre
  m.gravity = {0.3, -2, 0};
  expect_gradients(m, 5);
}

std::vector<double> field(const Signature& signature, const std::vector<double>& state, const char* name) {
  for (const Field& f : signature.fields(Role::state))
    if (f.name == name) return {state.begin() + f.offset, state.begin() + f.offset + f.size};
  return {};
}

TEST(Body, MomentumOfJellyAndBodyIsConserved) {
  const Model m = collision(3, Contact::coulomb, Shape::box(0.12, 0.15, 0.1));
  const auto system = mpm::system<double>(m);
  Rollout<double> rollout(system, {.steps = 200});
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state<double>(m);
  const auto end = rollout.simulate(at).final_state;
  const auto momentum = [&](const std::vector<double>& state) {
    std::vector<double> p(3, 0.0);
    const auto v = field(system->signature(), state, "particle/v"),
               V = field(system->signature(), state, "body/block/velocity");
    for (std::size_t i = 0; i < v.size(); ++i) p[i % 3] += 1000 * m.particles.volume[i / 3] * v[i];
    for (std::size_t a = 0; a < 3; ++a) p[a] += m.bodies[0].mass * V[a];
    return p;
  };
  const auto before = momentum(at.x0), after = momentum(end);
  for (std::size_t a = 0; a < 3; ++a) EXPECT_NEAR(after[a], before[a], 1e-12 * std::abs(before[0]));
  // And it was a collision.
  EXPECT_GT(field(system->signature(), end, "body/block/velocity")[0], m.bodies[0].velocity[0] + 0.3);
}

TEST(Body, FreeRotationKeepsAngularMomentum) {
  BodyMotion<double> body{{0, 0, 0}, {1, 2, 3}, {0.3, 2, -0.4}, {0.8, 0.2, -0.1, 0.55}};
  const BodyNumbers<double> n{2, {1, 2, 3.5}};
  const auto momentum = [&] {
    const Mat3<double> R = orientation<3>(body.turn);
    const Vec3<double> w = transpose_times(R, body.W);
    return R * Vec3<double>{n.inertia[0] * w.x, n.inertia[1] * w.y, n.inertia[2] * w.z};
  };
  const Vec3<double> before = momentum();
  for (int k = 0; k < 1000; ++k) body = move<3>(body, n, BodySums<double>::zero(), {0, -9.81, 0}, 0.01);
  const Vec3<double> after = momentum();
  for (int a = 0; a < 3; ++a) EXPECT_NEAR(after[a], before[a], 1e-12 * norm(before));
  EXPECT_NEAR(body.V.y, 2 - 9.81 * 10, 1e-10);
}

// Archimedes: a block of half the liquid's density floats half immersed.
TEST(Body, FloatsWithTheDraughtOfArchimedes) {
  for (const double ratio : {0.35, 0.65}) {
    Model m;
    m.dimension = 2;
    m.dx = 0.02;
    m.nodes = {46, 40, 1};
    m.dt = 1e-3;
    m.materials = {{.name = "water",
                    .kind = MaterialKind::liquid,
                    .density = 1000,
                    .bulk_modulus = 1e5,
                    .viscosity = 3}};
    for (Wall& wall : m.walls) wall.contact = Contact::slip;
    const double floor = 3 * m.dx, width = 0.2, height = 0.16, depth = 0.32;
    const double left = 3 * m.dx, right = 43 * m.dx;
    // The block hangs at its draught; water fills the rest, so that little has to settle.
    const double draught = ratio * height, top = floor + depth, centre_y = top - draught + height / 2,
                 centre_x = 0.46;
    fill(m, Shape::box((right - left) / 2, depth / 2), {(left + right) / 2, floor + depth / 2}, m.dx / 2, 0);
    Particles kept;
    kept.volume = {m.dx * m.dx / 4};
    for (std::size_t i = 0; i < m.particles.x.size(); i += 2) {
      const double x = m.particles.x[i], y = m.particles.x[i + 1];
      if (std::abs(x - centre_x) < width / 2 && y > top - draught) continue;
      kept.x.insert(kept.x.end(), {x, y});
    }
    const double lifted = double(m.particles.x.size() - kept.x.size()) / 2 * m.dx * m.dx / 4;
    m.particles = kept;
    m.bodies = {{.name = "block",
                 .shape = Shape::box(width / 2, height / 2),
                 .mass = ratio * 1000 * width * height,
                 .inertia = {1, 1, ratio * 1000 * width * height * (width * width + height * height) / 12},
                 .position = {centre_x, centre_y + 0.02, 0}}};
    EXPECT_NEAR(lifted, width * draught, 0.1 * width * draught);
    const auto system = mpm::system<double>(m);
    Rollout<double> rollout(system, {.steps = 3000, .keep = 10});
    Arguments<double> at = rollout.arguments();
    at.x0 = initial_state<double>(m);
    const auto film = rollout.simulate(at);
    double mean = 0, level = 0;
    std::size_t frames = 0;
    for (std::size_t frame = film.kept.size() / 2; frame < film.kept.size(); ++frame) {
      const std::vector<double> state(film.states.begin() + std::ptrdiff_t(frame * at.x0.size()),
                                      film.states.begin() + std::ptrdiff_t((frame + 1) * at.x0.size()));
      const auto x = field(system->signature(), state, "particle/x");
      // The water's level: the highest particle of each column two cells wide, away from the block; the mean
      // of these.
      double columns[23] = {};
      for (std::size_t i = 0; i < x.size(); i += 2) {
        double& highest = columns[std::size_t(x[i] / (2 * m.dx))];
        highest = std::max(highest, x[i + 1]);
      }
      double sum = 0;
      for (const std::size_t c : {3, 4, 5, 17, 18, 19}) sum += columns[c] / 6;
      level += sum + m.dx / 4;
      mean += field(system->signature(), state, "body/block/position")[1];
      ++frames;
    }
    const double immersed = level / double(frames) - (mean / double(frames) - height / 2);
    EXPECT_NEAR(immersed, draught, m.dx) << "density ratio " << ratio;
  }
}

TEST(Body, WrongBodiesAreRefused) {
  const Model good = collision(2, Contact::separate, Shape::sphere(0.1));
  const auto refuses = [&](const char* what, const auto& change) {
    Model m = good;
    change(m);
    costate::test::expect_error([&] { check(m); }, what);
  };
  refuses("a body needs a name without '/'", [](Model& m) { m.bodies[0].name = "a/b"; });
  refuses("two bodies are called \"block\"", [](Model& m) { m.bodies.push_back(m.bodies[0]); });
  refuses("positive mass and inertia", [](Model& m) { m.bodies[0].mass = 0; });
  refuses("positive mass and inertia", [](Model& m) { m.bodies[0].inertia[2] = -1; });
  refuses("slip, separate or coulomb contact", [](Model& m) { m.bodies[0].contact = Contact::sticky; });
  refuses("friction and band that are not negative", [](Model& m) { m.bodies[0].friction = -1; });
  EXPECT_NO_THROW(check(good));
}

}  // namespace
}  // namespace costate::mpm
