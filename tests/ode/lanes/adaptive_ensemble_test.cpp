#include "costate/ode/lanes/adaptive_ensemble.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/lanes/problems/lorenz.h"
#include "costate/ode/methods/tableaus.h"
#include "costate/ode/solve.h"
#include "tests/ode/problems.h"

namespace costate::ode {
namespace {

template <class Pair>
void expect_same_pair(const Tableau& tableau) {
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(Pair::c[i], tableau.c[i]);
    double dense[7] = {};
    for (const auto& term : tableau.a[i]) dense[term.stage] = term.value;
    for (std::size_t j = 0; j < 6; ++j) EXPECT_EQ(Pair::a[i][j], dense[j]) << i << " " << j;
  }
  double dense[7] = {};
  for (const auto& term : tableau.error) dense[term.stage] = term.value;
  for (std::size_t j = 0; j < 7; ++j) EXPECT_EQ(Pair::e[j], dense[j]) << j;
}

TEST(AdaptiveEnsemble, UsesTheTableausOfTheSolver) {
  expect_same_pair<runge_kutta::DormandPrince>(dormand_prince_tableau());
  expect_same_pair<runge_kutta::Tsitouras>(tsitouras_tableau());
}

struct Worlds {
  std::int64_t count;
  std::vector<double> y0, p;
};
Worlds spread(std::int64_t count) {
  Worlds w{count, std::vector<double>(std::size_t(3 * count)), std::vector<double>(std::size_t(3 * count))};
  for (std::int64_t i = 0; i < count; ++i) {
    const double a = double(i) / double(count);
    const double y[] = {1 + a, 0.3 * a, -0.2 + 5 * a}, p[] = {10 - a, 21 + 8 * std::sin(9 * a), 8.0 / 3};
    for (std::int64_t k = 0; k < 3; ++k) {
      w.y0[std::size_t(k * count + i)] = y[k];
      w.p[std::size_t(k * count + i)] = p[k];
    }
  }
  return w;
}
const EnsembleCotangent kFirstAndLast = [](std::int64_t, const double*, double* y_bar) {
  y_bar[0] = 1, y_bar[2] = 0.5;
};

TEST(AdaptiveEnsemble, AReferenceWorldHasItsKnownDigits) {
  const AdaptiveEnsemble<Lorenz> ensemble(0, 1, {.rtol = 1e-12, .atol = 1e-12});
  const EnsembleGradient g = ensemble.gradient(
      1, {1, 0, 0}, {10, 21, 8.0 / 3}, [](std::int64_t, const double*, double* y_bar) { y_bar[0] = 1; });
  EXPECT_NEAR(g.result.y[0], -6.450579147318907, 1e-9);
  EXPECT_NEAR(g.result.y[2], 14.64914586660444, 1e-9);
  EXPECT_NEAR(g.p[1], -1.239242130721969, 1e-9);
}

// Every world against the scalar solver: both are within the tolerance of the flow.
TEST(AdaptiveEnsemble, EveryWorldAgreesWithTheScalarSolver) {
  const Worlds w = spread(37);  // not a multiple of the lanes
  const auto field = make_field<3, 3>(test::lorenz);
  const EnsembleOptions options{.rtol = 1e-10, .atol = 1e-10};
  const auto compare = [&](const EnsembleGradient& g) {
    for (std::size_t i = 0; i < 37; ++i) {
      const auto at = [&](const std::vector<double>& v) {
        return std::vector<double>{v[i], v[37 + i], v[74 + i]};
      };
      const Solution s =
          solve(field, {0, 1}, at(w.y0), at(w.p), {.method = "dop853", .rtol = 1e-12, .atol = {1e-12}});
      const Gradient exact = gradient(s, OutputCotangents{.final = {1, 0, 0.5}});
      const auto y = at(g.result.y), y0 = at(g.y0), p = at(g.p);
      for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_NEAR(y[k], s.final_state()[k], 1e-6);
        EXPECT_NEAR(y0[k], exact.x0[k], 1e-6 * std::max(1.0, std::abs(exact.x0[k])));
        EXPECT_NEAR(p[k], exact.parameters["p"][k], 1e-6 * std::max(1.0, std::abs(exact.parameters["p"][k])));
      }
      EXPECT_GT(g.result.steps[i], 20);
    }
  };
  compare(AdaptiveEnsemble<Lorenz, runge_kutta::DormandPrince>(0, 1, options)
              .gradient(37, w.y0, w.p, kFirstAndLast));
  compare(
      AdaptiveEnsemble<Lorenz, runge_kutta::Tsitouras>(0, 1, options).gradient(37, w.y0, w.p, kFirstAndLast));
}

// The transpose of a step against the stepper of the solver, on the same inputs.
TEST(AdaptiveEnsemble, TransposeOfAStepIsThatOfTheSolver) {
  const auto field = make_field<3, 3>(test::lorenz);
  using Step = AdaptiveStep<Lorenz, runge_kutta::DormandPrince, double>;
  auto stepper = make_stepper("dopri5", field);
  const Vec<double, 3> x{{1.1, -0.4, 2}}, p{{10, 28, 8.0 / 3}}, y_bar{{0.3, -1, 0.7}};
  Vec<double, 3> p_bar = Vec<double, 3>::zero();
  const Vec<double, 3> x_bar = Step::step_vjp(0.0, 0.02, x, p, y_bar, p_bar);
  double t_bar = 0, h_bar = 0, want_x[3] = {}, want_p[3] = {};
  stepper->step_vjp({0, 0.02, x.e, p.e}, y_bar.e, {&t_bar, &h_bar, want_x, want_p});
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(x_bar[i], want_x[i], 1e-13);
    EXPECT_NEAR(p_bar[i], want_p[i], 1e-13);
  }
}

TEST(AdaptiveEnsemble, AWorldDoesNotKnowItsNeighboursOrTheThreads) {
  const Worlds w = spread(1000);
  const AdaptiveEnsemble<Lorenz> ensemble(0, 2, {.rtol = 1e-6, .atol = 1e-6});
  const EnsembleGradient all = ensemble.gradient(1000, w.y0, w.p, kFirstAndLast);
  const long accepted = std::accumulate(all.result.steps.begin(), all.result.steps.end(), 0L);
  EXPECT_GT(all.result.attempts, accepted);
  EXPECT_LT(all.result.attempts, accepted + accepted / 5);
  for (int threads : {1, 2, 3}) {
    set_thread_count(threads);
    const EnsembleGradient again = ensemble.gradient(1000, w.y0, w.p, kFirstAndLast);
    EXPECT_EQ(again.result.y, all.result.y);
    EXPECT_EQ(again.result.attempts, all.result.attempts);
    EXPECT_EQ(again.y0, all.y0);
    EXPECT_EQ(again.p, all.p);
  }
  set_thread_count(0);
  for (std::size_t i : {0u, 7u, 511u, 999u}) {
    const auto at = [&](const std::vector<double>& v) {
      return std::vector<double>{v[i], v[1000 + i], v[2000 + i]};
    };
    const EnsembleGradient one = ensemble.gradient(1, at(w.y0), at(w.p), kFirstAndLast);
    EXPECT_EQ(one.result.y, at(all.result.y));
    EXPECT_EQ(one.y0, at(all.y0));
    EXPECT_EQ(one.p, at(all.p));
  }
}

TEST(AdaptiveEnsemble, RunsBackwardsInTime) {
  const AdaptiveEnsemble<Lorenz> there(0, 0.3, {.rtol = 1e-11, .atol = 1e-11}),
      back(0.3, 0, {.rtol = 1e-11, .atol = 1e-11});
  const std::vector<double> p = {10, 21, 8.0 / 3};
  const std::vector<double> y = back.solve(1, there.solve(1, {1, 0, 0}, p).y, p).y;
  EXPECT_NEAR(y[0], 1, 1e-8);
  EXPECT_NEAR(y[1], 0, 1e-8);
}

TEST(AdaptiveEnsemble, TooManyStepsNamesTheWorld) {
  const Worlds w = spread(20);
  const AdaptiveEnsemble<Lorenz> ensemble(0, 100, {.rtol = 1e-10, .atol = 1e-10, .max_steps = 300});
  try {
    ensemble.solve(20, w.y0, w.p);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("world"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("max_steps"), std::string::npos);
  }
}

}  // namespace
}  // namespace costate::ode
