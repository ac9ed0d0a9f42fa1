#include "costate/rigid/observer.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/check/checks.h"
#include "costate/system/program/program_objective.h"
#include "tests/expect_error.h"
#include "tests/rigid/models.h"

namespace costate::rigid {
namespace {

using costate::test::expect_error;

// Every quantity there is, on both trees of the zoo: one that floats, one that stands.
std::vector<Quantity> everything() {
  std::vector<Quantity> list = {{"wrist", "joint/wrist"},
                                {"spin", "joint/shoulder/velocity"},
                                {"ball", "joint/shoulder"},
                                {"com", "body/pole/com"},
                                {"com_speed", "body/pole/com/velocity"},
                                {"all", "subtree/world"},
                                {"all_speed", "subtree/world/velocity"},
                                {"arm", "subtree/hand"},
                                {"arm_speed", "subtree/hand/velocity"},
                                {"kinetic", "energy/kinetic"},
                                {"weight", "energy/gravity"},
                                {"rotor", "site/rotor"}};
  for (const char* name : {"site/rotor", "body/hand", "body/tip", "geom/bob", "body/world"}) {
    for (const char* part : {"", "/velocity", "/angular_velocity", "/xaxis", "/zaxis"})
      list.push_back({"o" + std::to_string(list.size()), std::string(name) + part});
  }
  return list;
}

Model zoo_with_a_geom() {
  Model m = test::zoo(Integrator::euler);
  m.options.contact = false;
  Geom g;
  g.name = "bob";
  g.body = 5;
  g.pos = {0.1, -0.2, 0.3};
  g.quat = {0.6, 0, 0, 0.8};
  m.geoms.push_back(g);
  complete(m);
  return m;
}

// A different weight for every number, and not linear.
std::string formula(const Observer& observer) {
  std::string text = "0";
  double weight = 0.3;
  for (const Field& f : observer.signature().fields(Role::state)) {
    for (std::int64_t i = 0; i < f.size; ++i) {
      weight = std::fmod(weight * 1.7 + 0.11, 1.0);
      const std::string element = f.size > 1 ? f.name + "[" + std::to_string(i) + "]" : f.name;
      text += " + " + std::to_string(weight) + "*sin(" + element + " + " + std::to_string(3 * weight) + ")";
    }
  }
  return text;
}

TEST(Observer, GradientsByStateControlAndEveryParameterMatchDifferences) {
  const Model model = zoo_with_a_geom();
  const auto system = make_system<double>(model);
  const Observer observer(model, system->signature(), everything());
  const auto objective = observer.objective(loss::sum<double>(
      {loss::expression<double>(observer.signature(), formula(observer), loss::at_steps({0, 2, 3})),
       loss::final<double>(observer.signature(), "rotor", {0.3, 0.2, 0.1})}));
  Rollout<double> rollout(system, {.steps = 3});
  Arguments<double> at = rollout.arguments();
  at.x0 = test::random_state(model, 3);
  for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = 0.1 * double(i % 7) - 0.3;
  const check::Result result = check::stencil(rollout, at, *objective, {.directions = 12, .step = 3e-4});
  EXPECT_LT(result.error, 1e-9) << result.to_text();
}

// One parameter after the other: nothing hides behind the sum of all.
TEST(Observer, EachFrameHasItsDerivative) {
  const Model model = zoo_with_a_geom();
  const auto system = make_system<double>(model);
  const Observer observer(model, system->signature(), everything());
  const auto objective = observer.objective(
      loss::expression<double>(observer.signature(), formula(observer), loss::at_steps({0})));
  Rollout<double> rollout(system, {.steps = 1});
  Arguments<double> at = rollout.arguments();
  at.x0 = test::random_state(model, 5);
  const Gradient<double> g = rollout.value_and_gradient(at, *objective);
  int moved = 0;
  for (const Field& f : system->signature().fields(Role::parameter)) {
    for (std::int64_t i = 0; i < f.size; ++i) {
      const double h = 1e-4;
      const auto value = [&](double shift) {
        Arguments<double> other = at;
        other.parameters[f.name][std::size_t(i)] += shift;
        return rollout.value(other, *objective);
      };
      const double difference = (45 * (value(h) - value(-h)) - 9 * (value(2 * h) - value(-2 * h)) +
                                 (value(3 * h) - value(-3 * h))) /
                                (60 * h);
      EXPECT_NEAR(g.parameters[f.name][std::size_t(i)], difference, 2e-10) << f.name << "[" << i << "]";
      moved += std::abs(difference) > 1e-6;
    }
  }
  EXPECT_GT(moved, 40);
}

// Along directions of states, controls and parameters together.
TEST(Observer, SecondDerivativesMatchDifferencesOfTheGradient) {
  const Model model = zoo_with_a_geom();
  const auto system = make_system<double>(model);
  const Observer observer(model, system->signature(), everything());
  const auto objective = observer.objective(loss::sum<double>(
      {loss::expression<double>(observer.signature(), formula(observer) + " + 0.1*ctrl[0]*com[1]",
                                loss::at_steps({0, 1})),
       loss::final<double>(observer.signature(), "rotor", {0.3, 0.2, 0.1})}));
  Rollout<double> rollout(system, {.steps = 2});
  Arguments<double> at = rollout.arguments();
  at.x0 = test::random_state(model, 3);
  for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = 0.1 * double(i % 7) - 0.3;
  for (const unsigned seed : {1u, 2u, 3u}) {
    const Arguments<double> d = check::random_direction(rollout, at, seed),
                            e = check::random_direction(rollout, at, 10 + seed);
    const auto slope = [&](double h) {
      return check::inner(rollout.value_and_gradient(check::moved(at, d, h), *objective), e);
    };
    const double h = 1e-4,
                 difference = (45 * (slope(h) - slope(-h)) - 9 * (slope(2 * h) - slope(-2 * h)) +
                               (slope(3 * h) - slope(-3 * h))) /
                              (60 * h),
                 exact = check::inner(rollout.hessian_vector(at, d, *objective).product, e);
    EXPECT_NEAR(exact, difference, 1e-7 * (1 + std::abs(exact)));
  }
}

TEST(Observer, VelocitiesAreTheRatesOfPositions) {
  const Model model = zoo_with_a_geom();
  const auto system = make_system<double>(model);
  const Observer positions(model, system->signature(),
                           {{"a", "site/rotor"}, {"b", "geom/bob"}, {"c", "body/tip/zaxis"}});
  const Observer rates(
      model, system->signature(),
      {{"a", "site/rotor/velocity"}, {"b", "geom/bob/velocity"}, {"w", "body/tip/angular_velocity"}});
  // q moves with v for a short time, forward and back.
  const std::vector<double> x = test::random_state(model, 7);
  Model slow = model;
  slow.options.timestep = 1e-6;
  const auto move = [&](double sign) {
    std::vector<double> moved = x;
    for (int i = 0; i < model.nv; ++i) moved[std::size_t(model.nq + i)] *= sign;
    Rollout<double> step(make_system<double>(slow), {.steps = 1});
    Arguments<double> at = step.arguments();
    at.x0 = moved;
    return positions.values(step.simulate(at).final_state);
  };
  const std::vector<double> ahead = move(1), back = move(-1), rate = rates.values(x),
                            here = positions.values(x);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR((ahead[i] - back[i]) / 2e-6, rate[i], 1e-4);
  const Double3 w = {rate[6], rate[7], rate[8]}, a = {here[6], here[7], here[8]};
  const Double3 turn = {w[1] * a[2] - w[2] * a[1], w[2] * a[0] - w[0] * a[2], w[0] * a[1] - w[1] * a[0]};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR((ahead[6 + i] - back[6 + i]) / 2e-6, turn[i], 1e-4);
}

TEST(Observer, MisspeltPathsAreErrorsThatNameTheNearest) {
  const Model model = zoo_with_a_geom();
  const auto system = make_system<double>(model);
  const auto complaint = [&](const std::string& path) -> std::string {
    try {
      const Observer observer(model, system->signature(), {{"z", path}});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(complaint("site/roter").find("did you mean 'rotor'?"), std::string::npos);
  EXPECT_NE(complaint("sit/rotor").find("site, body, geom, joint, tendon, actuator, subtree"),
            std::string::npos);
  EXPECT_NE(complaint("joint/wrist/xaxis").find("has no 'xaxis'"), std::string::npos);
  EXPECT_NE(complaint("rotor").find("no quantity"), std::string::npos);
  EXPECT_NE(complaint("site/rotor/com").find("centre of mass"), std::string::npos);
  Model other = model;
  other.bodies[2].name = "leg";
  expect_error([&] { return Observer(other, system->signature(), {}); },
               "must begin with the model's parameters");
}

}  // namespace
}  // namespace costate::rigid
