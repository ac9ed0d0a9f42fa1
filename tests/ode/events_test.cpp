#include "costate/ode/events.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "costate/core/error.h"
#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/solve.h"
#include "tests/ode/problems.h"

namespace costate::ode {
namespace {

Event floor_event() {
  return {.name = "floor",
          .guard = make_function<2, 2>(test::height),
          .direction = -1,
          .jump = make_function<2, 2>(test::bounce)};
}

class Bounce : public testing::TestWithParam<std::string> {
 protected:
  Solution ball(double e, double g, double h0, double t1 = 15) const {
    static const auto field = make_field<2, 2>(test::falling);
    return solve(field, {0, t1}, {h0, 0}, {e, g},
                 {.method = GetParam(), .rtol = 1e-12, .atol = {1e-12}, .events = {floor_event()}});
  }
};

TEST_P(Bounce, TimesHeightAndGradientMatchTheClosedForm) {
  const Solution s = ball(0.8, 9.8, 50);
  ASSERT_EQ(s.events.size(), 3u);
  EXPECT_NEAR(s.events[0].t, 3.1943828249996993, 1e-12);
  EXPECT_NEAR(s.events[1].t, 8.30539534499922, 1e-12);
  EXPECT_NEAR(s.events[2].t, 12.394205360998836, 1e-12);
  EXPECT_NEAR(s.final_state()[0] / 8.494217007606046, 1, 1e-12);
  const Gradient g = gradient(s, OutputCotangents{.final = {1, 0}});
  EXPECT_NEAR(g.parameters["p"][0] / 314.56883995768527, 1, 1e-12);
  EXPECT_NEAR(g.parameters["p"][1] / -7.277029744509887, 1, 1e-12);
  EXPECT_NEAR(g.x0[0] / 1.5961821700760583, 1, 1e-12);
}

TEST_P(Bounce, EventTimesAreDifferentiableOutputs) {
  const Solution s = ball(0.8, 9.8, 50);
  EXPECT_NEAR(gradient(s, OutputCotangents{.event_times = {1, 0, 0}}).parameters["p"][0], 0, 1e-12);
  EXPECT_NEAR(gradient(s, OutputCotangents{.event_times = {0, 1, 0}}).parameters["p"][0], 6.388765649999399,
              1e-11);
  EXPECT_NEAR(gradient(s, OutputCotangents{.event_times = {0, 0, 1}}).parameters["p"][0], 16.61079068999844,
              1e-11);
  const double t1 = std::sqrt(2 * 50 / 9.8);
  EXPECT_NEAR(gradient(s, OutputCotangents{.event_times = {1, 0, 0}}).x0[0], t1 / 100, 1e-13);
}

TEST_P(Bounce, DerivativeByTheStartTimeShiftsEverything) {
  const Solution s = ball(0.8, 9.8, 50);
  const Gradient g = gradient(s, OutputCotangents{.final = {1, 0}});
  EXPECT_NEAR(g.t1, s.final_state()[1], 1e-11);
  EXPECT_NEAR(g.t0, -s.final_state()[1], 1e-10);
  EXPECT_NEAR(gradient(s, OutputCotangents{.event_times = {0, 1, 0}}).t0, 1, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Methods, Bounce, testing::Values("dopri5", "tsit5", "dop853", "bs3"));

double stencil(const std::function<double(double)>& f, double step) {
  return (45 * (f(step) - f(-step)) - 9 * (f(2 * step) - f(-2 * step)) + (f(3 * step) - f(-3 * step))) /
         (60 * step);
}

// Air drag, a moving floor, and a jump that depends on time: nothing is polynomial, everything has a
// derivative. Fixed steps, whose grid restarts at events, make the map smooth in its inputs.
TEST(Saltation, EveryInputAgreesWithAStencil) {
  const auto field = make_field<2, 3>([](auto t, auto x, auto p) {
    using std::cos;
    return std::array{1.0 * x[1], -p[1] - 0.1 * x[1] * x[1] * p[2] + 0.2 * cos(t)};
  });
  const Event floor{.name = "floor",
                    .guard = make_function<2, 3>([](auto t, auto x, auto p) {
                      using std::sin;
                      return x[0] - 0.1 * sin(3.0 * t) * p[2];
                    }),
                    .direction = -1,
                    .jump = make_function<2, 3>([](auto t, auto x, auto p) {
                      return std::array{x[0] + 0.0 * t, -p[0] * x[1] + 0.05 * t};
                    })};
  const auto running = make_function<2, 3>([](auto, auto x, auto p) { return x[0] * x[0] + p[1] * x[1]; });
  struct In {
    double t0 = 0.1, t1 = 2.6;
    std::vector<double> y0 = {1.2, 0.3}, p = {0.7, 9.8, 0.6};
  };
  const auto samples = std::make_shared<LeastSquares>(std::vector<double>{0.312, 0.53, 1.31, 2.2},
                                                      std::vector<double>(8, 0.2), std::vector<double>{1, 1});
  for (const char* method : {"rk4", "dopri5", "dop853"}) {
    const auto run = [&](const In& in) {
      return solve(field, {in.t0, in.t1}, in.y0, in.p,
                   {.method = method, .dt = 0.04, .events = {floor}, .running = running});
    };
    const Loss loss{.integral_weight = 0.7, .samples = samples};
    const OutputCotangents final_and_times{.final = {0.4, 0.3}, .event_times = {0.2, -0.3, 0.5}};
    const auto value = [&](const In& in) {
      const Solution s = run(in);
      EXPECT_GE(s.events.size(), 3u);
      const auto x = s.final_state();
      return evaluate(s, loss).value + 0.4 * x[0] + 0.3 * x[1] + 0.2 * s.events[0].t - 0.3 * s.events[1].t +
             0.5 * s.events[2].t;
    };
    const Solution s = run({});
    OutputCotangents times = final_and_times;
    times.event_times.resize(s.events.size(), 0.0);
    const Gradient a = gradient(s, loss), b = gradient(s, times);
    const double step = 2e-5;
    const double tolerance = 2e-7;
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(a.x0[i] + b.x0[i],
                  stencil(
                      [&](double e) {
                        In in;
                        in.y0[i] += e;
                        return value(in);
                      },
                      step),
                  tolerance)
          << method;
    }
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(a.parameters["p"][i] + b.parameters["p"][i],
                  stencil(
                      [&](double e) {
                        In in;
                        in.p[i] += e;
                        return value(in);
                      },
                      step),
                  tolerance)
          << method;
    }
  }
}

TEST(Events, TwoCrossingsInOneStepAreBothFound) {
  // A slow turn: the guard dips below zero and comes back between two ends of one long step.
  const auto field = make_field<1, 1>([](auto, auto x, auto) { return 0.0 * x[0] + 1.0; });
  const auto dip =
      make_function<1, 1>([](auto, auto x, auto p) { return (x[0] - 5.0) * (x[0] - 5.0) - p[0]; });
  for (double depth : {1.0, 0.01, 1e-4}) {
    const Solution s =
        solve(field, {0, 10}, {0}, {depth},
              {.method = "dop853", .first_step = 10, .events = {{.name = "dip", .guard = dip}}});
    ASSERT_EQ(s.events.size(), 2u) << depth;
    EXPECT_NEAR(s.events[0].t, 5 - std::sqrt(depth), 1e-12);
    EXPECT_NEAR(s.events[1].t, 5 + std::sqrt(depth), 1e-12);
    const Gradient g = gradient(s, OutputCotangents{.event_times = {0, 1}});
    EXPECT_NEAR(g.parameters["p"][0], 0.5 / std::sqrt(depth), 1e-8);
  }
  const Solution rising = solve(field, {0, 10}, {0}, {1},
                                {.first_step = 10, .events = {{.name = "up", .guard = dip, .direction = 1}}});
  ASSERT_EQ(rising.events.size(), 1u);
  EXPECT_NEAR(rising.events[0].t, 6, 1e-12);
}

TEST(Events, SeveralGuardsInOneStepComeInTheirOrder) {
  const auto field = make_field<1, 1>([](auto, auto x, auto) { return 0.0 * x[0] + 1.0; });
  const auto at = [](double c) { return make_function<1, 1>([c](auto, auto x, auto) { return x[0] - c; }); };
  const Solution s = solve(
      field, {0, 10}, {0}, {0},
      {.first_step = 10, .events = {{.name = "late", .guard = at(7)}, {.name = "early", .guard = at(2)}}});
  ASSERT_EQ(s.events.size(), 2u);
  EXPECT_EQ(s.events[0].event, 1);
  EXPECT_NEAR(s.events[0].t, 2, 1e-13);
  EXPECT_EQ(s.events[1].event, 0);
  EXPECT_NEAR(s.events[1].t, 7, 1e-13);
}

// Two balls (h1, v1, h2, v2) that reach the floor together bounce independently: both jumps happen, and both
// event times and states have the derivatives of single balls.
TEST(Events, SimultaneousEventsBothHappen) {
  const auto field = make_field<4, 1>([](auto, auto x, auto p) {
    return std::array{1.0 * x[1], 0.0 * x[0] - p[0], 1.0 * x[3], 0.0 * x[0] - p[0]};
  });
  const auto first = make_function<4, 1>([](auto, auto x, auto) { return 1.0 * x[0]; });
  const auto second = make_function<4, 1>([](auto, auto x, auto) { return 1.0 * x[2]; });
  const auto jump1 = make_function<4, 1>([](auto, auto x, auto) {
    return std::array{x[0], -0.5 * x[1], x[2], 1.0 * x[3]};
  });
  const auto jump2 = make_function<4, 1>([](auto, auto x, auto) {
    return std::array{x[0], 1.0 * x[1], x[2], -0.5 * x[3]};
  });
  const Solution s = solve(field, {0, 1.5}, {5, 0, 5, 0}, {10},
                           {.method = "dop853",
                            .rtol = 1e-12,
                            .atol = {1e-12},
                            .events = {{.name = "one", .guard = first, .direction = -1, .jump = jump1},
                                       {.name = "two", .guard = second, .direction = -1, .jump = jump2}}});
  ASSERT_EQ(s.events.size(), 2u);
  EXPECT_NEAR(s.events[0].t, 1, 1e-13);
  EXPECT_NEAR(s.events[1].t, 1, 1e-13);
  const double height = 5 * 0.5 - 5 * 0.25;
  EXPECT_NEAR(s.final_state()[0], height, 1e-12);
  EXPECT_NEAR(s.final_state()[2], height, 1e-12);
  for (int ball = 0; ball < 2; ++ball) {
    OutputCotangents c{.final = {0, 0, 0, 0}};
    c.final[std::size_t(2 * ball)] = 1;
    const Gradient g = gradient(s, c);
    // h(t) = 0.5 v (t - t_e) - 5 (t - t_e)^2 with t_e = sqrt(h0 / 5), v = 10 t_e: dh/dh0 = (0.5 t - t_e + (t
    // - t_e) ) at t = 1.5
    const double want = (5 * (1.5 - 1) - 5 + 10 * (1.5 - 1)) / 10;
    EXPECT_NEAR(g.x0[std::size_t(2 * ball)], want, 1e-12);
    EXPECT_NEAR(g.x0[std::size_t(2 * (1 - ball))], 0, 1e-12);
  }
}

TEST(Events, GrazingIsReported) {
  const auto field = make_field<2, 2>(test::falling);
  // Thrown up at v0 = 10 under g = 10 the ball just passes 5 - 1e-12.
  const Event ceiling{.name = "ceiling",
                      .guard = make_function<2, 2>([](auto, auto x, auto) { return x[0] - (5.0 - 1e-12); })};
  const Solution s = solve(field, {0, 2}, {0, 10}, {0, 10},
                           {.method = "dop853",
                            .rtol = 1e-10,
                            .atol = {1e-10},
                            .first_step = 0.3,
                            .max_step = 0.3,
                            .events = {ceiling}});
  ASSERT_GE(s.events.size(), 1u);
  EXPECT_TRUE(s.events[0].grazing);
  ASSERT_FALSE(s.notes.empty());
  EXPECT_NE(s.notes[0].find("grazing"), std::string::npos);
  const Gradient g = gradient(s, OutputCotangents{.event_times = std::vector<double>(s.events.size(), 1.0)});
  EXPECT_EQ(g.report.label, "grazing");
  EXPECT_NE(g.report.advice.front().find("grazes"), std::string::npos);
  // A clean crossing is not called grazing.
  const Event low{.name = "low", .guard = make_function<2, 2>([](auto, auto x, auto) { return x[0] - 2.0; })};
  const Solution clean = solve(field, {0, 2}, {0, 10}, {0, 10}, {.events = {low}});
  ASSERT_EQ(clean.events.size(), 2u);
  EXPECT_FALSE(clean.events[0].grazing);
  EXPECT_TRUE(clean.notes.empty());
}

TEST(Events, AGuardThatIsNearlyTouchedIsNoted) {
  const auto field = make_field<2, 2>(test::falling);
  const Event ceiling{.name = "ceiling",
                      .guard = make_function<2, 2>([](auto, auto x, auto) { return x[0] - (5.0 + 1e-9); })};
  const Solution s = solve(field, {0, 2}, {0, 10}, {0, 10},
                           {.method = "dop853", .first_step = 0.7, .max_step = 0.7, .events = {ceiling}});
  EXPECT_TRUE(s.events.empty());
  ASSERT_FALSE(s.notes.empty());
  EXPECT_NE(s.notes[0].find("near zero"), std::string::npos);
}

TEST(Events, ZenoEndsOrThrowsAtTheAccumulationPoint) {
  const auto field = make_field<2, 2>(test::falling);
  Options options{.method = "dop853", .rtol = 1e-10, .atol = {1e-10}, .events = {floor_event()}};
  // Rest at t = t1 (1 + e) / (1 - e)
  const double first = std::sqrt(2 * 5 / 10.0), rest = first * 1.5 / 0.5;
  try {
    solve(field, {0, 10}, {5, 0}, {0.5, 10}, options);
    FAIL() << "events accumulate";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::numerics);
    EXPECT_NE(std::string(e.what()).find("stop_at_zeno"), std::string::npos);
  }
  options.stop_at_zeno = true;
  const Solution s = solve(field, {0, 10}, {5, 0}, {0.5, 10}, options);
  EXPECT_EQ(s.status, Status::zeno);
  EXPECT_NEAR(s.end_time(), rest, 1e-7);
  EXPECT_LT(s.events.size(), 60u);
}

TEST(Events, AFloorWithoutReboundIsAZenoPointToo) {
  const auto field = make_field<2, 2>(test::falling);
  const Solution s = solve(field, {0, 10}, {5, 0}, {0, 10},
                           {.method = "dop853", .events = {floor_event()}, .stop_at_zeno = true});
  EXPECT_EQ(s.status, Status::zeno);
  EXPECT_NEAR(s.end_time(), 1, 1e-6);
}

TEST(Events, ATerminalEventEndsTheSolutionAndItsTimeIsDifferentiable) {
  const auto field = make_field<2, 2>(test::falling);
  Event floor = floor_event();
  floor.jump = nullptr;
  floor.terminal = true;
  const Solution s = solve(field, {0, 100}, {20, 0}, {0, 10}, {.events = {floor}});
  EXPECT_EQ(s.status, Status::terminated);
  EXPECT_NEAR(s.end_time(), 2, 1e-13);
  const Gradient by_time = gradient(s, OutputCotangents{.end_time = 1});
  EXPECT_NEAR(by_time.x0[0], 1 / (10 * 2.0), 1e-13);
  EXPECT_EQ(by_time.t1, 0);
  const Gradient speed = gradient(s, OutputCotangents{.final = {0, 1}});  // v = -sqrt(2 g h)
  EXPECT_NEAR(speed.x0[0], -0.5, 1e-12);
  EXPECT_NEAR(speed.parameters["p"][1], -1, 1e-12);
}

TEST(Events, RunBackwardsInTime) {
  const auto field = make_field<2, 2>(test::falling);
  // From (20, -20) at t = 4 back to the top at (40, 0), t = 2, and down to the floor at t = 2 - sqrt(8).
  const Event floor{.name = "floor", .guard = make_function<2, 2>(test::height), .direction = -1};
  const Solution s =
      solve(field, {4, -3}, {20, -20}, {0, 10}, {.rtol = 1e-12, .atol = {1e-12}, .events = {floor}});
  ASSERT_EQ(s.events.size(), 1u);
  EXPECT_NEAR(s.events[0].t, 2 - std::sqrt(8.0), 1e-12);
}

TEST(Events, ARecordedCrossingDoesNotFireTwice) {
  const auto field = make_field<2, 1>([](auto, auto x, auto) { return std::array{1.0 * x[1], -1.0 * x[0]}; });
  const Event zero{.name = "zero",
                   .guard = make_function<2, 1>([](auto, auto x, auto) { return 1.0 * x[0]; })};
  const Solution s = solve(field, {0, 20}, {0, 1}, {0},
                           {.method = "dop853", .rtol = 1e-12, .atol = {1e-12}, .events = {zero}});
  ASSERT_EQ(s.events.size(), 6u);  // the start at zero is not a crossing
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(s.events[i].t, double(i + 1) * M_PI, 1e-10);
}

// x' = -p x with y = x^2 as an algebraic state: f says nothing about how fast y moves.
// The last step is as short as a few roundings of its time.
TEST(Events, ASpanMayEndWhereAnEventHappens) {
  const auto field = make_field<2, 2>(test::falling);
  const Event passing{.name = "passing", .guard = make_function<2, 2>(test::height)};
  const double g = 9.81, crossing = (2 + std::sqrt(4 + 2 * g)) / g;
  for (const char* method : {"dopri5", "dop853", "bs3", "radau5", "bdf"}) {
    double t1 = crossing;
    for (int ulps = 0; ulps < 12; ++ulps, t1 = std::nextafter(t1, 2.0)) {
      const Solution s = solve(field, {0, t1}, {1, 2}, {1, g},
                               {.method = method, .rtol = 1e-9, .atol = {1e-11}, .events = {passing}});
      EXPECT_LE(s.events.size(), 1u) << method << " " << ulps;
      EXPECT_EQ(s.t.back(), t1) << method << " " << ulps;
    }
    // Of one event that is certain, the derivative is that of the crossing.
    const Solution s = solve(field, {0, crossing + 4e-8}, {1, 2}, {1, g},
                             {.method = method, .rtol = 1e-9, .atol = {1e-11}, .events = {passing}});
    ASSERT_EQ(s.events.size(), 1u) << method;
    EXPECT_NEAR(gradient(s, OutputCotangents{.event_times = {1}}).x0[0], 1 / (g * crossing - 2), 1e-6)
        << method;
  }
}

TEST(Events, AGuardOnAnAlgebraicStateFiresOnce) {
  const auto field = make_field<2, 1>(
      [](auto, auto x, auto p) {
        return std::array{-p[0] * x[0], x[1] - x[0] * x[0]};
      },
      {1, 0, 0, 0});
  const Event quarter{.name = "quarter",
                      .guard = make_function<2, 1>([](auto, auto x, auto) { return x[1] - 0.25; })};
  for (const char* method : {"rodas5p", "radau5"}) {
    const Solution s = solve(field, {0, 2}, {1, 1}, {1},
                             {.method = method, .rtol = 1e-9, .atol = {1e-10}, .events = {quarter}});
    ASSERT_EQ(s.events.size(), 1u) << method;
    EXPECT_NEAR(s.events[0].t, std::log(2.0), 1e-7);
    EXPECT_NEAR(s.events[0].guard_rate, -0.5, 1e-6);
    EXPECT_FALSE(s.events[0].grazing);
    EXPECT_NEAR(gradient(s, OutputCotangents{.event_times = {1}}).parameters["p"][0], -std::log(2.0), 1e-6);
  }
}

// -v' = g: the mass matrix turns the sign of f.
TEST(Events, GuardRatesAreThoseOfTheStateNotOfItsMomentum) {
  const auto field = make_field<2, 1>(
      [](auto, auto x, auto p) {
        return std::array{1.0 * x[1], 1.0 * p[0]};
      },
      {1, 0, 0, -1});
  const Event top{.name = "top", .guard = make_function<2, 1>([](auto, auto x, auto) { return 1.0 * x[1]; })};
  for (const char* method : {"rodas5p", "radau5"}) {
    const Options options{.method = method, .rtol = 1e-9, .atol = {1e-10}, .events = {top}};
    const Solution s = solve(field, {0, 2}, {0, 3}, {9.8}, options);
    ASSERT_EQ(s.events.size(), 1u) << method;
    EXPECT_NEAR(s.events[0].guard_rate, -9.8, 1e-9);
    EXPECT_TRUE(solve(field, {0, 2}, {0, 0}, {9.8}, options).events.empty());  // starts at the top
  }
}

// x' = -z, 0 = z - x: a jump of x alone leaves z behind.
TEST(Events, AJumpThatLeavesTheAlgebraicEquationsIsAnError) {
  const auto field = make_field<2, 1>(
      [](auto, auto x, auto) {
        return std::array{-1.0 * x[1], x[1] - x[0]};
      },
      {1, 0, 0, 0});
  Event half{.name = "half",
             .guard = make_function<2, 1>([](auto, auto x, auto) { return x[0] - 0.5; }),
             .direction = -1,
             .jump = make_function<2, 1>([](auto, auto x, auto) {
               return std::array{x[0] + 1.0, 1.0 * x[1]};
             })};
  const auto run = [&] {
    return solve(field, {0, 1}, {1, 1}, {0},
                 {.method = "radau5", .rtol = 1e-9, .atol = {1e-10}, .events = {half}});
  };
  try {
    run();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the jump of event \"half\" leaves the algebraic equations"),
              std::string::npos)
        << error.what();
  }
  half.jump = make_function<2, 1>([](auto, auto x, auto) { return std::array{x[0] + 1.0, x[1] + 1.0}; });
  EXPECT_NEAR(run().final_state()[0], 1.5 * std::exp(std::log(2.0) - 1), 1e-8);
}

TEST(Events, TwoAtOneInstantKeepTheirDerivativesUnderAMassMatrix) {
  const auto field = make_field<2, 1>(
      [](auto, auto, auto p) {
        return std::array{-2.0 * p[0], -2.0 * p[0]};
      },
      {2, 0, 0, 2});
  const Event first{.name = "first",
                    .guard = make_function<2, 1>([](auto, auto x, auto) { return 1.0 * x[0]; }),
                    .jump = make_function<2, 1>([](auto, auto x, auto) {
                      return std::array{x[0] + 2.0, 1.0 * x[1]};
                    })};
  const Event second{.name = "second",
                     .guard = make_function<2, 1>([](auto, auto x, auto) { return 1.0 * x[1]; }),
                     .jump = make_function<2, 1>([](auto t, auto x, auto) {
                       return std::array{1.0 * x[0], x[1] + 3.0 * t};
                     })};
  const Solution s = solve(field, {0, 1.5}, {1, 1}, {1},
                           {.method = "radau5", .rtol = 1e-10, .atol = {1e-10}, .events = {first, second}});
  ASSERT_EQ(s.events.size(), 2u);
  const Gradient g = gradient(s, OutputCotangents{.final = {0, 1}});  // x1 = 1 - 1.5 p + 3 t, t = 1 / p
  EXPECT_NEAR(g.x0[0], 0, 1e-9);
  EXPECT_NEAR(g.x0[1], 4, 1e-9);
  EXPECT_NEAR(g.parameters["p"][0], -4.5, 1e-8);
}

}  // namespace
}  // namespace costate::ode
