#include "costate/ode/adjoints/hessian.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/solve.h"
#include "tests/ode/problems.h"

namespace costate::ode {
namespace {

// Gradient of the same problem with all inputs moved, for a stencil of the gradient.
template <class Run>
void expect_stencil(const Run& run, const Loss& loss, const std::vector<double>& y0,
                    const std::vector<double>& p, double t0, double t1, double step, double tolerance) {
  const Solution s = run(y0, p, t0, t1);
  const InputTangent d{.y0 = {0.3, -0.4}, .p = {0.5, 0.2, -0.6}, .t0 = 0.0, .t1 = 0.0};
  const Gradient h = hessian_vector(s, loss, d);
  const double weights[] = {45, -9, 1};
  std::vector<double> difference(5, 0.0);
  for (int m = 1; m <= 3; ++m) {
    for (int side : {1, -1}) {
      auto y = y0, q = p;
      for (std::size_t i = 0; i < 2; ++i) y[i] += side * m * step * d.y0[i];
      for (std::size_t i = 0; i < 3; ++i) q[i] += side * m * step * d.p[i];
      const Gradient g = gradient(run(y, q, t0, t1), loss);
      for (std::size_t i = 0; i < 2; ++i) difference[i] += side * weights[m - 1] * g.x0[i] / (60 * step);
      for (std::size_t i = 0; i < 3; ++i)
        difference[2 + i] += side * weights[m - 1] * g.parameters["p"][i] / (60 * step);
    }
  }
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(h.x0[i], difference[i], tolerance * std::max(1.0, std::abs(difference[i])));
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(h.parameters["p"][i], difference[2 + i],
                tolerance * std::max(1.0, std::abs(difference[2 + i])));
}

const auto final_cost = make_function<2, 3>(
    [](auto t, auto x, auto p) { return x[0] * x[1] * x[0] + p[2] * x[0] + 0.3 * t * x[1]; });

TEST(Hessian, AgreesWithAStencilOfTheGradient) {
  const auto field = make_field<2, 3>(test::driven_pendulum);
  const auto running =
      make_function<2, 3>([](auto t, auto x, auto p) { return x[0] * x[0] * p[0] + t * x[1] * x[1]; });
  const auto samples = std::make_shared<LeastSquares>(std::vector<double>{0.33, 0.713, 1.92},
                                                      std::vector<double>(6, 0.1), std::vector<double>{1, 2});
  for (const char* method : {"rk4", "dopri5", "dop853"}) {
    SCOPED_TRACE(method);
    const auto run = [&](const std::vector<double>& y0, const std::vector<double>& p, double t0, double t1) {
      return solve(field, {t0, t1}, y0, p, {.method = method, .dt = 0.05, .running = running});
    };
    expect_stencil(run, {.final = final_cost, .integral_weight = 0.5, .samples = samples}, {1.1, -0.4},
                   {1.3, 0.9, 0.7}, 0.2, 2.2, 1e-3, 1e-9);
  }
}

TEST(Hessian, AgreesWithAStencilOfTheGradientAcrossEvents) {
  const auto field = make_field<2, 3>([](auto t, auto x, auto p) {
    using std::cos;
    return std::array{1.0 * x[1], -p[1] - 0.1 * x[1] * x[1] * p[2] + 0.2 * cos(t)};
  });
  const auto guard = make_function<2, 3>([](auto t, auto x, auto p) {
    using std::sin;
    return x[0] - 0.1 * sin(3.0 * t) * p[2];
  });
  const auto jump = make_function<2, 3>([](auto t, auto x, auto p) {
    return std::array{1.0 * x[0], -p[0] * x[1] + 0.05 * t * x[1]};
  });
  const auto samples = std::make_shared<LeastSquares>(std::vector<double>{0.312, 0.53, 1.11},
                                                      std::vector<double>(6, 0.2), std::vector<double>{1, 1});
  const auto run = [&](const std::vector<double>& y0, const std::vector<double>& p, double t0, double t1) {
    return solve(field, {t0, t1}, y0, p,
                 {.method = "dopri5",
                  .dt = 0.04,
                  .events = {{.name = "floor", .guard = guard, .direction = -1, .jump = jump}}});
  };
  expect_stencil(run, {.final = final_cost, .samples = samples}, {1.2, 0.3}, {0.7, 9.8, 0.6}, 0.1, 1.6, 2e-4,
                 1e-7);
}

TEST(Hessian, IsSymmetricAndMatchesAClosedForm) {
  // x(1) = x0 e^p: L = x(1) has d2L/dp2 = x0 e^p, d2L/dx0 dp = e^p, d2L/dx0^2 = 0.
  const auto field = make_field<1, 1>([](auto, auto x, auto p) { return p[0] * x[0]; });
  const auto last = make_function<1, 1>([](auto, auto x, auto) { return 1.0 * x[0]; });
  const Solution s = solve(field, {0, 1}, {2}, {0.7}, {.method = "dop853", .rtol = 1e-12, .atol = {1e-12}});
  const std::vector<double> h = hessian(s, {.final = last});
  EXPECT_NEAR(h[0], 0, 1e-12);
  EXPECT_NEAR(h[1], std::exp(0.7), 1e-10);
  EXPECT_NEAR(h[2], std::exp(0.7), 1e-10);
  EXPECT_NEAR(h[3], 2 * std::exp(0.7), 1e-10);
  const Gradient by_end = hessian_vector(s, {.final = last}, {.t1 = 1});  // d2L/dt1^2 = p^2 x
  EXPECT_NEAR(by_end.t1, 0.49 * 2 * std::exp(0.7), 1e-9);

  const auto lv = make_field<2, 4>(test::lotka_volterra);
  const auto cost = make_function<2, 4>([](auto, auto x, auto) { return x[0] * x[0] + x[1]; });
  const auto H = hessian(solve(lv, {0, 3}, {1, 1}, test::kLotkaVolterraParameters, {.method = "tsit5"}),
                         {.final = cost});
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_NEAR(H[i * 6 + j], H[j * 6 + i], 1e-11 * std::max(1.0, std::abs(H[i * 6 + j])));
  }
}

}  // namespace
}  // namespace costate::ode
