// Averages of long runs of many worlds, against the exact stationary values of each scheme.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/philox.h"
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
// The stationary covariance of a linear scheme solves P = J P J' + N N': from the system's own step. With one
// random number xi per step, a step from rest at the origin is N xi.
double stationary(const Model& model, std::size_t which) {
  const auto system = make_system<double>(model);
  Rollout<double> rollout(system, {.steps = 1, .active = {}, .seed = 3});
  auto at = rollout.arguments();
  at.x0.assign(at.x0.size(), 0.0);
  const auto n = std::size_t(system->signature().states());
  const std::vector<double> J = rollout.jacobian(at);
  std::vector<double> N = rollout.simulate(at).final_state;
  const double xi = normal<double>(3, 0, 0, 0x6d64);  // of the stream of molecules
  for (double& entry : N) entry /= xi;
  std::vector<double> P(n * n, 0.0), next(n * n), half(n * n);
  for (int k = 0; k < 20'000; ++k) {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        half[i * n + j] = 0;
        for (std::size_t l = 0; l < n; ++l) half[i * n + j] += J[i * n + l] * P[l * n + j];
      }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        next[i * n + j] = N[i] * N[j];
        for (std::size_t l = 0; l < n; ++l) next[i * n + j] += half[i * n + l] * J[j * n + l];
      }
    P.swap(next);
  }
  return P[which * n + which];
}

void expect_mean(const Mean& mean, double expected, const char* what) {
  EXPECT_NEAR(mean.value, expected, 4 * mean.error) << what;
  EXPECT_LT(mean.error, 0.01 * expected) << what << ": the samples do not tell";
}

// One step is linear, so its stationary variance solves P = J^2 P + N: from the system's own step, without
// sampling.
TEST(EulerMaruyama, HasItsOwnBiasedVariance) {
  for (const auto& [dt, variance] : {std::pair{0.01, 1.0050251256}, {0.1, 1.0526315789}}) {
    const Model model{.dimensions = 1,
                      .masses = {1},
                      .potentials = {{.kind = "harmonic"}},
                      .integrator = "overdamped",
                      .dt = dt};
    EXPECT_NEAR(stationary(model, 0), variance, 1e-10);
  }
}

TEST(EulerMaruyama, SamplesItsOwnBiasedVariance) {
  const Model model{.dimensions = 1,
                    .masses = {1},
                    .potentials = {{.kind = "harmonic"}},
                    .integrator = "overdamped",
                    .dt = 0.4};
  expect_mean(mean_squares(model, 2000, 512, {0})[0], 1 / (1 - 0.4 / 2), "<x^2>");
}

// The same with the mobility D = R R': kT / k (1 - k dt D / 2)^-1, whatever R.
TEST(Preconditioned, SamplesBoltzmannUpToTheBiasOfItsStep) {
  const double dt = 0.3, k = 1.2, kT = 0.8;
  const std::vector<double> R = {1.1, 0.4, -0.3, 0.7};
  const Model model{.dimensions = 2,
                    .masses = {3},
                    .potentials = {{.kind = "harmonic", .parameters = {{"k", {k}}}}},
                    .integrator = "preconditioned",
                    .dt = dt,
                    .kT = kT,
                    .preconditioner = R};
  double A[2][2];  // 1 - k dt D / 2
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 2; ++j)
      A[i][j] = (i == j) - 0.5 * k * dt * (R[2 * i] * R[2 * j] + R[2 * i + 1] * R[2 * j + 1]);
  const double det = A[0][0] * A[1][1] - A[0][1] * A[1][0];
  const auto means = mean_squares(model, 3000, 512, {0, 0});
  expect_mean(means[0], kT / k * A[1][1] / det, "<x^2>");
  expect_mean(means[1], kT / k * A[0][0] / det, "<y^2>");
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

// Its middle, CMC, keeps the density of velocities and memory: as with BAOAB positions in a harmonic well are
// right at any dt, and velocities are off by w^2 dt^2 / 4. A run samples the covariance of its own scheme.
TEST(GeneralisedLangevin, SamplesPositionsExactlyAndVelocitiesToTheSquareOfTheStep) {
  const double k = 1.5, mass = 2, kT = 0.6;
  Model model{.dimensions = 1,
              .masses = {mass},
              .potentials = {{.kind = "harmonic", .parameters = {{"k", {k}}}}},
              .integrator = "generalized_langevin",
              .dt = 0.4,
              .kT = kT,
              .memory_friction = {1.0},
              .memory_time = {0.8}};
  const auto means = mean_squares(model, 4000, 512, {0, 0, 0});
  for (const std::size_t i : {std::size_t(0), std::size_t(1)})
    EXPECT_NEAR(means[i].value, stationary(model, i), 4 * means[i].error) << i;
  std::vector<double> errors;
  for (const double dt : {0.4, 0.28, 0.2, 0.14, 0.1, 0.07}) {
    model.dt = dt;
    EXPECT_NEAR(stationary(model, 0) / (kT / k), 1, 1e-11) << dt;
    errors.push_back(1 - stationary(model, 1) / (kT / mass));
    EXPECT_NEAR(errors.back(), k / mass * dt * dt / 4, 1e-11) << dt;
  }
  EXPECT_NEAR(std::log(errors.front() / errors.back()) / std::log(0.4 / 0.07), 2, 0.1);
}

}  // namespace
}  // namespace costate::md
