#include "costate/ode/orbits/steady_state.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "tests/ode/stiff_problems.h"

namespace costate::ode::test {
namespace {

// The Brusselator x' = a + x^2 y - (b + 1) x, y' = b x - x^2 y rests at (a, b/a).
struct Brusselator {
  static constexpr int kStates = 2, kParameters = 2;
  template <class S>
  void operator()(S, const S* x, const S* p, S* dx) const {
    const S reaction = x[0] * x[0] * x[1];
    dx[0] = p[0] + reaction - (p[1] + 1.0) * x[0];
    dx[1] = p[1] * x[0] - reaction;
  }
};

TEST(SteadyState, DerivativesMatchTheClosedForm) {
  const DualField<Brusselator> field;
  SteadyState steady(field);
  const double p[] = {1.3, 1.7};
  double x[] = {1, 1};
  const SteadyState::Result r = steady.solve(p, x);
  EXPECT_LT(r.residual, 1e-14);
  EXPECT_NEAR(x[0], 1.3, 1e-14);
  EXPECT_NEAR(x[1], 1.7 / 1.3, 1e-14);

  steady.linearise(x, p);
  const double p_dot[] = {0.4, -0.9}, x_bar[] = {0.7, 1.9};
  double x_dot[2], p_bar[] = {1, 2};
  EXPECT_LT(steady.jvp(p_dot, x_dot), 1e-15);
  EXPECT_NEAR(x_dot[0], p_dot[0], 1e-14);
  EXPECT_NEAR(x_dot[1], p_dot[1] / p[0] - p[1] / (p[0] * p[0]) * p_dot[0], 1e-14);
  EXPECT_LT(steady.vjp(x_bar, p_bar), 1e-15);
  EXPECT_NEAR(p_bar[0], 1 + x_bar[0] - x_bar[1] * p[1] / (p[0] * p[0]), 1e-14);
  EXPECT_NEAR(p_bar[1], 2 + x_bar[1] / p[0], 1e-14);
}

// x' = p - x e^{-x/2} - x/50. The hump of x e^{-x/2} at x = 2 stops short of p = 0.85, so |x'| has a local
// minimum there and the root lies far to the right, at x near 42.5.
struct Hump {
  static constexpr int kStates = 1, kParameters = 1;
  template <class S>
  void operator()(S, const S* x, const S* p, S* dx) const {
    dx[0] = p[0] - x[0] * exp(-0.5 * x[0]) - 0.02 * x[0];
  }
};
struct NoRoot {
  static constexpr int kStates = 1, kParameters = 1;
  template <class S>
  void operator()(S, const S* x, const S* p, S* dx) const {
    dx[0] = p[0] + x[0] * x[0];
  }
};

TEST(SteadyState, FollowsTheDynamicsWhereNewtonFails) {
  const DualField<Hump> field;
  const double p[] = {0.85};
  double x[] = {3};
  SteadyState steady(field);
  const SteadyState::Result r = steady.solve(p, x);
  EXPECT_GT(r.pseudo_steps, 0);
  double f, scratch;
  field.value(0, x, p, &f, &scratch);
  EXPECT_NEAR(f, 0, 1e-13);
  steady.linearise(x, p);
  const double one[] = {1};
  double x_dot[1];
  steady.jvp(one, x_dot);
  EXPECT_NEAR(x_dot[0], 1 / (std::exp(-x[0] / 2) * (1 - x[0] / 2) + 0.02), 1e-10 * std::abs(x_dot[0]));
}

struct Bistable {  // x' = x - x^3: steady at -1, 0, 1
  static constexpr int kStates = 1, kParameters = 1;
  template <class S>
  void operator()(S, const S* x, const S* p, S* dx) const {
    dx[0] = p[0] * x[0] - x[0] * x[0] * x[0];
  }
};

TEST(SteadyState, TheDynamicsChooseAStableState) {
  const DualField<Bistable> field;
  const double p[] = {1};
  double x[] = {0.1};
  SteadyState(field).solve(p, x);
  EXPECT_NEAR(x[0], 0, 1e-14);  // Newton takes the nearest root, which is unstable
  x[0] = 0.1;
  SteadyState(field, {.newton_first = false}).solve(p, x);
  EXPECT_NEAR(x[0], 1, 1e-14);
}

TEST(SteadyState, NoSteadyStateIsAnErrorThatTellsOfBothAttempts) {
  const DualField<NoRoot> field;
  const double p[] = {1};
  double x[] = {-3};
  try {
    SteadyState(field, {.max_pseudo_steps = 50}).solve(p, x);
    FAIL();
  } catch (const Error& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("Newton's method from the start: "), std::string::npos) << what;
    EXPECT_NE(what.find("do not settle in 50 pseudo-time steps"), std::string::npos) << what;
  }
  EXPECT_EQ(x[0], -3);  // the start is left alone
}

}  // namespace
}  // namespace costate::ode::test
