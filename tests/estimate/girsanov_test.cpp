#include <cmath>
#include <limits>

#include "costate/ad/dual.h"
#include "costate/core/philox.h"
#include "costate/estimate/gradient.h"
#include "costate/md/model.h"
#include "costate/md/observable/thermodynamics.h"
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
double mean_time(const test::Chain& c, int steps) {
  double sum = c.dt;  // it has not arrived at step 0
  c.walk(steps - 1,
         [&](int, const std::vector<double>& p) { sum += c.dt * c.integral(p, [](double) { return 1.0; }); });
  return sum;
}

TEST(Girsanov, HasTheDerivativeOfAMeanFirstPassageTime) {
  test::Chain chain{.kT = 0.5, .dt = 0.05, .low = -3.2, .high = 0, .points = 321};
  const int steps = 1200;
  const double truth = mean_time(chain, steps);
  const double slope = test::slope_in_a(chain, [&](const test::Chain& c) { return mean_time(c, steps); });
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

// Steps see a crossing late: as if the level were 0.5826 sigma farther, sigma = sqrt(2 kT dt) [Broadie,
// Glasserman, Kou, Math. Finance 7 (1997)]. With the level that much nearer, the time and its slope are those
// of the continuous process, up to dt; two steps are extrapolated to none.
TEST(Girsanov, TheTimesOfItsChainsTendToTheContinuousOnes) {
  double time[2], slope[2];
  for (const int i : {0, 1}) {
    test::Chain chain{.kT = 0.5, .dt = i == 0 ? 0.02 : 0.01, .low = -2.8, .points = 201};
    chain.high = -0.5826 * std::sqrt(2 * chain.kT * chain.dt);
    const int steps = int(std::lround(45 / chain.dt));
    time[i] = mean_time(chain, steps);
    slope[i] = test::slope_in_a(chain, [&](const test::Chain& c) { return mean_time(c, steps); });
  }
  EXPECT_NEAR(2 * time[1] - time[0], 4.606539613107094, 0.04);
  EXPECT_NEAR(2 * slope[1] - slope[0], 5.093400612374095, 0.1);
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
  for (const std::int64_t samples : {-5, 1})
    expect_error(
        [&] {
          return first_passage<double>(system, {.steps = 5}, at, {}, chain.dt,
                                       {.samples = samples, .parameters = {"double_well/a"}});
        },
        "at least 2 samples");
  expect_error(
      [&] {
        return first_passage<double>(system, {.steps = 5}, at,
                                     {.level = std::numeric_limits<double>::quiet_NaN()}, chain.dt,
                                     {.parameters = {"double_well/a"}});
      },
      "a level of a first passage is not finite", "that is reached");
}

// From equilibrium the score of a path has the variance T / (2 k), but for what dt does to <x^2>. Of a loss
// that is one everywhere it is the whole estimate, and its mean is nothing.
TEST(Girsanov, ItsScoreHasTheVarianceOfItsTime) {
  const double dt = 0.01;
  const std::int64_t samples = 1 << 15, steps = 200;
  const auto system = md::make_system<double>({.dimensions = 1,
                                               .masses = {1},
                                               .potentials = {{.kind = "harmonic"}},
                                               .integrator = "overdamped",
                                               .dt = dt});
  auto at = Rollout<double>(system, {.steps = 1}).arguments();
  at.x0.clear();
  for (std::int64_t s = 0; s < samples; ++s) at.x0.push_back(normal<double>(98, std::uint32_t(s), 0));
  const auto one = loss::expression<double>(system->signature(), "1 + 0*x");
  const auto g = gradient<double>(system, {.steps = steps, .seed = 6}, at, *one,
                                  {.method = Method::girsanov,
                                   .samples = samples,
                                   .parameters = {"harmonic/k"},
                                   .baseline = Baseline::none});
  const double variance = double(samples) * g.standard_error[0] * g.standard_error[0];
  EXPECT_NEAR(g.gradient[0], 0, 4 * g.standard_error[0]);
  EXPECT_NEAR(variance, 0.5 * dt * double(steps), 0.05);
}

// A loss of packs, as in Reinforce.OfAnEnergyIsEquipartition.
TEST(Girsanov, OfAnEnergyIsThatOfPaths) {
  const md::Model model = well(0.1, "ABOBA");
  const auto system = md::make_system<double>(model);
  const auto energy = md::observe<double>(model, md::Observe{});
  auto at = Rollout<double>(system, {.steps = 1}).arguments();
  at.x0 = {-0.7, 0};
  const auto by = [&](Method method) {
    return gradient<double>(system, {.steps = 15, .seed = 3}, at, *energy,
                            {.method = method, .samples = 1 << 15, .parameters = {"double_well/a"}});
  };
  const auto score = by(Method::girsanov), path = by(Method::pathwise);
  EXPECT_NEAR(score.gradient[0], path.gradient[0],
              4 * std::hypot(score.standard_error[0], path.standard_error[0]));
  EXPECT_LT(score.standard_error[0], std::abs(path.gradient[0]) / 4);
}

// With a preconditioner two coordinates share their noise: the score is that of both.
TEST(Girsanov, HasTheScoreOfPreconditionedSteps) {
  const auto system = md::make_system<double>({.dimensions = 2,
                                               .masses = {1},
                                               .potentials = {{.kind = "double_well_2d"}},
                                               .integrator = "preconditioned",
                                               .dt = 0.05,
                                               .kT = 0.5,
                                               .preconditioner = {0.9, 0.4, -0.3, 0.8}});
  const auto loss = loss::expression<double>(system->signature(), "(x[0] + 0.3*x[1])^2");
  auto at = Rollout<double>(system, {.steps = 1}).arguments();
  at.x0 = {-0.7, 0.4};
  const auto by = [&](Method method) {
    return gradient<double>(system, {.steps = 16, .seed = 3}, at, *loss,
                            {.method = method, .samples = 1 << 16, .parameters = {"double_well_2d/*"}});
  };
  const auto score = by(Method::girsanov), path = by(Method::pathwise);
  for (std::size_t i = 0; i < path.gradient.size(); ++i) {
    EXPECT_NEAR(score.gradient[i], path.gradient[i],
                4 * std::hypot(score.standard_error[i], path.standard_error[i]))
        << path.names[i];
    EXPECT_LT(score.standard_error[i], std::abs(path.gradient[i]) / 4) << path.names[i];
  }
}

// Three standard errors, of which twice the truth is many away.
void expect_truth_of_a_million(const Sampled& g, double truth, double slope, const char* what) {
  EXPECT_NEAR(g.value, truth, 3 * g.value_error) << what;
  EXPECT_NEAR(g.gradient[0], slope, 3 * g.standard_error[0]) << what;
  EXPECT_LT(g.standard_error[0], std::abs(slope) / 20) << what << ": not told from twice the truth";
}

TEST(Girsanov, OfAMillionWalkersIsWithinThreeStandardErrors) {
  const std::int64_t million = 1'000'000;
  {
    const double dt = 0.1;
    const int steps = 20;
    const auto system = md::make_system<float>({.dimensions = 1,
                                                .masses = {1},
                                                .potentials = {{.kind = "harmonic"}},
                                                .integrator = "overdamped",
                                                .dt = dt});
    auto at = Rollout<float>(system, {.steps = 1}).arguments();
    at.x0.clear();
    for (std::int64_t s = 0; s < million; ++s) at.x0.push_back(normal<float>(99, std::uint32_t(s), 0));
    std::vector<std::int64_t> window;
    for (int j = 1; j <= steps; ++j) window.push_back(j);
    const auto mean = loss::track<float>(system->signature(), "x", window,
                                         std::vector<float>(window.size(), 0.0F), 2.0 / steps);
    const auto exact = window_of_a_linear_chain(Dual<double>(1, 1), Dual<double>(1), dt, steps);
    expect_truth_of_a_million(
        gradient<float>(system, {.steps = steps, .seed = 5}, at, *mean,
                        {.method = Method::girsanov, .samples = million, .parameters = {"harmonic/k"}}),
        exact.v, exact.d[0], "average over a window");
  }
  const auto system = md::make_system<float>(well(0.05, "overdamped"));
  auto at = Rollout<float>(system, {.steps = 1}).arguments();
  at.x0 = {-1};
  const Sampling sampling{.method = Method::girsanov, .samples = million, .parameters = {"double_well/a"}};
  {
    const int steps = 60;
    const test::Chain chain;
    const auto right = loss::expression<float>(system->signature(), "0.5 + 0.5*sign(x)");
    expect_truth_of_a_million(
        gradient<float>(system, {.steps = steps, .seed = 11}, at, *right, sampling), chance(chain, steps),
        test::slope_in_a(chain, [&](const test::Chain& c) { return chance(c, steps); }), "P(x_T > 0)");
  }
  const test::Chain chain{.low = -3.2, .high = 0, .points = 321};
  const int steps = 1200;
  expect_truth_of_a_million(
      first_passage<float>(system, {.steps = steps, .seed = 2}, at, {}, chain.dt, sampling),
      mean_time(chain, steps),
      test::slope_in_a(chain, [&](const test::Chain& c) { return mean_time(c, steps); }), "first passage");
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
  expect_error(ask(verlet, other, "double_well/a"), "only those of E, R and ABOBA have", "use pathwise");
}

}  // namespace
}  // namespace costate::estimate
