#include "costate/control/plan/collocation.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "costate/control/plan/ddp.h"
#include "costate/control/plan/transcription.h"
#include "costate/core/philox.h"
#include "costate/system/program/lambda_system.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/program/program_system.h"
#include "tests/control/problems.h"
#include "tests/expect_error.h"

namespace costate::control {
namespace {

using costate::test::expect_error;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

#define NEEDS_IPOPT() \
  if (!has_ipopt()) GTEST_SKIP() << "built without Ipopt (coinor-libipopt-dev)"

// From rest at 0 to rest at 1 in one second with the least 1/2 integral of u^2: u = 6 - 12 t, which costs 6.
Problem double_integrator(int intervals) {
  Signature s;
  s.state("x").state("v").control("u");
  Problem p;
  p.system = equations_system<double>(s, "x_dot = v; v_dot = u", euler(1));
  p.parameters = Parameters<double>(p.system->signature());
  p.objective = loss::expression<double>(s, "0.5*u^2", loss::each_step());
  p.steps = intervals, p.x0 = {0, 0};
  return p;
}
CollocationOptions to_rest(Scheme scheme, int intervals) {
  return {.scheme = scheme, .h = 1.0 / intervals, .x_last = {1, 0}};
}

TEST(Collocation, HermiteSimpsonIsExactForTheDoubleIntegrator) {
  NEEDS_IPOPT();
  const Collocated found = collocate(double_integrator(7), {0}, to_rest(Scheme::hermite_simpson, 7));
  ASSERT_TRUE(found.converged()) << found.reason;
  EXPECT_NEAR(found.value, 6, 1e-12);
  EXPECT_LT(found.violation, 1e-12);
  for (std::size_t k = 0; k <= 7; ++k) {
    const double t = double(k) / 7;
    EXPECT_NEAR(found.u[k], 6 - 12 * t, 1e-10);
    EXPECT_NEAR(found.x[2 * k], t * t * (3 - 2 * t), 1e-12);
  }
  for (std::size_t k = 0; k < 7; ++k) EXPECT_NEAR(found.u_mid[k], 6 - 12 * (double(k) + 0.5) / 7, 1e-10);
}

TEST(Collocation, TheTrapezoidalRuleHasOrderTwo) {
  NEEDS_IPOPT();
  double last = 0;
  for (const int intervals : {5, 10, 20, 40, 80}) {
    const double error =
        collocate(double_integrator(intervals), {0}, to_rest(Scheme::trapezoidal, intervals)).value - 6;
    if (last != 0) {
      EXPECT_NEAR(std::log2(last / error), 2, 0.05) << intervals;
    }
    last = error;
  }
}

Problem bounded(Problem p, double most) {
  p.lower.assign(std::size_t(p.system->signature().controls()), -most);
  p.upper.assign(p.lower.size(), most);
  return p;
}

// J* of ALTRO's cart-pole, by CasADi and Ipopt (ddp_test.cpp finds it by DDP).
TEST(Collocation, StepsFindWhatIsKnownOfTheCartPole) {
  NEEDS_IPOPT();
  const Problem free = test::cart_pole();
  const Plan ddp = plan(free, {0.01}, {.method = Method::ddp, .iterations = 200});
  const Collocated found = collocate(free, {0.01}, {.states = ddp.x});
  ASSERT_TRUE(found.converged()) << found.reason;
  EXPECT_NEAR(found.value, 1.418409144159, 1e-9);
  EXPECT_NEAR(found.value, ddp.value, 1e-9);
  for (std::size_t i = 0; i < found.u.size(); ++i) EXPECT_NEAR(found.u[i], ddp.u[i], 1e-5) << i;
  const Collocated goal =
      collocate(bounded(free, 3), {0.01}, {.x_last = {0, test::kPi, 0, 0}, .states = ddp.x});
  ASSERT_TRUE(goal.converged()) << goal.reason;
  EXPECT_NEAR(goal.value, 1.495873912590, 1e-9);
  EXPECT_LT(goal.violation, 1e-8);
  for (const double u : goal.u) EXPECT_LE(std::abs(u), 3);
}

// J* of ALTRO's quadrotor, by CasADi and Ipopt, from hovering.
TEST(Collocation, TheQuadrotorFliesItsZigZagAtTheKnownCost) {
  NEEDS_IPOPT();
  const Problem quadrotor = test::zig_zag();
  const Collocated found = collocate(quadrotor, std::vector<double>(4, 0.5 * 9.81 / 4));
  ASSERT_TRUE(found.converged()) << found.reason;
  EXPECT_NEAR(found.value, .2923866362, 1e-9);
  EXPECT_LT(found.violation, 1e-8);
  for (const double u : found.u) EXPECT_TRUE(u >= 0 && u <= 12) << u;
}

// The cart-pole as equations: swing up in 2 s with little effort.
template <class Integrator>
std::shared_ptr<const System<double>> cart_pole_by(const Integrator& integrator) {
  Signature s;
  s.state("x", 4).control("force");
  const auto rate = [](auto x, auto u, auto) {
    const double mc = 1, mp = 0.2, l = 0.5, g = 9.81;
    const auto c = cos(x[1]), n = sin(x[1]);
    const auto right = u[0] + mp * l * x[3] * x[3] * n, down = -mp * g * l * n;
    const auto determinant = (mc + mp) * mp * l * l - mp * l * c * (mp * l * c);
    return std::array{x[2], x[3], (mp * l * l * right - mp * l * c * down) / determinant,
                      ((mc + mp) * down - mp * l * c * right) / determinant};
  };
  return lambda_system<double, Sizes{.states = 4, .controls = 1}>(s, rate, integrator, 8);
}
Problem swing_up(int intervals) {
  Problem p;
  p.system = cart_pole_by(euler(1));
  const Signature& s = p.system->signature();
  p.parameters = Parameters<double>(p.system->signature());
  p.objective = loss::expression<double>(s, "0.01*force^2", loss::each_step());
  p.steps = intervals, p.x0 = {0, 0, 0, 0};
  return p;
}
double effort(Scheme scheme, int intervals) {
  const Collocated found = collocate(
      swing_up(intervals), {0.1}, {.scheme = scheme, .h = 2.0 / intervals, .x_last = {0, test::kPi, 0, 0}});
  EXPECT_TRUE(found.converged()) << found.reason;
  return found.value;
}

// Both rules tend to the same effort, which is that of the fourth-order one already with few knots.
TEST(Collocation, RulesOfBothOrdersAgreeOnASwingUp) {
  NEEDS_IPOPT();
  const double best = effort(Scheme::hermite_simpson, 160);
  const double coarse = effort(Scheme::hermite_simpson, 40), fine = effort(Scheme::hermite_simpson, 80);
  EXPECT_GT(std::log2(std::abs(coarse - best) / std::abs(fine - best)), 3);
  const double wide = effort(Scheme::trapezoidal, 80) - best,
               narrow = effort(Scheme::trapezoidal, 160) - best;
  EXPECT_NEAR(std::log2(wide / narrow), 2, 0.1);
  EXPECT_NEAR(narrow / best, 0, 0.01);
}

TEST(Collocation, ASwingUpEndsUpright) {
  NEEDS_IPOPT();
  // [collocate]
  const Collocated found =
      collocate(swing_up(80), {0.1},
                {.scheme = Scheme::hermite_simpson, .h = 2.0 / 80, .x_last = {0, std::numbers::pi, 0, 0}});
  // [/collocate]
  ASSERT_TRUE(found.converged()) << found.reason;
  EXPECT_EQ(found.x[4 * 80 + 1], std::numbers::pi);
}

// The controls of the fine rule, held over short steps of RK4, are a start from which DDP has nothing left to
// gain.
TEST(Collocation, ASwingUpIsThatOfDdp) {
  NEEDS_IPOPT();
  constexpr int kKnots = 160;
  Problem held = swing_up(kKnots);
  const Collocated found = collocate(
      held, {0.1}, {.scheme = Scheme::hermite_simpson, .h = 2.0 / kKnots, .x_last = {0, test::kPi, 0, 0}});
  held.system = cart_pole_by(rk4(2.0 / kKnots));
  held.parameters = Parameters<double>(held.system->signature());
  held.objective =
      loss::expression<double>(held.system->signature(), "0.01*force^2*0.0125", loss::each_step());
  held.constraints = reach(held.system->signature(), StateSpace(4), {0, test::kPi, 0, 0});
  const Plan ddp = plan(held, found.u_mid, {.method = Method::ddp, .iterations = 300});
  EXPECT_LT(ddp.violation, 1e-8) << ddp.reason;
  EXPECT_NEAR(ddp.value / found.value, 1, 1e-3);
  for (std::size_t k = 0; k < kKnots; ++k) EXPECT_NEAR(ddp.u[k], found.u_mid[k], 0.05) << k;
}

// Jacobian and Hessian of every scheme, with constraints on the way, against six-point differences.
TEST(Collocation, DerivativesAreThoseOfDifferences) {
  for (const Scheme scheme : {Scheme::steps, Scheme::trapezoidal, Scheme::hermite_simpson}) {
    Problem p = swing_up(3);
    const Signature& s = p.system->signature();
    p.objective = loss::sum<double>(
        {loss::expression<double>(s, "0.01*force^2*cos(x[1]) + x[0]*x[3]", loss::each_step()),
         loss::expression<double>(s, "sin(x[2])*x[0]")});
    p.constraints = {{.of = loss::expression<double>(s, "x[0]^2 + force*x[1] - 1", loss::each_step())},
                     {.of = loss::expression<double>(s, "x[0]*x[1] - 0.3"), .equality = true}};
    const CollocationOptions options{.scheme = scheme, .h = 0.1};
    const Transcription nlp(p, options);
    ASSERT_TRUE(nlp.exact_hessian());
    const auto n = std::size_t(nlp.unknowns()), m = std::size_t(nlp.equations());
    std::vector<double> z = nlp.start({0.3}), lambda(m);
    for (std::size_t i = 0; i < n; ++i) z[i] += 0.5 * normal<double>(1, 0, 0, std::uint32_t(i));
    for (std::size_t i = 0; i < m; ++i) lambda[i] = normal<double>(2, 0, 0, std::uint32_t(i));
    const Transcription::Places at_J = nlp.jacobian_places(), at_H = nlp.hessian_places();
    std::vector<double> J(m * n), H(n * n), entries_J(at_J.row.size()), entries_H(at_H.row.size());
    const auto expand = [&](const std::vector<double>& at) {
      nlp.jacobian(at.data(), entries_J.data());
      std::fill(J.begin(), J.end(), 0.0);
      for (std::size_t i = 0; i < entries_J.size(); ++i)
        J[std::size_t(at_J.row[i]) * n + std::size_t(at_J.column[i])] += entries_J[i];
    };
    // sigma J + lambda'c: its gradient.
    const auto slope = [&](const std::vector<double>& at) {
      std::vector<double> g(n);
      nlp.gradient(at.data(), g.data());
      expand(at);
      for (std::size_t j = 0; j < n; ++j) {
        g[j] *= 1.7;
        for (std::size_t i = 0; i < m; ++i) g[j] += lambda[i] * J[i * n + j];
      }
      return g;
    };
    expand(z);
    const std::vector<double> exact_J = J;
    std::vector<double> gradient(n);
    nlp.gradient(z.data(), gradient.data());
    nlp.hessian(z.data(), 1.7, lambda.data(), entries_H.data());
    for (std::size_t i = 0; i < entries_H.size(); ++i) {
      const auto r = std::size_t(at_H.row[i]), c = std::size_t(at_H.column[i]);
      H[r * n + c] += entries_H[i];
      if (r != c) H[c * n + r] += entries_H[i];
    }
    const double h = 1e-3;
    for (std::size_t j = 0; j < n; ++j) {
      std::vector<double> of_c(m), of_g(n), c(m);
      double of_value = 0;
      for (const auto& [i, weight] : {std::pair(1, 45.0), {2, -9.0}, {3, 1.0}})
        for (const int sign : {1, -1}) {
          std::vector<double> moved = z;
          moved[j] += sign * i * h;
          const double share = sign * weight / (60 * h);
          nlp.equations(moved.data(), c.data());
          for (std::size_t r = 0; r < m; ++r) of_c[r] += share * c[r];
          of_value += share * nlp.value(moved.data());
          const std::vector<double> g = slope(moved);
          for (std::size_t r = 0; r < n; ++r) of_g[r] += share * g[r];
        }
      EXPECT_NEAR(gradient[j], of_value, 1e-8);
      for (std::size_t r = 0; r < m; ++r) EXPECT_NEAR(exact_J[r * n + j], of_c[r], 1e-8) << r << " " << j;
      for (std::size_t r = 0; r < n; ++r) EXPECT_NEAR(H[r * n + j], of_g[r], 1e-8) << r << " " << j;
    }
  }
}

TEST(Collocation, ConstraintsHoldAndContradictionsAreTold) {
  NEEDS_IPOPT();
  Problem p = double_integrator(20);
  p.constraints = {{.of = loss::expression<double>(p.system->signature(), "v - 1.2", loss::each_step())}};
  const Collocated slow = collocate(p, {0}, to_rest(Scheme::hermite_simpson, 20));
  ASSERT_TRUE(slow.converged()) << slow.reason;
  EXPECT_GT(slow.value, 6.1);
  for (std::size_t k = 0; k <= 20; ++k) EXPECT_LE(slow.x[2 * k + 1], 1.2 + 1e-8);
  CollocationOptions weak = to_rest(Scheme::trapezoidal, 20);
  Problem held = double_integrator(20);
  held.lower = {-1}, held.upper = {1};  // 4 at least are needed
  const Collocated none = collocate(held, {0}, weak);
  EXPECT_FALSE(none.converged());
  EXPECT_EQ(none.outcome, Outcome::infeasible) << none.reason;
}

TEST(Collocation, WithoutIpoptItSaysSo) {
  if (has_ipopt()) GTEST_SKIP() << "built with Ipopt";
  expect_error([] { return collocate(double_integrator(4), {0}); }, "built without it",
               "coinor-libipopt-dev");
}

TEST(Collocation, MistakesAreErrors) {
  NEEDS_IPOPT();
  const Problem p = double_integrator(4);
  expect_error([&] { return collocate(p, {0}, {.scheme = Scheme::trapezoidal}); }, "time between knots",
               "set h");
  expect_error([&] { return collocate(p, {0, 0}, {}); }, "2 numbers instead of 1 or 4");
  expect_error([&] { return collocate(p, {0}, {.x_last = {kNan}}); }, "x_last has 1 numbers instead of 2");
  Problem short_start = p;
  short_start.x0 = {0};
  expect_error([&] { return collocate(short_start, {0}, {}); }, "x0 has 1 numbers instead of 2");
}

}  // namespace
}  // namespace costate::control
