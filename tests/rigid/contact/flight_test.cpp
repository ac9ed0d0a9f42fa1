// What flies does so by rk4, whatever the model's integrator is, unless its dampers are too stiff for rk4
// (part_method.h).
#include <gtest/gtest.h>

#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/check/checks.h"
#include "costate/system/rollout.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

std::shared_ptr<System<double>> brick(const std::string& integrator, const SystemOptions& options = {}) {
  return make_system<double>(
      compile(io::parse_mjcf("<mujoco><option integrator='" + integrator +
                             "'/><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 1'><freejoint/>"
                             "<geom type='box' size='0.1 0.08 0.06' mass='1'/></body></worldbody></mujoco>")),
      options);
}
Arguments<double> spinning(const Rollout<double>& rollout) {
  Arguments<double> at = rollout.arguments();
  at.x0 = {0, 0, 1, 0.9, 0.3, 0.2, 0.1, 0.5, 0.1, 1, 4, -2, 3};
  return at;
}
std::vector<double> end_of(const std::shared_ptr<System<double>>& system, std::int64_t steps) {
  Rollout<double> rollout(system, {.steps = steps});
  return rollout.simulate(spinning(rollout)).final_state;
}

TEST(Flight, BodiesFlyTheSameWithEveryIntegrator) {
  for (const auto contact : {ContactModel::convex, ContactModel::penalty, ContactModel::event}) {
    const auto rk4 = end_of(brick("RK4", {.contact = contact}), 100);
    EXPECT_EQ(end_of(brick("Euler", {.contact = contact}), 100), rk4);
    EXPECT_EQ(end_of(brick("implicitfast", {.contact = contact}), 100), rk4);
  }
  // Not where steps are never cut.
  EXPECT_NE(end_of(brick("Euler", {.onset = Onset::none}), 100), end_of(brick("RK4"), 100));
}

TEST(Flight, ItsTransposeMatchesDual) {
  for (const auto contact : {ContactModel::convex, ContactModel::penalty, ContactModel::event})
    for (const char* integrator : {"Euler", "implicitfast"}) {
      const auto system = brick(integrator, {.contact = contact});
      Rollout<double> rollout(system, {.steps = 1});
      const Arguments<double> at = spinning(rollout);
      costate::test::expect_transpose_matches_dual<double>(*system, at, 1e-12);
      const auto dot = check::dot_product(rollout, at, {.directions = 5});
      EXPECT_LT(dot.error, 1e-13) << dot.to_text();
    }
}

// A light door with a closer and a stop. M is 1/300 kg m^2.
Model door(double damping) {
  return compile(io::parse_mjcf(
      "<mujoco><option gravity='0 0 0' timestep='0.002'/><worldbody><body><joint name='hinge' type='hinge' "
      "axis='0 0 1' damping='" +
      std::to_string(damping) +
      "' range='-30 30' limited='true'/><geom type='capsule' fromto='0 0 0 0.3 0 0' size='0.02' "
      "mass='0.1'/></body></worldbody></mujoco>"));
}

TEST(Flight, DampersThatAreTooStiffForRk4KeepTheModelsStepsAndTheReportSaysSo) {
  struct Case {
    double damping, speed;
    const char* label;
  };
  for (const Case& c : {Case{0.001, 3, "exact"}, {0.1, 100, "exact"}, {20, 8000, "time grid"}}) {
    const auto system = make_system<double>(door(c.damping));
    Rollout<double> rollout(system, {.steps = 200});
    Arguments<double> at = rollout.arguments();
    at.x0 = {0, c.speed};
    const auto g = rollout.value_and_gradient(at, *loss::final<double>(system->signature(), "q", {}));
    EXPECT_TRUE(std::abs(g.value) < 1) << c.damping << ": " << g.value;  // it does not blow up
    EXPECT_FALSE(g.report.mode_switches.empty()) << c.damping << ": it reaches its stop";
    EXPECT_EQ(g.report.label, c.label) << c.damping << "\n" << g.report.to_text();
    EXPECT_EQ(g.report.to_text().find("steps of first order") != std::string::npos, c.damping == 20)
        << g.report.to_text();
  }
}

// What the report says of steps of first order is of the world that has most of them.
TEST(Flight, WorldsWhoseDampersRk4CanFollowHideNoneOfTheOthers) {
  const auto system = make_system<double>(door(1));
  const auto advice_of = [&](const std::vector<double>& dampings, const std::vector<double>& speeds) {
    Rollout<double> rollout(system, {.steps = 200, .worlds = std::int64_t(speeds.size())});
    Arguments<double> at = rollout.arguments();
    at.parameters.set("joint/hinge/damping", dampings);
    at.x0.clear();
    for (const double speed : speeds) at.x0.insert(at.x0.end(), {0, speed});
    for (const std::string& line :
         rollout.value_and_gradient(at, *loss::final<double>(system->signature(), "q", {})).report.advice)
      if (line.find("steps of first order") != std::string::npos) return line;
    return std::string("nothing");
  };
  const std::string alone = advice_of({20}, {8000});
  EXPECT_NE(alone, "nothing");
  EXPECT_EQ(advice_of({0.001, 20, 20}, {3, 8000, 0}), alone);
  EXPECT_EQ(advice_of({0.001, 20, 0.1}, {3, 0, 100}), "nothing");
}

// A velocity servo is a damper too: 20 N m s/rad on 1/300 kg m^2.
TEST(Flight, ServosThatAreTooStiffForRk4KeepTheModelsSteps) {
  for (const auto& [gain, label] : {std::pair{"0.1", "exact"}, {"20", "time grid"}}) {
    Model model = compile(io::parse_mjcf(
        "<mujoco><option gravity='0 0 0' timestep='0.002'/><worldbody><body><joint name='hinge' type='hinge' "
        "axis='0 0 1' range='-30 30' limited='true'/><geom type='capsule' fromto='0 0 0 0.3 0 0' size='0.02' "
        "mass='0.1'/></body></worldbody><actuator><velocity joint='hinge' kv='" +
        std::string(gain) + "'/></actuator></mujoco>"));
    model.options.integrator = Integrator::implicitfast;
    const auto system = make_system<double>(model, {.onset = Onset::split});
    Rollout<double> rollout(system, {.steps = 200});
    Arguments<double> at = rollout.arguments();
    at.x0 = {0, 3};
    std::fill(at.controls.begin(), at.controls.end(), 3);
    const auto g = rollout.value_and_gradient(at, *loss::final<double>(system->signature(), "q", {}));
    EXPECT_TRUE(std::abs(g.value) < 1) << gain << ": " << g.value;
    EXPECT_FALSE(g.report.mode_switches.empty()) << gain << ": it reaches its stop";
    EXPECT_EQ(g.report.label, label) << gain << "\n" << g.report.to_text();
  }
}

}  // namespace
}  // namespace costate::rigid
