#include "costate/system/program/lambda_system.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "costate/ode/lanes/fixed_step_systems.h"
#include "tests/expect_error.h"
#include "tests/system/contract.h"

namespace costate {
namespace {

using costate::test::expect_error;
using ode::Integrator;

Signature lorenz_fields() {
  Signature s;
  s.state("x", 3).parameter("sigma", 10.0).parameter("rho", 28.0).parameter("beta", 8.0 / 3);
  return s;
}
template <class Real>
std::shared_ptr<System<Real>> lorenz(std::int64_t worlds = kManyWorlds) {
  const auto rhs = [](auto x, auto, auto p) {
    return std::array{p[0] * (x[1] - x[0]), x[0] * (p[1] - x[2]) - x[1], x[0] * x[1] - p[2] * x[2]};
  };
  return lambda_system<Real, Sizes{.states = 3, .parameters = 3}>(lorenz_fields(), rhs, rk4(0.01), worlds);
}

Signature pendulum_fields() {
  Signature s;
  s.state("q").state("v").control("torque");
  s.parameter("gravity", 9.81).parameter("length", 1.0).parameter("mass", 1.0);
  return s;
}
template <class Real, class Method>
std::shared_ptr<System<Real>> pendulum(Method method, std::int64_t worlds = kManyWorlds) {
  const auto rhs = [](auto x, auto u, auto p) {
    return std::array{x[1], (u[0] / (p[2] * p[1]) - p[0] * sin(x[0])) / p[1]};
  };
  return lambda_system<Real, Sizes{.states = 2, .controls = 1, .parameters = 3}>(pendulum_fields(), rhs,
                                                                                 method, worlds);
}

template <class Real>
Arguments<Real> start(const Rollout<Real>& rollout, std::vector<Real> x0) {
  Arguments<Real> a = rollout.arguments();
  a.x0 = std::move(x0);
  for (std::size_t i = 0; i < a.controls.size(); ++i)
    a.controls[i] = static_cast<Real>(0.3 * std::sin(0.7 * double(i)));
  return a;
}

template <class Real>
void meets_contract(std::shared_ptr<System<Real>> system, std::vector<Real> x0, std::int64_t worlds = 1,
                    std::int64_t long_steps = 1000) {
  test::expect_contract(system, {.states = [&](const auto& rollout, unsigned) { return start(rollout, x0); },
                                 .worlds = worlds,
                                 .long_steps = long_steps});
}

TEST(LambdaSystem, MeetsTheContract) {
  // Chaos: over more steps tangents and cotangents lie along trajectories that rounding has parted.
  meets_contract<double>(lorenz<double>(1), {1, 0.5, 20}, 1, 200);
  meets_contract<float>(lorenz<float>(1), {1, 0.5f, 20}, 1, 0);
  meets_contract<double>(pendulum<double>(rk4(0.01), 37), {0.7, -0.4}, 37);
  meets_contract<double>(pendulum<double>(euler(0.01)), {0.7, -0.4});
  meets_contract<float>(pendulum<float>(rk4(0.01), 300), {0.7f, -0.4f}, 300);
}

TEST(LambdaSystem, AFunctionOfTimeMeetsTheContract) {
  Signature s;
  s.state("q").state("v").parameter("omega", 1.3).parameter("gain", 0.7);
  const auto system = lambda_system<double, Sizes{.states = 2, .parameters = 2}>(
      s,
      [](auto x, auto, auto p, auto t) {
        return std::array{x[1], -x[0] + p[1] * cos(p[0] * t)};
      },
      rk4(0.05));
  ASSERT_NE(system->signature().find_if(Role::parameter, "t0"), nullptr);
  meets_contract<double>(system, {0.3, -0.2});
}

TEST(LambdaSystem, AMapWithABranchAndACaptureMeetsTheContract) {
  // Newton's cooling of a body that is heated until a captured step; one state, given as one number.
  Signature s;
  s.state("temperature").parameter("rate", 0.02).parameter("heat", 0.5);
  const double off = 30.5;
  const auto step = [off](auto x, auto, auto p, auto k) {
    const auto cooled = x[0] - p[0] * (x[0] - 10.0);
    return select(k < off, cooled + p[1], cooled);
  };
  meets_contract<double>(lambda_system<double, Sizes{.states = 1, .parameters = 2}>(s, step), {15.0});
}

// Lambda, recording and kernel are three routes to one gradient.
template <class Real>
void same_gradient(const std::shared_ptr<System<Real>>& a, const std::shared_ptr<System<Real>>& b,
                   std::vector<Real> x0) {
  const RolloutOptions options{.steps = 100, .worlds = 21, .hold = 10};
  Rollout<Real> left(a, options), right(b, options);
  const auto objective = [](const Signature& s) {
    return loss::final<Real>(s, s.fields(Role::state)[0].name, {});
  };
  const auto g = left.value_and_gradient(start(left, x0), *objective(a->signature()));
  const auto h = right.value_and_gradient(start(right, x0), *objective(b->signature()));
  EXPECT_NEAR(g.value, h.value, 1e-12 * std::abs(h.value));
  const auto scale = [](std::span<const Real> v) {
    double s = 1;
    for (const Real x : v) s = std::max(s, std::abs(double(x)));
    return s;
  };
  for (std::size_t i = 0; i < h.x0.size(); ++i) EXPECT_NEAR(g.x0[i], h.x0[i], 1e-12 * scale(h.x0));
  for (std::size_t i = 0; i < h.controls.size(); ++i)
    EXPECT_NEAR(g.controls[i], h.controls[i], 1e-12 * scale(h.controls));
  for (const Field& field : b->signature().fields(Role::parameter)) {
    EXPECT_NEAR(g.parameters[field.name][0], h.parameters[field.name][0],
                1e-12 * scale(h.parameters[field.name]))
        << field.name;
  }
}

TEST(LambdaSystem, GradientsEqualThoseOfTheHandWrittenKernels) {
  same_gradient<double>(pendulum<double>(rk4(0.01)), ode::pendulum<double>(Integrator::rk4), {0.7, -0.4});
  same_gradient<double>(pendulum<double>(euler(0.01)), ode::pendulum<double>(Integrator::euler), {0.7, -0.4});
}

TEST(LambdaSystem, GradientsEqualThoseOfTheEquationsAsText) {
  const auto text = equations_system<double>(
      pendulum_fields(), "q_dot = v; v_dot = (torque/(mass*length) - gravity*sin(q))/length", rk4(0.01));
  same_gradient<double>(pendulum<double>(rk4(0.01)), text, {0.7, -0.4});
}

TEST(LambdaSystem, ASignatureOfAnotherSizeIsRefused) {
  Signature s;
  s.state("q", 3);
  expect_error(
      [&] { return lambda_system<double, Sizes{.states = 2}>(s, [](auto x, auto, auto) { return x; }); },
      "takes 2 numbers of the kind state, the signature lists 3");
}

}  // namespace
}  // namespace costate
