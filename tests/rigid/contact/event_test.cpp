// Rigid impacts as events: closed forms of bounces, collisions and sliding impacts, and their derivatives.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/rigid/contact/rigid_impacts.h"

namespace costate::rigid {
namespace {

SystemOptions rigid_contact(double restitution) {
  return {.contact = ContactModel::event, .impact = {.restitution = restitution}};
}

using test::ball;
using test::kUpAndDown;
using test::Thrown;

TEST(Event, AnElasticWallTurnsTheGradientIntoMinusOneAtEveryTimeStep) {
  for (const char* integrator : {"RK4", "Euler", "implicitfast"})
    test::expect_mirror(rigid_contact(1), integrator, 1e-12);
}

// Heights of a ball dropped from h0: 3 bounces until t = 15.
TEST(Event, ABouncingBallMatchesItsClosedForm) {
  const Model model = ball(kUpAndDown, "gravity='0 0 -9.8' integrator='RK4' timestep='0.015'");
  const auto system = make_system<double>(model, rigid_contact(0));
  Rollout<double> rollout(system, {.steps = 1000});
  Arguments<double> at = rollout.arguments();
  at.x0 = {50, 0};
  at.parameters.set("geom/ball/restitution", 0.8);
  const auto g = rollout.value_and_gradient(at, *loss::final_value<double>(system->signature(), "q"));
  EXPECT_NEAR(g.value, 8.494217007606046, 1e-10);
  EXPECT_NEAR(g.parameters["geom/ball/restitution"][0], 314.56883995768527, 1e-8);
  EXPECT_NEAR(-g.parameters["gravity"][2], -7.277029744509887, 1e-9);
  EXPECT_NEAR(g.x0[0], 1.5961821700760583, 1e-10);
  EXPECT_EQ(g.parameters["geom/floor/restitution"][0], 0);
}

TEST(Event, TheReportListsEveryBounce) {
  const Model model = ball(kUpAndDown, "gravity='0 0 -9.8' integrator='RK4' timestep='0.015'");
  const auto system = make_system<double>(model, rigid_contact(0.8));
  Rollout<double> rollout(system, {.steps = 1000});
  Arguments<double> at = rollout.arguments();
  at.x0 = {50, 0};
  const auto g = rollout.value_and_gradient(at, *loss::final_value<double>(system->signature(), "q"));
  const double fall = std::sqrt(2 * 50 / 9.8);
  std::vector<std::int64_t> bounces;
  for (const double when : {fall, fall * (1 + 2 * 0.8), fall * (1 + 2 * 0.8 + 2 * 0.64)})
    bounces.push_back(std::int64_t(when / 0.015));
  EXPECT_EQ(g.report.mode_switches, bounces);
}

TEST(Event, ABallHandsItsMotionToItsTwin) { test::expect_handed_on(rigid_contact(1), 0.52, 1e-12); }

Thrown thrown(double mu, double e, double vx) {
  return test::thrown(rigid_contact(0), "integrator='RK4'", mu, e, vx);
}

TEST(Event, ASlippingImpactTakesFrictionTimesTheNormalImpulse) {
  const double mu = 0.3, e = 0.6, vx = 2.5, r = 0.1;
  const Thrown t = thrown(mu, e, vx);
  EXPECT_NEAR(t.v[2], e, 1e-12);
  EXPECT_NEAR(t.v[0], vx - mu * (1 + e), 1e-12);
  EXPECT_NEAR(t.v[4], mu * (1 + e) * 2.5 / r, 1e-9);  // I = 2/5 m r^2
  EXPECT_NEAR(t.by_mu, -(1 + e), 1e-11);
  EXPECT_NEAR(t.by_e, -mu, 1e-11);
  EXPECT_NEAR(t.by_sliding_speed, 1, 1e-11);
}

TEST(Event, AStickingImpactLeavesTheBallRolling) {
  const double e = 0.6, vx = 0.9, r = 0.1;
  const Thrown t = thrown(0.7, e, vx);
  EXPECT_NEAR(t.v[0], 5.0 / 7 * vx, 1e-10);
  EXPECT_NEAR(t.v[4], 5.0 / 7 * vx / r, 1e-9);
  EXPECT_NEAR(t.by_mu, 0, 1e-10);
  EXPECT_NEAR(t.by_e, 0, 1e-10);
  EXPECT_NEAR(t.by_sliding_speed, 5.0 / 7, 1e-10);
}

TEST(Event, ABallComesToRest) {
  const auto g = test::expect_rest(rigid_contact(0.7), "integrator='RK4'", {1e-3, 1e-9, 1e-6});
  EXPECT_TRUE(std::isfinite(g.parameters["geom/ball/restitution"][0]));
}

// An arm whose foot, of odd inertia, meets the floor within a step.
Model arm(const std::string& integrator, const std::string& condim) {
  return compile(io::parse_mjcf(
      "<mujoco><option integrator='" + integrator +
      "' timestep='0.004'/>"
      "<default><geom condim='" +
      condim +
      "' friction='0.4 0.02 0.01'/></default>"
      "<worldbody><geom name='floor' type='plane' size='1 1 1' friction='0.3 0.01 0.02'/>"
      "<body name='arm' pos='0 0 0.5'><joint name='a' type='hinge' axis='0 1 0.1' damping='0.1' "
      "armature='0.2'/>"
      "<geom type='sphere' size='0.05' pos='0.3 0 0' mass='3' contype='0' conaffinity='0'/>"
      "<body name='foot' pos='0.3 0 0'><joint name='b' type='ball'/>"
      "<geom name='foot' type='capsule' size='0.05' fromto='0 0 0 0.21 0.1 -0.3' "
      "mass='8'/></body></body></worldbody></mujoco>"));
}

// Every input and parameter of one step against dual numbers and differences.
TEST(Event, CotangentsOfAStepWithAnImpactMatchDual) {
  for (const char* integrator : {"RK4", "Euler"}) {
    for (const char* condim : {"1", "3", "4", "6"}) {
      const Model model = arm(integrator, condim);
      const auto system = make_system<double>(
          model, {.applied_forces = true, .contact = ContactModel::event, .impact = {.restitution = 0.5}});
      Rollout<double> rollout(system, {.steps = 1});
      Arguments<double> at = rollout.arguments();
      at.controls = {0.7, 0.1, -0.2, 0.3};
      at.parameters.set("geom/floor/restitution", 0.4);
      for (const double sideways : {-0.4, 2.7}) {
        at.x0 = initial_state(model);
        at.x0[0] = 0.333;
        double* v = at.x0.data() + model.nq;
        v[0] = 3;
        v[1] = sideways;
        v[2] = 0.5;
        v[3] = 0.3;
        SCOPED_TRACE(std::string(integrator) + " condim " + condim);
        const auto objective = loss::final<double>(system->signature(), "v", {});
        costate::test::expect_transpose_matches_dual<double>(*system, at, 1e-10);
        ASSERT_FALSE(rollout.value_and_gradient(at, *objective).report.mode_switches.empty());  // it meets
        const auto result = check::stencil(rollout, at, *objective, {.directions = 4, .step = 1e-5});
        EXPECT_LT(result.error, 1e-8) << result.to_text();
      }
    }
  }
}

// Corners between sticking and slipping lie anywhere: a difference that crosses one says nothing, a shorter
// one does.
TEST(Event, CotangentsMatchDifferencesInRandomStates) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const char* condim : {"3", "4", "6"}) {
    const Model model = arm("RK4", condim);
    const auto system = make_system<double>(
        model, {.applied_forces = true, .contact = ContactModel::event, .impact = {.restitution = 0.5}});
    Rollout<double> rollout(system, {.steps = 1});
    Arguments<double> at = rollout.arguments();
    const auto objective = loss::final<double>(system->signature(), "v", {});
    for (int i = 0; i < 36; ++i) {
      at.x0 = initial_state(model);
      at.x0[0] = 0.333;
      for (int k = 0; k < 4; ++k)
        at.x0[std::size_t(model.nq + k)] = (k == 0 ? 3 : 0) + (k == 0 ? 1 : 3) * uniform(random);
      double error = 1;
      for (double step = 1e-5; step > 5e-8 && error > 1e-6; step /= 10)
        error =
            std::min(error, check::stencil(rollout, at, *objective, {.directions = 4, .step = step}).error);
      EXPECT_LT(error, 1e-6) << "condim " << condim << " state " << i;
    }
  }
}

TEST(Event, SeveralBodiesMeetTheContract) {
  test::expect_contract_of_several_bodies(rigid_contact(0.6), "RK4");
}

TEST(Event, AWorldHasTheSameBitsWhateverItsNeighboursDo) {
  test::expect_same_bits_among_neighbours(rigid_contact(0.8), "RK4");
}

TEST(Event, HoldsInSinglePrecision) {
  const Model model = ball(kUpAndDown, "integrator='RK4' timestep='0.005'");
  const auto system = make_system<float>(model, rigid_contact(0.8));
  Rollout<float> rollout(system, {.steps = 150});
  Arguments<float> at = rollout.arguments();
  at.x0 = {0.5f, 0};
  const auto g = rollout.value_and_gradient(at, *loss::final_value<float>(system->signature(), "q"));
  const double t1 = std::sqrt(2 * 0.5 / 9.81), v1 = 0.8 * 9.81 * t1, left = 0.75 - t1;
  ASSERT_LT(left, 2 * v1 / 9.81);
  EXPECT_NEAR(g.value, v1 * left - 9.81 * left * left / 2, 1e-5);
}

}  // namespace
}  // namespace costate::rigid
