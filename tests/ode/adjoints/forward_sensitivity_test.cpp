#include "costate/ode/adjoints/forward_sensitivity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/solve.h"
#include "tests/ode/problems.h"

namespace costate::ode {
namespace {

TEST(ForwardSensitivity, KnownDigitsOfTheFiveReferenceProblems) {
  const Options tight{.method = "dop853", .rtol = 1e-13, .atol = {1e-13}};
  {
    const auto field = make_field<2, 4>(test::lotka_volterra);
    const auto cost = make_function<2, 4>(
        [](auto, auto x, auto) { return 0.5 * ((1.0 - x[0]) * (1.0 - x[0]) + (1.0 - x[1]) * (1.0 - x[1])); });
    Options options = tight;
    const Solution s = solve(field, {0, 10}, {1, 1}, test::kLotkaVolterraParameters, options);
    const Gradient g = forward_gradient(s, {.final = cost});
    const double y0[] = {0.2995995083036823, -0.01415181634485351};
    const double p[] = {0.6219615855512809, 0.06800140415087434, 0.1691764639958928, 0.2725606939500075};
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(g.x0[i], y0[i], 1e-10);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(g.parameters["p"][i], p[i], 1e-10);
    options.running =
        make_function<2, 4>([](auto, auto x, auto) { return 0.5 * (x[0] * x[0] + x[1] * x[1]); });
    const Gradient integral =
        forward_gradient(solve(field, {0, 10}, {1, 1}, test::kLotkaVolterraParameters, options), {});
    const double dG[] = {3.62353837542988, -55.2370917032541, 51.5740834030593, -181.286366072316};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(integral.parameters["p"][i], dG[i], 1e-8);
  }
  {
    const auto field = make_field<3, 3>(test::lorenz);
    const auto j = final_state_jacobian(solve(field, {0, 1}, {1, 0, 0}, {10, 21, 8.0 / 3}, tight));
    EXPECT_NEAR(j[0 * 6 + 4], -1.239242130721969, 1e-10);
    EXPECT_NEAR(j[2 * 6 + 4], 2.275542510621602, 1e-10);
  }
  {
    const auto field = make_field<2, 1>(test::van_der_pol);
    const auto j = final_state_jacobian(solve(field, {0, 5}, {2, 0}, {1}, tight));
    EXPECT_NEAR(j[2], -1.314040887531950, 1e-10);
    EXPECT_NEAR(j[0], -1.772753497832712, 1e-10);
  }
  {
    const auto field = make_field<2, 3>(test::quadratic_drag);
    const auto j = final_state_jacobian(solve(field, {0, 1}, {0, 10}, {0.1, 1, 9.8}, tight));
    EXPECT_NEAR(j[2], -12.86249251168838, 1e-10);
    EXPECT_NEAR(j[3], 1.286249251168838, 1e-11);
    EXPECT_NEAR(j[4], -0.4113768880870467, 1e-11);
  }
  {
    const auto field = make_field<2, 2>(test::falling);
    const Event floor{.name = "floor",
                      .guard = make_function<2, 2>(test::height),
                      .direction = -1,
                      .jump = make_function<2, 2>(test::bounce)};
    const Solution s =
        solve(field, {0, 15}, {50, 0}, {0.8, 9.8}, {.rtol = 1e-12, .atol = {1e-12}, .events = {floor}});
    const auto out = sensitivities(s, {{.p = {1, 0}}, {.p = {0, 1}}, {.y0 = {1, 0}}});
    EXPECT_NEAR(out[0].final[0] / 314.56883995768527, 1, 1e-12);
    EXPECT_NEAR(out[1].final[0] / -7.277029744509887, 1, 1e-12);
    EXPECT_NEAR(out[2].final[0] / 1.5961821700760583, 1, 1e-12);
    EXPECT_NEAR(out[0].event_times[1], 6.388765649999399, 1e-11);
    EXPECT_NEAR(out[0].event_times[2], 16.61079068999844, 1e-11);
  }
}

// <cotangents, tangents> is the same whichever side the solve stands on, over all inputs and outputs.
void expect_transposed(const Solution& s, const std::vector<double>& sample_times, int seeds) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  const auto draw = [&](std::size_t n) {
    std::vector<double> v(n);
    for (double& x : v) x = normal(random);
    return v;
  };
  const Trajectory& tr = s.trajectory();
  const auto n = std::size_t(s.states());
  const auto dot = [](std::span<const double> a, std::span<const double> b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  for (int seed = 0; seed < seeds; ++seed) {
    const InputTangent in{
        .y0 = draw(n), .p = draw(tr.parameters.parameters()), .t0 = normal(random), .t1 = normal(random)};
    const OutputCotangents c{.final = draw(n),
                             .integral = tr.quadrature ? normal(random) : 0.0,
                             .end_time = normal(random),
                             .sample_times = sample_times,
                             .samples = draw(n * sample_times.size()),
                             .event_times = draw(s.events.size())};
    const OutputTangent out = sensitivities(s, {in}, sample_times)[0];
    const Gradient g = gradient(s, c);
    const double terms[] = {dot(c.final, out.final), c.integral * out.integral, c.end_time * out.end_time,
                            dot(c.samples, out.samples), dot(c.event_times, out.event_times)};
    double forward = 0, scale = 1;
    for (double t : terms) forward += t, scale += std::abs(t);
    const double reverse = dot(g.x0, in.y0) + dot(g.parameters["p"], in.p) + g.t0 * in.t0 + g.t1 * in.t1;
    EXPECT_LT(std::abs(forward - reverse), 1e-13 * scale) << "seed " << seed;
  }
}

TEST(ForwardSensitivity, IsTheTransposeOfTheAdjointOverWholeSolves) {
  const auto field = make_field<2, 3>(test::driven_pendulum);
  const auto running =
      make_function<2, 3>([](auto t, auto x, auto p) { return x[0] * x[0] * p[0] + t * x[1]; });
  for (const char* method : {"rk4", "bs3", "dopri5", "tsit5", "dop853", "verlet", "yoshida4"}) {
    SCOPED_TRACE(method);
    const bool fixed =
        method == std::string("rk4") || method == std::string("verlet") || method == std::string("yoshida4");
    Options options{.method = method, .rtol = 1e-7, .atol = {1e-7}, .dt = fixed ? 0.01 : 0.0};
    if (method != std::string("verlet") && method != std::string("yoshida4")) options.running = running;
    expect_transposed(solve(field, {0.1, 5.1}, {1.2, 0.1}, {1.3, 0.9, 0.7}, options), {0.1, 0.777, 2.5, 5.1},
                      20);
    expect_transposed(solve(field, {2.1, -1}, {1.2, 0.1}, {1.3, 0.9, 0.7}, options), {2.0, 0.5, -1}, 5);
  }
}

TEST(ForwardSensitivity, IsTheTransposeOfTheAdjointAcrossEvents) {
  const auto field = make_field<2, 2>([](auto t, auto x, auto p) {
    using std::cos;
    return std::array{1.0 * x[1], 0.3 * cos(t) - p[1] - 0.1 * x[1]};
  });
  const auto guard = make_function<2, 2>([](auto t, auto x, auto p) {
    using std::sin;
    return x[0] - 0.1 * p[0] * sin(3.0 * t);
  });
  const auto jump = make_function<2, 2>([](auto t, auto x, auto p) {
    return std::array{1.0 * x[0], -p[0] * x[1] + 0.05 * t};
  });
  const auto running = make_function<2, 2>([](auto, auto x, auto p) { return x[0] * x[0] * p[0]; });
  for (double dt : {0.0, 0.03}) {
    const Solution s = solve(field, {0, 4}, {2, 0}, {0.8, 9.8},
                             {.rtol = 1e-8,
                              .atol = {1e-8},
                              .dt = dt,
                              .events = {{.name = "floor", .guard = guard, .direction = -1, .jump = jump}},
                              .running = running});
    ASSERT_GE(s.events.size(), 3u);
    expect_transposed(s, {0.2, 0.9, 2.2, 3.9}, 20);
  }
  const Solution ended =
      solve(field, {0, 4}, {2, 0}, {0.8, 9.8},
            {.events = {{.name = "floor", .guard = guard, .direction = -1, .jump = jump, .terminal = true}}});
  ASSERT_EQ(ended.status, Status::terminated);
  expect_transposed(ended, {0.2}, 20);
}

}  // namespace
}  // namespace costate::ode
