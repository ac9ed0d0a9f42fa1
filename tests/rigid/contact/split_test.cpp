// Gradients across the moment of impact: closed forms, for every phase of the impact inside a step.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/estimators.h"
#include "tests/rigid/contact/impact_probe.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

// A ball of radius 0.1 that moves up and down over a plane; softness as given.
Model ball(const std::string& solref, const std::string& integrator, const std::string& gravity = "0 0 0") {
  return compile(
      io::parse_mjcf("<mujoco><option gravity='" + gravity + "' integrator='" + integrator +
                     "'/>"
                     "<default><geom solref='" +
                     solref +
                     "' solimp='0.9 0.9 0.001' condim='1'/></default>"
                     "<worldbody><geom type='plane' size='1 1 1'/>"
                     "<body name='ball' pos='0 0 0.1'><joint name='z' type='slide' axis='0 0 1'/>"
                     "<geom name='ball' type='sphere' size='0.1' mass='1'/></body></worldbody></mujoco>"));
}

using test::Range;
Range probe(const std::string& integrator, double dt, Onset onset) {
  const Model model = ball("-10000 0", integrator);
  const auto system = make_system<double>(model, {.onset = onset});
  return test::impact_slopes(system, dt);
}

TEST(Split, TheGradientOfAnElasticBounceIsMinusOneAtEveryPhase) {
  for (const double dt : {0.002, 0.001, 0.0005}) {
    const Range r = probe("RK4", dt, Onset::split);
    EXPECT_GT(r.least, -1.02) << dt;
    EXPECT_LT(r.most, -0.98) << dt;
  }
  const Range coarse = probe("RK4", 0.004, Onset::split);
  EXPECT_GT(coarse.least, -1.05);
  EXPECT_LT(coarse.most, -0.95);
}

TEST(Split, WithoutItTheGradientIsThatOfTheTimeGrid) {
  for (const double dt : {0.002, 0.001}) {
    const Range r = probe("RK4", dt, Onset::none);
    EXPECT_GT(r.most - r.least, 1) << dt;
  }
}

// MuJoCo's own softness swallows most of the impact: dz(0.6)/dz0 = -0.135. Without the split no start comes
// near, whatever the time step.
TEST(Split, OnADampedContactEveryIntegratorConvergesAndNoneDoesWithoutIt) {
  for (const char* integrator : {"RK4", "Euler", "implicitfast"}) {
    const Model model = ball("0.02 1", integrator);
    const auto probe = [&](Onset onset, double dt) {
      return test::impact_slopes(make_system<double>(model, {.onset = onset}), dt, 0.6);
    };
    for (const double dt : {0.002, 0.001, 0.0005}) {
      const double most = 0.01 + 40 * dt;
      const Range split = probe(Onset::split, dt), none = probe(Onset::none, dt);
      EXPECT_GT(split.least, -0.135 - most) << integrator << " " << dt;
      EXPECT_LT(split.most, -0.135 + most) << integrator << " " << dt;
      EXPECT_LT(none.most, -0.235) << integrator << " " << dt;
    }
  }
}

TEST(Split, IsTheDefaultWithEveryIntegrator) {
  for (const char* integrator : {"RK4", "Euler"}) {
    const Range chosen = probe(integrator, 0.002, SystemOptions{}.onset),
                split = probe(integrator, 0.002, Onset::split), none = probe(integrator, 0.002, Onset::none);
    EXPECT_EQ(chosen.least, split.least) << integrator;
    EXPECT_EQ(chosen.most, split.most) << integrator;
    EXPECT_NE(chosen.most, none.most) << integrator;
  }
}

// The ripple averages out over the phases of the impact: smoothing is the way where steps are not cut.
TEST(Split, SmoothingOverThePhaseOfTheImpactFindsTheSlopeWithoutIt) {
  const auto system = make_system<double>(ball("-10000 0", "RK4"), {.onset = Onset::none});
  const RolloutOptions options{.steps = 300};
  Arguments<double> at = Rollout<double>(system, options).arguments();
  at.x0 = {0.5013, -1};
  const auto objective = loss::final_value<double>(system->signature(), "q");
  const estimate::Smoothing smoothing{
      .sigma = 0.01, .samples = 4096, .seed = 3, .x0 = true, .controls = false};
  for (const auto order : {estimate::Order::first, estimate::Order::zeroth, estimate::Order::mixed}) {
    const auto e = estimate::smoothed_gradient<double>(system, options, at, *objective, smoothing, order);
    EXPECT_LT(e.standard_error, 0.1) << int(order);
    // The error is that of both slopes together: dz/dz0 = -1, dz/dv0 = -0.6.
    EXPECT_NEAR(e.gradient.x0[0], -1, 4 * e.standard_error * 2) << int(order);
  }
}

struct Bounce {
  std::shared_ptr<System<double>> system;
  Rollout<double> rollout;
  Arguments<double> at;
  ObjectivePtr<double> objective;
  Bounce(const Model& model, Onset onset, std::int64_t steps, std::vector<double> x0, bool check = false)
      : system(make_system<double>(model, {.onset = onset})),
        rollout(system, {.steps = steps, .time_step_check = check}),
        at(rollout.arguments()),
        objective(loss::final_value<double>(system->signature(), "q")) {
    at.x0 = std::move(x0);
  }
};

TEST(Split, TheReportTellsTheTwoApart) {
  const Model model = ball("-10000 0", "RK4");
  Bounce none(model, Onset::none, 1000, {0.5013, -1}, true),
      split(model, Onset::split, 1000, {0.5013, -1}, true);
  const auto g = none.rollout.value_and_gradient(none.at, *none.objective);
  EXPECT_EQ(g.report.label, "discretisation-dominated") << g.report.to_text();
  EXPECT_FALSE(g.report.mode_switches.empty());
  const auto h = split.rollout.value_and_gradient(split.at, *split.objective);
  EXPECT_EQ(h.report.label, "exact") << h.report.to_text();
  EXPECT_FALSE(h.report.mode_switches.empty());
}

// A second derivative is that of one side of an impact, and says so; without one it is exact.
TEST(Split, SecondDerivativesSayWhereTheGradientJumps) {
  for (const double speed : {-1.0, 1.0}) {
    const Bounce b(ball("-10000 0", "RK4"), Onset::split, 100, {0.0513, speed});
    Arguments<double> along = b.rollout.arguments();
    along.x0 = {1, 0};
    const auto [g, h] = Rollout<double>(b.system, {.steps = 100}).hessian_vector(b.at, along, *b.objective);
    EXPECT_EQ(g.report.mode_switches.empty(), speed > 0);
    for (const auto* report : {&g.report, &h.report})
      EXPECT_EQ(report->label, speed > 0 ? "exact" : "exact between switches of mode") << report->to_text();
  }
}

// A ball that turns back just where it would touch: the gap and its rate vanish together.
TEST(Split, TheReportSaysWhereAnEventGrazes) {
  const Model model = ball("-10000 0", "RK4", "0 0 9.81");
  for (const ContactModel contact : {ContactModel::convex, ContactModel::event}) {
    const auto system = make_system<double>(model, {.onset = Onset::split, .contact = contact});
    Rollout<double> rollout(system, {.steps = 150});
    Arguments<double> at = rollout.arguments();
    at.parameters.set("dt", 0.001);
    const double turn = 0.981 * 0.981 / (2 * 9.81);  // after 0.1 s
    at.x0 = {turn - 2e-14, -0.981};
    const auto objective = loss::final_value<double>(system->signature(), "q");
    const auto grazing = rollout.value_and_gradient(at, *objective).report;
    EXPECT_EQ(grazing.label, "grazing") << grazing.to_text();
    ASSERT_FALSE(grazing.advice.empty());
    // It touches at the end of step 99, and leaves right after.
    const std::string text = grazing.to_text();
    EXPECT_TRUE(text.find("step 99: bodies graze") != std::string::npos ||
                text.find("step 100: bodies graze") != std::string::npos)
        << text;
    at.x0[0] = turn - 1e-3;
    const auto through = rollout.value_and_gradient(at, *objective).report;
    EXPECT_EQ(through.label, "exact") << through.to_text();
    EXPECT_FALSE(through.mode_switches.empty());
  }
}

// One step with an impact inside: every input and parameter against dual numbers and differences.
TEST(Split, CotangentsOfAStepWithAnImpactMatchDual) {
  for (const char* integrator : {"RK4", "Euler", "implicitfast"}) {
    Model model = ball("0.02 0.7", integrator, "0 0 -9.81");
    model.joints[0].damping = 0.3;
    const auto system = make_system<double>(model, {.applied_forces = true, .onset = Onset::split});
    Rollout<double> rollout(system, {.steps = 1});
    Arguments<double> at = rollout.arguments();
    at.controls = {0.7};
    at.parameters.set("dt", 0.004);
    for (const auto& x0 : {std::vector<double>{0.0013, -1.0}, std::vector<double>{-0.0007, 1.0}}) {
      at.x0 = x0;
      SCOPED_TRACE(integrator);
      costate::test::expect_transpose_matches_dual<double>(*system, at, 1e-10);
      const auto result = check::stencil(rollout, at, *loss::final_value<double>(system->signature(), "v"),
                                         {.directions = 5, .step = 1e-5});
      EXPECT_LT(result.error, 1e-8) << result.to_text();
    }
  }
}

// Activations and rotations are cut like the rest: an arm with a ball joint, driven through filters, whose
// foot meets the floor.
TEST(Split, CotangentsOfACutMatchDualForActivationsAndRotations) {
  for (const char* integrator : {"RK4", "Euler", "implicitfast"}) {
    const Model model = compile(io::parse_mjcf(
        "<mujoco><option integrator='" + std::string(integrator) +
        "' timestep='0.004'/><default><geom condim='3' friction='0.4 0.02 0.01' solref='-4000 -5'/></default>"
        "<worldbody><geom name='floor' type='plane' size='1 1 1' friction='0.3 0.01 0.02'/>"
        "<body name='arm' pos='0 0 0.5'><joint name='a' type='hinge' axis='0 1 0.1' damping='0.1' "
        "armature='0.2'/><geom type='sphere' size='0.05' pos='0.3 0 0' mass='3' contype='0' conaffinity='0'/>"
        "<body name='foot' pos='0.3 0 0'><joint name='b' type='ball'/><geom name='foot' type='capsule' "
        "size='0.05' fromto='0 0 0 0.21 0.1 -0.3' mass='8'/></body></body></worldbody><actuator>"
        "<general joint='a' dyntype='filter' dynprm='0.03' gainprm='20'/>"
        "<general joint='a' dyntype='filterexact' dynprm='0.02' gainprm='15'/>"
        "<general joint='a' dyntype='integrator' gainprm='10'/></actuator></mujoco>"));
    const auto system = make_system<double>(model, {.onset = Onset::split});
    Rollout<double> rollout(system, {.steps = 1});
    Arguments<double> at = rollout.arguments();
    at.controls = {0.7, -0.4, 0.9};
    at.x0 = initial_state(model);
    at.x0[0] = 0.333;
    const double v[4] = {3, -0.4, 0.5, 0.3}, act[3] = {0.2, 0.1, -0.3};
    std::copy(v, v + 4, at.x0.begin() + model.nq);
    std::copy(act, act + 3, at.x0.begin() + model.nq + model.nv);
    at.parameters.set("geom/floor/solref", std::vector<double>{-4100, -5.1});
    SCOPED_TRACE(integrator);
    for (const char* field : {"v", "act"}) {
      const auto objective = loss::final<double>(system->signature(), field, {});
      ASSERT_FALSE(rollout.value_and_gradient(at, *objective).report.mode_switches.empty());  // it meets
      const auto result = check::stencil(rollout, at, *objective, {.directions = 4, .step = 1e-5});
      EXPECT_LT(result.error, 1e-8) << result.to_text();
    }
    costate::test::expect_transpose_matches_dual<double>(*system, at, 1e-10);
  }
}

// A ball thrown sideways with spin next to a capsule that it hits, both onto a floor: several events in a
// rollout.
struct Thrown {
  Model model;
  std::shared_ptr<System<double>> system;
  Rollout<double> rollout;
  Arguments<double> at;
  Thrown(int condim, const std::string& softness)
      : model(compile(io::parse_mjcf("<mujoco><option integrator='RK4' timestep='0.002'/>"
                                     "<default><geom " +
                                     softness + " friction='0.4' condim='" + std::to_string(condim) +
                                     "'/></default><worldbody><geom type='plane' size='1 1 1'/>"
                                     "<body name='a' pos='0 0 0.12'><freejoint/><geom name='a' type='sphere' "
                                     "size='0.1' mass='1'/></body>"
                                     "<body name='b' pos='0.25 0.01 0.14'><freejoint/>"
                                     "<geom name='b' type='capsule' size='0.08 0.05' mass='0.7'/></body>"
                                     "</worldbody></mujoco>"))),
        system(make_system<double>(model, {.applied_forces = true, .onset = Onset::split})),
        rollout(system, {.steps = 60, .hold = 60}),
        at(rollout.arguments()) {
    for (const char* geom : {"geom/a/solref", "geom/b/solref"}) {
      for (double& x : at.parameters[geom]) x *= geom[5] == 'a' ? 1.1 : 1.2;
    }
    at.x0 = initial_state(model);
    at.x0[std::size_t(model.nq)] = 1.1;      // towards the other
    at.x0[std::size_t(model.nq) + 4] = 3.0;  // spin
    for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = 0.05 * double(i % 3);
  }
};

// Springs almost without dampers: their force ends where the contact does, and between events everything is
// smooth. The softer of two geoms counts, so no two are alike.
TEST(Split, SeveralImpactsMeetTheContract) {
  const Thrown t(1, "solref='-5000 -0.1' solimp='0.9 0.9 0.001'");
  costate::test::expect_contract(t.system, {.states = costate::test::starting_at(t.at),
                                            .objective = loss::final<double>(t.system->signature(), "q", {}),
                                            .steps = 60,
                                            .hold = 60,
                                            .long_steps = 0,
                                            .run_gate = 1e-14,
                                            .stencil_gate = 1e-7,
                                            .stencil_step = 1e-6,
                                            .taylor_step = 1e-4,
                                            .second_order_step = 1e-6});
}

// With friction: sliding turns into rolling on the way, which second derivatives and Taylor's remainder would
// see.
TEST(Split, SeveralImpactsWithFrictionHaveExactGradients) {
  Thrown t(3, "solref='0.01 0.5'");
  const auto dot = check::dot_product(t.rollout, t.at, {.directions = 20});
  EXPECT_LT(dot.error, 1e-12) << dot.to_text();
  // Another number of parts is another map, 1e-10 away: differences stay on one side.
  const auto stencil = check::stencil(t.rollout, t.at, *loss::final<double>(t.system->signature(), "q", {}),
                                      {.directions = 5, .step = 1e-8});
  EXPECT_LT(stencil.error, 1e-6) << stencil.to_text();
}

// A box thrown with spin comes down on one corner, then on others.
Gradient<double> toss(Onset onset, double dt, double* stencil = nullptr) {
  const Model model = compile(io::parse_mjcf(
      "<mujoco><option integrator='RK4'/><default><geom solref='-8000 0' solimp='0.9 0.9 0.001' "
      "condim='1'/></default><worldbody><geom type='plane' size='1 1 1'/>"
      "<body name='box' pos='0 0 0.2'><freejoint/><geom name='box' type='box' "
      "size='0.1 0.08 0.06' mass='1'/></body></worldbody></mujoco>"));
  const auto system = make_system<double>(model, {.onset = onset});
  Rollout<double> rollout(system, {.steps = std::int64_t(std::lround(0.32 / dt))});
  Arguments<double> at = rollout.arguments();
  at.parameters.set("dt", dt);
  at.x0 = {0, 0, 0.2, 0.9, 0.3, 0.2, 0.1, 0.5, 0.1, -1, 2, -1, 3};
  const auto objective = loss::final<double>(system->signature(), "q", {});
  auto g = rollout.value_and_gradient(at, *objective);
  if (stencil) *stencil = check::stencil(rollout, at, *objective, {.directions = 5, .step = 1e-6}).error;
  return g;
}

TEST(Split, ATumblingBoxIsCutAtEachCorner) {
  double stencil = 1;
  const auto fine = toss(Onset::split, 0.0005, &stencil), half = toss(Onset::split, 0.001),
             whole = toss(Onset::split, 0.002), none = toss(Onset::none, 0.001);
  EXPECT_GT(fine.report.mode_switches.size(), 3u);
  EXPECT_LT(stencil, 1e-6);
  const auto distance = [&](const Gradient<double>& g) {
    double sum = 0, norm = 0;
    for (std::size_t i = 0; i < g.x0.size(); ++i) {
      sum += std::pow(g.x0[i] - fine.x0[i], 2);
      norm += fine.x0[i] * fine.x0[i];
    }
    return std::sqrt(sum / norm);
  };
  EXPECT_LT(distance(half), 0.01);
  EXPECT_LT(distance(whole), 0.05);
  EXPECT_GT(distance(none), 0.1);
}

// Four corners at once.
TEST(Split, ABoxThatFallsFlatComesBackLikeABall) {
  const Model model = compile(io::parse_mjcf(
      "<mujoco><option gravity='0 0 0' integrator='RK4'/><default><geom solref='-10000 0' "
      "solimp='0.9 0.9 0.001' condim='1'/></default><worldbody><geom type='plane' size='1 1 1'/>"
      "<body name='box' pos='0 0 0.1'><joint name='z' type='slide' axis='0 0 1'/>"
      "<geom type='box' size='0.1 0.1 0.1' mass='1'/></body></worldbody></mujoco>"));
  for (const double dt : {0.001, 0.0005}) {
    const Range r = test::impact_slopes(make_system<double>(model, {.onset = Onset::split}), dt);
    EXPECT_GT(r.least, -1.02) << dt;
    EXPECT_LT(r.most, -0.98) << dt;
  }
}

TEST(Split, AWorldHasTheSameBitsWhateverItsNeighboursDo) {
  const Model model = ball("-10000 0", "RK4");
  const auto system = make_system<double>(model, {.onset = Onset::split});
  Rollout<double> many(system, {.steps = 300, .worlds = 37}), one(system, {.steps = 300});
  Arguments<double> all = many.arguments();
  all.x0.clear();
  for (int w = 0; w < 37; ++w) all.x0.insert(all.x0.end(), {0.1 + 0.0131 * w, -1.0});
  const auto objective = loss::final_value<double>(system->signature(), "q");
  const auto g = many.value_and_gradient(all, *objective);
  for (std::size_t w : {0u, 3u, 8u, 17u, 36u}) {
    Arguments<double> a = one.arguments();
    a.x0 = {all.x0[2 * w], all.x0[2 * w + 1]};
    const auto h = one.value_and_gradient(a, *objective);
    EXPECT_EQ(h.value, g.values[w]) << w;
    EXPECT_EQ(h.x0[0], g.x0[2 * w]) << w;
    EXPECT_EQ(h.x0[1], g.x0[2 * w + 1]) << w;
  }
}

// Worlds of a pack are at different steps of the run: what they leave at held controls and at shared
// parameters is still their own.
TEST(Split, WorldsAtDifferentStepsKeepTheirControlsAndParametersApart) {
  const Model model = ball("-10000 -3", "RK4", "0 0 -9.81");
  const auto system = make_system<double>(model, {.applied_forces = true, .onset = Onset::split});
  constexpr std::size_t kWorlds = 11, kKnots = 8;
  Rollout<double> many(system, {.steps = 56, .worlds = kWorlds, .hold = 7}),
      one(system, {.steps = 56, .hold = 7});
  Arguments<double> all = many.arguments();
  for (auto* each : {&all.x0, &all.controls}) each->clear();
  // The softer of two geoms counts, so the two are not alike.
  const auto untie = [](Arguments<double>& a) {
    for (double& x : a.parameters["geom/ball/solref"]) x *= 0.9;
  };
  untie(all);
  for (std::size_t w = 0; w < kWorlds; ++w) {
    all.x0.insert(all.x0.end(), {0.002 + 0.0071 * double(w), -1.0});
    for (std::size_t k = 0; k < kKnots; ++k) all.controls.push_back(0.3 * double(w) - 0.2 * double(k));
  }
  const auto objective = loss::final_value<double>(system->signature(), "q");
  const auto g = many.value_and_gradient(all, *objective);
  EXPECT_GT(g.report.mode_switches.size(), 10u);
  double by_gravity = 0, by_dt = 0;
  for (std::size_t w = 0; w < kWorlds; ++w) {
    Arguments<double> a = one.arguments();
    untie(a);
    a.x0 = {all.x0[2 * w], all.x0[2 * w + 1]};
    a.controls.assign(all.controls.begin() + std::ptrdiff_t(kKnots * w),
                      all.controls.begin() + std::ptrdiff_t(kKnots * (w + 1)));
    const auto h = one.value_and_gradient(a, *objective);
    for (std::size_t k = 0; k < kKnots; ++k)
      EXPECT_EQ(h.controls[k], g.controls[kKnots * w + k]) << w << " " << k;
    by_gravity += h.parameters["gravity"][2];
    by_dt += h.parameters["dt"][0];
    const auto stencil = check::stencil(one, a, *objective, {.directions = 2, .step = 1e-6});
    EXPECT_LT(stencil.error, 1e-7) << w << " " << stencil.to_text();
  }
  EXPECT_NEAR(g.parameters["gravity"][2], by_gravity, 1e-12 * std::abs(by_gravity));
  EXPECT_NEAR(g.parameters["dt"][0], by_dt, 1e-12 * std::abs(by_dt));
}

}  // namespace
}  // namespace costate::rigid
