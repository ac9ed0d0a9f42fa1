#include "costate/ode/solve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"
#include "tests/ode/problems.h"

namespace costate::ode {
namespace {

using costate::test::expect_error;

const auto kOscillator = make_field<2, 1>([](auto, auto x, auto p) {
  return std::array{1.0 * x[1], -p[0] * x[0]};
});

TEST(Solve, ErrorFollowsTheTolerance) {
  for (const char* method : {"bs3", "dopri5", "tsit5", "dop853"}) {
    double previous = 1;
    for (double tolerance : {1e-4, 1e-6, 1e-8}) {
      const Solution s = solve(kOscillator, {0, 10}, {1, 0}, {1},
                               {.method = method, .rtol = tolerance, .atol = {tolerance}});
      const double error = std::abs(s.final_state()[0] - std::cos(10.0));
      EXPECT_LT(error, 100 * tolerance) << method;
      EXPECT_LT(error, previous) << method;
      EXPECT_LT(s.counts.rejected, s.counts.accepted) << method;
      previous = error;
    }
  }
}

TEST(Solve, GivesValuesAtTheTimesAskedForAndAnywhereElse) {
  const std::vector<double> times = {0, 0.3, 1, 2.5, 2.5, 4};
  const Solution s = solve(kOscillator, {0, 4}, {1, 0}, {1},
                           {.method = "dop853", .rtol = 1e-11, .atol = {1e-11}, .t_eval = times});
  ASSERT_EQ(s.t, times);
  for (std::size_t k = 0; k < times.size(); ++k) {
    EXPECT_NEAR(s.row(k)[0], std::cos(times[k]), 1e-9);
    EXPECT_NEAR(s.row(k)[1], -std::sin(times[k]), 1e-9);
  }
  for (double t : {0.0, 0.01, 1.234, 3.999, 4.0}) EXPECT_NEAR(s(t)[0], std::cos(t), 1e-9);
  expect_error([&] { return s(4.1); }, "t = 4.1 is outside the solution, which spans 0 to 4");
}

TEST(Solve, WithoutTimesGivesEveryAcceptedStep) {
  const Solution s = solve(kOscillator, {0, 4}, {1, 0}, {1}, {});
  ASSERT_EQ(long(s.t.size()), s.counts.accepted + 1);
  EXPECT_EQ(s.t.front(), 0);
  EXPECT_EQ(s.t.back(), 4);
  for (std::size_t k = 0; k < s.t.size(); ++k) EXPECT_NEAR(s.row(k)[0], std::cos(s.t[k]), 1e-5);
}

TEST(Solve, RunsBackwardsInTime) {
  const Solution s = solve(kOscillator, {3, -2}, {std::cos(3.0), -std::sin(3.0)}, {1},
                           {.rtol = 1e-10, .atol = {1e-10}, .t_eval = {2.5, 0, -2}});
  EXPECT_NEAR(s.row(0)[0], std::cos(2.5), 1e-8);
  EXPECT_NEAR(s.row(1)[0], 1, 1e-8);
  EXPECT_NEAR(s.row(2)[0], std::cos(2.0), 1e-8);
  EXPECT_NEAR(s(1.7)[0], std::cos(1.7), 1e-8);
}

TEST(Solve, FixedStepsAreExactMultiplesAndTheLastMayBeShorter) {
  const Solution even = solve(kOscillator, {0, 1}, {1, 0}, {1}, {.method = "rk4", .dt = 0.1});
  ASSERT_EQ(even.counts.accepted, 10);
  for (std::size_t k = 0; k < 10; ++k) EXPECT_EQ(even.t[k], double(k) * 0.1);
  const Solution cut = solve(kOscillator, {0, 1.05}, {1, 0}, {1}, {.method = "rk4", .dt = 0.1});
  EXPECT_EQ(cut.counts.accepted, 11);
  EXPECT_EQ(cut.t.back(), 1.05);
  EXPECT_NEAR(cut.final_state()[0], std::cos(1.05), 1e-6);
}

TEST(Solve, AtolMayDifferPerStateAndMaxStepHolds) {
  const Solution loose = solve(kOscillator, {0, 10}, {1, 0}, {1}, {.rtol = 0, .atol = {1e-3, 1e-3}});
  const Solution strict = solve(kOscillator, {0, 10}, {1, 0}, {1}, {.rtol = 0, .atol = {1e-3, 1e-9}});
  EXPECT_GT(strict.counts.accepted, 2 * loose.counts.accepted);
  const Solution limited = solve(kOscillator, {0, 10}, {1, 0}, {1}, {.max_step = 0.01});
  EXPECT_GE(limited.counts.accepted, 1000);
}

TEST(Solve, NoStepsWhereTimeDoesNotMove) {
  const Solution s = solve(kOscillator, {1, 1}, {1, 0}, {1}, {});
  EXPECT_EQ(s.final_state(), (std::vector<double>{1, 0}));
  EXPECT_EQ(s.counts.accepted, 0);
}

template <class Run>
std::string message_of(const Run& run, Error::Kind kind) {
  try {
    run();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind);
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(Solve, TooManyStepsOnAStiffProblemPointsToAnImplicitMethod) {
  const auto stiff = make_field<2, 1>([](auto t, auto x, auto p) {
    using std::cos;
    return std::array{-p[0] * (x[0] - cos(t)), -1.0 * x[1]};
  });
  const std::string message = message_of(
      [&] {
        solve(stiff, {0, 10}, {0, 1}, {1e6}, {.max_steps = 2000});
      },
      Error::Kind::numerics);
  EXPECT_NE(message.find("max_steps"), std::string::npos);
  EXPECT_NE(message.find("stiff"), std::string::npos);
  EXPECT_NE(message.find("radau"), std::string::npos);
  const std::string gentle = message_of(
      [&] {
        solve(kOscillator, {0, 10}, {1, 0}, {1}, {.rtol = 1e-12, .atol = {1e-12}, .max_steps = 20});
      },
      Error::Kind::numerics);
  EXPECT_EQ(gentle.find("stiff"), std::string::npos);
}

TEST(Solve, BlowUpInFiniteTimeIsAnErrorNearItsTime) {
  costate::test::AllowFloatExceptions allow;
  const auto field = make_field<1, 1>([](auto, auto x, auto) { return x[0] * x[0]; });  // 1 / (1 - t)
  const std::string adaptive = message_of([&] { solve(field, {0, 2}, {1}, {0}, {}); }, Error::Kind::numerics);
  EXPECT_NE(adaptive.find("t = 1"), std::string::npos) << adaptive;
  // That is no stiffness, whichever way it is met.
  for (const char* method : {"dopri5", "dop853", "tsit5", "radau5", "rodas5p"}) {
    for (const long max_steps : {200L, 100000L}) {
      const std::string message = message_of(
          [&] {
            solve(field, {0, 2}, {1}, {0}, {.method = method, .max_steps = max_steps});
          },
          Error::Kind::numerics);
      EXPECT_EQ(message.find("stiff"), std::string::npos) << method << ": " << message;
      EXPECT_NE(message.find("seems to blow up near t = 1"), std::string::npos) << method << ": " << message;
    }
  }
  const std::string fixed = message_of(
      [&] {
        solve(field, {0, 4}, {1}, {0}, {.method = "rk4", .dt = 0.05});
      },
      Error::Kind::numerics);
  EXPECT_NE(fixed.find("not finite"), std::string::npos) << fixed;
  EXPECT_NE(fixed.find("reduce dt"), std::string::npos) << fixed;
}

TEST(Solve, ADerivativeThatIsNotANumberAtTheStartIsSaidAtOnce) {
  costate::test::AllowFloatExceptions allow;
  const auto root = make_field<2, 1>([](auto, auto x, auto p) {
    using std::sqrt;
    return std::array{1.0 * x[1], sqrt(p[0]) * x[0]};
  });
  for (const char* method : {"dopri5", "dop853", "radau5", "rodas5p", "bdf", "switching"}) {
    expect_error(
        [&] {
          return solve(root, {0, 1}, {1, 0}, {-1}, {.method = method});
        },
        "the derivative of state 1 is", "check the equations, and the parameters");
  }
}

TEST(Solve, WrongInputsSayWhatToChange) {
  const auto run = [](Options o, std::vector<double> y0 = {1, 0}, std::vector<double> p = {1}) {
    return [=] { solve(kOscillator, {0, 1}, y0, p, o); };
  };
  EXPECT_NE(message_of(run({.method = "rk5"}), Error::Kind::input).find("dopri5"), std::string::npos);
  EXPECT_NE(message_of(run({.method = "rk4"}), Error::Kind::input).find("set dt"), std::string::npos);
  EXPECT_NE(message_of(run({}, {1}), Error::Kind::input).find("2 states"), std::string::npos);
  EXPECT_NE(message_of(run({}, {1, 0}, {}), Error::Kind::input).find("parameters"), std::string::npos);
  EXPECT_NE(message_of(run({.atol = {1, 2, 3}}), Error::Kind::input).find("atol"), std::string::npos);
  EXPECT_NE(message_of(run({.t_eval = {0.5, 2}}), Error::Kind::input).find("outside"), std::string::npos);
  EXPECT_NE(message_of(run({.t_eval = {0.5, 0.2}}), Error::Kind::input).find("sorted"), std::string::npos);
}

TEST(Solve, ASecondRunGivesTheSameBitsAndInputsStayAsTheyWere) {
  const std::vector<double> y0 = {1, 0}, p = {1};
  const Solution a = solve(kOscillator, {0, 10}, y0, p, {}), b = solve(kOscillator, {0, 10}, y0, p, {});
  EXPECT_EQ(a.y, b.y);
  EXPECT_EQ(a.t, b.t);
  EXPECT_EQ(y0, (std::vector<double>{1, 0}));
}

TEST(Solve, AnEmptySpanHasTheOutputsAskedFor) {
  const Solution s = solve(kOscillator, {1, 1}, {2, 3}, {1}, {.t_eval = {1, 1}});
  EXPECT_EQ(s.t, (std::vector<double>{1, 1}));
  EXPECT_EQ(s.y, (std::vector<double>{2, 3, 2, 3}));
  EXPECT_EQ(s.counts.accepted, 0);
  EXPECT_EQ(solve(kOscillator, {1, 1}, {2, 3}, {1}).t, (std::vector<double>{1}));
}

}  // namespace
}  // namespace costate::ode
