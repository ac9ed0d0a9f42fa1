#include "costate/system/one_world.h"

#include <gtest/gtest.h>

#include <vector>

#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/system/rollout.h"

namespace costate {
namespace {

// A pendulum with 8 or more lanes, as a rollout of one step of one world sees it.
struct Swing {
  std::shared_ptr<System<double>> system = ode::pendulum<double>(ode::Integrator::rk4, 0.02);
  Rollout<double> rollout{system, {.steps = 1}};
  Arguments<double> at = rollout.arguments();
  OneWorld<double> one{system};
  std::vector<double> p;
  Swing() {
    at.x0 = {0.7, -0.4};
    at.controls = {0.3};
    for (std::size_t f = 0; f < system->signature().fields(Role::parameter).size(); ++f)
      for (const double number : at.parameters.values(f)) p.push_back(number);
  }
};

TEST(OneWorld, StepsAsARolloutDoes) {
  Swing s;
  ASSERT_GT(s.system->lanes(), 1);
  std::vector<double> y(2);
  s.one.step({}, s.at.x0.data(), s.at.controls.data(), s.p.data(), y.data());
  EXPECT_EQ(y, s.rollout.simulate(s.at).final_state);
}

TEST(OneWorld, TangentsAreThoseOfARollout) {
  Swing s;
  Arguments<double> direction = s.rollout.arguments();
  direction.parameters = s.at.parameters.zeros();
  direction.x0 = {0.2, 1.1};
  direction.controls = {-0.6};
  const Tangent<double> expected = s.rollout.jvp(s.at, direction);
  std::vector<Dual<double>> x, u{{0.3, -0.6}}, p, y(2);
  for (std::size_t i = 0; i < 2; ++i) x.emplace_back(s.at.x0[i], direction.x0[i]);
  for (const double number : s.p) p.emplace_back(number, 0.0);
  s.one.step({}, x.data(), u.data(), p.data(), y.data());
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(y[i].v, expected.final_state[i]);
    EXPECT_EQ(y[i].d[0], expected.final_state_dot[i]);
  }
}

TEST(OneWorld, CotangentsAreAdded) {
  Swing s;
  const std::vector<double> y_bar{0.9, -1.3};
  const auto g =
      s.rollout.value_and_gradient(s.at, *loss::cotangents<double>(s.system->signature(), {1}, {y_bar}));
  std::vector<double> x_bar(2, 10.0), u_bar(1, 20.0), p_bar(s.p.size(), 30.0);
  s.one.step_vjp({}, s.at.x0.data(), s.at.controls.data(), s.p.data(), y_bar.data(), x_bar.data(),
                 u_bar.data(), p_bar.data());
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(x_bar[i], 10.0 + g.x0[i]);
  EXPECT_EQ(u_bar[0], 20.0 + g.controls[0]);
  std::size_t at = 0;
  for (std::size_t f = 0; f < s.system->signature().fields(Role::parameter).size(); ++f)
    for (const double number : g.parameters.values(f)) EXPECT_EQ(p_bar[at++], 30.0 + number);
}

}  // namespace
}  // namespace costate
