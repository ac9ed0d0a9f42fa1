// Impacts whose force is resolved in parts of a step: with everybody's defaults and any integrator, gradients
// are those of the physics.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/check/checks.h"
#include "tests/rigid/contact/impact_probe.h"
#include "tests/rigid/contact/toss.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

using test::Range;

// A ball of radius 0.1 that moves up and down over a plane, with the default solimp.
Model ball(const std::string& solref, const std::string& integrator, const std::string& gravity = "0 0 0") {
  return compile(
      io::parse_mjcf("<mujoco><option gravity='" + gravity + "' integrator='" + integrator +
                     "'/><default><geom solref='" + solref +
                     "'/></default><worldbody><geom name='floor' type='plane' size='1 1 1'/>"
                     "<body name='ball' pos='0 0 0.1'><joint name='z' type='slide' axis='0 0 1'/>"
                     "<geom name='ball' type='sphere' size='0.1' mass='1'/></body></worldbody></mujoco>"));
}
const char* const kIntegrators[] = {"Euler", "implicitfast", "RK4"};

// How fast a point comes back that meets the soft floor of impedance.h at `speed`, from the equation itself,
// r'' = max(0, d aref) with aref = -B r' - K d r: independent of the engine. A start that is higher by dz0
// meets the floor dz0 / speed later, so that dz(T)/dz0 = -(speed back) / speed.
double rebound(double K, double B, double speed) {
  const auto acceleration = [&](double r, double v) {
    const double x = std::min(1.0, std::abs(r) / 0.001);
    const double rise = x <= 0.5 ? 2 * x * x : 1 - 2 * (1 - x) * (1 - x), d = 0.9 + 0.05 * rise;
    return d * std::max(0.0, -B * v - K * d * r);
  };
  constexpr double h = 5e-7;
  double r = 0, v = -speed;
  while (r <= 0) {
    const double a1 = acceleration(r, v), v2 = v + h / 2 * a1, a2 = acceleration(r + h / 2 * v, v2);
    const double v3 = v + h / 2 * a2, a3 = acceleration(r + h / 2 * v2, v3), v4 = v + h * a3;
    const double a4 = acceleration(r + h * v3, v4);
    r += h / 6 * (v + 2 * v2 + 2 * v3 + v4);
    v += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
  }
  return v;
}

TEST(Resolved, AnElasticBounceOnTheDefaultSolimpHasSlopeMinusOneWithEveryIntegrator) {
  for (const char* integrator : kIntegrators) {
    const Model model = ball("-10000 0", integrator);
    for (const double dt : {0.004, 0.002, 0.001}) {
      const Range r = test::impact_slopes(make_system<double>(model), dt);
      EXPECT_GT(r.least, -1.01) << integrator << " " << dt;
      EXPECT_LT(r.most, -0.99) << integrator << " " << dt;
      const Range f = test::impact_slopes(make_system<float>(model), dt);
      EXPECT_GT(f.least, -1.03) << integrator << " float " << dt;
      EXPECT_LT(f.most, -0.97) << integrator << " float " << dt;
    }
  }
}

// The force of a damped contact ends before its gap opens.
TEST(Resolved, DampedContactsHaveTheSlopeOfThePhysicsWithEveryIntegrator) {
  for (const double z : {1.0, 0.6, 0.3}) {
    const double K = 1 / std::pow(0.95 * 0.02 * z, 2), B = 2 / (0.95 * 0.02);
    for (const double speed : {1.0, 3.0}) {
      const double exact = -rebound(K, B, speed) / speed;
      for (const char* integrator : kIntegrators) {
        const auto system = make_system<double>(ball("0.02 " + std::to_string(z), integrator));
        const Range r = test::impact_slopes(system, 0.002, 1, speed);
        EXPECT_NEAR(r.least, exact, 0.02 * std::abs(exact)) << integrator << " " << z << " " << speed;
        EXPECT_NEAR(r.most, exact, 0.02 * std::abs(exact)) << integrator << " " << z << " " << speed;
      }
    }
  }
}

TEST(Resolved, SlowAndFastStiffAndSoftBouncesHaveSlopeMinusOne) {
  struct Case {
    const char* solref;
    double speed;
  };
  for (const Case& c : {Case{"-1000 0", 1}, {"-10000 0", 10}, {"-10000 0", 0.3}, {"-100000 0", 3}}) {
    for (const char* integrator : kIntegrators) {
      const auto system = make_system<double>(ball(c.solref, integrator));
      const Range r = test::impact_slopes(system, 0.002, 1, c.speed);
      EXPECT_GT(r.least, -1.02) << integrator << " " << c.solref << " " << c.speed;
      EXPECT_LT(r.most, -0.98) << integrator << " " << c.solref << " " << c.speed;
    }
  }
}

TEST(Resolved, TheReportSaysExact) {
  for (const char* integrator : kIntegrators) {
    for (const char* solref : {"-10000 0", "0.02 1", "0.02 0.3"}) {
      const auto system = make_system<double>(ball(solref, integrator));
      Rollout<double> rollout(system, {.steps = 500});
      Arguments<double> at = rollout.arguments();
      at.x0 = {0.5013, -1};
      const auto report =
          rollout.value_and_gradient(at, *loss::final_value<double>(system->signature(), "q")).report;
      EXPECT_EQ(report.label, "exact") << integrator << " " << solref << "\n" << report.to_text();
      EXPECT_FALSE(report.mode_switches.empty());
    }
  }
}

// On corners, rims and round ends, through two impacts and more. The by-hand costate_bench_impacts has all of
// them on three floors, beside steps of 10 us.
TEST(Resolved, TossedSolidsHaveTheGradientOfThePhysicsThroughTheirImpacts) {
  enum Body { box, capsule, ellipsoid, cylinder, die };
  enum Floor { plane, box_floor };
  struct Case {
    Body body;
    Floor floor;
    const char* integrator;
    double seconds, gate;
  };
  for (const Case& c : {Case{box, plane, "RK4", 0.2, 0.01},
                        {box, plane, "Euler", 0.2, 0.01},
                        {box, plane, "implicitfast", 0.2, 0.01},
                        {capsule, plane, "RK4", 0.22, 0.01},  // while it slides on its second impact
                        {capsule, plane, "Euler", 0.3, 0.01},
                        {cylinder, plane, "implicitfast", 0.2, 0.01},
                        {die, plane, "Euler", 0.16, 0.01},
                        {box, box_floor, "RK4", 0.2, 0.01},
                        {capsule, box_floor, "RK4", 0.2, 0.01},
                        {ellipsoid, box_floor, "RK4", 0.2, 0.01}}) {
    const test::Thrown &body = test::kTossed[c.body], &floor = test::kFloors[c.floor];
    // Differences of fine steps, extrapolated.
    const test::Slopes truth = test::Toss(body, floor, "RK4", c.seconds).differences(0.0005, 2e-4);
    GradientReport report;
    const test::Slopes got = test::Toss(body, floor, c.integrator, c.seconds).gradients(0.002, report);
    EXPECT_EQ(report.label, "exact") << body.name << report.to_text();
    EXPECT_GT(report.mode_switches.size(), c.body == ellipsoid ? 1u : 4u)
        << body.name;  // one impact, or more
    const test::TossErrors errors = test::errors_of(got, truth);
    EXPECT_LT(errors.most(), c.gate) << body.name << " on " << floor.name << " " << c.integrator << ": "
                                     << errors.of[0] << " " << errors.of[1] << " " << errors.of[2];
  }
}

// A step is a map like any other between the moments at which its number of parts changes.
TEST(Resolved, CotangentsOfStepsInPartsMatchDualAndDifferences) {
  for (const char* integrator : kIntegrators) {
    Model model = ball("0.02 0.5", integrator, "0 0 -9.81");
    model.joints[0].damping = 0.3;
    const auto system = make_system<double>(model, {.applied_forces = true});
    Arguments<double> at = Rollout<double>(system, {.steps = 1}).arguments();
    at.controls = {0.7};
    at.parameters.set("dt", 0.004);
    at.parameters.set("geom/ball/solref", std::vector<double>{0.021, 0.55});
    // It meets the floor, turns, leaves the ramp of solimp, is let go, comes off.
    for (const auto& x0 : {std::vector<double>{0.0013, -1.0},
                           {-0.004, -0.1},
                           {-0.0011, 0.4},
                           {-0.0017, 0.5},
                           {-0.0001, 0.6}}) {
      at.x0 = x0;
      SCOPED_TRACE(std::string(integrator) + " from " + std::to_string(x0[0]));
      costate::test::expect_transpose_matches_dual<double>(*system, at, 1e-12);
      Rollout<double> rollout(system, {.steps = 3});
      Arguments<double> three = rollout.arguments();
      three.x0 = at.x0;
      three.parameters = at.parameters;
      std::fill(three.controls.begin(), three.controls.end(), 0.7);
      for (const char* field : {"q", "v"}) {
        const auto objective = loss::final_value<double>(system->signature(), field);
        const auto stencil = check::stencil(rollout, three, *objective, {.directions = 5, .step = 1e-6});
        EXPECT_LT(stencil.error, 1e-8) << field << ": " << stencil.to_text();
        const auto dot = check::dot_product(rollout, three, {.directions = 5});
        EXPECT_LT(dot.error, 1e-13) << dot.to_text();
      }
    }
  }
}

// What rests takes the model's own steps, to the bit.
TEST(Resolved, AContactAtRestTakesTheModelsOwnSteps) {
  for (const char* integrator : kIntegrators) {
    const Model model = ball("0.02 1", integrator, "0 0 -9.81");
    const auto cut = make_system<double>(model), none = make_system<double>(model, {.onset = Onset::none});
    const auto end = [&](const std::shared_ptr<System<double>>& system, std::vector<double> x0, int steps) {
      Rollout<double> rollout(system, {.steps = steps});
      Arguments<double> at = rollout.arguments();
      at.x0 = std::move(x0);
      return rollout.simulate(at).final_state;
    };
    const auto resting = end(cut, {-1e-4, 0}, 1000);
    EXPECT_EQ(end(cut, resting, 100), end(none, resting, 100)) << integrator;
  }
}

// Some worlds of a pack are in contact, and take rk4 in parts; others take the model's own step.
TEST(Resolved, AWorldHasTheSameBitsWhateverItsNeighboursDo) {
  for (const char* integrator : kIntegrators) {
    const auto system = make_system<double>(ball("0.02 0.3", integrator, "0 0 -9.81"));
    constexpr std::size_t kWorlds = 13;
    Rollout<double> many(system, {.steps = 120, .worlds = kWorlds}), one(system, {.steps = 120});
    Arguments<double> all = many.arguments();
    all.x0.clear();
    for (std::size_t w = 0; w < kWorlds; ++w) all.x0.insert(all.x0.end(), {0.02 + 0.0131 * double(w), -1.0});
    const auto objective = loss::final_value<double>(system->signature(), "q");
    const auto g = many.value_and_gradient(all, *objective);
    for (std::size_t w = 0; w < kWorlds; ++w) {
      Arguments<double> a = one.arguments();
      a.x0 = {all.x0[2 * w], all.x0[2 * w + 1]};
      const auto h = one.value_and_gradient(a, *objective);
      EXPECT_EQ(h.value, g.values[w]) << integrator << " " << w;
      EXPECT_EQ(h.x0[0], g.x0[2 * w]) << integrator << " " << w;
      EXPECT_EQ(h.x0[1], g.x0[2 * w + 1]) << integrator << " " << w;
    }
  }
}

}  // namespace
}  // namespace costate::rigid
