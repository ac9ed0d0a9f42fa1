// Solving initial value problems: adaptive, fixed steps, stiff, differential-algebraic; what comes back, and
// what errors say. Quoted by docs/ode.md.
#include <algorithm>
#include <cmath>
#include <cstdio>

// [first]
#include <costate/costate.h>

using namespace costate;

// x' = f(t, x, p): any function of scalars that can also be dual numbers
const auto lotka_volterra = ode::make_field<2, 4>([](auto, auto x, auto p) {
  return std::array{p[0] * x[0] - p[1] * x[0] * x[1], p[3] * x[0] * x[1] - p[2] * x[1]};
});
const std::vector<double> rates = {1.5, 1, 3, 1};

void adaptive() {
  const ode::Solution s =
      ode::solve(lotka_volterra, {0, 10}, {1, 1}, rates, {.method = "dop853", .rtol = 1e-9, .atol = {1e-12}});
  std::printf("x(10) = %.7f %.7f\n", s.final_state()[0], s.final_state()[1]);
  std::printf("x(2.5) = %.6f %.6f\n", s(2.5)[0], s(2.5)[1]);  // dense output, anywhere
  std::printf("%s\n", s.message.c_str());
}
// [/first]

void chosen_times() {
  // [times]
  const ode::Solution s =
      ode::solve(lotka_volterra, {0, 10}, {1, 1}, rates, {.rtol = 1e-9, .t_eval = {0, 5, 10}});
  for (std::size_t k = 0; k < s.t.size(); ++k)
    std::printf("x(%2.0f) = %.6f %.6f\n", s.t[k], s.row(k)[0], s.row(k)[1]);
  // [/times]
}

void fixed_steps() {
  // [fixed]
  // A pendulum for a long time, 20 evaluations of f per time unit. Verlet's energy stays near, rk4's leaks
  // away.
  const auto pendulum = ode::make_field<2, 0>([](auto, auto x, auto) {
    return std::array{x[1], -sin(x[0])};
  });
  const ode::Solution verlet = ode::solve(pendulum, {0, 5000}, {2, 0}, {}, {.method = "verlet", .dt = 0.1});
  const ode::Solution rk4 = ode::solve(pendulum, {0, 5000}, {2, 0}, {}, {.method = "rk4", .dt = 0.2});
  // [/fixed]
  const auto worst = [](const ode::Solution& s) {
    double largest = 0;
    for (std::size_t k = 0; k < s.t.size(); ++k) {
      const double angle = s.row(k)[0], rate = s.row(k)[1];
      largest = std::max(largest, std::abs(0.5 * rate * rate - std::cos(angle) + std::cos(2)));
    }
    return largest;
  };
  std::printf("largest error of the energy: verlet %.1e, rk4 %.1e\n", worst(verlet), worst(rk4));
}

void stiff() {
  // [stiff]
  // Van der Pol's oscillator, mu = 1000
  const auto oscillator = ode::make_field<2, 1>([](auto, auto x, auto p) {
    return std::array{x[1], p[0] * (1.0 - x[0] * x[0]) * x[1] - x[0]};
  });
  const ode::Solution s =
      ode::solve(oscillator, {0, 2000}, {2, 0}, {1000}, {.method = "radau5", .rtol = 1e-7, .atol = {1e-9}});
  std::printf("x(2000) = %.5f, fewer than %ld steps\n", s.final_state()[0],
              (s.counts.accepted / 500 + 1) * 500);
  // [/stiff]
}

void algebraic() {
  // [dae]
  // Robertson's kinetics with the third equation replaced by the conservation of mass: M = diag(1, 1, 0).
  const auto kinetics = ode::make_field<3, 3>(
      [](auto, auto y, auto p) {
        const auto slow = p[0] * y[0], fast = p[1] * y[1] * y[1], back = p[2] * y[1] * y[2];
        return std::array{back - slow, slow - back - fast, y[0] + y[1] + y[2] - 1.0};
      },
      {1, 0, 0, 0, 1, 0, 0, 0, 0});
  const ode::Solution s = ode::solve(kinetics, {0, 40}, {1, 0, 0}, {0.04, 3e7, 1e4},
                                     {.method = "rodas5p", .rtol = 1e-8, .atol = {1e-10, 1e-14, 1e-10}});
  std::printf("y(40) = %.6f %.5e %.6f\n", s.final_state()[0], s.final_state()[1], s.final_state()[2]);
  // [/dae]
}

void mistakes() {
  // [errors]
  const auto decay =
      ode::make_field<1, 1>([](auto t, auto x, auto p) { return std::array{-p[0] * (x[0] - cos(t))}; });
  try {
    ode::solve(decay, {0, 1000}, {1}, {1e5}, {.max_steps = 1000});
  } catch (const Error& error) {
    std::printf("%s\n", error.message().what.c_str());
    std::printf("  use an implicit method: %s\n",
                error.message().advice.find("radau5") != std::string::npos ? "yes" : "no");
  }
  try {
    ode::solve(decay, {0, 1}, {1}, {1e5}, {.method = "rk45"});
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
  }
  // [/errors]
}

int main() {
  adaptive();
  chosen_times();
  fixed_steps();
  stiff();
  algebraic();
  mistakes();
}
