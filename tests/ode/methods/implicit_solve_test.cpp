// solve() and its gradients with the implicit methods.
#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/fields/lambda_field.h"
#include "costate/ode/methods/implicit_method.h"
#include "costate/ode/solve.h"
#include "tests/expect_error.h"
#include "tests/ode/stiff_problems.h"

namespace costate::ode::test {
namespace {

using costate::test::expect_error;

class ImplicitSolve : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Methods, ImplicitSolve, testing::Values("rodas5p", "radau5"));

TEST_P(ImplicitSolve, RobertsonAndItsGradientMatchTheReference) {
  const auto ode = make_field<3, 3>([](auto, auto x, auto p) {
    const auto a = p[0] * x[0], b = p[1] * x[1] * x[2], c = p[2] * x[1] * x[1];
    return std::array{b - a, a - b - c, c};
  });
  const DualField<RobertsonAlgebraic> dae({}, robertson_mass());
  const Options options{.method = GetParam(), .rtol = 1e-10, .atol = {1e-11, 1e-15, 1e-11}};
  for (const VectorField* field :
       {static_cast<const VectorField*>(&ode), static_cast<const VectorField*>(&dae)}) {
    const Solution s = solve(*field, {0, 40}, {1, 0, 0}, {0.04, 1e4, 3e7}, options);
    EXPECT_NEAR(s.final_state()[0], 0.71582706872, 2e-11);
    EXPECT_NEAR(gradient(s, OutputCotangents{.final = {1, 0, 0}}).parameters["p"][0], -4.24755877, 1e-8);
    EXPECT_NEAR(gradient(s, OutputCotangents{.final = {0, 0, 1}}).parameters["p"][0], 4.24751286, 1e-8);
  }
}

TEST_P(ImplicitSolve, RobertsonIntegralToFortyMillionMatchesTheReference) {
  const auto field = make_field<3, 3>([](auto, auto x, auto p) {
    const auto a = p[0] * x[0], b = p[1] * x[1] * x[2], c = p[2] * x[1] * x[1];
    return std::array{b - a, a - b - c, c};
  });
  Options options{.method = GetParam(), .rtol = 1e-9, .atol = {1e-11, 1e-15, 1e-11}};
  options.running = make_function<3, 3>([](auto, auto x, auto) { return 1.0 * x[2]; });
  const Solution s = solve(field, {0, 4e7}, {1, 0, 0}, {0.04, 1e4, 3e7}, options);
  EXPECT_NEAR(s.integral, 3.9982528209e7, 2e-3);
  const Gradient g = gradient(s, OutputCotangents{.integral = 1});
  EXPECT_NEAR(g.parameters["p"][0], 7.68377327e5, 2e-8 * 7.68e5);
  EXPECT_NEAR(g.parameters["p"][1], -3.06892092, 2e-8 * 3.07);
  EXPECT_NEAR(g.parameters["p"][2], 5.11488998e-4, 2e-8 * 5.11e-4);
}

// Steps of fixed length have no use for rtol, and their stages are converged to rounding whatever it is.
TEST_P(ImplicitSolve, FixedStepsHaveTheDerivativeByDtOfAStencil) {
  const auto field = make_field<2, 2>([](auto t, auto x, auto p) {
    using std::cos, std::sin;
    return std::array{1.0 * x[1], p[0] * cos(t) - 9.0 * sin(x[0]) - p[1] * x[1]};
  });
  const auto run = [&](double dt) {
    return solve(field, {0.3, 0.3 + 25 * dt}, {1, 0}, {0.5, 0.2}, {.method = GetParam(), .dt = dt});
  };
  const auto end = [&](double dt) { return run(dt).final_state()[0]; };
  const double dt = 0.08, e = 1e-4;
  const double stencil = (45 * (end(dt + e) - end(dt - e)) - 9 * (end(dt + 2 * e) - end(dt - 2 * e)) +
                          (end(dt + 3 * e) - end(dt - 3 * e))) /
                         (60 * e);
  const Solution s = run(dt);
  ASSERT_EQ(s.counts.accepted, 25);
  const Gradient g = gradient(s, OutputCotangents{.final = {1, 0}});
  ASSERT_TRUE(g.dt.has_value());
  EXPECT_NEAR(*g.dt, stencil, 1e-9 * std::abs(stencil));
  // A large state beside a small one: rounding of the one must not keep the other from converging.
  const Solution far = solve(field, {0, 1}, {1e6, 0}, {0.5, 0.2}, {.method = GetParam(), .dt = 0.01});
  EXPECT_EQ(far.counts.accepted, 100);
}

TEST_P(ImplicitSolve, AnInconsistentStartIsAnError) {
  const DualField<RobertsonAlgebraic> dae({}, robertson_mass());
  expect_error(
      [&] {
        return solve(dae, {0, 40}, {1, 0, 0.5}, {0.04, 1e4, 3e7}, {.method = GetParam()});
      },
      "state 2 is 0.5 and should be about 0", "start from a consistent state");
}

}  // namespace
}  // namespace costate::ode::test
