#include "costate/system/objective.h"
#include "costate/system/program/program_objective.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "tests/expect_error.h"

namespace costate {
namespace {

using costate::test::expect_error;

Signature signature() {
  Signature s;
  s.state("q", 2).state("v").control("u", 2).parameter("m", 1.0);
  return s;
}

// Value and derivatives of an objective at the state (q0, q1, v) = (1, 2, 3) and controls (4, 5) of one
// world.
struct Evaluated {
  double value = 0;
  std::vector<double> x_bar = std::vector<double>(3), u_bar = std::vector<double>(2), p_bar = {0};
};
Evaluated evaluate(const Objective<double>& objective, std::int64_t k, std::int64_t steps) {
  const double x[] = {1, 2, 3}, u[] = {4, 5}, p[] = {1};
  Objective<double>::At at{.k = k, .steps = steps, .in = {x, k == steps ? nullptr : u, p}};
  Evaluated e;
  objective.value(at, &e.value);
  objective.vjp(at, {e.x_bar.data(), k == steps ? nullptr : e.u_bar.data(), e.p_bar.data()});
  return e;
}

TEST(Objective, TheFinalTermIsHalfTheSquaredDistance) {
  const auto o = loss::final<double>(signature(), "q", {0.5, 4}, 3);
  EXPECT_EQ(o->next(0, 10), 10);
  EXPECT_EQ(o->previous(10, 10), 10);
  EXPECT_EQ(o->previous(9, 10), -1);
  EXPECT_EQ(o->next(11, 10), kNever);
  const Evaluated e = evaluate(*o, 10, 10);
  EXPECT_DOUBLE_EQ(e.value, 0.5 * 3 * (0.25 + 4));
  EXPECT_EQ(e.x_bar, (std::vector<double>{3 * 0.5, 3 * -2.0, 0}));
}

TEST(Objective, AnEmptyTargetIsZero) {
  EXPECT_DOUBLE_EQ(evaluate(*loss::final<double>(signature(), "v", {}), 5, 5).value, 4.5);
}

TEST(Objective, TrackingHasTermsAtItsStepsOnly) {
  const auto o = loss::track<double>(signature(), "v", {2, 7, 10}, {1, 2, 3});
  EXPECT_EQ(o->next(0, 10), 2);
  EXPECT_EQ(o->next(3, 10), 7);
  EXPECT_EQ(o->next(8, 10), 10);
  EXPECT_EQ(o->previous(9, 10), 7);
  EXPECT_EQ(o->previous(1, 10), -1);
  EXPECT_DOUBLE_EQ(evaluate(*o, 2, 10).value, 2);
  EXPECT_DOUBLE_EQ(evaluate(*o, 7, 10).value, 0.5);
  EXPECT_EQ(evaluate(*o, 7, 10).x_bar[2], 1);
  expect_error([&] { return o->check(9, 1); },
               "a term at step 10, outside the rollout of 9 steps");  // there is no step 10
}

TEST(Objective, AFinalValueIsLinear) {
  const Evaluated e = evaluate(*loss::final_value<double>(signature(), "q", 1, -2), 3, 3);
  EXPECT_EQ(e.value, -4);
  EXPECT_EQ(e.x_bar, (std::vector<double>{0, -2, 0}));
}

TEST(Objective, EffortCountsControlsAtEveryStepButTheEnd) {
  const auto o = loss::effort<double>(signature(), 0.1);
  EXPECT_EQ(o->next(0, 3), 0);
  EXPECT_EQ(o->previous(3, 3), 2);
  const Evaluated e = evaluate(*o, 1, 3);
  EXPECT_DOUBLE_EQ(e.value, 0.05 * 41);
  EXPECT_DOUBLE_EQ(e.u_bar[0], 0.4);
  EXPECT_DOUBLE_EQ(e.u_bar[1], 0.5);
}

TEST(Objective, CotangentsFromOutsideAreTheDerivative) {
  const auto o = loss::cotangents<double>(signature(), {0, 4}, {{1, 0, 0}, {7, 8, 9}});
  EXPECT_EQ(evaluate(*o, 4, 4).x_bar, (std::vector<double>{7, 8, 9}));
  EXPECT_EQ(evaluate(*o, 4, 4).value, 7 + 16 + 27);
  EXPECT_EQ(o->next(1, 4), 4);
}

TEST(Objective, ASumHasTheTermsOfAll) {
  const auto o =
      loss::sum<double>({loss::final_value<double>(signature(), "v"), loss::effort<double>(signature()),
                         loss::track<double>(signature(), "v", {1}, {0})});
  EXPECT_EQ(o->next(0, 3), 0);
  EXPECT_EQ(o->previous(3, 3), 3);
  const Evaluated middle = evaluate(*o, 1, 3), end = evaluate(*o, 3, 3);
  EXPECT_DOUBLE_EQ(middle.value, 0.5 * 41 + 4.5);
  EXPECT_EQ(middle.x_bar[2], 3);
  EXPECT_DOUBLE_EQ(end.value, 3);
  EXPECT_EQ(end.x_bar[2], 1);
}

TEST(Objective, MistakesAreNamed) {
  expect_error([&] { return loss::final<double>(signature(), "w", {}); }, "no state is named 'w'",
               "did you mean");
  expect_error([&] { return loss::final_value<double>(signature(), "q", 2); },
               "'q' has 2 numbers; there is no index 2");
  expect_error(
      [&] {
        return loss::track<double>(signature(), "v", {1, 2}, {1})->check(5, 1);
      },
      "the target of 'v' has 1 numbers instead of 2");
  expect_error(
      [&] {
        return loss::cotangents<double>(signature(), {1}, {{1, 2}})->check(5, 1);
      },
      "a cotangent has 2 numbers instead of worlds x states = 3");
}

// A null cotangent is not wanted: the others are added to all the same.
TEST(Objective, NobodyNeedsTheCotangentOfTheState) {
  Signature signature;
  signature.state("q", 3).control("u", 2).parameter("p", 1.0);
  const double x[3] = {1, 2, 3}, p[1] = {1};
  const Objective<double>::At at{.k = 4, .steps = 4, .in = {x, nullptr, p}};
  std::vector<double> p_bar(1);
  const auto all = loss::sum<double>(
      {loss::final<double>(signature, "q", {}), loss::final_value<double>(signature, "q", 1),
       loss::cotangents<double>(signature, {4}, {{1, 2, 3}}), loss::expression<double>(signature, "p*q[0]")});
  all->vjp(at, {nullptr, nullptr, p_bar.data()});
  EXPECT_EQ(p_bar[0], 1);
}

}  // namespace
}  // namespace costate
