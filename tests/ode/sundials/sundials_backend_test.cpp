#include "costate/ode/sundials/sundials_backend.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "tests/expect_error.h"
#include "tests/ode/stiff_problems.h"

namespace costate::ode::test {
namespace {

using costate::test::expect_error;

struct LotkaVolterra {
  static constexpr int kStates = 2, kParameters = 4;
  template <class S>
  void operator()(S, const S* x, const S* p, S* dx) const {
    dx[0] = p[0] * x[0] - p[1] * x[0] * x[1];
    dx[1] = p[3] * x[0] * x[1] - p[2] * x[1];
  }
};

class Sundials : public testing::Test {
 protected:
  void SetUp() override {
    if (!sundials::available()) GTEST_SKIP() << "built without SUNDIALS";
  }
};

TEST(SundialsMissing, IsAnErrorThatSaysHowToGetIt) {
  const DualField<LotkaVolterra> field;
  const auto solve = [&] { sundials::solve(field, 0, 1, {1, 1}, {1.5, 1, 3, 1}); };
  if (sundials::available()) {
    EXPECT_NO_THROW(solve());
  } else {
    expect_error([&] { return solve(); }, "costate was built without SUNDIALS", "install SUNDIALS 6");
  }
}

TEST_F(Sundials, AdjointOfLotkaVolterraMatchesTheReference) {
  const DualField<LotkaVolterra> field;
  const sundials::Loss final{.final = [](const double* x, double* x_bar) {
    x_bar[0] = x[0] - 1, x_bar[1] = x[1] - 1;
    return 0.5 * (x_bar[0] * x_bar[0] + x_bar[1] * x_bar[1]);
  }};
  const sundials::Options options{
      .rtol = 1e-11, .atol = {1e-13}, .adjoint_rtol = 1e-11, .adjoint_atol = 1e-13, .integral_atol = 1e-13};
  const auto g = sundials::gradient(field, 0, 10, {1, 1}, {1.5, 1, 3, 1}, final, options);
  EXPECT_NEAR(g.value, 4.424874073408009e-3, 1e-8);
  EXPECT_NEAR(g.x0[0], 0.2995995083036823, 1e-7);
  EXPECT_NEAR(g.x0[1], -0.01415181634485351, 1e-7);
  const double expected[] = {0.6219615855512809, 0.06800140415087434, 0.1691764639958928, 0.2725606939500075};
  for (int j = 0; j < 4; ++j) EXPECT_NEAR(g.p[j], expected[j], 1e-7);

  const sundials::Loss running{
      .running = [](double, const double* x, const double*) { return 0.5 * (x[0] * x[0] + x[1] * x[1]); },
      .running_gradient = [](double, const double* x, const double*, double* x_bar,
                             double*) { x_bar[0] += x[0], x_bar[1] += x[1]; }};
  const auto r = sundials::gradient(field, 0, 10, {1, 1}, {1.5, 1, 3, 1}, running, options);
  EXPECT_NEAR(r.value, 85.7705072010927, 1e-6);
  const double expected_running[] = {3.62353837542988, -55.2370917032541, 51.5740834030593,
                                     -181.286366072316};
  for (int j = 0; j < 4; ++j) EXPECT_NEAR(r.p[j], expected_running[j], 1e-5);
}

TEST_F(Sundials, RobertsonSensitivitiesMatchTheReferenceAsOdeAndAsDae) {
  const DualField<Robertson> ode;
  const DualField<RobertsonAlgebraic> dae({}, robertson_mass());
  const std::vector<double> p(kRobertsonParameters, kRobertsonParameters + 3);
  const sundials::Options options{.rtol = 1e-10, .atol = {1e-12, 1e-16, 1e-12}};
  for (const VectorField* field :
       {static_cast<const VectorField*>(&ode), static_cast<const VectorField*>(&dae)}) {
    const auto s = sundials::solve_with_sensitivities(*field, 0, 40, {1, 0, 0}, p, options);
    EXPECT_NEAR(s.x[0], 0.71582706872, 1e-8);
    EXPECT_NEAR(s.x[1], 9.1855347646e-6, 1e-12);
    EXPECT_NEAR(s.x[2], 0.28416374575, 1e-8);
    EXPECT_NEAR(s.sensitivities[0], -4.24755877, 1e-6);
    EXPECT_NEAR(s.sensitivities[3], 4.59119625e-5, 1e-11);
    EXPECT_NEAR(s.sensitivities[6], 4.24751286, 1e-6);
    const auto plain = sundials::solve(*field, 0, 40, {1, 0, 0}, p, options);
    EXPECT_NEAR(plain.x[0], 0.71582706872, 1e-8);
  }
}

TEST_F(Sundials, AMassMatrixHasNoAdjointHere) {
  const DualField<RobertsonAlgebraic> dae({}, robertson_mass());
  expect_error(
      [&] {
        return sundials::gradient(dae, 0, 1, {1, 0, 0}, {0.04, 1e4, 3e7}, {});
      },
      "the SUNDIALS adjoint is for fields without a mass matrix", "use solve_with_sensitivities");
}

TEST_F(Sundials, WrongTolerancesAndTooFewStepsAreErrors) {
  const DualField<LotkaVolterra> field;
  expect_error(
      [&] {
        return sundials::solve(field, 0, 10, {1, 1}, {1.5, 1, 3, 1}, {.atol = {1, 1, 1}});
      },
      "atol needs one value, or one per state (2)");
  expect_error(
      [&] {
        return sundials::solve(field, 0, 10, {1, 1}, {1.5, 1, 3, 1}, {.max_steps = 5});
      },
      "mxstep steps taken before reaching tout", "raise max_steps");
}

}  // namespace
}  // namespace costate::ode::test
