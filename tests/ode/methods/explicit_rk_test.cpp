#include "costate/ode/methods/explicit_rk.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "costate/ode/methods/method.h"
#include "tests/allocation_guard.h"
#include "tests/ode/problems.h"

namespace costate::ode {
namespace {

using test::driven_pendulum;

const std::vector<double> kParameters = {1.3, 0.9, 0.7};

// Global error at t = 1 after N steps, and of the interpolant at the middle of the last step but two.
struct Errors {
  double end, dense;
};
Errors errors_of(const std::string& method, const VectorField& field, const std::vector<double>& exact_end,
                 int steps, const std::function<double(double)>& exact) {
  auto stepper = make_stepper(method, field);
  const double h = 1.0 / steps;
  std::vector<double> x = {1.0, 0.0}, y(2), m(2);
  double dense = 0;
  const double p = 2.0;
  for (int k = 0; k < steps; ++k) {
    stepper->step({k * h, h, x.data(), &p}, y.data(), nullptr);
    for (double theta : {0.25, 0.5, 0.75}) {
      stepper->interpolate(theta, m.data());
      dense = std::max(dense, std::abs(m[0] - exact((k + theta) * h)));
    }
    x = y;
  }
  return {std::hypot(x[0] - exact_end[0], x[1] - exact_end[1]), dense};
}

double slope(const std::vector<double>& h, const std::vector<double>& e) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  const double n = double(h.size());
  for (std::size_t i = 0; i < h.size(); ++i) {
    const double x = std::log(h[i]), y = std::log(e[i]);
    sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

// x'' = -w^2 x with w = 2 rises through t: q = cos(2 t) is smooth, and no method has a special order on it in
// both components.
class Order : public testing::TestWithParam<std::string> {};

TEST_P(Order, IsTheMethodsOwnOverSixStepSizes) {
  const auto field = make_field<2, 1>([](auto t, auto x, auto p) {
    using std::cos;
    return std::array{1.0 * x[1], 0.0 * p[0] - x[0] * (p[0] + x[0]) + cos(t)};
  });
  // Reference by DOP853 with very small steps.
  auto reference = make_stepper("dop853", field);
  std::vector<double> x = {1.0, 0.0}, y(2);
  const double p = 2.0;
  const int fine = 768;
  std::vector<std::vector<double>> states = {x};
  for (int k = 0; k < fine; ++k) {
    reference->step({double(k) / fine, 1.0 / fine, x.data(), &p}, y.data(), nullptr);
    x = y;
    states.push_back(x);
  }
  const auto exact = [&](double t) { return states[std::size_t(std::lround(t * fine))][0]; };
  auto stepper = make_stepper(GetParam(), field);
  // Step sizes small enough for the asymptotic range and large enough for rounding; all divide the fine grid
  // by four.
  std::vector<int> counts = {8, 12, 16, 24, 32, 48};
  if (stepper->order() <= 2) counts = {16, 24, 32, 48, 64, 96, 192};
  if (stepper->order() == 5) counts = {16, 24, 32, 48, 64, 96};
  if (stepper->order() >= 8) counts = {2, 3, 4, 6, 8, 12};
  std::vector<double> h, end, dense;
  for (int n : counts) {
    const Errors e = errors_of(GetParam(), field, states.back(), n, exact);
    h.push_back(1.0 / n);
    end.push_back(e.end);
    dense.push_back(e.dense);
  }
  RecordProperty("order", std::to_string(slope(h, end)));
  EXPECT_NEAR(slope(h, end), stepper->order(), 0.1);
  // The interpolant's local error is one order higher; in the maximum over the step the global error joins
  // it.
  EXPECT_GT(slope(h, dense), stepper->dense_order() - 0.1);
}

INSTANTIATE_TEST_SUITE_P(Methods, Order,
                         testing::Values("euler", "midpoint", "heun", "rk4", "bs3", "dopri5", "tsit5",
                                         "dop853", "symplectic_euler", "verlet", "yoshida4"));

class Transpose : public testing::TestWithParam<std::string> {};

// <y_bar, J z_dot> = <J' y_bar, z_dot> over all inputs z = (t, h, x, p), for step and interpolant.
TEST_P(Transpose, AgreesWithTheTangentToRounding) {
  const auto field = make_field<2, 3>(driven_pendulum);
  auto stepper = make_stepper(GetParam(), field);
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  for (int seed = 0; seed < 20; ++seed) {
    const std::vector<double> x = {normal(random), normal(random)}, x_dot = {normal(random), normal(random)};
    const std::vector<double> p_dot = {normal(random), normal(random), normal(random)};
    const std::vector<double> y_bar = {normal(random), normal(random)};
    const double t = normal(random), h = 0.1 + 0.1 * std::abs(normal(random)), t_dot = normal(random),
                 h_dot = normal(random);
    const double theta = 0.3, theta_dot = normal(random);
    for (bool dense : {false, true}) {
      double y_dot[2], t_bar = 0, h_bar = 0, theta_bar = 0;
      std::vector<double> x_bar(2), p_bar(3);
      const StepInput in{t, h, x.data(), kParameters.data()};
      const StepTangent in_dot{t_dot, h_dot, x_dot.data(), p_dot.data()};
      const StepCotangent in_bar{&t_bar, &h_bar, x_bar.data(), p_bar.data()};
      if (dense) {
        stepper->interpolate_jvp(in, in_dot, theta, theta_dot, y_dot);
        stepper->interpolate_vjp(in, theta, y_bar.data(), in_bar, &theta_bar);
      } else {
        stepper->step_jvp(in, in_dot, y_dot);
        stepper->step_vjp(in, y_bar.data(), in_bar);
      }
      const double forward = y_bar[0] * y_dot[0] + y_bar[1] * y_dot[1];
      double reverse = t_bar * t_dot + h_bar * h_dot + (dense ? theta_bar * theta_dot : 0);
      for (int i = 0; i < 2; ++i) reverse += x_bar[std::size_t(i)] * x_dot[std::size_t(i)];
      for (int i = 0; i < 3; ++i) reverse += p_bar[std::size_t(i)] * p_dot[std::size_t(i)];
      const double scale = std::hypot(y_dot[0], y_dot[1]) * std::hypot(y_bar[0], y_bar[1]);
      EXPECT_LT(std::abs(forward - reverse), 1e-13 * std::max(scale, 1.0))
          << "seed " << seed << " dense " << dense;
    }
  }
}

// Tangents against a six-point stencil, one input at a time.
TEST_P(Transpose, TangentAgreesWithASixPointStencil) {
  const auto field = make_field<2, 3>(driven_pendulum);
  auto stepper = make_stepper(GetParam(), field);
  const std::vector<double> z0 = {0.4, 0.2, 1.1, -0.6, 1.3, 0.9, 0.7, 0.35};  // t, h, x, p, theta
  const auto output = [&](const std::vector<double>& v, bool dense) {
    std::vector<double> y(2);
    stepper->step({v[0], v[1], &v[2], &v[4]}, y.data(), nullptr);
    if (dense) stepper->interpolate(v[7], y.data());
    return y;
  };
  for (bool dense : {false, true}) {
    for (std::size_t input = 0; input < (dense ? 8u : 7u); ++input) {
      std::vector<double> dot(8, 0.0);
      dot[input] = 1;
      double y_dot[2];
      const StepInput in{z0[0], z0[1], &z0[2], &z0[4]};
      const StepTangent in_dot{dot[0], dot[1], &dot[2], &dot[4]};
      if (dense)
        stepper->interpolate_jvp(in, in_dot, z0[7], dot[7], y_dot);
      else
        stepper->step_jvp(in, in_dot, y_dot);
      const double step = 1e-3;
      const double weights[] = {45, -9, 1};
      for (int i = 0; i < 2; ++i) {
        double difference = 0;
        for (int m = 1; m <= 3; ++m) {
          auto plus = z0, minus = z0;
          plus[input] += m * step;
          minus[input] -= m * step;
          difference +=
              weights[m - 1] * (output(plus, dense)[std::size_t(i)] - output(minus, dense)[std::size_t(i)]);
        }
        difference /= 60 * step;
        EXPECT_NEAR(y_dot[i], difference, 1e-9 * std::max(1.0, std::abs(difference))) << "input " << input;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Transpose,
                         testing::Values("euler", "midpoint", "heun", "rk4", "bs3", "dopri5", "tsit5",
                                         "dop853", "symplectic_euler", "verlet", "yoshida4"));

class SecondOrder : public testing::TestWithParam<std::string> {};

// The tangent of the transpose against a stencil of the transpose.
TEST_P(SecondOrder, TangentOfTheTransposeAgreesWithAStencil) {
  const auto field = make_field<2, 3>(driven_pendulum);
  auto stepper = make_stepper(GetParam(), field);
  ASSERT_TRUE(stepper->has_second_order());
  const std::vector<double> z0 = {0.4, 0.2, 1.1,  -0.6, 1.3,
                                  0.9, 0.7, 0.35, 0.8,  -1.2};  // t, h, x, p, theta, y_bar
  const std::vector<double> dot = {0.3, -0.5, 0.7, 0.2, -0.4, 0.6, 0.1, 0.9, -0.3, 0.45};
  const auto transpose = [&](const std::vector<double>& v, bool dense) {
    std::vector<double> bar(8, 0.0);
    const StepInput in{v[0], v[1], &v[2], &v[4]};
    const StepCotangent in_bar{&bar[0], &bar[1], &bar[2], &bar[4]};
    if (dense)
      stepper->interpolate_vjp(in, v[7], &v[8], in_bar, &bar[7]);
    else
      stepper->step_vjp(in, &v[8], in_bar);
    return bar;
  };
  for (bool dense : {false, true}) {
    std::vector<double> rate(8, 0.0);
    const StepInput in{z0[0], z0[1], &z0[2], &z0[4]};
    const StepTangent in_dot{dot[0], dot[1], &dot[2], &dot[4]};
    const StepCotangent out{&rate[0], &rate[1], &rate[2], &rate[4]};
    if (dense)
      stepper->interpolate_vjp_jvp(in, in_dot, z0[7], dot[7], &z0[8], &dot[8], out, &rate[7]);
    else
      stepper->step_vjp_jvp(in, in_dot, &z0[8], &dot[8], out);
    const double step = 1e-3;
    const double weights[] = {45, -9, 1};
    std::vector<double> difference(8, 0.0);
    for (int m = 1; m <= 3; ++m) {
      auto plus = z0, minus = z0;
      for (std::size_t i = 0; i < z0.size(); ++i) plus[i] += m * step * dot[i], minus[i] -= m * step * dot[i];
      const auto a = transpose(plus, dense), b = transpose(minus, dense);
      for (std::size_t i = 0; i < 8; ++i) difference[i] += weights[m - 1] * (a[i] - b[i]) / (60 * step);
    }
    for (std::size_t i = 0; i < 8; ++i)
      EXPECT_NEAR(rate[i], difference[i], 1e-9) << "input " << i << " dense " << dense;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, SecondOrder,
                         testing::Values("euler", "rk4", "bs3", "dopri5", "tsit5", "dop853"));

TEST_P(Transpose, NoCallAllocates) {
  const auto field = make_field<2, 3>(driven_pendulum);
  auto stepper = make_stepper(GetParam(), field);
  const double x[] = {1, 0.2}, one[] = {1, 1, 1};
  double y[2], error[2], t_bar = 0, h_bar = 0, theta_bar = 0, x_bar[2] = {}, p_bar[3] = {};
  const StepInput in{0, 0.1, x, kParameters.data()};
  const StepTangent in_dot{1, 1, one, one};
  const StepCotangent in_bar{&t_bar, &h_bar, x_bar, p_bar};
  const costate::test::AllocationGuard guard;
  stepper->step(in, y, error);
  stepper->interpolate(0.5, y);
  stepper->step_jvp(in, in_dot, y);
  stepper->step_vjp(in, one, in_bar);
  stepper->interpolate_jvp(in, in_dot, 0.5, 1, y);
  stepper->interpolate_vjp(in, 0.5, one, in_bar, &theta_bar);
  if (stepper->has_second_order()) {
    stepper->step_vjp_jvp(in, in_dot, one, one, in_bar);
    stepper->interpolate_vjp_jvp(in, in_dot, 0.5, 1, one, one, in_bar, &theta_bar);
  }
  EXPECT_EQ(guard.count(), 0);
}

TEST(ExplicitRk, KeepsTheLastStageOfAnAcceptedStepAndTheFirstOfARejectedOne) {
  const auto field = make_field<2, 3>(driven_pendulum);
  ExplicitRk stepper(dormand_prince_tableau(), field);
  std::vector<double> x = {1, 0}, y(2), z(2), error(2);
  stepper.step({0, 0.1, x.data(), kParameters.data()}, y.data(), error.data());
  EXPECT_EQ(stepper.counts().rhs, 7);
  stepper.step({0.1, 0.1, y.data(), kParameters.data()}, z.data(), error.data());
  EXPECT_EQ(stepper.counts().rhs, 13);
  stepper.step({0.1, 0.05, y.data(), kParameters.data()}, z.data(), error.data());
  EXPECT_EQ(stepper.counts().rhs, 19);
}

TEST(ExplicitRk, AStepIsAPureFunctionOfItsInputs) {
  const auto field = make_field<2, 3>(driven_pendulum);
  for (const char* method : {"dopri5", "dop853", "tsit5", "bs3"}) {
    auto used = make_stepper(method, field), fresh = make_stepper(method, field);
    std::vector<double> x = {1, 0}, y(2), after(2), again(2), m(2);
    used->step({0, 0.1, x.data(), kParameters.data()}, y.data(), nullptr);
    used->interpolate(0.4, m.data());  // computes all stages, so the next step starts from a kept one
    used->step({0.1, 0.1, y.data(), kParameters.data()}, after.data(), nullptr);
    fresh->step({0.1, 0.1, y.data(), kParameters.data()}, again.data(), nullptr);
    EXPECT_EQ(after, again) << method;
  }
}

}  // namespace
}  // namespace costate::ode
