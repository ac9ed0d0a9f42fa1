// A field from a Program against the same field compiled: every derivative, by every input.
#include "costate/ode/fields/program_field.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/ad/parse.h"
#include "costate/core/error.h"
#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/adjoints/hessian.h"
#include "costate/ode/fields/lambda_field.h"
#include "costate/ode/solve.h"
#include "tests/expect_error.h"

namespace costate::ode {
namespace {

using costate::test::expect_error;

const auto kCompiled = make_field<2, 3>([](auto t, auto x, auto p) {
  using std::cos, std::sin;
  return std::array{1.0 * x[1], p[2] * cos(p[1] * t) - p[0] * sin(x[0]) - 0.1 * x[1]};
});

ad::Program pendulum() {
  return ad::parse_equations("dx[0] = x[1]\n dx[1] = p[2]*cos(p[1]*t) - p[0]*sin(x[0]) - 0.1*x[1]",
                             {{"t"}, {"x", 2}, {"p", 3}}, {{"dx", 2}});
}

const double kT = 0.7, kX[] = {0.4, -1.2}, kP[] = {9.8, 1.3, 0.6};
const double kXDot[] = {0.3, 0.9}, kPDot[] = {-0.2, 0.5, 1.1}, kBar[] = {0.8, -0.7}, kBarDot[] = {0.25, 0.35};

struct Derivatives {
  double value[2], jvp[2], vjp[6], vjp_jvp[6], jacobian[4];
};

Derivatives all_of(const VectorField& f) {
  Derivatives d{};
  std::vector<double> scratch(f.scratch_size() + 1);
  double* const s = scratch.data();
  f.value(kT, kX, kP, d.value, s);
  f.jvp(kT, kX, kP, 0.4, kXDot, kPDot, d.jvp, s);
  f.vjp(kT, kX, kP, kBar, d.vjp, d.vjp + 1, d.vjp + 3, s);
  f.vjp_jvp(kT, kX, kP, kBar, 0.4, kXDot, kPDot, kBarDot, d.vjp_jvp, d.vjp_jvp + 1, d.vjp_jvp + 3, s);
  f.jacobian(kT, kX, kP, d.jacobian, s);
  return d;
}

TEST(ProgramField, HasTheDerivativesOfTheCompiledField) {
  const Derivatives a = all_of(ProgramField(pendulum())), b = all_of(kCompiled);
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(a.value[i], b.value[i], 1e-14);
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(a.jvp[i], b.jvp[i], 1e-14);
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(a.vjp[i], b.vjp[i], 1e-14) << i;
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(a.vjp_jvp[i], b.vjp_jvp[i], 1e-13) << i;
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(a.jacobian[i], b.jacobian[i], 1e-14) << i;
}

TEST(ProgramField, NullTangentsAreZeroAndNullParametersAreNotWanted) {
  const ProgramField f(pendulum());
  std::vector<double> scratch(f.scratch_size());
  const double zero[3] = {};
  double a[2], b[2];
  f.jvp(kT, kX, kP, 1.0, nullptr, nullptr, a, scratch.data());
  f.jvp(kT, kX, kP, 1.0, zero, zero, b, scratch.data());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(a[i], b[i]);

  double with[6] = {}, without[3] = {};
  f.vjp(kT, kX, kP, kBar, with, with + 1, with + 3, scratch.data());
  f.vjp(kT, kX, kP, kBar, without, without + 1, nullptr, scratch.data());
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(with[i], without[i], 1e-15);

  double second[6] = {}, second_without[3] = {};
  f.vjp_jvp(kT, kX, kP, kBar, 0.4, kXDot, kPDot, nullptr, second, second + 1, second + 3, scratch.data());
  f.vjp_jvp(kT, kX, kP, kBar, 0.4, kXDot, kPDot, nullptr, second_without, second_without + 1, nullptr,
            scratch.data());
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(second[i], second_without[i], 1e-14);
}

TEST(ProgramField, TransposesAdd) {
  const ProgramField f(pendulum());
  std::vector<double> scratch(f.scratch_size());
  double once[6] = {}, twice[6] = {};
  f.vjp(kT, kX, kP, kBar, once, once + 1, once + 3, scratch.data());
  for (int k = 0; k < 2; ++k) f.vjp(kT, kX, kP, kBar, twice, twice + 1, twice + 3, scratch.data());
  for (int i = 0; i < 6; ++i) EXPECT_EQ(twice[i], 2 * once[i]);
}

TEST(ProgramField, GradientsAndHessiansOfSolutionsAreThoseOfTheCompiledField) {
  const ProgramField field(pendulum());
  const Loss text{.final = std::make_shared<ProgramFunction>(
                      ad::parse_equations("y = x[0]*x[1] + p[0]*t", {{"t"}, {"x", 2}, {"p", 3}}, {{"y"}}))};
  const Loss compiled{.final =
                          make_function<2, 3>([](auto t, auto x, auto p) { return x[0] * x[1] + p[0] * t; })};
  const Options fixed{.method = "rk4", .dt = 0.01};
  const Solution a = solve(field, {0, 2}, {0.4, -1.2}, {9.8, 1.3, 0.6}, fixed);
  const Solution b = solve(kCompiled, {0, 2}, {0.4, -1.2}, {9.8, 1.3, 0.6}, fixed);
  const Gradient ga = gradient(a, text), gb = gradient(b, compiled);
  EXPECT_NEAR(ga.value, gb.value, 1e-13);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(ga.parameters["p"][i], gb.parameters["p"][i], 1e-12);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(ga.x0[i], gb.x0[i], 1e-12);
  EXPECT_NEAR(ga.t1, gb.t1, 1e-12);
  const std::vector<double> ha = hessian(a, text), hb = hessian(b, compiled);
  for (std::size_t i = 0; i < ha.size(); ++i) EXPECT_NEAR(ha[i], hb[i], 1e-11) << i;
}

TEST(ProgramField, AProgramOfAnotherShapeIsRefused) {
  expect_error([&] { return ProgramField(ad::parse_equations("dx = x", {{"x"}}, {{"dx"}})); },
               "this one has inputs (x) and 1 output fields", "declare the inputs");
  expect_error(
      [&] {
        return ProgramField(ad::parse_equations("dx = x[0]", {{"t"}, {"x", 2}, {"p", 1}}, {{"dx"}}));
      },
      "one rate per state: this program gives 1 for 2");
  expect_error(
      [&] {
        return ProgramField(pendulum(), {1.0, 0.0});
      },
      "the mass matrix has 2 entries; it is 2 x 2");
}

TEST(ProgramFunction, HasNoNeedOfParameters) {
  const ProgramFunction f(ad::parse_equations("y = t*x^2", {{"t"}, {"x"}, {"p", 0}}, {{"y"}}));
  std::vector<double> scratch(f.scratch_size());
  const double x = 3, one = 1;
  double y = 0, t_bar = 0, x_bar = 0;
  f.value(2, &x, nullptr, &y, scratch.data());
  f.vjp(2, &x, nullptr, &one, &t_bar, &x_bar, nullptr, scratch.data());
  EXPECT_EQ(y, 18);
  EXPECT_EQ(t_bar, 9);
  EXPECT_EQ(x_bar, 12);
}

}  // namespace
}  // namespace costate::ode
