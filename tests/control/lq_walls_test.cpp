// Bounds on states: against closed forms, and the conditions that only the solution of a convex problem
// meets.
#include "costate/control/quadratic/lq_walls.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/control/reference.h"
#include "tests/expect_error.h"

namespace costate::control {
namespace {

using costate::test::expect_error;
constexpr double kNone = std::numeric_limits<double>::infinity();

// The ten steps of the reference, with controls in a box and two states behind walls.
LinearQuadratic between_walls() {
  LinearQuadratic p = test::ten_steps();
  p.lower = {-0.25, -0.25}, p.upper = {0.25, 0.25};
  p.x_lower = {-kNone, -0.7, -kNone}, p.x_upper = {kNone, kNone, 0.3};
  return p;
}

// x+ = x + u must end at 1 or more: ten equal steps, each of which the wall pushes by their size.
TEST(LqWalls, TenStepsToAWallAreEqual) {
  LinearQuadratic p{.states = 1, .controls = 1, .steps = 10, .A = {1}, .B = {1}, .Q = {0}, .R = {1}};
  p.x0 = {0};
  p.x_lower.assign(10, -kNone), p.x_lower.back() = 1;
  const LinearQuadraticSolution s = solve(p);
  for (const double u : s.u) EXPECT_NEAR(u, 0.1, 1e-14);
  EXPECT_NEAR(s.value, 0.05, 1e-14);
  EXPECT_NEAR(s.push[10], -0.1, 1e-13);
  // J = b^2/20 with the wall at b, and u = b/10.
  EXPECT_NEAR(solve_vjp(p, s, {}, {}, 1).x_lower[9], 0.1, 1e-13);
  EXPECT_NEAR(solve_vjp(p, s, {}, std::vector<double>(10, 1.0)).x_lower[9], 1, 1e-13);
}

// Feasible, stationary, and pushed only inwards and only where a wall is touched: the conditions of Karush,
// Kuhn and Tucker, which make a point the solution of a convex problem.
TEST(LqWalls, TheSolutionMeetsItsConditions) {
  const LinearQuadratic p = between_walls();
  const LinearQuadraticSolution s = solve(p), free = solve([&] {
                                                LinearQuadratic q = p;
                                                q.x_lower.clear(), q.x_upper.clear();
                                                return q;
                                              }());
  EXPECT_GT(s.value, free.value + 1e-4);
  int upper = 0, lower = 0;
  for (std::size_t k = 0; k <= 10; ++k) {
    for (std::size_t i = 0; i < 3; ++i) {
      const double x = s.x[3 * k + i], y = s.push[3 * k + i];
      if (k > 0) {
        EXPECT_LE(x, p.x_upper[i] + 1e-11);
        EXPECT_GE(x, p.x_lower[i] - 1e-11);
      }
      if (y != 0) {
        EXPECT_NEAR(x, y > 0 ? p.x_upper[i] : p.x_lower[i], 1e-11);
      }
      upper += y > 0, lower += y < 0;
    }
  }
  EXPECT_GE(upper, 2);
  EXPECT_GE(lower, 1);
  // The costates of this trajectory, one entry at a time.
  std::vector<double> lambda(33);
  const auto at = [](const std::vector<double>& matrix, std::size_t row, std::size_t column, std::size_t n) {
    return matrix[row * n + column];
  };
  for (std::size_t k = 11; k-- > 0;) {
    for (std::size_t i = 0; i < 3; ++i) {
      double sum = s.push[3 * k + i];
      for (std::size_t j = 0; j < 3; ++j) {
        sum += at(k < 10 ? p.Q : p.Qf, i, j, 3) * s.x[3 * k + j];
        if (k < 10) sum += at(p.A, j, i, 3) * lambda[3 * (k + 1) + j];
      }
      lambda[3 * k + i] = sum;
      EXPECT_NEAR(s.lambda[3 * k + i], sum, 1e-10);
    }
    for (std::size_t i = 0; k < 10 && i < 2; ++i) {
      double slope = at(p.R, i, 0, 2) * s.u[2 * k] + at(p.R, i, 1, 2) * s.u[2 * k + 1];
      for (std::size_t j = 0; j < 3; ++j) slope += at(p.B, j, i, 2) * lambda[3 * (k + 1) + j];
      const double u = s.u[2 * k + i];
      if (u == 0.25) {
        EXPECT_LE(slope, 1e-10);
      } else if (u == -0.25) {
        EXPECT_GE(slope, -1e-10);
      } else {
        EXPECT_NEAR(slope, 0, 1e-10);
      }
    }
  }
}

TEST(LqWalls, WallsThatAreFarAwayChangeNothing) {
  LinearQuadratic p = between_walls();
  p.x_lower = {-5, -5, -5}, p.x_upper = {5, 5, 5};
  const LinearQuadraticSolution s = solve(p);
  EXPECT_NEAR(s.value, 4.513401077519211, 1e-13);
  EXPECT_TRUE(held_states(p, s).empty());
}

TEST(LqWalls, WhatCannotBeMetIsSaid) {
  LinearQuadratic p = between_walls();
  p.x_upper = {0.2, kNone, kNone};  // the first state moves by 0.1 of the second per step
  expect_error([&] { return solve(p); }, "the bounds of the states cannot be met: state 0 after step 0",
               "widen");
  p = between_walls();
  p.x_lower[2] = 0.4;
  expect_error([&] { return solve(p); }, "the bounds of state 2 contradict each other");
  p = between_walls();
  p.x_lower.pop_back();
  expect_error([&] { return solve(p); }, "x_lower has 2 numbers instead of 3");
}

}  // namespace
}  // namespace costate::control
