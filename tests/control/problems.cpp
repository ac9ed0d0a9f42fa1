#include "tests/control/problems.h"

#include <array>
#include <cmath>

#include "costate/system/program/lambda_system.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/program/program_system.h"
#include "tests/control/reference.h"

namespace costate::control::test {
namespace {

// sum dt/2 ((x - goal)'Q(x - goal) + u'Ru) + 1/2 (x - goal)'Qf(x - goal), each weight times the identity.
template <std::size_t N>
ObjectivePtr<double> quadratic(const Signature& s, std::array<double, N> goal, double Q, double R, double Qf,
                               double dt) {
  const auto distance = [goal](const auto& x) {
    auto sum = (x[0] - goal[0]) * (x[0] - goal[0]);
    for (std::size_t i = 1; i < N; ++i) sum = sum + (x[i] - goal[i]) * (x[i] - goal[i]);
    return sum;
  };
  const auto running = [=](auto x, auto u, auto) {
    auto effort = u[0] * u[0];
    for (std::size_t i = 1; i < u.size(); ++i) effort = effort + u[i] * u[i];
    return 0.5 * dt * (Q * distance(x) + R * effort);
  };
  const auto last = [=](auto x, auto, auto) { return 0.5 * Qf * distance(x); };
  return loss::sum<double>(
      {loss::lambda<double>(s, running, loss::each_step()), loss::lambda<double>(s, last, loss::at_end())});
}

// The explicit method of order 3: k1 = h f(x), k2 = h f(x + k1/2), k3 = h f(x - k1 + 2 k2).
template <class F>
auto order_three(const F& f, double h) {
  return [=](auto x, auto u, auto p) {
    constexpr std::size_t n = 4;
    using S = std::remove_cvref_t<decltype(x[0])>;
    const auto combine = [&](auto&&... terms) {
      std::array<S, n> y{x[0], x[1], x[2], x[3]};
      [[maybe_unused]] const auto add = [&](double c, const auto& k) {
        for (std::size_t i = 0; i < n; ++i) y[i] = y[i] + c * k[i];
      };
      (add(terms.first, terms.second), ...);
      return y;
    };
    const auto k1 = f(combine(), u, p);
    const auto k2 = f(combine(std::pair{h / 2, k1}), u, p);
    const auto k3 = f(combine(std::pair{-h, k1}, std::pair{2 * h, k2}), u, p);
    return combine(std::pair{h / 6, k1}, std::pair{4 * h / 6, k2}, std::pair{h / 6, k3});
  };
}

}  // namespace

Problem cart_pole(double mc, double mp, double l, double g) {
  const double dt = 0.05;
  Signature s;
  s.state("x", 4).control("force");
  const auto rate = [=](auto x, auto u, auto) {
    const auto c = cos(x[1]), n = sin(x[1]);
    // [mc + mp, mp l c; mp l c, mp l^2] qdd = (u + mp l w^2 n, -mp g l n)
    const auto right = u[0] + mp * l * x[3] * x[3] * n, down = -mp * g * l * n;
    const auto determinant = (mc + mp) * mp * l * l - mp * l * c * (mp * l * c);
    return std::array{x[2], x[3], (mp * l * l * right - mp * l * c * down) / determinant,
                      ((mc + mp) * down - mp * l * c * right) / determinant};
  };
  Problem p;
  p.system =
      lambda_system<double, Sizes{.states = 4, .controls = 1}>(s, order_three(rate, dt), NextState{}, 8);
  p.objective = quadratic<4>(s, {0, kPi, 0, 0}, 1e-2, 0.1, 100, dt);
  p.steps = 100, p.x0 = {0, 0, 0, 0};
  p.parameters = Parameters<double>(p.system->signature());
  return p;
}

Problem pendulum() {
  const double lc = 0.5, b = 0.1, g = 9.81;
  Signature s;
  s.state("x", 2).control("torque");
  Problem p;
  p.system = lambda_system<double, Sizes{.states = 2, .controls = 1}>(
      s,
      [=](auto x, auto u, auto) {
        return std::array{x[1], (u[0] - b * x[1]) / (lc * lc) - g / lc * sin(x[0])};
      },
      rk4(0.06), 8);
  p.objective = quadratic<2>(s, {kPi, 0}, 1e-3, 1e-3, 1, 0.06);
  p.steps = 50, p.x0 = {0, 0};
  p.parameters = Parameters<double>(p.system->signature());
  return p;
}

Problem acrobot() {
  Signature s;
  s.state("x", 4).control("torque");
  Problem p;
  const auto rate = [](auto x, auto u, auto) {
    const auto c1 = cos(x[0]), c2 = cos(x[1]), s2 = sin(x[1]), c12 = cos(x[0] + x[1]);
    const auto m11 = 1.0 + 1.0 + (2.0 + 2.0 * c2) + 1.0, m12 = 1.0 + c2 + 1.0;
    const double m22 = 2.0;
    const auto w1 = x[2], w2 = x[3];
    const auto r1 = (2.0 * w1 * w2 + w2 * w2) * s2 - (2.0 * c1 + c12) * 9.81 - w1;
    const auto r2 = u[0] - s2 * w1 * w1 - c12 * 9.81 - w2;
    const auto determinant = m11 * m22 - m12 * m12;
    return std::array{w1, w2, (m22 * r1 - m12 * r2) / determinant, (m11 * r2 - m12 * r1) / determinant};
  };
  p.system = lambda_system<double, Sizes{.states = 4, .controls = 1}>(s, rate, rk4(0.05), 8);
  p.objective = quadratic<4>(s, {kPi / 2, 0, 0, 0}, 1, 0.01, 100, 0.05);
  p.steps = 100, p.x0 = {-kPi / 2, 0, 0, 0};
  p.parameters = Parameters<double>(p.system->signature());
  return p;
}

Problem parallel_park() {
  Signature s;
  s.state("x", 3).control("u", 2);
  Problem p;
  p.system = lambda_system<double, Sizes{.states = 3, .controls = 2}>(
      s,
      [](auto x, auto u, auto) {
        return std::array{u[0] * cos(x[2]), u[0] * sin(x[2]), u[1]};
      },
      rk4(0.03), 8);
  p.objective = quadratic<3>(s, {0, 1.5, 0}, 1e-2, 1e-2, 100, 0.03);
  p.steps = 100, p.x0 = {0, 0, 0};
  p.parameters = Parameters<double>(p.system->signature());
  return p;
}

Problem parking_car() {
  const double h = 0.03, d = 2;
  Signature s;
  s.state("x", 4).control("u", 2);
  Problem p;
  p.system = lambda_system<double, Sizes{.states = 4, .controls = 2}>(
      s,
      [=](auto x, auto u, auto) {
        const auto f = h * x[3], across = f * sin(u[0]);
        const auto b = d + f * cos(u[0]) - sqrt(d * d - across * across);
        return std::array{x[0] + b * cos(x[2]), x[1] + b * sin(x[2]), x[2] + asin(across / d),
                          x[3] + h * u[1]};
      },
      NextState{}, 8);
  const auto sabs = [](auto z, double width) { return sqrt(z * z + width * width) - width; };
  const auto place = [=](const auto& x) { return 1e-3 * (sabs(x[0], 0.1) + sabs(x[1], 0.1)); };
  const auto running = [=](auto x, auto u, auto) {
    return 1e-2 * u[0] * u[0] + 1e-4 * u[1] * u[1] + place(x);
  };
  const auto last = [=](auto x, auto, auto) {
    return place(x) + 0.1 * sabs(x[0], 0.01) + 0.1 * sabs(x[1], 0.01) + sabs(x[2], 0.01) +
           0.3 * sabs(x[3], 1);
  };
  p.objective = loss::sum<double>(
      {loss::lambda<double>(s, running, loss::each_step()), loss::lambda<double>(s, last, loss::at_end())});
  p.steps = 500, p.x0 = {1, 1, 3 * kPi / 2, 0};
  p.lower = {-0.5, -2}, p.upper = {0.5, 2};
  p.parameters = Parameters<double>(p.system->signature());
  return p;
}

// A quadrotor from (0, -10, 1) to (0, 10, 1), by (10, 0, 1) and (-10, 0, 1): thrusts between 0 and 12.
Problem zig_zag() {
  Signature s;
  s.state("p", 3).state("q", 4).state("v", 3).state("w", 3).control("u", 4);
  Problem p;
  p.system = equations_system<double>(s, R"(
    F = u[0] + u[1] + u[2] + u[3]
    p_dot[0] = v[0]
    p_dot[1] = v[1]
    p_dot[2] = v[2]
    q_dot[0] = 0.5*(-q[1]*w[0] - q[2]*w[1] - q[3]*w[2])
    q_dot[1] = 0.5*( q[0]*w[0] + q[2]*w[2] - q[3]*w[1])
    q_dot[2] = 0.5*( q[0]*w[1] + q[3]*w[0] - q[1]*w[2])
    q_dot[3] = 0.5*( q[0]*w[2] + q[1]*w[1] - q[2]*w[0])
    v_dot[0] = 2*(q[1]*q[3] + q[0]*q[2])*F/0.5
    v_dot[1] = 2*(q[2]*q[3] - q[0]*q[1])*F/0.5
    v_dot[2] = (q[0]^2 - q[1]^2 - q[2]^2 + q[3]^2)*F/0.5 - 9.81
    w_dot[0] = (0.175*(u[1] - u[3]) - (0.004 - 0.0023)*w[1]*w[2])/0.0023
    w_dot[1] = (0.175*(u[2] - u[0]) - (0.0023 - 0.004)*w[2]*w[0])/0.0023
    w_dot[2] = 0.0245*(u[0] - u[1] + u[2] - u[3])/0.004
  )",
                                      rk4(0.05));
  const auto quadratic = [](const char* wp, const char* place, const char* wq, const char* wv,
                            const char* wu) {
    const std::string turn = "(q[0] - 1)^2 + q[1]^2 + q[2]^2 + q[3]^2",
                      speeds = "v[0]^2 + v[1]^2 + v[2]^2 + w[0]^2 + w[1]^2 + w[2]^2",
                      thrust = "u[0]^2 + u[1]^2 + u[2]^2 + u[3]^2";
    std::string sum = std::string("0.5*(") + wp + "*(" + place + ") + " + wq + "*(" + turn + ") + " + wv +
                      "*(" + speeds + ")";
    return sum + (*wu ? std::string(" + ") + wu + "*(" + thrust + ")" : "") + ")";
  };
  std::vector<std::int64_t> between;
  for (std::int64_t k = 0; k < 100; ++k)
    if (k != 32 && k != 65) between.push_back(k);
  // Weights of running costs times the step of 0.05 s, except the price of thrust at the two points.
  const auto at = [&](std::int64_t k, const char* place) {
    return loss::expression<double>(s, quadratic("0.05", place, "0.05e-3", "0.05e-3", "1e-4"),
                                    loss::at_steps({k}));
  };
  p.objective = loss::sum<double>(
      {loss::expression<double>(
           s, quadratic("0.05e-5", "p[0]^2 + p[1]^2 + p[2]^2", "0.05e-5", "0.05e-3", "0.05e-4"),
           loss::at_steps(between)),
       at(32, "(p[0] - 10)^2 + p[1]^2 + (p[2] - 1)^2"), at(65, "(p[0] + 10)^2 + p[1]^2 + (p[2] - 1)^2"),
       loss::expression<double>(s,
                                quadratic("10", "p[0]^2 + (p[1] - 10)^2 + (p[2] - 1)^2", "100", "10", ""))});
  p.steps = 100, p.x0 = {0, -10, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  p.lower.assign(4, 0.0), p.upper.assign(4, 12.0);
  p.parameters = Parameters<double>(p.system->signature());
  return p;
}

Problem ten_linear_steps() {
  Signature s;
  s.state("x", 3).control("u", 2);
  Problem p;
  p.system = lambda_system<double, Sizes{.states = 3, .controls = 2}>(
      s,
      [](auto x, auto u, auto) {
        return std::array{x[0] + 0.1 * x[1] + 0.005 * u[1],
                          -0.2 * x[0] + 0.95 * x[1] + 0.3 * x[2] + 0.1 * u[1], 0.8 * x[2] + 0.5 * u[0]};
      },
      NextState{});
  const auto running = [](auto x, auto u, auto) {
    return 0.5 * (x[0] * x[0] + 0.5 * x[1] * x[1] + 0.1 * x[2] * x[2] + 0.2 * u[0] * u[0] +
                  0.1 * u[0] * u[1] + 0.4 * u[1] * u[1]);
  };
  const auto last = [](auto x, auto, auto) { return 0.5 * (10.0 * x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); };
  p.objective = loss::sum<double>(
      {loss::lambda<double>(s, running, loss::each_step()), loss::lambda<double>(s, last, loss::at_end())});
  p.steps = 10, p.x0 = kX0;
  p.parameters = Parameters<double>(p.system->signature());
  return p;
}

std::shared_ptr<const System<double>> coasting() {
  Signature s;
  s.state("pos").state("vel").parameter("a", 0.95);
  return lambda_system<double, Sizes{.states = 2, .controls = 0, .parameters = 1}>(
      s,
      [](auto x, auto, auto p) {
        return std::array{x[0] + 0.1 * x[1], p[0] * x[1]};
      },
      NextState{}, 8);
}

std::shared_ptr<const System<double>> damped_pendulum() {
  Signature s;
  s.state("angle").state("rate").control("torque").parameter("length", 1.2).parameter("damping", 0.3);
  return lambda_system<double, Sizes{.states = 2, .controls = 1, .parameters = 2}>(
      s,
      [](auto x, auto u, auto p) {
        return std::array{x[1], u[0] - 9.81 / p[0] * sin(x[0]) - p[1] * x[1]};
      },
      rk4(0.05), 8);
}

}  // namespace costate::control::test
