// Muscles: the numbers of MuJoCo from random states (tools/rigid_tendon_reference.py), slopes of the curves,
// and gradients.
#include "costate/rigid/dynamics/muscle.h"

#include <gtest/gtest.h>

#include "costate/io/model/load_model.h"
#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "tests/expect_error.h"
#include "tests/rigid/reference_rollout.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

using costate::test::expect_error;
using test::Json;
using test::OneWorld;
using test::relative_error;
using test::vector_of;

struct Arm {
  Model model = load(COSTATE_RIGID_MUSCLES "/arm.xml");
  Json json = Json::parse(std::ifstream(COSTATE_RIGID_MUSCLES "/arm.json"));
};
const Arm& arm() {
  static const Arm one;
  return one;
}

TEST(Muscle, AccelerationsAreMuJoCos) {
  OneWorld w(arm().model);
  ASSERT_GE(arm().json.at("states").size(), 40u);
  for (const Json& s : arm().json.at("states")) {
    const auto q = vector_of(s.at("q")), v = vector_of(s.at("v")), act = vector_of(s.at("act")),
               u = vector_of(s.at("ctrl"));
    w.accelerate({q.data(), v.data(), act.data(), u.data(), nullptr});
    EXPECT_LT(relative_error(w.d.qacc, vector_of(s.at("qacc"))), 1e-10);
  }
}

TEST(Muscle, StepsAndRolloutsAreMuJoCos) {
  for (const auto& [name, integrator] : test::kIntegrators) {
    if (integrator == Integrator::implicitfast) continue;
    Model model = arm().model;
    model.options.integrator = integrator;
    test::expect_rollout("arm", model, {}, arm().json, std::string("step_") + name, 1, 1e-10);
    test::expect_rollout("arm", model, {}, arm().json, std::string("rollout_") + name, arm().json.at("steps"),
                         1e-9);
  }
}

Arguments<double> arguments_at(const Rollout<double>& rollout, std::size_t state) {
  auto at = rollout.arguments();
  const Json& s = arm().json.at("states").at(state);
  at.x0 = test::state_of(s);
  const auto u = vector_of(s.at("ctrl"));
  for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = u[i % u.size()];
  return at;
}

TEST(Muscle, EveryParametersCotangentMatchesDual) {
  for (const Integrator integrator : {Integrator::euler, Integrator::rk4}) {
    Model model = arm().model;
    model.options.integrator = integrator;
    const auto system = make_system<double>(model);
    Rollout<double> rollout(system, {.steps = 1});
    for (std::size_t i = 0; i < 12; ++i)
      costate::test::expect_transpose_matches_dual<double>(*system, arguments_at(rollout, i), 1e-12);
  }
}

TEST(Muscle, GradientsOfRolloutsMatchTheStencil) {
  const auto system = make_system<double>(arm().model);
  Rollout<double> rollout(system, {.steps = 5, .hold = 5});
  const auto objective = loss::sum<double>({loss::final<double>(system->signature(), "q", {}),
                                            loss::final<double>(system->signature(), "v", {}, 0.1)});
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_LT(check::dot_product(rollout, arguments_at(rollout, i)).error, 1e-13) << i;
    EXPECT_LT(check::stencil(rollout, arguments_at(rollout, i), *objective, {.step = 1e-5}).error, 1e-8) << i;
  }
}

TEST(Muscle, MeetsTheContract) {
  const auto system = make_system<double>(arm().model);
  Rollout<double> rollout(system, {.steps = 5, .hold = 5});
  costate::test::expect_contract(
      system, {.states = costate::test::starting_at(arguments_at(rollout, 2)),
               .objective = loss::sum<double>({loss::final<double>(system->signature(), "q", {}),
                                               loss::final<double>(system->signature(), "v", {}, 0.1)}),
               .name = "arm",
               .steps = 5,
               .hold = 5,
               .long_steps = 50,
               .stencil_step = 1e-5,
               .second_order_step = 1e-5});
}

// Each side of every corner.
TEST(Muscle, SlopesOfTheCurvesMatchDifferences) {
  const double h = 1e-6;
  const auto slope = [&](const auto& f, double x) { return (f(x + h) - f(x - h)) / (2 * h); };
  for (const double L : {0.3, 0.55, 0.9, 1.1, 1.4, 1.7}) {
    const auto FL = force_length(L, 0.5, 1.6);
    EXPECT_NEAR(FL.L, slope([](double x) { return force_length(x, 0.5, 1.6).value; }, L), 1e-9) << L;
    EXPECT_NEAR(FL.lmin, slope([&](double x) { return force_length(L, x, 1.6).value; }, 0.5), 1e-9) << L;
    EXPECT_NEAR(FL.lmax, slope([&](double x) { return force_length(L, 0.5, x).value; }, 1.6), 1e-9) << L;
    const auto FP = force_passive(L, 1.6);
    EXPECT_NEAR(FP.L, slope([](double x) { return force_passive(x, 1.6).value; }, L), 1e-9) << L;
    EXPECT_NEAR(FP.lmax, slope([&](double x) { return force_passive(L, x).value; }, 1.6), 1e-9) << L;
  }
  for (const double V : {-1.2, -0.5, 0.1, 0.7}) {
    const auto FV = force_velocity(V, 1.4);
    EXPECT_NEAR(FV.V, slope([](double x) { return force_velocity(x, 1.4).value; }, V), 1e-9) << V;
    EXPECT_NEAR(FV.fvmax, slope([&](double x) { return force_velocity(V, x).value; }, 1.4), 1e-9) << V;
  }
  EXPECT_EQ(force_length(1.0, 0.5, 1.6).value, 1);
  EXPECT_EQ(force_velocity(0.0, 1.4).value, 1);
}

Model muscle(const std::string& attributes, const std::string& option = "") {
  return compile(io::parse_mjcf("<mujoco>" + option +
                                "<worldbody><body><joint name='j' axis='0 1 0'/><geom size='.1' pos='0 0 "
                                "1'/></body></worldbody><actuator><muscle name='m' joint='j' " +
                                attributes + "/></actuator></mujoco>"));
}

TEST(Muscle, RefusesWhatItCannotDo) {
  expect_error([] { return muscle(""); }, "a muscle needs the range of its lengths", "lengthrange=");
  expect_error([] { return muscle("lengthrange='0 1' lmin='1.2'"); }, "lmin < 1 < lmax");
  expect_error([] { return muscle("lengthrange='0 1' timeconst='0 0.1'"); }, "must be positive");
  expect_error(
      [] { return make_system<double>(muscle("lengthrange='0 1'", "<option integrator='implicitfast'/>")); },
      "implicitfast does not support muscles", "use Euler or RK4");
}

}  // namespace
}  // namespace costate::rigid
