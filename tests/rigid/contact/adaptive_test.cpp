// integrator = adaptive: parts of steps whose error is held below a tolerance (part_errors.h).
#include <gtest/gtest.h>

#include <cmath>

#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/check/checks.h"
#include "tests/expect_error.h"
#include "tests/rigid/contact/impact_probe.h"
#include "tests/rigid/contact/toss.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

using costate::test::expect_error;

Model parsed(const std::string& text) { return compile(io::parse_mjcf(text)); }

// A brick that spins about its unstable axis, without anything to touch, and a pendulum on it.
Model tumbler(double rtol) {
  Model model = parsed(
      "<mujoco><option gravity='0 0 0'/><worldbody><body><freejoint/><geom type='box' size='.1 .08 .02' "
      "mass='1'/><body pos='.1 0 0'><joint type='hinge' axis='0 1 0' damping='.01'/><geom type='capsule' "
      "fromto='0 0 0 .1 0 0' size='.01' mass='.2'/></body></body></worldbody></mujoco>");
  model.options.integrator = Integrator::adaptive;
  model.options.rtol = rtol;
  model.options.atol = 1e-3 * rtol;
  return model;
}
const std::vector<double> kSpinning{0, 0, 0, 1, 0, 0, 0, 0.3, 0.1, 0, 0, 0.2, 12, 0.3, 5};

std::vector<double> end_of(const Model& model, double dt, std::int64_t steps) {
  const auto system = make_system<double>(model);
  Rollout<double> rollout(system, {.steps = steps});
  Arguments<double> at = rollout.arguments();
  at.parameters.set("dt", dt);
  at.x0 = kSpinning;
  return rollout.simulate(at).final_state;
}
double apart(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

TEST(Adaptive, TheErrorFollowsTheToleranceNotTheStep) {
  Model exact = tumbler(1);
  exact.options.integrator = Integrator::rk4;
  const std::vector<double> truth = end_of(exact, 1e-4, 5000);
  for (const double dt : {0.05, 0.025}) {
    const std::int64_t steps = std::lround(0.5 / dt);
    const double coarse = apart(end_of(exact, dt, steps), truth),
                 rough = apart(end_of(tumbler(1e-4), dt, steps), truth),
                 fine = apart(end_of(tumbler(1e-6), dt, steps), truth);
    EXPECT_GT(coarse, 10 * rough) << dt;
    EXPECT_LT(rough, 1e-2) << dt;
    EXPECT_LT(fine, 2e-5) << dt;
    EXPECT_LT(fine, 0.1 * rough) << dt;
  }
}

Model ball(const std::string& solref) {
  return parsed("<mujoco><option gravity='0 0 0' integrator='adaptive'/><default><geom solref='" + solref +
                "'/></default><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 0.1'><joint "
                "type='slide' axis='0 0 1'/><geom type='sphere' size='0.1' mass='1'/></body></worldbody>"
                "</mujoco>");
}

TEST(Adaptive, AnElasticBounceHasSlopeMinusOneAtEveryPhaseAndStep) {
  for (const double dt : {0.02, 0.004, 0.002, 0.001}) {
    const test::Range r = test::impact_slopes(make_system<double>(ball("-10000 0")), dt);
    EXPECT_GT(r.least, -1.005) << dt;
    EXPECT_LT(r.most, -0.995) << dt;
    const test::Range f = test::impact_slopes(make_system<float>(ball("-10000 0")), dt);
    EXPECT_GT(f.least, -1.01) << "float " << dt;
    EXPECT_LT(f.most, -0.99) << "float " << dt;
  }
}

// -0.1360 and -0.4519: the equation of the floor, integrated by itself (resolved_test.cpp).
TEST(Adaptive, DampedBouncesHaveTheSlopeOfThePhysics) {
  for (const auto& [solref, slope] : {std::pair{"0.02 1", -0.1360}, {"0.02 0.3", -0.4519}}) {
    const test::Range r = test::impact_slopes(make_system<double>(ball(solref)), 0.004, 1);
    EXPECT_NEAR(r.least, slope, 0.02 * std::abs(slope)) << solref;
    EXPECT_NEAR(r.most, slope, 0.02 * std::abs(slope)) << solref;
  }
}

TEST(Adaptive, ATossedBoxHasTheGradientOfThePhysics) {
  const test::Thrown &box = test::kTossed[0], &plane = test::kFloors[0];
  const test::Slopes truth = test::Toss(box, plane, "RK4", 0.2).differences(0.0005, 2e-4);
  GradientReport report;
  const test::Slopes got = test::Toss(box, plane, "adaptive", 0.2).gradients(0.004, report);
  EXPECT_EQ(report.label, "exact") << report.to_text();
  EXPECT_LT(test::errors_of(got, truth).most(), 0.01);
}

// A map like any other between the moments at which the number of parts changes.
TEST(Adaptive, CotangentsMatchDualAndDifferences) {
  Model bouncing = ball("0.02 0.5");
  bouncing.options.gravity = {0, 0, -9.81};
  struct Case {
    Model model;
    std::vector<double> x0;
  };
  for (const Case& c :
       {Case{tumbler(1e-8), kSpinning}, Case{bouncing, {0.0013, -1}}, Case{bouncing, {-0.001, 0.4}}}) {
    const auto system = make_system<double>(c.model, {.applied_forces = true});
    Rollout<double> one(system, {.steps = 1}), three(system, {.steps = 3});
    const auto begin = [&](const Rollout<double>& rollout) {
      Arguments<double> at = rollout.arguments();
      at.parameters.set("dt", 0.02);
      at.x0 = c.x0;
      std::fill(at.controls.begin(), at.controls.end(), 0.3);
      return at;
    };
    costate::test::expect_transpose_matches_dual<double>(*system, begin(one), 1e-12);
    const auto objective = loss::final<double>(system->signature(), "q", {});
    const auto stencil = check::stencil(three, begin(three), *objective, {.directions = 5, .step = 1e-6});
    EXPECT_LT(stencil.error, 1e-8) << stencil.to_text();
    const auto dot = check::dot_product(three, begin(three), {.directions = 5});
    EXPECT_LT(dot.error, 1e-13) << dot.to_text();
  }
}

// Each world has its own lengths: alone, among others that need other ones, and after any other step.
TEST(Adaptive, AWorldHasTheSameBitsWhateverItsNeighboursDo) {
  const auto system = make_system<double>(tumbler(1e-7));
  constexpr std::size_t kWorlds = 11, kStates = 15;
  Rollout<double> many(system, {.steps = 6, .worlds = kWorlds}), one(system, {.steps = 6});
  Arguments<double> all = many.arguments();
  all.parameters.set("dt", 0.05);
  all.x0.clear();
  for (std::size_t w = 0; w < kWorlds; ++w)
    for (std::size_t i = 0; i < kStates; ++i)
      all.x0.push_back(kSpinning[i] * (i < 7 ? 1 : 0.1 + 0.2 * double(w)));
  const auto objective = loss::final<double>(system->signature(), "q", {});
  const auto g = many.value_and_gradient(all, *objective);
  for (std::size_t w = 0; w < kWorlds; ++w) {
    Arguments<double> at = one.arguments();
    at.parameters.set("dt", 0.05);
    at.x0.assign(all.x0.begin() + std::ptrdiff_t(kStates * w),
                 all.x0.begin() + std::ptrdiff_t(kStates * (w + 1)));
    const auto h = one.value_and_gradient(at, *objective);
    EXPECT_EQ(h.value, g.values[w]) << w;
    for (std::size_t i = 0; i < kStates; ++i) EXPECT_EQ(h.x0[i], g.x0[kStates * w + i]) << w << " " << i;
  }
}

// A damper of a rate of 6,000 per second: parts would have to be shorter than a forty-eighth of dt.
TEST(Adaptive, TheReportSaysWhereAStepNeedsMorePartsThanItMayHave) {
  for (const auto& [damping, label] : {std::pair{"0.1", "exact"}, {"20", "time grid"}}) {
    Model model = parsed(
        "<mujoco><option gravity='0 0 0' timestep='0.02' integrator='adaptive'/><worldbody><body><joint "
        "type='hinge' axis='0 0 1' damping='" +
        std::string(damping) +
        "'/><geom type='capsule' fromto='0 0 0 0.3 0 0' size='0.02' "
        "mass='0.1'/></body></worldbody></mujoco>");
    const auto system = make_system<double>(model);
    Rollout<double> rollout(system, {.steps = 1});
    Arguments<double> at = rollout.arguments();
    at.x0 = {0, 3};
    const auto report =
        rollout.value_and_gradient(at, *loss::final<double>(system->signature(), "q", {})).report;
    EXPECT_EQ(report.label, label) << damping << "\n" << report.to_text();
  }
}

TEST(Adaptive, RefusesWhatItCannotHold) {
  for (double Options::*const tolerance : {&Options::rtol, &Options::atol})
    for (const double wrong : {0.0, -1e-6}) {
      Model model = ball("0.02 1");
      model.options.*tolerance = wrong;
      expect_error([&] { return make_system<double>(model); }, "tol = ", "a tolerance is positive");
    }
  const Model model = ball("0.02 1");
  expect_error([&] { return make_system<double>(model, {.onset = Onset::none}); }, "onset = none",
               "use onset = automatic, or RK4");
  expect_error([&] { return make_system<double>(model, {.contact = ContactModel::hard}); }, "hard contact",
               "use Euler or implicitfast");
}

}  // namespace
}  // namespace costate::rigid
