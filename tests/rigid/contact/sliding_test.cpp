// A body pushed over a floor: Coulomb's closed form and its derivatives.
//
//   x(T) = v0 T + (F/m - mu g) T^2 / 2,      dx/dmu = -g T^2 / 2,      dx/dm = -F T^2 / (2 m^2),
//       dx/dF = T^2 / (2 m)
//
// MuJoCo's soft contact knows Coulomb's law in a window of speeds only. Below it the body creeps, braked by
// less than mu N; above it a sliding body is lifted off the floor and hops. In between it rides at a height
// that depends on its speed. With N/n the push on one of n points, w the inverse weight, and K, B, d
// stiffness, damping and impedance of an elliptic contact:
//
//   K d r = mu B v - E,    E = (1 + mu^2) w (N/n) (1 - d)/d,             E mu^2/(1 + mu^2) < mu B v < E
//
// The body starts there. It rises as it gets faster, so that the floor pushes with a little more than the
// weight: a short time constant keeps that small. (A pyramid has no such window: its edges across the motion
// carry weight and brake nothing.)
#include <gtest/gtest.h>

#include "costate/rigid/derived_parameters.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/rollout.h"

namespace costate::rigid {
namespace {

constexpr double kGravity = 9.81, kMass = 1.5, kMu = 0.5, kStep = 0.0005;
constexpr double kPush = kMass * (kMu * kGravity + 0.001), kTime = 0.004, kImpedance = 0.5;

// It does not turn: only slides along x and z.
Model sled(GeomType shape) {
  Model m;
  m.options.cone = ConeType::elliptic;
  m.options.timestep = kStep;
  m.bodies.resize(2);
  m.bodies[1].name = "sled";
  m.bodies[1].parent = 0;
  m.bodies[1].mass = kMass;
  m.bodies[1].inertia = {0.01, 0.01, 0.01, 0, 0, 0};
  for (const Double3& axis : {Double3{1, 0, 0}, Double3{0, 0, 1}}) {
    Joint j;
    j.type = JointType::slide;
    j.body = 1;
    j.axis = axis;
    m.joints.push_back(j);
  }
  Geom floor, runner;
  floor.name = "floor";
  floor.type = GeomType::plane;
  floor.friction[0] = kMu;
  runner.name = "runner";
  runner.type = shape;
  runner.body = 1;
  runner.size = {0.1, 0.1, 0.1};
  runner.friction[0] = 0.1;
  floor.contact.solref = runner.contact.solref = {kTime, 1};
  floor.contact.solimp = runner.contact.solimp = {kImpedance, kImpedance, 0.001, 0.5, 2};
  m.geoms = {floor, runner};
  complete(m);
  return m;
}

// Sliding in the middle of the window.
std::vector<double> start(GeomType shape) {
  const double points = shape == GeomType::box ? 4 : 1,
               soft = kGravity / points * (1 - kImpedance) / kImpedance;
  const double stiffness = 1 / (kImpedance * kImpedance * kTime * kTime), damping = 2 / (kImpedance * kTime);
  const double full = (1 + kMu * kMu) * soft, lift = 0.7 * full;  // E, mu B v
  return {0, 0.1 + (lift - full) / (stiffness * kImpedance), lift / (kMu * damping), 0};
}

void expect_closed_form(GeomType shape) {
  const Model m = sled(shape);
  const auto system = make_system<double>(m, {.applied_forces = true});
  const std::int64_t steps = 1000;
  const double T = kStep * double(steps);
  Rollout<double> rollout(system, {.steps = steps, .hold = steps});
  auto at = rollout.arguments();
  at.x0 = start(shape);
  at.controls = {kPush, 0};
  const auto objective = loss::cotangents<double>(system->signature(), {steps}, {{1, 0, 0, 0}});
  const auto g = rollout.value_and_gradient(at, *objective);
  const double x = rollout.simulate(at).final_state[0];
  const double expected = at.x0[2] * T + (kPush / kMass - kMu * kGravity) * T * T / 2;
  EXPECT_NEAR(x, expected, 0.01 * expected);
  auto parameters = g.parameters;
  chain_inverse_weights(m, at.parameters, parameters);
  const double by_mu = -kGravity * T * T / 2, by_mass = -kPush * T * T / (2 * kMass * kMass);
  EXPECT_NEAR(parameters["geom/floor/friction"][0], by_mu, 0.01 * std::abs(by_mu));
  EXPECT_NEAR(parameters["body/sled/mass"][0], by_mass, 0.01 * std::abs(by_mass));
  EXPECT_NEAR(g.controls[0], T * T / (2 * kMass), 0.01 * T * T / (2 * kMass));
}

TEST(Sliding, ABallThatDoesNotRollMatchesCoulombsClosedForm) { expect_closed_form(GeomType::sphere); }
TEST(Sliding, ABoxPushedOverAFloorMatchesCoulombsClosedForm) { expect_closed_form(GeomType::box); }

}  // namespace
}  // namespace costate::rigid
