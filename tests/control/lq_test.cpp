#include "costate/control/quadratic/lq.h"

#include <gtest/gtest.h>

#include <limits>

#include "costate/core/philox.h"
#include "tests/control/reference.h"
#include "tests/control/stencil.h"
#include "tests/expect_error.h"

namespace costate::control {
namespace {

using costate::test::expect_error;
using test::distance, test::distance_from_upper, test::stencil, test::ten_steps;

LinearQuadratic boxed() {
  LinearQuadratic p = ten_steps();
  p.lower = {-0.25, -0.25}, p.upper = {0.25, 0.25};
  return p;
}

TEST(Lq, TenStepsAreThoseOfTheReference) {
  const LinearQuadraticSolution s = solve(ten_steps());
  EXPECT_NEAR(s.value, 4.5047745225833169171, 1e-14);
  const double last[3] = {.277559391560190254, -.418571467101678269, .126445806365736983};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(s.x[30 + i], last[i], 1e-14);
  EXPECT_NEAR(s.u[0], -.1454984363023922, 1e-14);
  EXPECT_NEAR(s.u[1], -.3028348031954114, 1e-14);
  EXPECT_LT(distance_from_upper(s.P, 3,
                                {10.7631487062627118, 2.59842029295955712, .698061089941673944,
                                 2.88380060394710413, 1.10296797347754412, .809310868404034635}),
            2e-14);
  // u = K x here, u = -K x there.
  const std::vector<double> first = {.4930191112977411, 1.287884705639339, 1.185686711297283,
                                     .482661061812102,  .4243807892709069, .1294565440750514};
  const std::vector<double> ninth = {-.008236666895462969, -.0274555563182099, .8928546914681859,
                                     .07413000205916672,   .2471000068638891,  -.03569222321367287};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(s.K[i], -first[i], 1e-14);
    EXPECT_NEAR(s.K[54 + i], -ninth[i], 1e-14);
  }
}

TEST(Lq, GradientOfTheCostIsThatOfTheReference) {
  const LinearQuadratic p = ten_steps();
  const LinearQuadratic bar = solve_vjp(p, solve(p), {}, {}, 1);
  EXPECT_LT(distance(bar.x0, {9.63845383226835174, 1.43226198435539108, .348904820303910544}), 1e-14);
  EXPECT_LT(distance(bar.A, {40.623387252778469, -38.7456613452246977, 18.0350992434358732,
                             .206038976040380512, .797634026510716324, -.705580446267588899,
                             -.346057316222813244, .433075974762521736, -.1757392597074114}),
            1e-13);
  EXPECT_LT(distance(bar.B, {7.90425648487461216, -5.76844013948485824, -.186024882943585311,
                             -.395842223990098659, -.243605745767544138, .0342629065768490077}),
            1e-13);
  EXPECT_LT(distance_from_upper(bar.Q, 3,
                                {2.50293056691195183, -2.42581215885611764, 1.13132177588079286,
                                 2.69076691778576026, -1.37969319610703261, .805544620625003927}),
            1e-14);
  EXPECT_LT(distance_from_upper(bar.R, 2, {.321077992645222929, -.0662832417431710283, .0938184340884390749}),
            1e-14);
  EXPECT_LT(distance_from_upper(bar.Qf, 3,
                                {.0385196079216315063, -.0580892208665990059, .0175481105401057943,
                                 .0876010365358256668, -.0264633033396806291, .00799427097374072565}),
            1e-14);
}

TEST(Lq, ControlsInABoxAreThoseOfTheReference) {
  const LinearQuadraticSolution s = solve(boxed());
  EXPECT_NEAR(s.value, 4.513401077519211, 1e-13);
  EXPECT_LT(distance(s.u, {-.09440605740325791,
                           -.25,
                           .25,
                           -.23485215720845248,
                           .25,
                           -.14026066243000707,
                           .25,
                           -.07407682396579962,
                           .25,
                           -.030190011092579145,
                           .25,
                           -.002642904140021644,
                           .25,
                           .014237568435571581,
                           .15586528327092286,
                           .03748323435660102,
                           -.06782270582505594,
                           .07641570461065425,
                           -.25,
                           .11228305567784723}),
            1e-13);
  for (int i = 0; i < 20; ++i) {
    const bool clamped = i == 1 || i == 2 || i == 4 || i == 6 || i == 8 || i == 10 || i == 12 || i == 18;
    EXPECT_EQ(s.held[std::size_t(i)] != 0, clamped) << i;
  }
}

TEST(Lq, GradientThroughTheBoxIsThatOfTheReference) {
  const LinearQuadratic p = boxed();
  const LinearQuadraticSolution s = solve(p);
  const LinearQuadratic bar = solve_vjp(p, s, {}, s.u);  // of 1/2 |U|^2
  EXPECT_LT(distance(bar.x0, {.254790351200057, .37067638100423067, .27066812077779}), 1e-9);
  EXPECT_LT(distance_from_upper(bar.Q, 3,
                                {.09245839698194336, .03533577197219541, -.045594548670684895,
                                 -.23492299333034145, .1721000909560229, -.1560993993366286}),
            1e-9);
  EXPECT_LT(distance_from_upper(bar.R, 2, {-.11411323777263631, .1614365181698226, -.21267794727475947}),
            1e-9);
  EXPECT_LT(distance_from_upper(bar.Qf, 3,
                                {.00776140465968965, -.022587698137756025, .0030779684615745637,
                                 .053724368126819654, -.010491435083079873, .0010247995406228397}),
            1e-9);
}

std::vector<double> per_step(const std::vector<double>& once, double size) {
  std::vector<double> all;
  for (int k = 0; k < 10; ++k)
    for (std::size_t i = 0; i < once.size(); ++i)
      all.push_back(once[i] + size * std::sin(1.0 + 7 * k + 3 * double(i)));
  return all;
}

// Every number of a problem that changes from step to step, with every term, and a loss of all of its
// solution.
LinearQuadratic varied() {
  LinearQuadratic p = ten_steps();
  p.A = per_step(p.A, 0.05), p.B = per_step(p.B, 0.05);
  p.c = per_step({0, 0, 0}, 0.02), p.q = per_step({0, 0, 0}, 0.1), p.r = per_step({0, 0}, 0.05);
  p.S = per_step(std::vector<double>(6), 0.02);
  p.qf = {0.1, -0.2, 0.3};
  p.lower = per_step({-0.25, -0.2}, 0.02), p.upper = per_step({0.25, 0.3}, 0.02);
  return p;
}
// The same with walls that hold some of the states.
LinearQuadratic walled() {
  LinearQuadratic p = varied();
  const double none = std::numeric_limits<double>::infinity();
  p.x_lower = per_step({-none, -none, 0.1}, 0.01), p.x_upper = per_step({none, none, 0.45}, 0.01);
  return p;
}
double loss_of(const LinearQuadraticSolution& s, double value_weight) {
  double loss = value_weight * s.value;
  for (std::size_t i = 0; i < s.x.size(); ++i) loss += std::sin(1.0 + double(i)) * s.x[i];
  for (std::size_t i = 0; i < s.u.size(); ++i) loss += std::cos(2.0 + double(i)) * s.u[i];
  return loss;
}

// Of parts of more than `dense` numbers: every seventh.
void expect_cotangents_of_the_stencil(const LinearQuadratic& p, const LinearQuadraticSolution& s,
                                      std::size_t dense) {
  std::vector<double> x_bar, u_bar;
  for (std::size_t i = 0; i < s.x.size(); ++i) x_bar.push_back(std::sin(1.0 + double(i)));
  for (std::size_t i = 0; i < s.u.size(); ++i) u_bar.push_back(std::cos(2.0 + double(i)));
  const LinearQuadratic bar = solve_vjp(p, s, x_bar, u_bar, 0.7);
  using Numbers = std::vector<double> LinearQuadratic::*;
  using L = LinearQuadratic;
  for (const Numbers numbers : {Numbers(&L::A), &L::B, &L::c, &L::Q, &L::R, &L::S, &L::q, &L::r, &L::Qf,
                                &L::qf, &L::x0, &L::lower, &L::upper, &L::x_lower, &L::x_upper}) {
    const auto once = std::size_t((p.*numbers).size());
    for (std::size_t i = 0; i<once; i += once> dense ? 7 : 1) {
      const bool square =
          numbers == Numbers(&L::Q) || numbers == Numbers(&L::R) || numbers == Numbers(&L::Qf);
      const std::size_t n = numbers == Numbers(&L::R) ? 2 : 3, row = i / n, column = i % n;
      const double difference = stencil(
          [&](double h) {  // weights are symmetric: both entries move, by half
            LinearQuadratic moved = p;
            (moved.*numbers)[i] += square ? h / 2 : h;
            if (square) (moved.*numbers)[column * n + row] += h / 2;
            return loss_of(solve(moved), 0.7);
          },
          1e-5);
      EXPECT_NEAR((bar.*numbers)[i], difference, 2e-9 * (1 + std::fabs(difference))) << i;
    }
  }
}

TEST(Lq, EveryCotangentMatchesTheStencil) {
  const LinearQuadratic p = varied();
  const LinearQuadraticSolution s = solve(p);
  int held = 0;
  for (const char h : s.held) held += h != 0;
  EXPECT_GE(held, 4);
  EXPECT_LE(held, 16);
  expect_cotangents_of_the_stencil(p, s, 20);
}
TEST(Lq, EveryCotangentMatchesTheStencilBetweenWalls) {
  const LinearQuadratic p = walled();
  const LinearQuadraticSolution s = solve(p);
  int upper = 0, lower = 0;
  for (const double y : s.push) upper += y > 0, lower += y < 0;
  EXPECT_GE(upper, 2);
  EXPECT_GE(lower, 1);
  expect_cotangents_of_the_stencil(p, s, 3);
}

// <J d, w> = <d, J'w>, for every part of the problem and of the solution at once.
void expect_transposes(const LinearQuadratic& p) {
  const LinearQuadraticSolution s = solve(p);
  using L = LinearQuadratic;
  using Numbers = std::vector<double> LinearQuadratic::*;
  const Numbers parts[] = {&L::A,  &L::B,  &L::c,  &L::Q,     &L::R,     &L::S,       &L::q,      &L::r,
                           &L::Qf, &L::qf, &L::x0, &L::lower, &L::upper, &L::x_lower, &L::x_upper};
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const auto random = [&](std::uint32_t what, std::size_t count) {
      std::vector<double> numbers(count);
      for (std::size_t i = 0; i < count; ++i) numbers[i] = normal<double>(seed, what, std::uint32_t(i), 0);
      return numbers;
    };
    LinearQuadratic dot;
    std::uint32_t what = 0;
    for (const Numbers part : parts) dot.*part = random(what++, (p.*part).size());
    for (const auto& [part, n] : {std::pair(&L::Q, 3UL), std::pair(&L::R, 2UL), std::pair(&L::Qf, 3UL)})
      for (std::size_t i = 0; i < (dot.*part).size(); ++i) {  // weights stay symmetric
        const std::size_t first = i / (n * n) * n * n, row = (i - first) / n, column = (i - first) % n;
        if (column > row) (dot.*part)[i] = (dot.*part)[first + column * n + row];
      }
    const std::vector<double> x_bar = random(50, s.x.size()), u_bar = random(51, s.u.size());
    const double value_bar = 0.3 + double(seed);
    const LinearQuadraticTangent moved = solve_jvp(p, s, dot);
    const LinearQuadratic bar = solve_vjp(p, s, x_bar, u_bar, value_bar);
    double left = value_bar * moved.value, right = 0, size = std::fabs(left);
    const auto add = [&size](double& to, const std::vector<double>& a, const std::vector<double>& b) {
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) to += a[i] * b[i], size += std::fabs(a[i] * b[i]);
    };
    add(left, x_bar, moved.x), add(left, u_bar, moved.u);
    for (const Numbers part : parts) add(right, bar.*part, dot.*part);
    EXPECT_NEAR(left, right, 1e-13 * size) << seed;
  }
}

TEST(Lq, TangentAndCotangentAreTransposes) {
  expect_transposes(varied());
  expect_transposes(walled());
}

TEST(Lq, ABatchHasTheBitsOfItsProblems) {
  std::vector<LinearQuadratic> batch(17, boxed());
  for (std::size_t i = 0; i < batch.size(); ++i) batch[i].x0[0] += 0.1 * double(i);
  const auto together = solve(batch);
  std::vector<LinearQuadraticCotangent> bars(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) bars[i].u = together[i].u;
  const auto cotangents = solve_vjp(batch, together, bars);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    EXPECT_EQ(together[i].u, solve(batch[i]).u);
    EXPECT_EQ(cotangents[i].Q, solve_vjp(batch[i], together[i], {}, together[i].u).Q);
  }
}

TEST(Lq, RefusesWhatItCannotSolve) {
  LinearQuadratic p = boxed();
  p.upper[1] = -0.3;
  expect_error([&] { return solve(p); }, "the bounds of control 1 contradict each other");
  p = ten_steps();
  p.R = {-1, 0, 0, -1};
  expect_error([&] { return solve(p); }, "the problem is not convex", "raise R");
  p = ten_steps();
  p.B.pop_back();
  expect_error([&] { return solve(p); },
               "B has 5 numbers instead of 6 for all steps, or 6 for each of 10 steps");
  p = ten_steps();
  p.x0 = {1};
  expect_error([&] { return solve(p); }, "x0 has 1 numbers");
}

}  // namespace
}  // namespace costate::control
