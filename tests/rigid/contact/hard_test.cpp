// Complementarity time stepping: closed forms of impacts, sliding and rest, derivatives in every mode, and
// the contract.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "costate/system/estimators.h"
#include "costate/system/program/program_objective.h"
#include "tests/expect_error.h"
#include "tests/rigid/contact/rigid_impacts.h"

namespace costate::rigid {
namespace {

using costate::test::expect_error;

SystemOptions hard(double restitution, bool forces = false) {
  return {.applied_forces = forces, .contact = ContactModel::hard, .impact = {.restitution = restitution}};
}

using test::ball;
using test::kUpAndDown;
using test::Thrown;

TEST(Hard, AnElasticWallTurnsTheGradientIntoMinusOneAtEveryTimeStep) {
  for (const char* integrator : {"Euler", "implicitfast"}) test::expect_mirror(hard(1), integrator, 1e-10);
}

TEST(Hard, ABallHandsItsMotionToItsTwin) {
  for (const double gap : {0.52, 0.5237}) test::expect_handed_on(hard(1), gap, 1e-10);
}

// Where they meet is taken midway between the surfaces at the start of the step: levers are longer by a part
// of the way of one step.
Thrown thrown(double mu, double e, double vx) { return test::thrown(hard(0), "", mu, e, vx); }

TEST(Hard, ASlippingImpactTakesFrictionTimesTheNormalImpulse) {
  const double mu = 0.3, e = 0.6, vx = 2.5, r = 0.1;
  const Thrown t = thrown(mu, e, vx);
  EXPECT_NEAR(t.v[2], e, 1e-10);
  EXPECT_NEAR(t.v[0], vx - mu * (1 + e), 1e-10);
  EXPECT_NEAR(t.v[4], mu * (1 + e) * 2.5 / r, 0.01 * 12);  // I = 2/5 m r^2
  EXPECT_NEAR(t.by_mu, -(1 + e), 1e-9);
  EXPECT_NEAR(t.by_e, -mu, 1e-9);
  EXPECT_NEAR(t.by_sliding_speed, 1, 1e-9);
}

TEST(Hard, AStickingImpactLeavesTheBallRolling) {
  const double e = 0.6, vx = 0.9, r = 0.1;
  const Thrown t = thrown(0.7, e, vx);
  EXPECT_NEAR(t.v[0], 5.0 / 7 * vx, 0.005);
  EXPECT_NEAR(t.v[4], 5.0 / 7 * vx / r, 0.05);
  EXPECT_NEAR(t.by_mu, 0, 1e-9);
  EXPECT_NEAR(t.by_e, 0, 1e-9);
  EXPECT_NEAR(t.by_sliding_speed, 5.0 / 7, 0.005);
}

// Three bounces until t = 15: first order in dt, its gradients too.
TEST(Hard, ABouncingBallConvergesToItsClosedForm) {
  const Model model = ball(kUpAndDown, "gravity='0 0 -9.8'");
  const auto system = make_system<double>(model, hard(0));
  double before = 1;
  for (const double dt : {0.004, 0.001, 0.00025}) {
    Rollout<double> rollout(system, {.steps = std::lround(15 / dt)});
    Arguments<double> at = rollout.arguments();
    at.parameters.set("dt", dt);
    at.x0 = {50, 0};
    at.parameters.set("geom/ball/restitution", 0.8);
    const auto g = rollout.value_and_gradient(at, *loss::final_value<double>(system->signature(), "q"));
    const double error = std::abs(g.value / 8.494217007606046 - 1) +
                         std::abs(g.parameters["geom/ball/restitution"][0] / 314.56883995768527 - 1) +
                         std::abs(g.parameters["gravity"][2] / 7.277029744509887 - 1) +
                         std::abs(g.x0[0] / 1.5961821700760583 - 1);
    EXPECT_LT(error, 60 * dt) << dt;
    EXPECT_LT(error, before) << dt;
    before = error;
  }
}

TEST(Hard, ABallComesToRestOnTheSurface) {
  const auto g = test::expect_rest(hard(0.7), "", {1e-12, 1e-12, 1e-12});
  EXPECT_GE(g.report.mode_switches.size(), 2u);
}

// --- a block on the ground: m = 1, g = 1, mu = 1, h = 0.1 --------------------------------------------------

Model block(const char* joints) {
  return compile(
      io::parse_mjcf("<mujoco><option gravity='0 0 -1' timestep='0.1'/><worldbody>"
                     "<geom name='floor' type='plane' size='9 9 1' friction='1'/>"
                     "<body name='block' pos='0 0 0.1'>" +
                     std::string(joints) +
                     "<geom name='block' type='box' size='0.5 0.5 0.1' mass='1' friction='0.1'/>"
                     "</body></worldbody></mujoco>"));
}
constexpr double kH = 0.1;

struct Push {
  double moved, slope;
};
// One step with a force along a dof.
Push push(const Model& model, std::size_t dof, std::size_t coordinate, double force) {
  const auto system = make_system<double>(model, hard(0, true));
  Rollout<double> rollout(system, {.steps = 1});
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state(model);
  at.controls[dof] = force;
  std::vector<double> bar(at.x0.size(), 0.0);
  bar[coordinate] = 1;
  const auto g = rollout.value_and_gradient(at, *loss::cotangents<double>(system->signature(), {1}, {bar}));
  return {rollout.simulate(at).final_state[coordinate] - at.x0[coordinate], g.controls[dof]};
}

TEST(Hard, ABlockSticksAndSlidesAndLifts) {
  for (const char* joints :
       {"<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>", "<freejoint/>"}) {
    const Model model = block(joints);
    const std::size_t up = model.nv == 2 ? 1 : 2;
    for (const double force : {0.5, 0.7, 0.9, 0.99, 1.01, 1.1, 1.3, 1.5}) {
      for (const std::size_t dof : {std::size_t(0), up}) {
        const Push p = push(model, dof, dof, force);
        EXPECT_NEAR(p.moved, force < 1 ? 0 : kH * kH * (force - 1), 1e-9) << force << " along " << dof;
        EXPECT_NEAR(p.slope, force < 1 ? 0 : kH * kH, 1e-8) << force << " along " << dof;
      }
    }
  }
}

// Smoothed over both forces with deviation s the slope is that of a blurred step, whatever the order of the
// estimator: h^2 Phi((F - 1)/s) upwards, and with sqrt(2) s sideways, where the other force changes the
// weight.
TEST(Hard, SmoothedGradientsOfTheBlockConvergeToTheStep) {
  const Model model = block("<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>");
  const auto system = make_system<double>(model, hard(0, true));
  Rollout<double> rollout(system, {.steps = 1});
  for (const std::size_t dof : {std::size_t(0), std::size_t(1)}) {
    const auto objective =
        loss::expression<double>(system->signature(), "q[" + std::to_string(dof) + "]", loss::at_steps({1}));
    double furthest = 1;
    for (const double sigma : {0.2, 0.1, 0.05, 0.01}) {
      double from_step = 0;
      for (const double force : {0.5, 0.75, 0.9, 1.1, 1.25, 1.5}) {
        Arguments<double> at = rollout.arguments();
        at.x0 = initial_state(model);
        at.controls[dof] = force;
        const double width = dof == 0 ? std::sqrt(2.0) * sigma : sigma;
        const double blurred = 0.5 * std::erfc(-(force - 1) / width / std::sqrt(2.0));
        for (const auto order : {estimate::Order::first, estimate::Order::zeroth}) {
          const auto e = estimate::smoothed_gradient<double>(system, {.steps = 1}, at, *objective,
                                                             {.sigma = sigma, .samples = 2048}, order);
          const bool first = order == estimate::Order::first;
          const double slope = e.gradient.controls[dof] / (kH * kH);
          EXPECT_NEAR(slope, blurred, first ? 0.04 : 0.15) << force << " " << sigma;
          if (first) from_step = std::max(from_step, std::abs(slope - (force > 1)));
        }
      }
      EXPECT_LT(from_step, furthest + 0.02) << sigma;
      furthest = from_step;
    }
    EXPECT_LT(furthest, 1e-6);  // the step itself
  }
}

// Pushed over a floor by F > mu m g:  x = v0 T + (F/m - mu g) T^2/2.
TEST(Hard, APushedBoxFollowsCoulombsClosedForm) {
  constexpr double kGravity = 9.81, kMass = 1.5, kMu = 0.5, kForce = 12, kSpeed = 0.5, T = 0.5;
  for (const char* joints :
       {"<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>", "<freejoint/>"}) {
    const Model model =
        compile(io::parse_mjcf("<mujoco><option timestep='0.001'/><worldbody>"
                               "<geom name='floor' type='plane' size='9 9 1' friction='0.5'/>"
                               "<body name='sled' pos='0 0 0.1'>" +
                               std::string(joints) +
                               "<geom type='box' size='0.3 0.3 0.1' mass='1.5' friction='0.1'/></body>"
                               "</worldbody></mujoco>"));
    const auto system = make_system<double>(model, hard(0, true));
    Rollout<double> rollout(system, {.steps = 500, .hold = 500});
    Arguments<double> at = rollout.arguments();
    at.x0 = initial_state(model);
    at.x0[std::size_t(model.nq)] = kSpeed;
    at.controls[0] = kForce;
    std::vector<double> bar(at.x0.size(), 0.0);
    bar[0] = 1;
    const auto g =
        rollout.value_and_gradient(at, *loss::cotangents<double>(system->signature(), {500}, {bar}));
    const double x = kSpeed * T + (kForce / kMass - kMu * kGravity) * T * T / 2;
    EXPECT_NEAR(rollout.simulate(at).final_state[0], x, 0.01 * x);
    EXPECT_NEAR(g.parameters["geom/floor/friction"][0], -kGravity * T * T / 2, 0.01 * kGravity * T * T / 2);
    EXPECT_NEAR(g.parameters["body/sled/mass"][0], -kForce / (kMass * kMass) * T * T / 2,
                0.01 * kForce / (kMass * kMass) * T * T / 2);
    EXPECT_NEAR(g.controls[0], T * T / (2 * kMass), 0.01 * T * T / (2 * kMass));
    EXPECT_NEAR(g.x0[std::size_t(model.nq)], T, 0.01 * T);
  }
}

// --- derivatives in every mode -----------------------------------------------------------------------------

// An arm with a foot of odd inertia over a floor, a joint at its limit, dampers and a motor; or a box on its
// four corners.
const char* const kArm =
    "<body name='arm' pos='0 0 0.5'><joint name='a' type='hinge' axis='0 1 0.1' damping='0.1' "
    "armature='0.2' limited='true' range='-60 20'/>"
    "<geom type='sphere' size='0.05' pos='0.3 0 0' mass='3' contype='0' conaffinity='0'/>"
    "<body name='foot' pos='0.3 0 0'><joint name='b' type='ball' damping='0.05'/>"
    "<geom name='foot' type='capsule' size='0.05' fromto='0 0 0 0.21 0.1 -0.3' mass='8'/></body></body>";
const char* const kBox =
    "<body name='box' pos='-0.6 0 0.1'><freejoint/><geom name='box' type='box' size='0.2 0.15 0.1' mass='2'/>"
    "</body>";
Model over_floor(const std::string& option, const std::string& condim, const std::string& body,
                 const std::string& actuator) {
  return compile(
      io::parse_mjcf("<mujoco><option timestep='0.004' " + option + "/><default><geom condim='" + condim +
                     "' friction='0.4 0.02 0.01'/></default>"
                     "<worldbody><geom name='floor' type='plane' size='1 1 1' friction='0.3 0.01 0.02'/>" +
                     body + "</worldbody>" + actuator + "</mujoco>"));
}

struct Gates {
  double dual, stencil, step;
};
void expect_derivatives(const std::shared_ptr<System<double>>& system, const Arguments<double>& at,
                        const Gates& gates) {
  costate::test::expect_transpose_matches_dual<double>(*system, at, gates.dual);
  Rollout<double> rollout(system, {.steps = 1});
  for (const char* part : {"v", "q"}) {
    const auto objective = loss::final<double>(system->signature(), part, {});
    const auto result = check::stencil(rollout, at, *objective, {.directions = 4, .step = gates.step});
    EXPECT_LT(result.error, gates.stencil) << part << ": " << result.to_text();
  }
}

TEST(Hard, CotangentsMatchDualAndDifferencesInEveryMode) {
  struct Case {
    const char* name;
    double angle, spin, sideways;
  };
  for (const char* option : {"", "integrator='implicitfast'"}) {
    for (const char* condim : {"1", "3", "4", "6"}) {
      const Model model =
          over_floor(option, condim, kArm, "<actuator><velocity name='motor' joint='a' kv='3'/></actuator>");
      const auto system = make_system<double>(model, hard(0.5, true));
      Arguments<double> at = Rollout<double>(system, {.steps = 1}).arguments();
      at.parameters.set("geom/floor/restitution", 0.4);
      for (const Case& c : {Case{"bounce", 0.3413, 3, -0.4}, Case{"bounce, slipping", 0.3413, 3, 2.7},
                            Case{"rest", 0.3425, 0.02, -0.1}, Case{"rest, slipping", 0.3425, 0.02, 1.9},
                            Case{"open", 0.3, -0.5, 0.2}}) {
        SCOPED_TRACE(std::string(option) + " condim " + condim + " " + c.name);
        at.x0 = initial_state(model);
        at.x0[0] = c.angle;
        double* v = at.x0.data() + model.nq;
        v[0] = c.spin;
        v[1] = c.sideways;
        v[2] = 0.5 * c.spin;
        v[3] = 0.3;
        for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = 0.1 * double(i % 5) - 0.2;
        expect_derivatives(system, at, {1e-10, 1e-8, 1e-6});
      }
    }
  }
}

// Four points under six dofs: the impulses are not unique, the motion is. A box that is tilted and settles
// has corners at different heights, which cannot all stick.
TEST(Hard, CotangentsOfABoxOnItsCornersMatchDualAndDifferences) {
  for (const char* condim : {"1", "3", "4", "6"}) {
    const Model model = over_floor("", condim, kBox, "");
    const auto system = make_system<double>(model, hard(0, true));
    Arguments<double> at = Rollout<double>(system, {.steps = 1}).arguments();
    for (const double slide : {0.003, 0.7}) {
      if (condim[0] == '6' && slide < 0.1)
        continue;  // flat on the floor it is between rolling to either side
      SCOPED_TRACE(std::string("condim ") + condim + " slide " + std::to_string(slide));
      at.x0 = initial_state(model);
      at.x0[2] -= 1e-4;
      double* v = at.x0.data() + model.nq;
      v[0] = slide;
      v[1] = 0.2 * slide;
      v[5] = 0.5 * slide;
      for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = 0.1 * double(i % 5) - 0.2;
      expect_derivatives(system, at, {1e-11, 1e-8, slide < 0.1 ? 1e-6 : 1e-5});
    }
  }
}

TEST(Hard, SeveralBodiesMeetTheContract) { test::expect_contract_of_several_bodies(hard(0.6), "Euler"); }

TEST(Hard, AWorldHasTheSameBitsWhateverItsNeighboursDo) {
  test::expect_same_bits_among_neighbours(hard(0.8), "Euler");
}

TEST(Hard, HoldsInSinglePrecision) {
  const Model model = ball(kUpAndDown, "gravity='0 0 0' timestep='0.01'");
  const auto system = make_system<float>(model, hard(0.8));
  Rollout<float> rollout(system, {.steps = 100});
  Arguments<float> at = rollout.arguments();
  at.x0 = {0.503f, -1};
  const auto g = rollout.value_and_gradient(at, *loss::final_value<float>(system->signature(), "q"));
  EXPECT_NEAR(g.value, 0.8 * (1 - 0.503), 1e-4);
  EXPECT_NEAR(g.x0[0], -0.8, 1e-4);
}

// A ball in a slot that is narrower than it is: both walls push it, and it stays.
TEST(Hard, TheReportSaysWhereNoImpulsesObeyTheLaws) {
  const Model model = compile(io::parse_mjcf(
      "<mujoco><option gravity='0 0 0' timestep='0.01'/><worldbody>"
      "<geom type='plane' size='1 1 1' zaxis='1 0 0' pos='-0.09 0 0'/>"
      "<geom type='plane' size='1 1 1' zaxis='-1 0 0' pos='0.09 0 0'/>"
      "<body><freejoint/><geom type='sphere' size='0.1' mass='1'/></body></worldbody></mujoco>"));
  const auto system = make_system<double>(model, hard(0));
  Rollout<double> rollout(system, {.steps = 10});
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state(model);
  const auto objective = loss::final<double>(system->signature(), "q", {});
  const auto said = [&] {
    std::string text;
    for (const std::string& line : rollout.value_and_gradient(at, *objective).report.advice) text += line;
    return text.find("from step 0 on there are steps in which no impulses obey") != std::string::npos;
  };
  EXPECT_TRUE(said());
  EXPECT_NEAR(rollout.simulate(at).final_state[0], 0, 1e-9);
  for (const double x : rollout.value_and_gradient(at, *objective).x0) EXPECT_TRUE(std::isfinite(x));
  at.parameters.set("geom/#2/size", 0.08);
  EXPECT_FALSE(said());
}

TEST(Hard, RefusesIntegratorsOfSeveralStages) {
  expect_error([&] { return make_system<double>(ball(kUpAndDown, "integrator='RK4'"), hard(0)); },
               "RK4 takes four evaluations", "use Euler or implicitfast");
}

// --- leaving rest ------------------------------------------------------------------------------------------

// A drone on the ground, m = 0.1, r = 0.3; its goal is 5 m up.
TEST(Hard, ARestingDroneIsLeftByTheAwareGradientOnly) {
  const Model model = compile(io::parse_mjcf(
      "<mujoco><option timestep='0.001'/><worldbody><geom name='floor' type='plane' size='9 9 1'/>"
      "<body name='drone' pos='0 0 0.3'><joint name='z' type='slide' axis='0 0 1' ref='0.3'/>"
      "<geom type='sphere' size='0.3' mass='0.1'/></body></worldbody>"
      "<actuator><motor name='lift' joint='z' ctrllimited='true' ctrlrange='-10 10'/></actuator></mujoco>"));
  for (const bool aware : {false, true}) {
    const auto system = make_system<double>(model, {.contact = ContactModel::hard, .hard = {.aware = aware}});
    Rollout<double> rollout(system, {.steps = 500, .hold = 500});
    Arguments<double> at = rollout.arguments();
    at.x0 = initial_state(model);
    const auto objective = loss::final<double>(system->signature(), "q", {5});
    const auto g = rollout.value_and_gradient(at, *objective);
    if (!aware) {
      EXPECT_NEAR(g.controls[0], 0, 1e-12);
      continue;
    }
    // As in free flight: dz/dF = h^2 n (n + 1) / (2 m), and the loss is (z - 5)^2 times its weight.
    const double fall = 1e-6 * 500 * 501 / 2 / 0.1, weight = g.value / (4.7 * 4.7);
    EXPECT_NEAR(g.controls[0], -2 * weight * 4.7 * fall, 1e-9);
    // Steepest descent reaches the goal.
    for (int i = 0; i < 60; ++i) {
      const auto now = rollout.value_and_gradient(at, *objective);
      at.controls[0] =
          std::clamp(at.controls[0] - 0.3 / (weight * fall * fall) * now.controls[0], -10.0, 10.0);
    }
    EXPECT_NEAR(rollout.simulate(at).final_state[0], 5, 1e-6);
  }
}

// What presses down stays: the aware gradient is the plain one where leaving would not help.
TEST(Hard, AwareAndPlainAgreeWhereRestIsWanted) {
  const Model model = block("<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>");
  for (const double sign : {1.0, -1.0}) {
    std::vector<double> slopes;
    for (const bool aware : {false, true}) {
      const auto system = make_system<double>(
          model, {.applied_forces = true, .contact = ContactModel::hard, .hard = {.aware = aware}});
      Rollout<double> rollout(system, {.steps = 1});
      Arguments<double> at = rollout.arguments();
      at.x0 = initial_state(model);
      const auto objective =
          loss::cotangents<double>(system->signature(), {1}, {std::vector<double>{0, sign, 0, 0}});
      slopes.push_back(rollout.value_and_gradient(at, *objective).controls[1]);
    }
    EXPECT_NEAR(slopes[0], 0, 1e-9);
    EXPECT_NEAR(slopes[1], sign > 0 ? 0 : -kH * kH, 1e-9);  // the loss is sign times the height
  }
}

}  // namespace
}  // namespace costate::rigid
