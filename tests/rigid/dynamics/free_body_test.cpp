// One rigid body in empty space: closed forms.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/quat.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/rollout.h"
#include "tests/rigid/models.h"

namespace costate::rigid {
namespace {

Model free_body(Double3 moments, Integrator integrator, double dt) {
  Model m;
  m.options.gravity = {0, 0, 0};
  m.options.integrator = integrator;
  m.options.timestep = dt;
  m.bodies.resize(2);
  m.bodies[1].name = "body";
  m.bodies[1].parent = 0;
  m.bodies[1].mass = 2;
  m.bodies[1].inertia = {moments[0], moments[1], moments[2], 0, 0, 0};
  m.joints.resize(1);
  m.joints[0].type = JointType::free;
  m.joints[0].body = 1;
  complete(m);
  return m;
}

struct Momentum {
  Vec3<double> linear, angular;
  double energy;
};

// Of a body whose centre of mass is its origin: p = m v, L = x x p + R I w, E = (m v^2 + w I w)/2.
Momentum momentum_of(const std::vector<double>& x, const Double3& moments) {
  const Quat<double> q{x[3], x[4], x[5], x[6]};
  const Vec3<double> position{x[0], x[1], x[2]}, v{x[7], x[8], x[9]}, w{x[10], x[11], x[12]};
  const Vec3<double> Iw{moments[0] * w.x, moments[1] * w.y, moments[2] * w.z};
  return {2.0 * v, cross(position, 2.0 * v) + rotate(q, Iw), dot(v, v) + 0.5 * dot(w, Iw)};
}

std::vector<double> run(const Model& model, const std::vector<double>& x0, std::int64_t steps) {
  Rollout<double> rollout(make_system<double>(model), {.steps = steps});
  auto at = rollout.arguments();
  at.x0 = x0;
  return rollout.simulate(at).final_state;
}

const std::vector<double> kSpinning = {0.1, 0.2, 0.3, 1, 0, 0, 0, 0.5, -0.2, 0.1, 1.0, 0.5, -0.3};

TEST(FreeBody, MomentumDriftsLessThan1e8Over500Steps) {
  const Double3 moments = {2, 1, 3};
  const Momentum before = momentum_of(kSpinning, moments),
                 after = momentum_of(run(free_body(moments, Integrator::rk4, 0.01), kSpinning, 500), moments);
  EXPECT_LT(norm(after.linear - before.linear), 1e-12);
  EXPECT_LT(norm(after.angular - before.angular), 1e-8);
  EXPECT_LT(std::abs(after.energy - before.energy), 1e-8);
}

TEST(FreeBody, AnAxisymmetricBodyPrecessesAtTheClosedFormsRate) {
  // I = (1, 1, 2): w_z is constant and (w_x, w_y) turns at the rate (I_z - I_x) w_z / I_x.
  const std::vector<double> x0 = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0.4, 0, 1.5};
  const double dt = 1e-3;
  const auto end = run(free_body({1, 1, 2}, Integrator::rk4, dt), x0, 1000);
  EXPECT_NEAR(end[10], 0.4 * std::cos(1.5), 1e-12);
  EXPECT_NEAR(end[11], 0.4 * std::sin(1.5), 1e-12);
  EXPECT_NEAR(end[12], 1.5, 1e-12);
}

TEST(FreeBody, RotationAboutTheIntermediateAxisFlips) {
  std::vector<double> x0 = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 15, 0.01, 0};
  double lowest = 15, highest = -15;
  const Model model = free_body({2, 1, 3}, Integrator::rk4, 0.001);
  for (int i = 0; i < 40; ++i) {
    x0 = run(model, x0, 100);
    lowest = std::min(lowest, x0[10]);
    highest = std::max(highest, x0[10]);
  }
  EXPECT_LT(lowest, -14.9);
  EXPECT_GT(highest, 14.9);
  const Momentum m = momentum_of(x0, {2, 1, 3});
  EXPECT_NEAR(norm(m.angular) / std::hypot(30.0, 0.01), 1, 1e-6);
}

// Fourth order for rotations too.
TEST(FreeBody, Rk4IsOfFourthOrder) {
  const std::vector<double> x0 = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2.0, 1.5, -1.0};
  const auto fine = run(free_body({2, 1, 3}, Integrator::rk4, 1.0 / 4096), x0, 4096);
  std::vector<double> logs;
  for (int n : {8, 16, 32, 64, 128, 256}) {
    const auto end = run(free_body({2, 1, 3}, Integrator::rk4, 1.0 / n), x0, n);
    double error = 0;
    for (std::size_t i = 3; i < 7; ++i) error += (end[i] - fine[i]) * (end[i] - fine[i]);
    logs.push_back(0.5 * std::log2(error));
  }
  double order = 0;  // least squares over the last five halvings
  for (std::size_t i = 0; i < logs.size(); ++i) order -= (double(i) - 2.5) * logs[i] / 17.5;
  EXPECT_NEAR(order, 4, 0.1);
}

}  // namespace
}  // namespace costate::rigid
