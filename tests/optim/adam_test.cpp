#include "costate/optim/adam.h"

#include <gtest/gtest.h>

#include "tests/float_traps.h"
#include "tests/optim/test_functions.h"

namespace costate::optim::test {
namespace {

TEST(Adam, FirstStepIsTheRateInEveryVariable) {
  AdamState state;
  minimize(Quadratic{}, std::vector<double>(5, 10.0),
           AdamOptions{.rate = 0.125, .stopping = {.max_iterations = 1}}, &state);
  for (double x : state.x) EXPECT_NEAR(x, 10 - 0.125, 1e-8);
}

TEST(Adam, FindsTheMinimumOfRosenbrocksValley) {
  AdamOptions options{.rate = 0.05, .decay = 0.9995};
  options.stopping = {.max_iterations = 20000, .gradient_tolerance = 1e-6};
  const Result r = minimize(Rosenbrock{}, {-1.2, 1}, options);
  EXPECT_EQ(r.stop, Stop::gradient) << r.reason;
  EXPECT_NEAR(r.x[0], 1, 1e-5);
  EXPECT_NEAR(r.x[1], 1, 1e-5);
}

TEST(Adam, ACallbackSeesEveryIterationAndStopsTheRun) {
  int calls = 0;
  double last = 0;
  AdamOptions options;
  options.callback = [&](const Progress& p) {
    EXPECT_EQ(p.iteration, ++calls);
    EXPECT_EQ(p.evaluations, calls + 1);
    EXPECT_GT(p.step, 0);
    EXPECT_GT(p.gradient_norm, 0);
    last = p.value;
    return calls < 7;
  };
  const Result r = minimize(Rosenbrock{}, {-1.2, 1}, options);
  EXPECT_EQ(calls, 7);
  EXPECT_EQ(r.stop, Stop::callback);
  EXPECT_EQ(r.reason, "stopped by the callback after 7 iterations");
  EXPECT_EQ(r.value, last);
}

TEST(Adam, StepsBackFromWhereTheValueIsNotANumber) {
  const costate::test::AllowFloatExceptions logarithm_of_a_negative_number;
  const Result r = minimize(
      log_barrier, {3},
      AdamOptions{.rate = 4, .decay = 0.9, .stopping = {.max_iterations = 2000, .gradient_tolerance = 1e-4}});
  EXPECT_EQ(r.stop, Stop::gradient) << r.reason;
  EXPECT_NEAR(r.x[0], 1, 1e-3);
}

TEST(Adam, ResumesToTheSameBits) {
  AdamOptions options{.rate = 0.02, .decay = 0.999, .stopping = {.max_iterations = 300}};
  AdamState whole, parts;
  const Result a = minimize(Rosenbrock{4}, {-1.2, 1, 0.3, 2}, options, &whole);
  options.stopping.max_iterations = 123;
  minimize(Rosenbrock{4}, {-1.2, 1, 0.3, 2}, options, &parts);
  options.stopping.max_iterations = 300;
  const AdamState stored = parts;  // plain data: a copy carries on as well
  AdamState copy = stored;
  const Result b = minimize(Rosenbrock{4}, {}, options, &copy);
  EXPECT_EQ(whole.x, copy.x);
  EXPECT_EQ(whole.m, copy.m);
  EXPECT_EQ(whole.v, copy.v);
  EXPECT_EQ(a.x, b.x);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.evaluations, b.evaluations);
}

}  // namespace
}  // namespace costate::optim::test
