#include "costate/cluster/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>

#include "costate/cluster/threads.h"
#include "costate/optim/adam.h"
#include "tests/cluster/toy_job.h"
#include "tests/expect_error.h"

namespace costate::cluster::test {
namespace {

using costate::test::expect_error;

TEST(Pool, TheGradientIsTheSumOverWorlds) {
  const ToyJob job(50, 7);
  const Part whole = job.part(some_theta(), {0, 50}, Want::gradient);
  Pool pool(threads(2));
  const Evaluation e = pool.value_and_grad(job, some_theta());
  EXPECT_NEAR(e.value, whole.value, 1e-12 * whole.value);
  for (std::size_t i = 0; i < whole.sums.size(); ++i)
    EXPECT_NEAR(e.gradient[i], whole.sums[i], 1e-12 * std::abs(whole.sums[i]));
  EXPECT_EQ(pool.report().counts.blocks, 8);
  EXPECT_EQ(pool.report().workers, 2);
  EXPECT_NE(pool.report().to_text().find("8 blocks"), std::string::npos);
}

TEST(Pool, APopulationIsWhatItsPointsAreAlone) {
  const ToyJob job(30, 4);
  Pool pool(threads(2));
  std::vector<std::vector<double>> points;
  for (int k = 0; k < 24; ++k) points.push_back({0.1 * k, 1.0, -0.3 * k});
  const auto all = pool.population(job, points, Want::gradient);
  for (std::size_t k = 0; k < points.size(); ++k)
    EXPECT_EQ(bits(all[k]), bits(pool.value_and_grad(job, points[k])));
}

TEST(Pool, CmaEsFindsTheSamePointWithAnyNumberOfWorkers) {
  const ToyJob job(20, 3);
  std::vector<double> best;
  for (const int workers : {1, 2, 3}) {
    Pool pool(threads(workers));
    const optim::Result r =
        optim::minimize(pool.values(job, 3), {1, 1, 1},
                        optim::CmaEsOptions{.population = 24, .stopping = {.max_iterations = 12}});
    if (best.empty()) best = r.x;
    EXPECT_EQ(r.x, best);
  }
}

// y = theta_0 + theta_1 t with noise, ten measurements per world.
class Line final : public Job {
 public:
  explicit Line(bool second_is_seen = true) : seen_(second_is_seen) {}
  Partition partition() const override { return {40, 6}; }
  std::string identity() const override { return "line"; }
  static double noise(std::int64_t world, int k) {
    return 0.1 * normal(3, std::uint32_t(world), std::uint64_t(k));
  }
  Part part(const std::vector<double>& theta, const Block& block, Want) const override {
    Part part;
    std::vector<double> r, J;
    for (std::int64_t w = block.first; w < block.first + block.count; ++w)
      for (int k = 0; k < 10; ++k) {
        const double t = seen_ ? 0.1 * k : 0;
        r.push_back(theta[0] + theta[1] * t - (2 - 3 * t + noise(w, k)));
        J.insert(J.end(), {1, t});
      }
    add_residuals(part, 2, int(r.size()), r.data(), J.data());
    return part;
  }

 private:
  bool seen_;
};

// Against the closed form of a straight line.
TEST(Pool, LeastSquaresFindsTheLineAndItsErrorBars) {
  Pool pool(threads(2));
  const LeastSquares fit = pool.least_squares(Line(), {0, 0});
  double n = 0, st = 0, stt = 0, sy = 0, sty = 0;
  for (int w = 0; w < 40; ++w)
    for (int k = 0; k < 10; ++k) {
      const double t = 0.1 * k, y = 2 - 3 * t + Line::noise(w, k);
      n += 1, st += t, stt += t * t, sy += y, sty += t * y;
    }
  const double d = n * stt - st * st, slope = (n * sty - st * sy) / d, offset = (sy - slope * st) / n;
  EXPECT_NEAR(fit.result.x[0], offset, 1e-9);
  EXPECT_NEAR(fit.result.x[1], slope, 1e-9);
  double squares = 0;
  for (int w = 0; w < 40; ++w)
    for (int k = 0; k < 10; ++k)
      squares += std::pow(offset + slope * 0.1 * k - (2 - 0.3 * k + Line::noise(w, k)), 2);
  const double variance = squares / (n - 2);
  EXPECT_EQ(fit.residuals, 400);
  EXPECT_NEAR(fit.standard_deviation[1], std::sqrt(variance * n / d), 1e-9);
  EXPECT_NEAR(fit.covariance[1], -variance * st / d, 1e-9);
}

TEST(Pool, WhatTheDataDoNotSeeHasNoErrorBar) {
  Pool pool(threads(1));
  const LeastSquares fit = pool.least_squares(Line(false), {0, 0});
  EXPECT_NEAR(fit.result.x[0], 2, 0.05);
  EXPECT_TRUE(std::isinf(fit.standard_deviation[1]));
}

// Counts what is computed, and ends like a killed driver does: in the middle of a block.
class Counting final : public Job {
 public:
  explicit Counting(int dies_after = 1 << 30) : dies_after_(dies_after), toy_(40, 6) {}
  Partition partition() const override { return toy_.partition(); }
  std::string identity() const override { return toy_.identity(); }
  Part part(const std::vector<double>& theta, const Block& block, Want want) const override {
    if (++computed > dies_after_) throw Error("the power is gone");
    return toy_.part(theta, block, want);
  }
  mutable std::atomic<int> computed = 0;

 private:
  int dies_after_;
  ToyJob toy_;
};

TEST(Pool, ARunThatWasKilledGoesOnFromItsLog) {
  const Folder folder;
  const std::string log = folder.path / "fit.log";
  const optim::AdamOptions twenty{.rate = 0.1, .stopping = {.max_iterations = 20}};
  const auto optimise = [&](const Job& job, const std::string& file) {
    Pool pool(threads(2), {.log = file});
    return optim::minimize(pool.objective(job, 2), {3, 3}, twenty).x;
  };
  const std::vector<double> wanted = optimise(Counting(), "");
  const Counting dies(7 * 7 + 3);  // seven blocks per iteration: in the eighth evaluation
  expect_error([&] { return optimise(dies, log); }, "the power is gone");
  {  // a line that was being written
    std::ofstream torn(log, std::ios::app);
    torn << "0123456789abcdef 0 3 00112233";
  }
  const Counting resumed;
  EXPECT_EQ(optimise(resumed, log), wanted);
  EXPECT_EQ(resumed.computed, 21 * 7 - (7 * 7 + 3));
  const Counting again;
  EXPECT_EQ(optimise(again, log), wanted);
  EXPECT_EQ(again.computed, 0);

  Pool other(threads(1), {.log = log});
  expect_error(
      [&] {
        return other.value(ToyJob(41, 6), {3, 3});
      },
      "belongs to another job", "delete the file");
  std::fstream(log, std::ios::in | std::ios::out).seekp(100) << "##";
  Pool broken(threads(1), {.log = log});
  expect_error(
      [&] {
        return broken.value(Counting(), {3, 3});
      },
      "fit.log:2: this is not a line", "delete the file");
}

TEST(Pool, WrongNumbersAreRefused) {
  expect_error([] { return threads(-1); }, "a pool of -1 threads", "one per core");
  Pool pool(threads(1));
  expect_error(
      [&] {
        return pool.least_squares(ToyJob(4, 2), {1, 2});
      },
      "do not hold residuals", "cluster::add_residuals");
  expect_error([&] { pool.resize(2); }, "fixed number of workers");
  const ToyJob job(4, 2);
  Identity here = identity_of(job), there = here;
  there.instruction_set = "AVX";
  expect_error([&] { require_equal(here, there, "worker 3"); },
               "worker 3: a worker is refused because its instruction set is AVX and the driver's is " +
                   here.instruction_set,
               "older machine");
  there = here, there.version = "0.0.9";
  expect_error([&] { require_equal(here, there, "worker 3"); }, "its version is 0.0.9", "same version");
  there = here, there.mathematics = "feed";
  expect_error([&] { require_equal(here, there, "worker 3"); },
               "its table of sines and exponentials is feed and the driver's is " + here.mathematics,
               "the same C library");
}

}  // namespace
}  // namespace costate::cluster::test
