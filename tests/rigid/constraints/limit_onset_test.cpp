// Limits of joints and tendons are cut where they begin and end to act; the report names those that are not.
#include <gtest/gtest.h>

#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/check/checks.h"
#include "costate/system/rollout.h"
#include "tests/rigid/contact/impact_probe.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

GradientReport report_of(const std::string& joints, const std::string& more, double speed,
                         const SystemOptions& options = {}) {
  const Model model = compile(
      io::parse_mjcf("<mujoco><option gravity='0 0 0' timestep='0.002'/><worldbody><body>" + joints +
                     "<geom type='capsule' fromto='0 0 0 0.3 0 0' size='0.02' mass='1'/></body></worldbody>" +
                     more + "</mujoco>"));
  const auto system = make_system<double>(model, options);
  Rollout<double> rollout(system, {.steps = 200});
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state(model);
  at.x0[std::size_t(model.nq)] = speed;
  return rollout.value_and_gradient(at, *loss::final<double>(system->signature(), "q", {})).report;
}

bool says(const GradientReport& report, const std::string& words) {
  return report.to_text().find(words) != std::string::npos;
}

const char* const kHinge = "<joint name='hinge' type='hinge' axis='0 0 1' range='-30 30' limited='true'/>";
const char* const kSocket = "<joint name='socket' type='ball' range='0 30' limited='true'/>";

const char* const kCord =
    "<tendon><fixed name='cord' limited='true' range='-0.3 0.3'><joint joint='hinge' "
    "coef='1'/></fixed></tendon>";

TEST(LimitOnset, ALimitThatIsNotCutMakesTheGradientThatOfTheTimeGrid) {
  const SystemOptions none{.onset = Onset::none};
  const auto met = report_of(kHinge, "", 3, none);
  EXPECT_EQ(met.label, "time grid") << met.to_text();
  EXPECT_TRUE(says(met, "joint \"hinge\"") && says(met, "use onset = automatic")) << met.to_text();
  EXPECT_EQ(report_of(kHinge, "", -3, none).label, "time grid");  // the other end
  const auto free = report_of(kHinge, "", 1, none);               // it gets 0.4 of 0.52 rad
  EXPECT_EQ(free.label, "exact") << free.to_text();
  const auto ball = report_of(kSocket, "", 3, none);
  EXPECT_EQ(ball.label, "time grid") << ball.to_text();
  EXPECT_TRUE(says(ball, "joint \"socket\"")) << ball.to_text();
  const auto cord = report_of("<joint name='hinge' type='hinge' axis='0 0 1'/>", kCord, 3, none);
  EXPECT_EQ(cord.label, "time grid") << cord.to_text();
  EXPECT_TRUE(says(cord, "tendon \"cord\"")) << cord.to_text();
  const std::string motor = "<actuator><motor joint='hinge'/></actuator>";
  const auto robot = report_of(kHinge, motor, 3);
  EXPECT_TRUE(robot.label == "time grid" && says(robot, "ask for onset = split")) << robot.to_text();
}

TEST(LimitOnset, ALimitThatIsCutIsExact) {
  for (const char* joint : {kHinge, kSocket}) {
    const auto met = report_of(joint, "", 3);
    EXPECT_EQ(met.label, "exact") << met.to_text();
    EXPECT_FALSE(met.mode_switches.empty());
  }
  const auto cord = report_of("<joint name='hinge' type='hinge' axis='0 0 1'/>", kCord, 3);
  EXPECT_EQ(cord.label, "exact") << cord.to_text();
  EXPECT_FALSE(cord.mode_switches.empty());
}

// A slide that meets an elastic or a damped end of its rail, as a ball meets a floor (resolved_test.cpp).
Model rail(const std::string& solref, const std::string& integrator) {
  return compile(io::parse_mjcf(
      "<mujoco><option gravity='0 0 0' integrator='" + integrator +
      "'/><worldbody><body>"
      "<joint name='rail' type='slide' axis='-1 0 0' range='0 2' limited='true' solreflimit='" +
      solref + "'/><geom type='sphere' size='0.1' mass='1'/></body></worldbody></mujoco>"));
}

TEST(LimitOnset, AnElasticEndOfARailHasSlopeMinusOneWithEveryIntegrator) {
  for (const char* integrator : {"Euler", "implicitfast", "RK4"}) {
    for (const double dt : {0.004, 0.002}) {
      const test::Range r = test::impact_slopes(make_system<double>(rail("-10000 0", integrator)), dt);
      EXPECT_GT(r.least, -1.01) << integrator << " " << dt;
      EXPECT_LT(r.most, -0.99) << integrator << " " << dt;
    }
  }
  const test::Range none =
      test::impact_slopes(make_system<double>(rail("-10000 0", "RK4"), {.onset = Onset::none}), 0.002);
  EXPECT_GT(none.most - none.least, 1);
}

// The same end as the limit of a tendon: a fixed one, and a rope to a post far away.
TEST(LimitOnset, AnElasticEndOfATendonHasSlopeMinusOne) {
  const std::string slide =
      "<worldbody><site name='post' pos='-9 0 0'/><body><joint name='rail' type='slide' "
      "axis='-1 0 0'/><site name='ring'/><geom type='sphere' size='0.1' mass='1'/></body></worldbody>";
  for (const char* tendon :
       {"<fixed limited='true' range='0 20' solreflimit='-10000 0'><joint joint='rail' coef='1'/></fixed>",
        "<spatial limited='true' range='0 9' solreflimit='-10000 0'><site site='post'/><site site='ring'/>"
        "</spatial>"})
    for (const char* integrator : {"Euler", "RK4"}) {
      const Model model =
          compile(io::parse_mjcf("<mujoco><option gravity='0 0 0' integrator='" + std::string(integrator) +
                                 "'/>" + slide + "<tendon>" + tendon + "</tendon></mujoco>"));
      const test::Range r = test::impact_slopes(make_system<double>(model), 0.002);
      EXPECT_GT(r.least, -1.01) << integrator << " " << tendon;
      EXPECT_LT(r.most, -0.99) << integrator << " " << tendon;
    }
}

// The same equation as a damped contact: -0.136 and -0.452, which resolved_test.cpp integrates by itself.
TEST(LimitOnset, ADampedEndOfARailHasTheSlopeOfThePhysics) {
  for (const char* integrator : {"Euler", "RK4"}) {
    for (const auto& [solref, exact] : {std::pair{"0.02 1", -0.136}, std::pair{"0.02 0.3", -0.452}}) {
      const test::Range r = test::impact_slopes(make_system<double>(rail(solref, integrator)), 0.002, 1, 1);
      EXPECT_NEAR(r.least, exact, 0.02 * std::abs(exact)) << integrator << " " << solref;
      EXPECT_NEAR(r.most, exact, 0.02 * std::abs(exact)) << integrator << " " << solref;
    }
  }
}

// An arm on a hinge and a ball joint that meets both limits: every number against duals and differences.
TEST(LimitOnset, CotangentsOfACutMatchDualForHingesAndBallJoints) {
  for (const char* integrator : {"RK4", "Euler", "implicitfast"}) {
    const Model model = compile(io::parse_mjcf(
        "<mujoco><option integrator='" + std::string(integrator) +
        "' timestep='0.004'/><worldbody><body>"
        "<joint name='a' type='hinge' axis='0 1 0.1' damping='0.1' armature='0.2' range='-60 20' "
        "limited='true' solreflimit='-4000 -5'/><geom type='sphere' size='0.05' pos='0.3 0 0' mass='3'/>"
        "<body name='foot' pos='0.3 0 0'><joint name='b' type='ball' range='0 30' limited='true' "
        "margin='0.01' solreflimit='-3000 -4'/><geom type='capsule' size='0.05' fromto='0 0 0 0.21 0.1 -0.3' "
        "mass='2'/></body></body></worldbody></mujoco>"));
    const auto system = make_system<double>(model, {.applied_forces = true});
    Rollout<double> rollout(system, {.steps = 1});
    Arguments<double> at = rollout.arguments();
    at.x0 = initial_state(model);
    at.controls = {0.7, -0.3, 0.2, 0.5};
    const double by_hinge[] = {0.34, 1, 0.1, -0.05, 0.02, 3, -0.4, 0.5, 0.3},
                 by_ball[] = {0.1, 0.968, 0.248, 0.02, 0.01, 0.5, 4, 0.5, 0.3};
    for (const double* state : {by_hinge, by_ball}) {
      std::copy(state, state + 9, at.x0.begin());
      SCOPED_TRACE(std::string(integrator) + (state == by_ball ? " ball" : " hinge"));
      const auto objective = loss::final<double>(system->signature(), "v", {});
      ASSERT_FALSE(rollout.value_and_gradient(at, *objective).report.mode_switches.empty());  // it meets
      const auto result = check::stencil(rollout, at, *objective, {.directions = 4, .step = 1e-5});
      EXPECT_LT(result.error, 1e-8) << result.to_text();
      costate::test::expect_transpose_matches_dual<double>(*system, at, 1e-10);
    }
  }
}

// Two arms with a rope between them, over a peg, and a rod whose length is fixed by coefficients: one or the
// other gets taut within the step.
TEST(LimitOnset, CotangentsOfACutMatchDualForTendons) {
  for (const char* integrator : {"RK4", "Euler"}) {
    const Model model = compile(io::parse_mjcf(
        "<mujoco><option integrator='" + std::string(integrator) +
        "' timestep='0.004'/><worldbody><geom name='peg' type='sphere' size='0.05' pos='0.5 0 0.04' "
        "contype='0' conaffinity='0'/>"
        "<body><joint name='a' type='hinge' axis='0 1 0.1'/><geom type='capsule' size='0.05' "
        "fromto='0 0 0 0.3 0 0' contype='0' conaffinity='0'/><site name='one' pos='0.3 0 0.02'/></body>"
        "<body pos='1 0 0'><joint name='b' type='hinge' axis='0 1 0'/><geom type='capsule' size='0.05' "
        "fromto='0 0 0 -0.3 0 0' contype='0' conaffinity='0'/><site name='two' pos='-0.3 0 0.03'/></body>"
        "</worldbody><tendon><spatial name='rope' limited='true' range='0 0.4019' solreflimit='-4000 -5'>"
        "<site site='one'/><geom geom='peg'/><site site='two'/></spatial>"
        "<fixed name='rod' limited='true' range='-1 0.054' solreflimit='-3000 -4'><joint joint='a' "
        "coef='0.5'/>"
        "<joint joint='b' coef='-0.7'/></fixed></tendon></mujoco>"));
    const auto system = make_system<double>(model);
    Rollout<double> rollout(system, {.steps = 1});
    Arguments<double> at = rollout.arguments();
    const auto objective = loss::final<double>(system->signature(), "v", {});
    // The rope alone, the rod alone.
    for (const std::vector<double>& x0 :
         {std::vector<double>{0.05, -0.03, -2, 1.2}, {0.06, -0.03, 0.3, -2}}) {
      at.x0 = x0;
      SCOPED_TRACE(std::string(integrator) + " from " + std::to_string(x0[0]));
      ASSERT_FALSE(rollout.value_and_gradient(at, *objective).report.mode_switches.empty());  // it gets taut
      const auto result = check::stencil(rollout, at, *objective, {.directions = 4, .step = 1e-5});
      EXPECT_LT(result.error, 1e-8) << result.to_text();
      costate::test::expect_transpose_matches_dual<double>(*system, at, 1e-10);
    }
  }
}

// An elastic end pushes until it is left: the part goes back for a shorter step (split_step_cut.h).
TEST(LimitOnset, CotangentsOfAPartThatALimitsEndShortensMatchDual) {
  for (const char* integrator : {"RK4", "Euler"}) {
    const auto system = make_system<double>(rail("-10000 0", integrator));
    Rollout<double> rollout(system, {.steps = 1});
    Arguments<double> at = rollout.arguments();
    at.parameters.set("dt", 0.004);
    const auto objective = loss::final<double>(system->signature(), "q", {});
    for (const std::vector<double>& x0 : {std::vector<double>{-0.0004, 0.63}, {-0.0002, 0.5}}) {
      at.x0 = x0;
      SCOPED_TRACE(std::string(integrator) + " from " + std::to_string(x0[0]));
      ASSERT_FALSE(rollout.value_and_gradient(at, *objective).report.mode_switches.empty());  // it leaves
      costate::test::expect_transpose_matches_dual<double>(*system, at, 1e-11);
      const auto result = check::stencil(rollout, at, *objective, {.directions = 4, .step = 1e-6});
      EXPECT_LT(result.error, 1e-8) << result.to_text();
    }
  }
}

}  // namespace
}  // namespace costate::rigid
