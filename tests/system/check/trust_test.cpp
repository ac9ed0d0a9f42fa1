#include "costate/system/check/trust.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "costate/system/program/program_system.h"
#include "tests/expect_error.h"

namespace costate::check {
namespace {

using costate::test::expect_error;

double radius_of(double (*f)(double), double slope, const TrustOptions& options = {}) {
  const auto losses = [&](std::span<const double> lengths) {
    std::vector<double> values;
    for (const double h : lengths) values.push_back(f(h));
    return values;
  };
  return trust_radius(f(0), slope, std::abs(slope), 1e-14, 4, losses, options);
}

// Lengths are halved: the radius is the first of them within the true one.
TEST(Trust, ThePredictionHoldsUpToTheRadiusAndNotBeyond) {
  // h + 5 h^2: within 10 % up to h = .02
  EXPECT_EQ(radius_of([](double h) { return 3 + h + 5 * h * h; }, 1), 1.0 / 64);
  EXPECT_EQ(radius_of([](double h) { return 3 + h + 5 * h * h; }, 1, {.tolerance = 0.2}), 1.0 / 32);
  EXPECT_EQ(radius_of([](double h) { return 3 - 2 * h; }, -2), 1);  // as long as was tried
  EXPECT_EQ(radius_of([](double h) { return 3 - 2 * h; }, -2, {.longest = 8}), 8);
}

TEST(Trust, AWrongSlopeHasNoRadius) {
  EXPECT_EQ(radius_of([](double h) { return 3 + h + h * h; }, 1.3), 0);
}

TEST(Trust, ACornerNearByEndsIt) {
  EXPECT_EQ(radius_of([](double h) { return 3 + std::abs(h - 1e-3); }, -1), 1.0 / 1024);
}

TEST(Trust, ALengthThatIsGoodByChanceDoesNotCount) {
  // Beyond .01 a wave about the line, which it meets at 1.
  const auto f = [](double h) { return h < 0.01 ? h : h + std::sin(M_PI * h); };
  EXPECT_EQ(radius_of(f, 1), 1.0 / 128);
}

TEST(Trust, WhatCannotBeComputedIsNotTrusted) {
  EXPECT_EQ(radius_of([](double h) { return h > 0.3 ? std::numeric_limits<double>::quiet_NaN() : 1 + h; }, 1),
            0.25);
}

// x_{k+1} = 4 x_k (1 - x_k) after n steps: the radius falls like 2^-n.
TEST(Trust, ChaosIsTrustedLessWithEveryStep) {
  Signature s;
  s.state("x").parameter("r", 4.0);
  const auto system = equations_system<double>(s, "x_next = r*x*(1 - x)", NextState{});
  double last = 1;
  for (const std::int64_t steps : {4, 10, 20}) {
    Rollout<double> rollout(system, {.steps = steps});
    Arguments<double> at = rollout.arguments();
    at.x0 = {0.3};
    const auto loss = loss::final<double>(system->signature(), "x", {0.0});
    const std::vector<Trust> found = trust<double>(system, {.steps = steps, .active = {}}, at, *loss);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].inputs, "initial state");
    EXPECT_LT(found[0].along_gradient, 0.3 * last);
    EXPECT_GT(found[0].along_gradient, 0);
    last = found[0].along_gradient;
  }
  EXPECT_LT(last, 1e-6);
}

class TrustedSled : public ::testing::Test {
 protected:
  // v' = (u - drag v)/mass
  TrustedSled() {
    Signature s;
    s.state("v").control("u").parameter("mass", 0.5).parameter("drag", 0.0);
    s.limit("mass", kPositive);
    system = equations_system<double>(s, "v_dot = (u - drag*v)/mass", rk4(0.1));
  }
  std::vector<Trust> measured(const RolloutOptions& options, const TrustOptions& how = {}) {
    Rollout<double> rollout(system, options);
    Arguments<double> at = rollout.arguments();
    std::fill(at.x0.begin(), at.x0.end(), 1.0);
    std::fill(at.controls.begin(), at.controls.end(), 0.5);
    return trust<double>(system, options, at, *loss::final<double>(system->signature(), "v", {0.0}), how);
  }
  std::shared_ptr<const System<double>> system;
};

TEST_F(TrustedSled, EachGroupHasItsOwn) {
  const std::vector<Trust> found = measured({.steps = 10, .active = {"mass"}});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[1].inputs, "controls");
  EXPECT_EQ(found[2].inputs, "parameters");
  EXPECT_EQ(found[2].to_text().substr(0, 12), "parameters: ");
  // L = (v + u T/m)^2, and lengths that leave m > 0 are not trusted.
  EXPECT_LT(found[2].random, 0.5);
  EXPECT_GT(found[2].random, 0.005);
}

TEST_F(TrustedSled, NonsenseIsRefused) {
  expect_error([&] { return measured({.steps = 10, .worlds = 2}); }, "one world", "worlds = 1");
  expect_error([&] { return measured({.steps = 10}, {.tolerance = 0}); }, "tolerance");
  expect_error([&] { return measured({.steps = 10}, {.longest = -1}); }, "longest");
}

}  // namespace
}  // namespace costate::check
