#include "costate/control/plan/sampling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/parallel.h"
#include "tests/control/problems.h"
#include "tests/expect_error.h"

namespace costate::control {
namespace {

using costate::test::expect_error;

// (Sigma^-1 + H/t)^-1 (-g/t): the first controls that infinitely many samples give, from elsewhere.
struct Exact {
  double temperature, u0, u1, value;
};
constexpr Exact kWarm = {1, .07174514118620953, -.026523622271253204, 4.722515514547};
constexpr Exact kCold = {0.1, -.012734450900619795, -.17584773685789365, 4.538759184383};

SamplingOptions once(double temperature, std::int64_t samples, std::uint64_t seed) {
  return {.method = Sampling::mppi,
          .samples = samples,
          .iterations = 1,
          .sigma = {0.5},
          .temperature = temperature,
          .seed = seed};
}

// The error of the first two controls, over some seeds.
double rms_error(const Exact& exact, std::int64_t samples, int seeds) {
  double square = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    const Plan p =
        plan(test::ten_linear_steps(), {0, 0}, once(exact.temperature, samples, std::uint64_t(seed)));
    square += (std::pow(p.u[0] - exact.u0, 2) + std::pow(p.u[1] - exact.u1, 2)) / 2 / seeds;
  }
  return std::sqrt(square);
}

TEST(Sampling, MppiConvergesToItsClosedFormWithTheRootOfTheSamples) {
  const double few = rms_error(kWarm, 1000, 16), many = rms_error(kWarm, 64000, 4);
  EXPECT_LT(few, 0.04);
  EXPECT_LT(many, 0.005);
  EXPECT_NEAR(std::log(few / many) / std::log(64.0), 0.5, 0.2);
  EXPECT_LT(rms_error(kCold, 64000, 2), 0.04);
  const Plan p = plan(test::ten_linear_steps(), {0, 0}, once(1, 64000, 3));
  EXPECT_NEAR(p.value, kWarm.value, 0.01);
}

TEST(Sampling, TheEffectiveSampleSizeIsThatOfTheReference) {
  Sampler warm(test::ten_linear_steps(), once(1, 64000, 1)),
      cold(test::ten_linear_steps(), once(0.1, 64000, 1));
  warm.plan(test::ten_linear_steps().x0, {0, 0});
  cold.plan(test::ten_linear_steps().x0, {0, 0});
  EXPECT_NEAR(warm.effective_samples() / 64000, 0.6167, 0.02);
  EXPECT_NEAR(cold.effective_samples() / 64000, 0.0123, 0.005);
}

TEST(Sampling, EveryMethodApproachesTheOptimum) {
  const double best = 4.5047745225833169;
  for (const Sampling method : {Sampling::mppi, Sampling::predictive, Sampling::cem}) {
    const Plan p =
        plan(test::ten_linear_steps(), {0, 0},
             {.method = method, .samples = 512, .iterations = 100, .sigma = {0.15}, .temperature = 0.01});
    EXPECT_GE(p.value, best - 1e-12);
    EXPECT_LT(p.value, best + 0.03) << int(method);
    EXPECT_EQ(p.x.size(), 33u);
  }
}

TEST(Sampling, BoundsHoldAndTheNumberOfThreadsDoesNotShow) {
  Problem p = test::ten_linear_steps();
  p.lower = {-0.25, -0.25}, p.upper = {0.25, 0.25};
  const SamplingOptions options{.samples = 300, .iterations = 5, .sigma = {0.5}, .temperature = 0.1};
  const int before = thread_count();
  std::vector<double> first;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    const Plan found = plan(p, {0, 0}, options);
    if (first.empty()) first = found.u;
    EXPECT_EQ(found.u, first);
  }
  set_thread_count(before);
  for (const double u : first) EXPECT_LE(std::fabs(u), 0.25);
}

TEST(Sampling, ControlsMayBeHeld) {
  const Plan p = plan(test::ten_linear_steps(), {0, 0}, {.samples = 64, .iterations = 2, .hold = 5});
  for (std::size_t k = 0; k < 10; ++k) EXPECT_EQ(p.u[2 * k], p.u[k < 5 ? 0 : 10]);
}

TEST(Sampling, RefusesWhatItCannotDo) {
  const auto with = [](SamplingOptions o) { return plan(test::ten_linear_steps(), {0, 0}, o); };
  expect_error([&] { return with({.samples = 1}); }, "at least two samples");
  expect_error([&] { return with({.sigma = {0}}); }, "sigma must be positive");
  expect_error([&] { return with({.sigma = {1, 1, 1}}); }, "sigma has 3 numbers instead of 1 or 2");
  expect_error([&] { return with({.temperature = 0}); }, "the temperature must be positive");
  expect_error([&] { return with({.method = Sampling::cem, .elites = 2}); }, "elites is a share");
  Problem p = test::ten_linear_steps();
  p.constraints = reach(p.system->signature(), StateSpace(), {0, 0, 0});
  expect_error([&] { return plan(p, {0, 0}, SamplingOptions()); }, "but no other constraints", "add a price");
}

}  // namespace
}  // namespace costate::control
