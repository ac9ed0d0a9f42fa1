#include "costate/ode/controls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "costate/core/error.h"
#include "costate/ode/adjoints/continuous_adjoint.h"
#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/adjoints/forward_sensitivity.h"
#include "costate/ode/adjoints/hessian.h"
#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/ode/solve.h"
#include "costate/system/rollout.h"
#include "tests/expect_error.h"
#include "tests/ode/controlled_problem.h"
#include "tests/ode/problems.h"

namespace costate::ode {
namespace {

using test::Inputs;
using test::stencil;
constexpr auto kHold = Controls::Interpolation::hold, kLinear = Controls::Interpolation::linear;

const auto cart = make_field<2, 1>([](auto, auto x, auto u) { return std::array{1.0 * x[1], 1.0 * u[0]}; });

// x'' = u, hold over three intervals of length T/3: v = v0 + sum_k u_k T/3, and u_k acts on x from its
// interval's middle on.
TEST(Controls, ACartMovedByPiecewiseForceHasItsClosedForm) {
  const double T = 3, x0 = 0.5, v0 = -0.2;
  const std::vector<double> u = {1.5, -0.7, 2.0};
  for (const char* method : {"dopri5", "dop853", "rodas5p", "radau5", "rk4", "verlet", "yoshida4"}) {
    SCOPED_TRACE(method);
    const double dt = std::string(method) == "rk4" || method[0] == 'v' || method[0] == 'y' ? 0.25 : 0.0;
    const Solution s =
        solve(cart, {0, T}, {x0, v0}, {}, {.method = method, .dt = dt, .controls = {.values = u}});
    EXPECT_NEAR(s.final_state()[0], x0 + v0 * T + u[0] * 2.5 + u[1] * 1.5 + u[2] * 0.5, 1e-12);
    EXPECT_NEAR(s.final_state()[1], v0 + u[0] + u[1] + u[2], 1e-12);
    EXPECT_NEAR(s(1.0)[1], v0 + u[0], 1e-12);
    const Gradient g = gradient(s, OutputCotangents{.final = {1, 0}});
    ASSERT_EQ(g.controls.size(), 3u);
    EXPECT_NEAR(g.controls[0], 2.5, 1e-12);
    EXPECT_NEAR(g.controls[1], 1.5, 1e-12);
    EXPECT_NEAR(g.controls[2], 0.5, 1e-12);
    // Knots move with the span: x(T) = x0 + v0 T + T^2/9 (2.5 u0 + 1.5 u1 + 0.5 u2).
    EXPECT_NEAR(g.t1, v0 + 2 * T / 9 * (2.5 * u[0] + 1.5 * u[1] + 0.5 * u[2]), 1e-12);
    EXPECT_NEAR(g.t0, -g.t1, 1e-12);
  }
}

// u rises linearly from u0 to u1 over [0, T]: v = T (u0 + u1) / 2, x = T^2 (2 u0 + u1) / 6.
TEST(Controls, ACartMovedByALinearForceHasItsClosedForm) {
  const double T = 2;
  const Solution s =
      solve(cart, {0, T}, {0, 0}, {}, {.controls = {.values = {1, 4}, .interpolation = kLinear}});
  EXPECT_NEAR(s.final_state()[0], T * T * (2 * 1 + 4) / 6, 1e-12);
  EXPECT_NEAR(s.final_state()[1], T * (1 + 4) / 2, 1e-12);
  const Gradient g = gradient(s, OutputCotangents{.final = {1, 0}});
  EXPECT_NEAR(g.controls[0], T * T / 3, 1e-12);
  EXPECT_NEAR(g.controls[1], T * T / 6, 1e-12);
  EXPECT_NEAR(g.t1, 2 * T, 1e-12);
}

TEST(Controls, NoStepCrossesAKnotAndTheStepSizeIsKept) {
  const auto field = make_field<1, 1>([](auto, auto x, auto u) { return u[0] - x[0]; });
  const std::vector<double> fractions = {0.1, 0.35, 0.8};
  const Solution s =
      solve(field, {1, 3}, {0}, {}, {.controls = {.values = {1, -2, 0.5, 3}, .fractions = fractions}});
  std::size_t met = 0;
  for (const double t : s.t)
    if (met < 3 && t == 1 + fractions[met] * 2) ++met;
  EXPECT_EQ(met, 3u);
  EXPECT_LT(s.counts.rejected, 5);
  // A control that does not change costs one cut step per knot.
  const auto smooth = make_field<1, 1>([](auto t, auto x, auto u) {
    using std::sin;
    return u[0] * sin(t) - x[0];
  });
  const long plain = solve(smooth, {0, 10}, {0}, {1}).counts.accepted;
  const long cut =
      solve(smooth, {0, 10}, {0}, {}, {.controls = {.values = std::vector<double>(5, 1.0)}}).counts.accepted;
  EXPECT_LE(cut, plain + 8);
}

// ----- every method, both interpolations, both directions of time -----

struct Case {
  std::string method;
  Controls::Interpolation interpolation;
  bool backwards;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.method << (c.interpolation == kLinear ? " linear" : " hold") << (c.backwards ? " backwards" : "");
}
class ControlledMotion : public testing::TestWithParam<Case> {
 protected:
  test::ControlledProblem problem{GetParam().method, GetParam().interpolation, GetParam().backwards};
};

std::vector<Case> cases(const std::vector<std::string>& methods) {
  std::vector<Case> all;
  for (const std::string& method : methods)
    for (const auto interpolation : {kHold, kLinear})
      for (const bool backwards : {false, true}) all.push_back({method, interpolation, backwards});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Methods, ControlledMotion,
                         testing::ValuesIn(cases({"rk4", "dopri5", "dop853", "rodas5p", "radau5", "verlet",
                                                  "yoshida4"})));

TEST_P(ControlledMotion, EveryInputAgreesWithAStencilOnTheSameSteps) {
  const Inputs at = problem.inputs();
  const Gradient g = gradient(problem.run(at), problem.loss());
  const auto by = [&](const std::function<void(Inputs&, double)>& move, double step = 1e-3) {
    return stencil(
        [&](double e) {
          Inputs in = at;
          move(in, e);
          return evaluate(problem.run(in), problem.loss()).value;
        },
        step);
  };
  const auto expect = [&](double got, double want, double gate, const std::string& what) {
    EXPECT_NEAR(got, want, gate * std::max(1.0, std::abs(want))) << what;
  };
  for (std::size_t i = 0; i < at.y0.size(); ++i)
    expect(g.x0[i], by([&](Inputs& in, double e) { in.y0[i] += e; }), 1e-9, "y0");
  for (std::size_t i = 0; i < at.p.size(); ++i)
    expect(g.parameters["p"][i], by([&](Inputs& in, double e) { in.p[i] += e; }), 1e-9, "p");
  ASSERT_EQ(g.controls.size(), at.u.size());
  for (std::size_t i = 0; i < at.u.size(); ++i)
    expect(g.controls[i], by([&](Inputs& in, double e) { in.u[i] += e; }), 1e-9, "u" + std::to_string(i));
  // A sample that crosses from one step to the next meets another polynomial: keep the stencil inside.
  expect(g.t0, by([&](Inputs& in, double e) { in.t0 += e; }, 1e-4), 2e-8, "t0");
  expect(g.t1, by([&](Inputs& in, double e) { in.t1 += e; }, 1e-4), 2e-8, "t1");
  ASSERT_TRUE(g.dt.has_value());
  expect(*g.dt, 40 * g.t1 * (GetParam().backwards ? -1 : 1), 1e-12, "dt");
}

TEST_P(ControlledMotion, ForwardAndReverseAgree) {
  const Solution s = problem.run(problem.inputs());
  const Gradient reverse = gradient(s, problem.loss()), forward = forward_gradient(s, problem.loss());
  EXPECT_EQ(reverse.value, forward.value);
  const auto expect = [](std::span<const double> a, std::span<const double> b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_NEAR(a[i], b[i], 1e-12 * std::max(1.0, std::abs(a[i]))) << i;
  };
  expect(reverse.x0, forward.x0);
  expect(reverse.parameters["p"], forward.parameters["p"]);
  expect(reverse.controls, forward.controls);
  expect(std::array{reverse.t0, reverse.t1}, std::array{forward.t0, forward.t1});
}

TEST_P(ControlledMotion, ForwardAndReverseAreTransposes) {
  const Solution s = problem.run(problem.inputs());
  for (unsigned seed = 1; seed <= 20; ++seed)
    EXPECT_LT(test::dot_product_error(s, problem.loss().samples->times(), seed), 1e-13) << seed;
}

TEST_P(ControlledMotion, ThinnedCheckpointsGiveTheSameBits) {
  Options options = problem.options(problem.inputs());
  const Gradient expected = gradient(problem.run(problem.inputs(), options), problem.loss());
  for (const int m : {3, 1000}) {
    options.keep_every = m;
    const Gradient g = gradient(problem.run(problem.inputs(), options), problem.loss());
    EXPECT_EQ(g.controls, expected.controls);
    EXPECT_THAT(g.parameters["p"], testing::ElementsAreArray(expected.parameters["p"]));
    EXPECT_EQ(g.t1, expected.t1);
  }
}

class ControlledFlow : public ControlledMotion {};
INSTANTIATE_TEST_SUITE_P(Methods, ControlledFlow, testing::ValuesIn(cases({"dop853"})));
class ControlledHessian : public ControlledMotion {};
INSTANTIATE_TEST_SUITE_P(Methods, ControlledHessian, testing::ValuesIn(cases({"rk4", "dop853"})));

TEST_P(ControlledFlow, ContinuousAdjointsAgree) {
  Options options = problem.options(problem.inputs());
  options.dt = 0;
  options.rtol = 1e-13;
  options.atol = {1e-13};
  const Solution s = problem.run(problem.inputs(), options);
  const Gradient exact = gradient(s, problem.loss());
  for (const bool back : {false, true}) {
    const AdjointOptions o{.method = "dop853", .rtol = 1e-12, .atol = 1e-12};
    const Gradient g =
        back ? backsolve_adjoint(s, problem.loss(), o) : interpolating_adjoint(s, problem.loss(), o);
    for (std::size_t i = 0; i < g.x0.size(); ++i) EXPECT_NEAR(g.x0[i], exact.x0[i], 2e-9);
    for (std::size_t i = 0; i < g.parameters["p"].size(); ++i)
      EXPECT_NEAR(g.parameters["p"][i], exact.parameters["p"][i], 2e-9);
    for (std::size_t i = 0; i < g.controls.size(); ++i)
      EXPECT_NEAR(g.controls[i], exact.controls[i], 2e-9) << i;
    EXPECT_NEAR(g.t0, exact.t0, 2e-8);
    EXPECT_NEAR(g.t1, exact.t1, 2e-8);
  }
}

TEST_P(ControlledHessian, AgreesWithAStencilOfTheGradient) {
  const Inputs at = problem.inputs();
  const Inputs d = problem.direction();
  const Gradient h = hessian_vector(problem.run(at), problem.loss(),
                                    {.y0 = d.y0, .p = d.p, .controls = d.u, .t0 = d.t0, .t1 = d.t1});
  const auto rate = [&](const std::function<double(const Gradient&)>& part) {
    return stencil([&](double e) { return part(gradient(problem.run(moved(at, d, e)), problem.loss())); },
                   2e-4);
  };
  const auto expect = [](double got, double want) {
    EXPECT_NEAR(got, want, 1e-8 * std::max(1.0, std::abs(want)));
  };
  for (std::size_t i = 0; i < at.y0.size(); ++i)
    expect(h.x0[i], rate([&](const Gradient& g) { return g.x0[i]; }));
  for (std::size_t i = 0; i < at.p.size(); ++i)
    expect(h.parameters["p"][i], rate([&](const Gradient& g) { return g.parameters["p"][i]; }));
  for (std::size_t i = 0; i < at.u.size(); ++i)
    expect(h.controls[i], rate([&](const Gradient& g) { return g.controls[i]; }));
  expect(h.t0, rate([&](const Gradient& g) { return g.t0; }));
  expect(h.t1, rate([&](const Gradient& g) { return g.t1; }));
}

TEST(Controls, TheHessianIsThatOfAQuadraticEffort) {
  // int u^2 / 2 over two intervals of length 1, and x(2) v(2): linear in u, so the Hessian is that of the
  // product.
  const Solution s =
      solve(cart, {0, 2}, {0, 0}, {},
            {.running = make_function<2, 1>([](auto, auto, auto u) { return 0.5 * u[0] * u[0]; }),
             .controls = {.values = {0.3, -0.2}}});
  const auto product = make_function<2, 1>([](auto, auto x, auto) { return x[0] * x[1]; });
  const std::vector<double> h = hessian(s, {.final = product});
  ASSERT_EQ(h.size(), 16u);
  // x(2) = 1.5 u0 + 0.5 u1 + x0 + 2 v0, v(2) = u0 + u1 + v0
  EXPECT_NEAR(h[2 * 4 + 2], 2 * 1.5 + 1, 1e-12);
  EXPECT_NEAR(h[2 * 4 + 3], 1.5 + 0.5, 1e-12);
  EXPECT_NEAR(h[3 * 4 + 3], 2 * 0.5 + 1, 1e-12);
  EXPECT_NEAR(h[0 * 4 + 2], 1, 1e-12);
  EXPECT_NEAR(h[1 * 4 + 3], 2 * 1 + 0.5, 1e-12);
}

// ----- fixed steps -----

TEST(Controls, HeldControlsEqualThoseOfARollout) {
  const int steps = 60, hold = 12;
  const double dt = 0.025;
  const std::vector<double> torque = {1.2, -0.4, 2.1, 0.3, -1.6};
  const auto system = pendulum<double>(Integrator::rk4, dt);
  Rollout<double> rollout(system, {.steps = steps, .hold = hold});
  Arguments<double> a = rollout.arguments();
  a.x0 = {0.7, -0.4};
  a.controls = torque;
  const auto expected = rollout.value_and_gradient(a, *loss::final_value<double>(system->signature(), "q"));

  const auto field = make_field<2, 4>([](auto, auto x, auto p) {
    using std::sin;
    return std::array{1.0 * x[1], (p[3] / (p[2] * p[1]) - p[0] * sin(x[0])) / p[1]};
  });
  const Solution s = solve(field, {0, steps * dt}, {0.7, -0.4}, {9.81, 1, 1},
                           {.method = "rk4", .dt = dt, .controls = {.values = torque}});
  ASSERT_EQ(s.counts.accepted, steps);
  const Gradient g = gradient(s, OutputCotangents{.final = {1, 0}});
  EXPECT_NEAR(s.final_state()[0], expected.value, 1e-12);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(g.x0[i], expected.x0[i], 1e-12);
  for (std::size_t k = 0; k < torque.size(); ++k) EXPECT_NEAR(g.controls[k], expected.controls[k], 1e-12);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(g.parameters["p"][i],
                expected.parameters[i == 0   ? "gravity"
                                    : i == 1 ? "length"
                                             : "mass"][0],
                1e-12);
  ASSERT_TRUE(g.dt.has_value());
  EXPECT_NEAR(*g.dt, expected.parameters["dt"][0], 1e-11 * std::abs(*g.dt));
}

TEST(Controls, AStepIsCutAtAKnotAndThenThereIsNoDerivativeByDt) {
  const Solution s = solve(cart, {0, 1}, {0, 0}, {},
                           {.method = "rk4", .dt = 0.2, .controls = {.values = {1, 2}, .fractions = {0.5}}});
  EXPECT_EQ(s.counts.accepted, 6);  // 0.2 0.2 0.1 | 0.2 0.2 0.1
  const Gradient g = gradient(s, OutputCotangents{.final = {1, 0}});
  EXPECT_FALSE(g.dt.has_value());
  EXPECT_NEAR(g.controls[0], 0.375, 1e-14);
  EXPECT_NEAR(g.controls[1], 0.125, 1e-14);
}

TEST(Controls, AnEmptySpanIsDifferentiableByItsEnds) {
  const Solution s = solve(cart, {1, 1}, {2, 3}, {}, {.controls = {.values = {1, 5}, .fractions = {0.25}}});
  EXPECT_EQ(s.final_state(), (std::vector<double>{2, 3}));
  const Gradient g = gradient(s, OutputCotangents{.final = {0, 1}});
  EXPECT_NEAR(g.t1, 0.25 * 1 + 0.75 * 5, 1e-15);
  EXPECT_NEAR(g.t0, -g.t1, 1e-15);
  EXPECT_NEAR(
      forward_gradient(s, {.final = make_function<2, 1>([](auto, auto x, auto) { return 1.0 * x[1]; })}).t1,
      g.t1, 1e-15);
}

// ----- what does not fit -----

void expect_error(const std::vector<double>& p, const Controls& controls, const std::string& words) {
  try {
    solve(cart, {0, 1}, {0, 0}, p, {.controls = controls});
    FAIL() << "expected: " << words;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(Controls, MistakesAreNamed) {
  expect_error({1}, {.values = {1, 2}}, "none is left to be a control");
  expect_error({}, {}, "p has 0 values for 1 parameters");
  expect_error({}, {.values = {1}, .interpolation = kLinear}, "one row of controls per knot");
  expect_error({}, {.values = {1, std::nan("")}}, "controls.values[1] is not finite");
  expect_error({}, {.values = {1, 2, 3}, .fractions = {0.5}}, "1 knots between 3 intervals");
  expect_error({}, {.values = {1, 2, 3}, .fractions = {0.5, 0.5}}, "do not rise from 0 to 1");
  expect_error({}, {.values = {1, 2}, .fractions = {1.5}}, "do not rise from 0 to 1");
  expect_error({}, {.fractions = {0.5}}, "knots but no values");
  const auto two = make_field<1, 2>([](auto, auto, auto u) { return u[0] + u[1]; });
  costate::test::expect_error(
      [&] {
        return solve(two, {0, 1}, {0}, {}, {.controls = {.values = {1, 2, 3}}});
      },
      "there are 3 values of 2 controls", "one row of controls per interval");
  costate::test::expect_error(
      [&] {
        return solve(cart, {1, 1}, {0, 0}, {}, {.controls = {.values = {1, 2}, .interpolation = kLinear}});
      },
      "controls that are linear in time need a time span", "set t1 apart from t0");
  const Solution s = solve(cart, {0, 1}, {0, 0}, {}, {.controls = {.values = {1, 2}}});
  costate::test::expect_error([&] { return sensitivities(s, {{.controls = {1}}}); },
                              "ode::sensitivities: a direction does not fit the solution",
                              "controls: one per value");
  // A cost that does not take the control, where it is linear.
  const Solution l =
      solve(cart, {0, 1}, {0, 0}, {}, {.controls = {.values = {1, 2}, .interpolation = kLinear}});
  costate::test::expect_error(
      [&] {
        return gradient(l, {.final = make_function<2, 3>([](auto, auto x, auto) { return 1.0 * x[0]; })});
      },
      "a field or function takes 3 parameters, where p and u are 1", "the parameters and then the controls");
}

}  // namespace
}  // namespace costate::ode
