#include <cmath>

#include "costate/ad/dual.h"
#include "costate/core/philox.h"
#include "costate/estimate/gradient.h"
#include "costate/md/model.h"
#include "costate/system/program/program_objective.h"
#include "tests/estimate/chains.h"
#include "tests/expect_error.h"

namespace costate::estimate {
namespace {

using costate::test::expect_error;

// Within four standard errors of the truth, and with a standard error that tells the truth from twice of it.
void expect_truth(double estimate, double error, double truth, const char* what) {
  EXPECT_NEAR(estimate, truth, 4 * error) << what;
  EXPECT_LT(error, std::abs(truth) / 8) << what << ": the samples do not tell it from twice the truth";
}

md::Model well(double dt, const std::string& integrator) {
  return {.dimensions = 1,
          .masses = {1},
          .potentials = {{.kind = "double_well"}},
          .integrator = integrator,
          .dt = dt,
          .kT = 0.5,
          .friction = 1};
}

// E[mean of x_1^2 ... x_W^2] of x' = (1 - k dt) x + sqrt(2 kT dt) xi.
template <class T>
T window_of_a_linear_chain(T k, T variance, double dt, int steps) {
  T sum(0);
  for (int j = 0; j < steps; ++j) {
    variance = (1 - k * dt) * (1 - k * dt) * variance + 2 * dt;
    sum += variance;
  }
  return sum / double(steps);
}

// Time averages of a path from equilibrium, at short and long windows: REINFORCE's formula has only the
// limit. The start is held, or moves with k too.
TEST(Girsanov, IsRightAtEveryWindow) {
  const double dt = 0.05;
  const std::int64_t samples = 1 << 16;
  const auto system = md::make_system<double>({.dimensions = 1,
                                               .masses = {1},
                                               .potentials = {{.kind = "harmonic"}},
                                               .integrator = "overdamped",
                                               .dt = dt});
  auto at = Rollout<double>(system, {.steps = 1}).arguments();
  at.x0.resize(std::size_t(samples));
  std::vector<double> score(std::size_t(samples), 0.0);
  for (std::size_t s = 0; s < at.x0.size(); ++s) {
    at.x0[s] = normal<double>(99, std::uint32_t(s), 0);
    score[s] = 0.5 - 0.5 * at.x0[s] * at.x0[s];  // d log p0 / dk
  }
  for (const int steps : {8, 40}) {
    std::vector<std::int64_t> window;
    for (int j = 1; j <= steps; ++j) window.push_back(j);
    const auto mean = loss::track<double>(system->signature(), "x", window,
                                          std::vector<double>(window.size(), 0.0), 2.0 / steps);
    for (const bool moves : {false, true}) {
      const auto g = gradient<double>(system, {.steps = steps, .seed = 5}, at, *mean,
                                      {.method = Method::girsanov,
                                       .samples = samples,
                                       .parameters = {"harmonic/k"},
                                       .initial_score = moves ? score : std::vector<double>{}});
      const Dual<double> k(1, 1);
      const auto exact = window_of_a_linear_chain(k, moves ? 1 / k : Dual<double>(1), dt, steps);
      EXPECT_NEAR(g.value, exact.v, 4 * g.value_error);
      expect_truth(g.gradient[0], g.standard_error[0], exact.d[0], "d mean / dk");
      // The continuous process, to the order of dt.
      const double T = dt * steps;
      EXPECT_NEAR(exact.d[0], moves ? -1 : -1 + (1 - std::exp(-2 * T)) / (2 * T), 0.05);
    }
  }
}

double chance(const test::Chain& chain, int steps) {
  double result = 0;
  chain.walk(steps, [&](int k, const std::vector<double>& p) {
    // The grid has a point at 0, which counts half.
    if (k == steps)
      result = chain.integral(p, [](double x) { return x > 1e-9 ? 1.0 : x < -1e-9 ? 0.0 : 0.5; });
  });
  return result;
}

TEST(Girsanov, SeesAJumpThatPathwiseDoesNot) {
  const int steps = 60;
  const test::Chain chain;
  const double truth = chance(chain, steps);
  const double slope = test::slope_in_a(chain, [&](const test::Chain& c) { return chance(c, steps); });
  EXPECT_NEAR(truth, .2348927, 0.03);  // the continuous process
  EXPECT_NEAR(slope, -.194260, 0.03);
  const auto system = md::make_system<double>(well(chain.dt, "overdamped"));
  const auto right = loss::expression<double>(system->signature(), "0.5 + 0.5*sign(x)");
  Rollout<double> shape(system, {.steps = steps});
  auto at = shape.arguments();
  at.x0 = {-1};
  const auto estimate = [&](Method method, Baseline baseline = Baseline::mean) {
    return gradient<double>(
        system, {.steps = steps, .seed = 11}, at, *right,
        {.method = method, .samples = 1 << 17, .parameters = {"double_well/a"}, .baseline = baseline});
  };
  double last = 1e9;
  for (const Baseline baseline : {Baseline::none, Baseline::mean, Baseline::optimal}) {
    const auto g = estimate(Method::girsanov, baseline);
    EXPECT_NEAR(g.value, truth, 4 * g.value_error);
    expect_truth(g.gradient[0], g.standard_error[0], slope, "dP/da");
    EXPECT_LT(g.standard_error[0], last * 1.01);
    last = g.standard_error[0];
  }
  EXPECT_EQ(estimate(Method::pathwise).gradient[0], 0);
  const auto chosen = estimate(Method::automatic);
  EXPECT_EQ(chosen.method, Method::girsanov);
  EXPECT_NE(chosen.reason.find("the loss moves by jumps alone"), std::string::npos) << chosen.reason;
}

TEST(Girsanov, HasTheScoreOfLangevinSteps) {
  const auto system = md::make_system<double>(well(0.1, "ABOBA"));
  const auto mean = loss::sum<double>({loss::final<double>(system->signature(), "x", {}, 2),
                                       loss::final<double>(system->signature(), "v", {0.3}, 2)});
  Rollout<double> shape(system, {.steps = 15});
  auto at = shape.arguments();
  at.x0 = {-0.7, 0};
  const auto by = [&](Method method) {
    return gradient<double>(system, {.steps = 15, .seed = 3}, at, *mean,
                            {.method = method, .samples = 1 << 17, .parameters = {"double_well/*"}});
  };
  const auto score = by(Method::girsanov), path = by(Method::pathwise);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(score.gradient[i], path.gradient[i],
                4 * std::hypot(score.standard_error[i], path.standard_error[i]));
    EXPECT_LT(score.standard_error[i], std::abs(path.gradient[i]) / 8);
  }
}

// Passage from -1 to 0: the mean time is dt times the sum of the chances not to have arrived.
TEST(Girsanov, HasTheDerivativeOfAMeanFirstPassageTime) {
  test::Chain chain{.kT = 0.5, .dt = 0.05, .low = -3.2, .high = 0, .points = 321};
  const int steps = 1200;
  const auto mean_time = [&](const test::Chain& c) {
    double sum = c.dt;  // it has not arrived at step 0
    c.walk(steps - 1, [&](int, const std::vector<double>& p) {
      sum += c.dt * c.integral(p, [](double) { return 1.0; });
    });
    return sum;
  };
  const double truth = mean_time(chain), slope = test::slope_in_a(chain, mean_time);
  const auto system = md::make_system<double>(well(chain.dt, "overdamped"));
  Rollout<double> shape(system, {.steps = steps});
  auto at = shape.arguments();
  at.x0 = {-1};
  const auto g = first_passage<double>(system, {.steps = steps, .seed = 2}, at, {}, chain.dt,
                                       {.samples = 1 << 15, .parameters = {"double_well/a"}});
  EXPECT_NEAR(g.value, truth, 4 * g.value_error);
  expect_truth(g.gradient[0], g.standard_error[0], slope, "d time / da");
  EXPECT_NE(g.label.find("mean first passage time"), std::string::npos) << g.label;
  const auto cut = first_passage<double>(system, {.steps = 20}, at, {}, chain.dt,
                                         {.samples = 1024, .parameters = {"double_well/a"}});
  EXPECT_NE(cut.label.find("had not arrived"), std::string::npos) << cut.label;
}

// From -0.2 to 1 before -1: what leaves the grid above, step by step.
TEST(Girsanov, HasTheDerivativeOfACommittor) {
  const test::Chain chain{.kT = 0.5, .dt = 0.05, .start = -0.2, .low = -1, .high = 1, .points = 201};
  const int steps = 400;
  const auto above = [&](const test::Chain& c) {
    const auto leaves = [&](double x) {
      return 0.5 * std::erfc((c.high - c.mean_step(x)) / std::sqrt(4 * c.kT * c.dt));
    };
    double sum = leaves(c.start);
    c.walk(steps, [&](int, const std::vector<double>& p) { sum += c.integral(p, leaves); });
    return sum;
  };
  const double truth = above(chain), slope = test::slope_in_a(chain, above);
  const auto system = md::make_system<double>(well(chain.dt, "overdamped"));
  Rollout<double> shape(system, {.steps = steps});
  auto at = shape.arguments();
  at.x0 = {chain.start};
  const FirstPassage event{.level = 1, .before = -1};
  const auto g = first_passage<double>(system, {.steps = steps, .seed = 8}, at, event, chain.dt,
                                       {.samples = 1 << 17, .parameters = {"double_well/*"}});
  EXPECT_NEAR(g.value, truth, 4 * g.value_error);
  EXPECT_LT(g.value_error, 0.01 * truth);
  expect_truth(g.gradient[0], g.standard_error[0], slope, "d committor / da");
  EXPECT_NE(g.label.find("committor; unbiased"), std::string::npos) << g.label;
  expect_error(
      [&] {
        return first_passage<double>(system, {.steps = 5}, at, {.level = 1, .before = 2}, chain.dt,
                                     {.samples = 16, .parameters = {"double_well/a"}});
      },
      "wrong sides", "below the level");
}

TEST(Girsanov, RefusesWhatHasNoScore) {
  const auto system = md::make_system<double>(well(0.1, "overdamped"));
  const auto verlet = md::make_system<double>(well(0.1, "verlet"));
  const auto loss = loss::final<double>(system->signature(), "x", {});
  Rollout<double> shape(system, {.steps = 3}), other(verlet, {.steps = 3});
  const auto ask = [&](const auto& physics, const auto& rollout, const char* parameter) {
    return [&, parameter] {
      return gradient<double>(physics, {.steps = 3}, rollout.arguments(), *loss,
                              {.method = Method::girsanov, .parameters = {parameter}});
    };
  };
  expect_error(ask(system, shape, "kT"), "no path score with respect to kT", "parameters of the force alone");
  expect_error(ask(verlet, other, "double_well/a"), "only those of E and ABOBA have", "use pathwise");
}

}  // namespace
}  // namespace costate::estimate
