#include "costate/ode/adjoints/continuous_adjoint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/solve.h"
#include "tests/ode/problems.h"

namespace costate::ode {
namespace {

const Options kTight{.method = "dop853", .rtol = 1e-13, .atol = {1e-13}};
const AdjointOptions kAdjoint{.method = "dop853", .rtol = 1e-12, .atol = 1e-12};

void expect_near(std::span<const double> got, const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], tolerance * std::max(1.0, std::abs(want[i])));
}

TEST(ContinuousAdjoint, KnownDigitsOfLotkaVolterra) {
  const auto field = make_field<2, 4>(test::lotka_volterra);
  const auto cost = make_function<2, 4>(
      [](auto, auto x, auto) { return 0.5 * ((1.0 - x[0]) * (1.0 - x[0]) + (1.0 - x[1]) * (1.0 - x[1])); });
  Options options = kTight;
  const Solution s = solve(field, {0, 10}, {1, 1}, test::kLotkaVolterraParameters, options);
  options.running = make_function<2, 4>([](auto, auto x, auto) { return 0.5 * (x[0] * x[0] + x[1] * x[1]); });
  const Solution with_integral = solve(field, {0, 10}, {1, 1}, test::kLotkaVolterraParameters, options);
  for (bool back : {false, true}) {
    const auto adjoint = [&](const Solution& solution, const Loss& loss) {
      return back ? backsolve_adjoint(solution, loss, kAdjoint)
                  : interpolating_adjoint(solution, loss, kAdjoint);
    };
    const Gradient g = adjoint(s, {.final = cost});
    expect_near(g.x0, {0.2995995083036823, -0.01415181634485351}, 1e-9);
    expect_near(g.parameters["p"],
                {0.6219615855512809, 0.06800140415087434, 0.1691764639958928, 0.2725606939500075}, 1e-9);
    const Gradient G = adjoint(with_integral, {});
    expect_near(G.x0, {-52.00977041079382, -12.97267296259073}, 1e-9);
    expect_near(G.parameters["p"], {3.62353837542988, -55.2370917032541, 51.5740834030593, -181.286366072316},
                1e-9);
  }
}

TEST(ContinuousAdjoint, KnownDigitsOfTheOtherReferences) {
  {
    const auto field = make_field<3, 3>(test::lorenz);
    const Solution s = solve(field, {0, 1}, {1, 0, 0}, {10, 21, 8.0 / 3}, kTight);
    EXPECT_NEAR(interpolating_adjoint(s, OutputCotangents{.final = {1, 0, 0}}, kAdjoint).parameters["p"][1],
                -1.239242130721969, 1e-9);
    EXPECT_NEAR(interpolating_adjoint(s, OutputCotangents{.final = {0, 0, 1}}, kAdjoint).parameters["p"][1],
                2.275542510621602, 1e-9);
  }
  {
    const auto field = make_field<2, 1>(test::van_der_pol);
    const Solution s = solve(field, {0, 5}, {2, 0}, {1}, kTight);
    const Gradient g = interpolating_adjoint(s, OutputCotangents{.final = {1, 0}}, kAdjoint);
    EXPECT_NEAR(g.parameters["p"][0], -1.314040887531950, 1e-9);
    EXPECT_NEAR(g.x0[0], -1.772753497832712, 1e-9);
  }
  {
    const auto field = make_field<2, 3>(test::quadratic_drag);
    const Solution s = solve(field, {0, 1}, {0, 10}, {0.1, 1, 9.8}, kTight);
    expect_near(interpolating_adjoint(s, OutputCotangents{.final = {1, 0}}, kAdjoint).parameters["p"],
                {-12.86249251168838, 1.286249251168838, -0.4113768880870467}, 1e-10);
  }
}

TEST(ContinuousAdjoint, CrossesEventsWithTheirSaltation) {
  const auto field = make_field<2, 2>(test::falling);
  const Event floor{.name = "floor",
                    .guard = make_function<2, 2>(test::height),
                    .direction = -1,
                    .jump = make_function<2, 2>(test::bounce)};
  const Solution s =
      solve(field, {0, 15}, {50, 0}, {0.8, 9.8}, {.rtol = 1e-12, .atol = {1e-12}, .events = {floor}});
  for (bool back : {false, true}) {
    const auto adjoint = [&](const OutputCotangents& c) {
      return back ? backsolve_adjoint(s, c, kAdjoint) : interpolating_adjoint(s, c, kAdjoint);
    };
    const Gradient g = adjoint({.final = {1, 0}});
    EXPECT_NEAR(g.parameters["p"][0] / 314.56883995768527, 1, 1e-11);
    EXPECT_NEAR(g.parameters["p"][1] / -7.277029744509887, 1, 1e-11);
    EXPECT_NEAR(g.x0[0] / 1.5961821700760583, 1, 1e-11);
    EXPECT_NEAR(adjoint({.event_times = {0, 1, 0}}).parameters["p"][0], 6.388765649999399, 1e-10);
    EXPECT_NEAR(adjoint({.event_times = {0, 0, 1}}).parameters["p"][0], 16.61079068999844, 1e-10);
  }
}

TEST(ContinuousAdjoint, AgreesWithTheDiscreteOneOnSamplesTimesAndEvents) {
  const auto field = make_field<2, 3>([](auto t, auto x, auto p) {
    using std::cos;
    return std::array{1.0 * x[1], -p[1] - 0.1 * x[1] * x[1] * p[2] + 0.2 * cos(t)};
  });
  const auto guard = make_function<2, 3>([](auto t, auto x, auto p) {
    using std::sin;
    return x[0] - 0.1 * sin(3.0 * t) * p[2];
  });
  const auto jump = make_function<2, 3>([](auto t, auto x, auto p) {
    return std::array{1.0 * x[0], -p[0] * x[1] + 0.05 * t};
  });
  const auto running = make_function<2, 3>([](auto, auto x, auto p) { return x[0] * x[0] + p[1] * x[1]; });
  const auto samples =
      std::make_shared<LeastSquares>(std::vector<double>{0.1, 0.312, 0.53, 1.31, 2.2},
                                     std::vector<double>(10, 0.2), std::vector<double>{1, 1});
  const Loss loss{.final = make_function<2, 3>([](auto t, auto x, auto p) { return t * x[0] * p[0] + x[1]; }),
                  .samples = samples};
  for (bool terminal : {false, true}) {
    Options options{.method = "dop853",
                    .rtol = 1e-11,
                    .atol = {1e-11},
                    .events = {{.name = "floor", .guard = guard, .direction = -1, .jump = jump}},
                    .running = running};
    Loss l = loss;
    if (terminal) {
      options.events[0].terminal = true;
      l.samples = nullptr;
    }
    const Solution s = solve(field, {0.1, 2.6}, {1.2, 0.3}, {0.7, 9.8, 0.6}, options);
    const Gradient d = gradient(s, l);
    for (const Gradient& c : {interpolating_adjoint(s, l, kAdjoint), backsolve_adjoint(s, l, kAdjoint)}) {
      expect_near(c.x0, d.x0, 2e-7);
      expect_near(c.parameters["p"], {d.parameters["p"].begin(), d.parameters["p"].end()}, 2e-7);
      EXPECT_NEAR(c.t0, d.t0, 2e-7 * std::max(1.0, std::abs(d.t0)));
      EXPECT_NEAR(c.t1, d.t1, 2e-7 * std::max(1.0, std::abs(d.t1)));
      EXPECT_NEAR(c.value, d.value, 1e-14);
    }
  }
}

// x' = -20 x over one unit of time: e^20 = 4.9e8 times the tolerance comes back.
TEST(Backsolve, IsUnstableWhereTheForwardProblemForgetsAndSaysSo) {
  const auto field = make_field<2, 1>([](auto t, auto x, auto p) {
    using std::cos;
    return std::array{-p[0] * x[0] + cos(5.0 * t), x[0] * x[0]};
  });
  const Solution s = solve(field, {0, 1}, {1, 0}, {20}, {.rtol = 1e-10, .atol = {1e-10}});
  const AdjointOptions options{.rtol = 1e-8, .atol = 1e-8};
  const Gradient exact = gradient(s, OutputCotangents{.final = {0, 1}});
  const Gradient good = interpolating_adjoint(s, OutputCotangents{.final = {0, 1}}, options);
  const Gradient bad = backsolve_adjoint(s, OutputCotangents{.final = {0, 1}}, options);
  EXPECT_NEAR(good.x0[0], exact.x0[0], 1e-6);
  EXPECT_GT(std::abs(bad.x0[0] - exact.x0[0]), 1e-3);
  EXPECT_EQ(bad.report.label, "biased: the state is unstable backwards in time");
  EXPECT_GT(bad.report.reconstruction_error.value(), 100 * options.rtol);
  EXPECT_NE(bad.report.advice.back().find("use ode::gradient"), std::string::npos);

  const auto gentle = make_field<1, 1>([](auto, auto x, auto p) { return -p[0] * x[0]; });
  const Gradient fine = backsolve_adjoint(solve(gentle, {0, 1}, {1}, {0.5}, {.rtol = 1e-10, .atol = {1e-10}}),
                                          OutputCotangents{.final = {1}}, options);
  EXPECT_EQ(fine.report.label, "exact up to rtol 1e-08");
  EXPECT_LT(fine.report.reconstruction_error.value(), 100 * options.rtol);
  EXPECT_TRUE(fine.report.advice.empty());
}

}  // namespace
}  // namespace costate::ode
