// Averages of long runs of many worlds, against the exact stationary values of each scheme.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/md/model.h"
#include "costate/system/rollout.h"

namespace costate::md {
namespace {

// Means of the squares of every state over worlds and over kept times, with the standard error by worlds.
struct Mean {
  double value = 0, error = 0;
};
std::vector<Mean> mean_squares(const Model& model, std::int64_t steps, std::int64_t worlds,
                               std::vector<double> x0) {
  const auto system = make_system<double>(model);
  Rollout<double> rollout(system, {.steps = steps, .worlds = worlds, .keep = 10, .active = {}, .seed = 7});
  auto at = rollout.arguments();
  at.x0 = std::move(x0);
  const auto path = rollout.simulate(at);
  const auto n = std::size_t(system->signature().states()), w = std::size_t(worlds);
  const std::size_t first = path.kept.size() / 4;
  std::vector<Mean> result(n);
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0, square = 0;
    for (std::size_t b = 0; b < w; ++b) {
      double mean = 0;
      for (std::size_t k = first; k < path.kept.size(); ++k)
        mean += std::pow(path.states[(k * w + b) * n + i], 2);
      mean /= double(path.kept.size() - first);
      sum += mean;
      square += mean * mean;
    }
    result[i].value = sum / double(w);
    result[i].error = std::sqrt((square / double(w) - result[i].value * result[i].value) / double(w - 1));
  }
  return result;
}
void expect_mean(const Mean& mean, double expected, const char* what) {
  EXPECT_NEAR(mean.value, expected, 4 * mean.error) << what;
  EXPECT_LT(mean.error, 0.01 * expected) << what << ": the samples do not tell";
}

TEST(EulerMaruyama, SamplesItsOwnBiasedVariance) {
  const Model model{.dimensions = 1,
                    .masses = {1},
                    .potentials = {{.kind = "harmonic"}},
                    .integrator = "overdamped",
                    .dt = 0.4};
  expect_mean(mean_squares(model, 2000, 512, {0})[0], 1 / (1 - 0.4 / 2), "<x^2>");
}

// With unequal masses: BAOAB has the right positions at any dt, and velocities that are off by w^2 dt^2 / 4.
TEST(Baoab, SamplesPositionsExactlyAndEnergiesOfUnequalMassesEqually) {
  const double dt = 0.5;
  const Model model{.dimensions = 1,
                    .masses = {1, 4},
                    .potentials = {{.kind = "harmonic"}},
                    .integrator = "BAOAB",
                    .dt = dt,
                    .kT = 1,
                    .friction = 1};
  const auto means = mean_squares(model, 4000, 512, {0, 0, 0, 0});
  expect_mean(means[0], 1, "<x^2> of the light atom");
  expect_mean(means[1], 1, "<x^2> of the heavy atom");
  expect_mean(means[2], 1 - dt * dt / 4, "<v^2> of the light atom");
  expect_mean(means[3], (1 - dt * dt / 16) / 4, "<v^2> of the heavy atom");
}

// Of independent samples in 16 bins that a normal density of this variance fills evenly.
double chi_square(const std::vector<double>& samples, double variance) {
  std::vector<double> bins(16, 0.0);
  for (const double x : samples) {
    const double u = 0.5 * std::erfc(-x / std::sqrt(2 * variance));
    bins[std::min<std::size_t>(15, std::size_t(16 * u))] += 1;
  }
  const double even = double(samples.size()) / 16;
  double sum = 0;
  for (const double n : bins) sum += (n - even) * (n - even) / even;
  return sum;
}

// Whole distributions, not only variances: positions and velocities of two masses, one sample per world.
TEST(Baoab, PassesChiSquareOfPositionsAndVelocities) {
  const double dt = 0.4, k = 1.5, kT = 0.7;
  const Model model{.dimensions = 1,
                    .masses = {1, 5},
                    .potentials = {{.kind = "harmonic", .parameters = {{"k", {k}}}}},
                    .integrator = "BAOAB",
                    .dt = dt,
                    .kT = kT,
                    .friction = 1};
  const std::int64_t worlds = 1 << 14;
  Rollout<double> rollout(make_system<double>(model),
                          {.steps = 200, .worlds = worlds, .active = {}, .seed = 21});
  const auto end = rollout.simulate(rollout.arguments()).final_state;
  constexpr double kLimit = 37.7;  // 15 degrees of freedom pass it once in a thousand times
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<double> samples;
    for (std::size_t w = 0; w < std::size_t(worlds); ++w) samples.push_back(end[4 * w + i]);
    const double mass = model.masses[i % 2];
    const double variance = i < 2 ? kT / k : kT / mass * (1 - k / mass * dt * dt / 4);
    EXPECT_LT(chi_square(samples, variance), kLimit) << i;
    EXPECT_GT(chi_square(samples, 1.1 * variance), kLimit) << i << ": the samples do not tell";
  }
}

TEST(DoubleWell, SamplesBoltzmann) {
  const Model model{.dimensions = 1,
                    .masses = {1},
                    .potentials = {{.kind = "double_well"}},
                    .integrator = "BAOAB",
                    .dt = 0.05,
                    .kT = 0.5,
                    .friction = 1};
  expect_mean(mean_squares(model, 8000, 512, {-1, 0})[0], .8521361521783303, "<x^2>");
}

// The stationary covariance of a linear scheme solves P = J P J' + N N': iterated from the system's own step.
Mean stationary(const Model& model, std::size_t which) {
  const auto system = make_system<double>(model);
  Rollout<double> rollout(system, {.steps = 1, .active = {}});
  const auto at = rollout.arguments();
  const auto n = std::size_t(system->signature().states());
  const std::vector<double> J = rollout.jacobian(at);
  // The noise of a step from rest at the origin, by its second moment over many worlds of one step.
  Rollout<double> many(system, {.steps = 1, .worlds = 200'000, .active = {}, .seed = 3});
  const auto kicked = many.simulate(at).final_state;
  std::vector<double> N(n * n, 0.0), P(n * n, 0.0), next(n * n), half(n * n);
  for (std::size_t w = 0; w < 200'000; ++w)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) N[i * n + j] += kicked[w * n + i] * kicked[w * n + j] / 200'000;
  for (int k = 0; k < 20'000; ++k) {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        half[i * n + j] = 0;
        for (std::size_t l = 0; l < n; ++l) half[i * n + j] += J[i * n + l] * P[l * n + j];
      }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        next[i * n + j] = N[i * n + j];
        for (std::size_t l = 0; l < n; ++l) next[i * n + j] += half[i * n + l] * J[j * n + l];
      }
    P.swap(next);
  }
  return {P[which * n + which], 0};
}

TEST(GeneralisedLangevin, TendsToBoltzmannAsTheSquareOfTheStep) {
  Model model{.dimensions = 1,
              .masses = {2},
              .potentials = {{.kind = "harmonic", .parameters = {{"k", {1.5}}}}},
              .integrator = "generalized_langevin",
              .dt = 0.4,
              .kT = 0.6,
              .memory_friction = {1.0},
              .memory_time = {0.8}};
  const double exact = 0.6 / 1.5;
  const double coarse = stationary(model, 0).value / exact;
  model.dt = 0.2;
  const double fine = stationary(model, 0).value / exact;
  EXPECT_NEAR(coarse, 1, 0.05);
  EXPECT_NEAR(fine, 1, 0.02);
  // And a run samples its own scheme's covariance.
  const auto mean = mean_squares(model, 4000, 512, {0, 0, 0})[0];
  EXPECT_NEAR(mean.value, fine * exact, 4 * mean.error + 0.005 * exact);
}

}  // namespace
}  // namespace costate::md
