#include "costate/system/ranges.h"

#include <gtest/gtest.h>

#include <limits>

#include "costate/system/check/checks.h"
#include "costate/system/program/program_system.h"
#include "tests/expect_error.h"

namespace costate {
namespace {

using costate::test::expect_error;

std::string said(const ParameterRange& range, std::vector<double> values, std::int64_t size = 1) {
  return fault<double>({"body/pole/mass", size, 0, "kg", {1}, {range}}, values);
}

TEST(Ranges, WhatIsOutsideIsNamedWithItsValueAndTheRange) {
  EXPECT_EQ(said(kNotNegative, {-1}), "'body/pole/mass' is -1, and must not be negative");
  EXPECT_EQ(said(kPositive, {0}), "'body/pole/mass' is 0, and must be positive");
  EXPECT_EQ(said({.low = -1, .high = 0.5}, {0.6}),
            "'body/pole/mass' is 0.6, and must be above -1 and below 0.5");
  EXPECT_EQ(said({.low = 0, .high = 1, .open = false}, {1}),
            "'body/pole/mass' is 1, and must be at least 0 and below 1");
  EXPECT_EQ(said({.high = 2}, {3}), "'body/pole/mass' is 3, and must be below 2");
  EXPECT_EQ(said(kIncreasing, {2, 1}, 2), "'body/pole/mass' ends before it begins: 2 to 1");
}

TEST(Ranges, TheNumberAndTheWorldAreSaidWhereThereAreSeveral) {
  EXPECT_EQ(said(kPositive, {1, 2, -3}, 3), "'body/pole/mass[2]' is -3, and must be positive");
  EXPECT_EQ(said(kPositive, {1, 2, -3}), "'body/pole/mass' is -3 in world 2, and must be positive");
  EXPECT_EQ(said(kPositive, {1, 2, 3, 0}, 2), "'body/pole/mass[1]' is 0 in world 1, and must be positive");
  EXPECT_EQ(said(kIncreasing, {0, 1, 3, 2}, 2), "'body/pole/mass' ends before it begins in world 1: 3 to 2");
}

TEST(Ranges, WhatMayBeIsNotAFault) {
  EXPECT_EQ(said(kNotNegative, {0, 1}), "");
  EXPECT_EQ(said(kIncreasing, {1, 1}, 2), "");
  const ParameterRange diagonal{.low = 0, .open = false, .numbers = 3};
  EXPECT_EQ(said(diagonal, {1, 1, 1, -0.2, 0, 0.1}, 6), "");
  EXPECT_EQ(said(diagonal, {1, -1, 1, 0, 0, 0}, 6), "'body/pole/mass[1]' is -1, and must not be negative");
  EXPECT_EQ(said(diagonal, {2}, 6), "");  // one number for all
}

TEST(Ranges, WhatIsNotANumberIsOutside) {
  EXPECT_EQ(said(kPositive, {std::numeric_limits<double>::quiet_NaN()}),
            "'body/pole/mass' is nan, and must be a number");
  EXPECT_EQ(said(kPositive, {std::numeric_limits<double>::infinity()}),
            "'body/pole/mass' is inf, and must be positive");
}

TEST(Ranges, AreOfANameOrAPattern) {
  Signature s;
  s.parameter("a/mass", 1.0).parameter("b/mass", 0.0).parameter("drag", 0.0);
  const Parameters<double> numbers(s);
  EXPECT_EQ(fault(s.limit("drag", kNotNegative).limit("c/*", kPositive), numbers), "");
  EXPECT_EQ(fault(s.limit("*/mass", kPositive), numbers), "'b/mass' is 0, and must be positive");
  expect_error([&] { return s.limit("drug", kPositive).limited(); }, "no parameter is named 'drug'", "drag");
}

TEST(Ranges, GoWithTheFieldsIntoAnotherSignature) {
  Signature s, loop;
  s.parameter("mass", 0.0).parameter("drag", 0.0).limit("mass", kPositive);
  loop.parameter("weight", 1.0).add(Role::parameter, s.fields(Role::parameter));
  EXPECT_EQ(fault(loop, Parameters<double>(loop)), "'mass' is 0, and must be positive");
}

// v' = -drag v / mass
std::shared_ptr<const System<double>> sled() {
  Signature s;
  s.state("v").parameter("mass", 2.0).parameter("drag", 0.0).parameter("push", 0.0);
  s.limit("mass", kPositive).limit("drag", kNotNegative);
  return equations_system<double>(s, "v_dot = push - drag*v/mass", rk4(0.1));
}

class Sled : public ::testing::Test {
 protected:
  Arguments<double> with(const char* name, double value) {
    Arguments<double> at = rollout.arguments();
    at.x0 = {1.0};
    at.parameters.set(name, value);
    return at;
  }
  const std::shared_ptr<const System<double>> system = sled();
  Rollout<double> rollout{system, {.steps = 3, .active = {"**"}}};
  const ObjectivePtr<double> loss = loss::final<double>(system->signature(), "v", {0.5});
};

TEST_F(Sled, EveryRunRefusesIt) {
  const Arguments<double> heavy = with("mass", -2), fine = with("mass", 2);
  const char* what = "the parameter 'mass' is -2, and must be positive";
  expect_error([&] { return rollout.simulate(heavy); }, what, "lower, upper");
  expect_error([&] { return rollout.forward(heavy); }, what);
  expect_error([&] { return rollout.value(heavy, *loss); }, what);
  expect_error([&] { return rollout.values(heavy, *loss); }, what);
  expect_error([&] { return rollout.value_and_gradient(heavy, *loss); }, what);
  expect_error([&] { return rollout.jvp(heavy, fine); }, what);
  expect_error([&] { return rollout.hessian_vector(heavy, fine, *loss); }, what);
  EXPECT_NO_THROW(rollout.jvp(fine, heavy));  // a tangent may point anywhere
}

TEST_F(Sled, AParameterThatIsNotANumberIsNamedAlthoughItHasNoRange) {
  const Arguments<double> wrong = with("push", std::numeric_limits<double>::quiet_NaN());
  expect_error([&] { return rollout.simulate(wrong); }, "the parameter 'push' is nan");
}

TEST_F(Sled, ChecksReachAcrossTheEndOfARange) {
  const Arguments<double> at = with("drag", 0);
  EXPECT_TRUE(check::stencil(rollout, at, *loss).passed());
  EXPECT_TRUE(check::taylor(rollout, at, *loss).passed());
  Rollout<double> spotted(system, {.steps = 3, .active = {"**"}, .spot_check = true});
  EXPECT_LT(spotted.value_and_gradient(at, *loss).report.spot_check.value(), 1e-5);
  // And refuse a start that is outside.
  expect_error([&] { return check::stencil(rollout, with("drag", -1), *loss); }, "'drag' is -1");
}

}  // namespace
}  // namespace costate
