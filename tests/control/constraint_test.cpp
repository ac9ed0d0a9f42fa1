#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "costate/control/plan/ddp.h"
#include "costate/system/program/program_objective.h"
#include "tests/control/problems.h"

namespace costate::control {
namespace {

using test::kPi;

Problem to_goal(Problem p, double bound, const std::vector<double>& goal) {
  const auto m = std::size_t(p.system->signature().controls());
  p.lower.assign(m, -bound), p.upper.assign(m, bound);
  p.constraints = reach(p.system->signature(), p.space, goal);
  return p;
}
Constraint below(const Problem& p, const char* text, const std::vector<std::int64_t>& steps) {
  return {loss::expression<double>(p.system->signature(), text, loss::at_steps(steps)), false, text};
}

void expect_best(const char* name, const Plan& plan, double best, double gate) {
  std::printf("%-24s %3d iterations, J - J* = %.1e, violation %.1e: %s\n", name, plan.iterations,
              plan.value - best, plan.violation, plan.reason.c_str());
  EXPECT_TRUE(plan.converged()) << name << ": " << plan.reason;
  EXPECT_LT(std::fabs(plan.value - best), gate) << name;
  EXPECT_LT(plan.violation, 1e-8) << name;
}

// The best costs are those of an interior-point solver on the same discrete problems.
TEST(Constraints, BoundsAndGoalAreMetAtTheBestCost) {
  const DdpOptions newton{.method = Method::ddp, .iterations = 1000};
  expect_best("pendulum", plan(to_goal(test::pendulum(), 3, {kPi, 0}), {0.1}, newton), .018404626131, 1e-9);
  expect_best("cart-pole", plan(to_goal(test::cart_pole(), 3, {0, kPi, 0, 0}), {0.01}, newton),
              1.495873912590, 1e-9);
  expect_best("acrobot", plan(to_goal(test::acrobot(), 15, {kPi / 2, 0, 0, 0}), {0}, newton), 50.046611285047,
              1e-9);
}

// How the best cost changes with the cart, the pole, gravity and the bound: by solving again.
TEST(Constraints, TheBestCostMovesWithTheProblemAsInTheReference) {
  std::vector<double> u = {0.01};
  const auto best = [&](std::array<double, 5> v) {
    const Plan found = plan(to_goal(test::cart_pole(v[0], v[1], v[2], v[3]), v[4], {0, kPi, 0, 0}), u,
                            {.method = Method::ddp, .iterations = 1000});
    EXPECT_TRUE(found.converged()) << found.reason;
    u = found.u;
    return found.value;
  };
  const std::array<double, 5> at = {1, 0.2, 0.5, 9.81, 3},
                              slopes = {1.97994488, 1.47778029, 1.55511172, .153792450, -.152470253};
  best(at);
  const double h = 1e-4;
  for (std::size_t i = 0; i < 5; ++i) {
    std::array<double, 5> up = at, down = at;
    up[i] += h, down[i] -= h;
    EXPECT_NEAR((best(up) - best(down)) / (2 * h), slopes[i], 1e-5) << i;
  }
}

// Parallel parking between walls: bounds of states as inequalities.
TEST(Constraints, StatesStayBetweenWalls) {
  Problem p = to_goal(test::parallel_park(), 2, {0, 1.5, 0});
  std::vector<std::int64_t> inside;
  for (std::int64_t k = 1; k < 100; ++k) inside.push_back(k);
  for (const char* wall : {"x[0] - 0.25", "-0.25 - x[0]", "x[1] - 1.501", "-0.001 - x[1]"})
    p.constraints.push_back(below(p, wall, inside));
  expect_best("parallel park", plan(p, {0.1, 0.1}, {.method = Method::ddp, .iterations = 1000}),
              .054066994592, 1e-9);
}

// A curved constraint: the pole's tip stays below a line for most of the time.
TEST(Constraints, CurvedInequalitiesAreMet) {
  Problem p = to_goal(test::cart_pole(), 10, {0, kPi, 0, 0});
  std::vector<std::int64_t> first;
  for (std::int64_t k = 1; k < 85; ++k) first.push_back(k);
  p.constraints.push_back(below(p, "-0.5*cos(x[1]) - 0.2", first));
  const Plan free = plan(to_goal(test::cart_pole(), 10, {0, kPi, 0, 0}), {0.01},
                         {.method = Method::ddp, .iterations = 1000});
  const Plan kept = plan(p, {0.01}, {.method = Method::ddp, .iterations = 1000});
  EXPECT_TRUE(kept.converged()) << kept.reason;
  EXPECT_LT(kept.violation, 1e-8);
  EXPECT_GT(kept.value, free.value);
}

TEST(Constraints, WhatCannotBeReachedIsSaid) {
  Problem p = to_goal(test::pendulum(), 0.01, {kPi, 0});
  const Plan plan_ = plan(p, {0}, {.iterations = 3000});
  EXPECT_EQ(plan_.outcome, Outcome::infeasible) << plan_.reason;
  EXPECT_NE(plan_.reason.find("the constraints cannot be met"), std::string::npos);
  EXPECT_GT(plan_.violation, 0.1);
}

}  // namespace
}  // namespace costate::control
