// Contact by springs: the elastic bounce at every phase, Coulomb's closed form, and the contract.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/rigid_system.h"
#include "tests/rigid/contact/impact_probe.h"
#include "tests/rigid/contact/rigid_impacts.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

Model ball(const std::string& option) {
  return compile(
      io::parse_mjcf("<mujoco><option " + option +
                     "/><default><geom condim='1'/></default>"
                     "<worldbody><geom name='floor' type='plane' size='1 1 1'/>"
                     "<body name='ball' pos='0 0 0.1'><joint name='z' type='slide' axis='0 0 1'/>"
                     "<geom name='ball' type='sphere' size='0.1' mass='1'/></body></worldbody></mujoco>"));
}

using test::Range;
Range probe(double dt, Onset onset) {
  const auto system = make_system<double>(
      ball("gravity='0 0 0' integrator='RK4'"),
      {.onset = onset, .contact = ContactModel::penalty, .penalty = {.stiffness = 1e4, .damping = 0}});
  return test::impact_slopes(system, dt);
}

TEST(Penalty, TheGradientOfAnElasticBounceIsMinusOneAtEveryPhase) {
  for (const double dt : {0.002, 0.001, 0.0005}) {
    const Range r = probe(dt, Onset::split);
    EXPECT_GT(r.least, -1.02) << dt;
    EXPECT_LT(r.most, -0.98) << dt;
  }
  const Range coarse = probe(0.004, Onset::split);
  EXPECT_GT(coarse.least, -1.05);
  EXPECT_LT(coarse.most, -0.95);
}

TEST(Penalty, WithoutTheSplitTheGradientIsThatOfTheTimeGrid) {
  const Range r = probe(0.002, Onset::none);
  EXPECT_GT(r.most - r.least, 1);
}

// Pushed over a floor by F > mu m g:  x = v0 T + (F/m - mu g) T^2/2.
void expect_closed_form(const char* shape, double points) {
  constexpr double kGravity = 9.81, kMass = 1.5, kMu = 0.5, kPush = 12, kSpeed = 0.5, kStiffness = 1e5,
                   T = 0.5;
  const Model model = compile(io::parse_mjcf(
      "<mujoco><option timestep='0.0005' integrator='RK4'/><worldbody>"
      "<geom name='floor' type='plane' size='9 9 1' friction='0.5'/>"
      "<body name='sled' pos='0 0 0.1'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
      "<geom type='" +
      std::string(shape) +
      "' size='0.1 0.1 0.1' mass='1.5' friction='0.1'/></body>"
      "</worldbody></mujoco>"));
  const auto system =
      make_system<double>(model, {.applied_forces = true,
                                  .contact = ContactModel::penalty,
                                  .penalty = {.stiffness = kStiffness, .damping = 20, .slip_speed = 1e-3}});
  Rollout<double> rollout(system, {.steps = 1000, .hold = 1000});
  auto at = rollout.arguments();
  at.x0 = {0, -kMass * kGravity / (points * kStiffness), kSpeed, 0};
  at.controls = {kPush, 0};
  const auto g =
      rollout.value_and_gradient(at, *loss::cotangents<double>(system->signature(), {1000}, {{1, 0, 0, 0}}));
  const double expected = kSpeed * T + (kPush / kMass - kMu * kGravity) * T * T / 2;
  EXPECT_NEAR(rollout.simulate(at).final_state[0], expected, 1e-4 * expected);
  const double by_mu = -kGravity * T * T / 2, by_mass = -kPush * T * T / (2 * kMass * kMass);
  EXPECT_NEAR(g.parameters["geom/floor/friction"][0], by_mu, 0.002 * std::abs(by_mu));
  EXPECT_NEAR(g.parameters["body/sled/mass"][0], by_mass, 0.002 * std::abs(by_mass));
  EXPECT_NEAR(g.controls[0], T * T / (2 * kMass), 0.002 * T * T / (2 * kMass));
  EXPECT_NEAR(g.parameters["gravity"][2], kMu * T * T / 2, 0.002 * kMu * T * T / 2);
}

TEST(Penalty, ABallThatDoesNotRollMatchesCoulombsClosedForm) { expect_closed_form("sphere", 1); }
TEST(Penalty, ABoxPushedOverAFloorMatchesCoulombsClosedForm) { expect_closed_form("box", 4); }

// To first order in c u, a bounce at speed u returns with u (1 - 2/3 c u).
TEST(Penalty, DampingTakesTheEnergyThatHuntAndCrossleySay) {
  const auto system = make_system<double>(ball("gravity='0 0 0' integrator='RK4' timestep='0.0005'"),
                                          {.onset = Onset::split,
                                           .contact = ContactModel::penalty,
                                           .penalty = {.stiffness = 1e4, .damping = 0.01}});
  Rollout<double> rollout(system, {.steps = 400});
  auto at = rollout.arguments();
  at.x0 = {0.05, -1};
  const auto g =
      rollout.value_and_gradient(at, *loss::cotangents<double>(system->signature(), {400}, {{0, 1}}));
  EXPECT_NEAR(rollout.simulate(at).final_state[1], 1 - 2.0 / 3 * 0.01, 1e-4);
  EXPECT_NEAR(g.parameters["contact/damping"][0], -2.0 / 3, 0.02);
}

TEST(Penalty, CotangentsOfAStepMatchDual) {
  for (const char* integrator : {"RK4", "Euler", "implicitfast"}) {
    for (const char* condim : {"1", "3", "4", "6"}) {
      for (const Onset onset : {Onset::none, Onset::split}) {
        const Model model = compile(io::parse_mjcf(
            "<mujoco><option integrator='" + std::string(integrator) +
            "' timestep='0.004'/>"
            "<default><geom condim='" +
            std::string(condim) +
            "' friction='0.4 0.02 0.01'/></default>"
            "<worldbody><geom name='floor' type='plane' size='1 1 1' friction='0.3 0.01 0.02'/>"
            "<body name='arm' pos='0 0 0.5'><joint name='a' type='hinge' axis='0 1 0.1' damping='0.1' "
            "armature='0.2' "
            "range='-20 20' limited='true'/>"
            "<geom type='sphere' size='0.05' pos='0.3 0 0' mass='3' contype='0' conaffinity='0'/>"
            "<body name='foot' pos='0.3 0 0'><joint name='b' type='ball'/>"
            "<geom name='foot' type='capsule' size='0.05' fromto='0 0 0 0.21 0.1 -0.3' "
            "mass='8'/></body></body>"
            "</worldbody></mujoco>"));
        const auto system =
            make_system<double>(model, {.applied_forces = true,
                                        .onset = onset,
                                        .contact = ContactModel::penalty,
                                        .penalty = {.stiffness = 5000, .damping = 0.4, .slip_speed = 0.3}});
        Rollout<double> rollout(system, {.steps = 1});
        Arguments<double> at = rollout.arguments();
        at.controls = {0.7, 0.1, -0.2, 0.3};
        for (const double angle : {0.3413, 0.38}) {  // meets within the step; touches
          at.x0 = initial_state(model);
          at.x0[0] = angle;
          double* v = at.x0.data() + model.nq;
          v[0] = 3;
          v[1] = 0.7;
          v[2] = 0.5;
          v[3] = 0.3;
          SCOPED_TRACE(std::string(integrator) + " condim " + condim);
          costate::test::expect_transpose_matches_dual<double>(*system, at, 1e-10);
          const auto result = check::stencil(rollout, at, *loss::final<double>(system->signature(), "v", {}),
                                             {.directions = 4, .step = 1e-5});
          EXPECT_LT(result.error, 1e-8) << result.to_text();
        }
      }
    }
  }
}

// A box pushed over a floor, m = 1: the advice of its gradient.
std::string advice_for(const std::string& integrator, double dt, const PenaltyOptions& penalty) {
  const Model model = compile(io::parse_mjcf(
      "<mujoco><option integrator='" + integrator +
      "'/><worldbody><geom name='floor' type='plane' size='9 9 1' friction='0.5'/>"
      "<body pos='0 0 0.1'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
      "<geom name='sled' type='sphere' size='0.1' mass='1' friction='0.1'/></body>"
      "</worldbody></mujoco>"));
  const auto system = make_system<double>(model, {.contact = ContactModel::penalty, .penalty = penalty});
  Rollout<double> rollout(system, {.steps = 20});
  auto at = rollout.arguments();
  at.parameters.set("dt", dt);
  at.x0 = {0, -9.81 / penalty.stiffness, 0, 0};
  const auto g =
      rollout.value_and_gradient(at, *loss::cotangents<double>(system->signature(), {20}, {{1, 0, 0, 0}}));
  std::string text;
  for (const std::string& line : g.report.advice) text += line + "\n";
  return text;
}
TEST(Penalty, TheReportSaysWhichContactIsTooStiffForTheTimeStep) {
  for (const char* integrator : {"Euler", "RK4"}) {
    SCOPED_TRACE(integrator);
    EXPECT_EQ(
        advice_for(integrator, 0.001, {.stiffness = 1e4, .damping = 1, .slip_speed = 0.01}).find("too stiff"),
        std::string::npos);
    // mu f dt / (m s) = 0.5 * 9.81 * 0.001 / 1e-4 = 49, fine at dt <= 2.04e-5; k dt^2 / m = 10, fine at
    // dt <= 0.000316.
    const std::string friction =
        advice_for(integrator, 0.001, {.stiffness = 1e4, .damping = 1, .slip_speed = 1e-4});
    EXPECT_NE(friction.find("geoms \"floor\" and \"sled\" is too stiff for dt = 0.001: mu f dt / (m "
                            "slip_speed) is 49"),
              std::string::npos)
        << friction;
    EXPECT_NE(friction.find("take dt <= 2.04e-05, or a contact/slip_speed 49"), std::string::npos)
        << friction;
    const std::string normal =
        advice_for(integrator, 0.001, {.stiffness = 1e7, .damping = 1, .slip_speed = 0.1});
    EXPECT_NE(normal.find("stiffness dt^2 / m is 10, and gradients explode above 1; take dt <= 0.000316"),
              std::string::npos)
        << normal;
  }
}

TEST(Penalty, SeveralBodiesMeetTheContract) {
  const Model model = compile(io::parse_mjcf(
      "<mujoco><option integrator='RK4' timestep='0.002'/>"
      "<default><geom friction='0.4'/></default>"
      "<worldbody><geom name='floor' type='plane' size='1 1 1' friction='0.3'/>"
      "<body name='a' pos='0 0 0.12'><freejoint/><geom name='a' type='sphere' size='0.1' mass='1'/></body>"
      "<body name='b' pos='0.25 0.01 0.14'><freejoint/>"
      "<geom name='b' type='capsule' size='0.08 0.05' mass='0.7' "
      "friction='0.35'/></body></worldbody></mujoco>"));
  const auto system =
      make_system<double>(model, {.applied_forces = true,
                                  .onset = Onset::split,
                                  .contact = ContactModel::penalty,
                                  .penalty = {.stiffness = 2000, .damping = 0.3, .slip_speed = 0.05}});
  Rollout<double> rollout(system, {.steps = 60, .hold = 60});
  const Arguments<double> at = test::sideways_with_spin(rollout, model);
  const auto objective = loss::final<double>(system->signature(), "q", {});
  costate::test::expect_contract(system, {.states = costate::test::starting_at(at),
                                          .objective = objective,
                                          .steps = 60,
                                          .hold = 60,
                                          .long_steps = 0,
                                          .run_gate = 1e-14,
                                          .stencil_gate = 1e-7,
                                          .stencil_step = 1e-6,
                                          .taylor_step = 1e-4,
                                          .second_order_step = 1e-6});
}

}  // namespace
}  // namespace costate::rigid
