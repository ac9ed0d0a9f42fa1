#include "costate/optim/cma_es.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"
#include "tests/optim/test_functions.h"

namespace costate::optim::test {
namespace {

using costate::test::expect_error;

// The value alone.
template <class Function>
auto value_of(Function f, std::size_t n) {
  return [f, n](const double* x) {
    std::vector<double> gradient(n);
    return f(x, gradient.data());
  };
}

double sphere(const double* x, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i] * x[i];
  return sum;
}

// Linear convergence: some 30 n evaluations for each factor of 10 in the distance, which here is 10^5.
TEST(CmaEs, FindsTheMinimumOfTheSphereInTimeProportionalToItsDimension) {
  for (const int n : {2, 5, 10, 20}) {
    CmaEsOptions options{.sigma = 0.5, .stopping = {.max_iterations = 100000, .target = 1e-10}};
    const Result r = minimize([n](const double* x) { return sphere(x, n); },
                              std::vector<double>(std::size_t(n), 1.0), options);
    EXPECT_EQ(r.stop, Stop::target) << r.reason;
    EXPECT_LT(r.value, 1e-10);
    EXPECT_GT(r.evaluations, 40 * n);
    EXPECT_LT(r.evaluations, 200 * n + 100) << n;
  }
}

TEST(CmaEs, FindsTheMinimumOfRosenbrocksValley) {
  for (const std::size_t n : {2U, 8U}) {
    CmaEsOptions options{.sigma = 0.3, .stopping = {.max_iterations = 100000, .target = 1e-12}};
    const Result r = minimize(value_of(Rosenbrock{int(n)}, n), std::vector<double>(n, 0.0), options);
    EXPECT_EQ(r.stop, Stop::target) << r.reason;
    for (const double x : r.x) EXPECT_NEAR(x, 1, 1e-5);
    EXPECT_LT(r.evaluations, n == 2 ? 1500 : 12000);
  }
}

// The covariance learns the shape: a condition number of 10^6 costs little more than none.
TEST(CmaEs, LearnsTheScalesOfTheVariables) {
  CmaEsOptions options{.sigma = 1, .stopping = {.max_iterations = 100000, .target = 1e-10}};
  const Result r = minimize(value_of(Quadratic{8, 1e6}, 8), std::vector<double>(8, 0.0), options);
  EXPECT_EQ(r.stop, Stop::target) << r.reason;
  EXPECT_LT(r.evaluations, 8000);
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(r.x[std::size_t(i)], i, 2e-5);
}

TEST(CmaEs, AGivenScaleIsTheFirstWidthOfEachVariable) {
  double widest[2] = {0, 0};
  CmaEsOptions options{.sigma = 0.5, .scale = {1e-3, 1e3}, .population = 1000};
  options.stopping.max_iterations = 1;
  minimize(
      [&](const double* x) {
        for (int i : {0, 1}) widest[i] += x[i] * x[i] / 1000;
        return 0.0;
      },
      {0, 0}, options);
  EXPECT_NEAR(std::sqrt(widest[0]), 0.5e-3, 0.05e-3);
  EXPECT_NEAR(std::sqrt(widest[1]), 0.5e3, 0.05e3);
}

TEST(CmaEs, StaysInsideItsBoundsAndFindsAMinimumOnThem) {
  CmaEsOptions options{.sigma = 0.5, .bounds = {.lower = {0.5, -3}, .upper = {2, 3}}};
  options.stopping = {.max_iterations = 400};
  const Result r = minimize(
      [&](const double* x) {
        EXPECT_GE(x[0], 0.5);
        EXPECT_LE(x[0], 2);
        return sphere(x, 2);
      },
      {5, 1}, options);
  EXPECT_NEAR(r.value, 0.25, 1e-9);
  EXPECT_NEAR(r.x[0], 0.5, 1e-9);
  EXPECT_NEAR(r.x[1], 0, 1e-4);
}

TEST(CmaEs, ValuesThatAreNotNumbersRankLast) {
  const costate::test::AllowFloatExceptions logarithm_of_a_negative_number;
  const Result r = minimize(value_of(log_barrier, 1), {0.3}, CmaEsOptions{.stopping = {.target = 1 + 1e-10}});
  EXPECT_EQ(r.stop, Stop::target) << r.reason;
  EXPECT_NEAR(r.x[0], 1, 1e-4);
  const Result none =
      minimize([](const double*) { return std::numeric_limits<double>::infinity(); }, {1, 2}, CmaEsOptions{});
  EXPECT_EQ(none.stop, Stop::not_finite);
}

TEST(CmaEs, NeverExceedsItsEvaluations) {
  long calls = 0;
  const Result r = minimize(
      [&](const double* x) {
        ++calls;
        return sphere(x, 3);
      },
      {1, 1, 1}, CmaEsOptions{.max_evaluations = 100});
  EXPECT_EQ(r.evaluations, calls);
  EXPECT_LE(calls, 100);
  EXPECT_GT(calls, 90);
}

TEST(CmaEs, AWholeGenerationIsEvaluatedAtOnce) {
  int generations = 0;
  const ValuesOfPoints values = [&](const double* points, int count, double* out) {
    EXPECT_EQ(count, 12);
    ++generations;
    for (int k = 0; k < count; ++k) out[k] = sphere(points + 2 * k, 2);
  };
  const Result r =
      minimize(values, {1, 2}, CmaEsOptions{.population = 12, .stopping = {.max_iterations = 9}});
  EXPECT_EQ(generations, 9);
  EXPECT_EQ(r.evaluations, 9 * 12);
}

TEST(CmaEs, StopsWhenValuesNoLongerDiffer) {
  const Result r = minimize([](const double* x) { return 1 + sphere(x, 2); }, {1, 1},
                            CmaEsOptions{.stopping = {.max_iterations = 100000, .value_tolerance = 1e-9}});
  EXPECT_EQ(r.stop, Stop::value) << r.reason;
  EXPECT_NEAR(r.value, 1, 1e-8);
  EXPECT_LT(r.iterations, 500);
}

TEST(CmaEs, ResumesToTheSameBits) {
  CmaEsOptions options{.stopping = {.max_iterations = 60}};
  CmaEsState whole, parts;
  const auto f = value_of(Rosenbrock{4}, 4);
  const Result a = minimize(f, {-1.2, 1, 0.3, 2}, options, &whole);
  options.stopping.max_iterations = 23;
  minimize(f, {-1.2, 1, 0.3, 2}, options, &parts);
  options.stopping.max_iterations = 60;
  CmaEsState copy = parts;
  const Result b = minimize(f, {}, options, &copy);
  EXPECT_EQ(whole.x, copy.x);
  EXPECT_EQ(whole.covariance, copy.covariance);
  EXPECT_EQ(a.x, b.x);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.evaluations, b.evaluations);
}

TEST(CmaEs, WrongOptionsAreErrors) {
  const auto f = [](const double* x) { return x[0]; };
  expect_error([&] { return minimize(f, {}, CmaEsOptions{}); },
               "nothing to minimise: there are no variables");
  expect_error([&] { return minimize(f, {1}, CmaEsOptions{.population = 2}); },
               "a population of CMA-ES has 4 points or more");
  expect_error(
      [&] {
        return minimize(f, {1}, CmaEsOptions{.scale = {1, 1}});
      },
      "scale has 2 components, the variables 1");
}

}  // namespace
}  // namespace costate::optim::test
