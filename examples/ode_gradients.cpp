// One loss, five ways to its derivatives, and the second one. Quoted by docs/ode.md.
#include <costate/costate.h>
#include <costate/ode/adjoints/continuous_adjoint.h>
#include <costate/ode/adjoints/forward_sensitivity.h>
#include <costate/ode/adjoints/hessian.h>

#include <cmath>
#include <cstdio>
#include <span>

using namespace costate;

const auto lotka_volterra = ode::make_field<2, 4>([](auto, auto x, auto p) {
  return std::array{p[0] * x[0] - p[1] * x[0] * x[1], p[3] * x[0] * x[1] - p[2] * x[1]};
});
const std::vector<double> rates = {1.5, 1, 3, 1};

void print(const char* name, std::span<const double> p) {
  std::printf("%-14s %11.7f %11.7f %11.7f %11.7f\n", name, p[0], p[1], p[2], p[3]);
}

void final_cost() {
  // [final]
  const auto distance = ode::make_function<2, 4>(
      [](auto, auto x, auto) { return 0.5 * ((x[0] - 1.0) * (x[0] - 1.0) + (x[1] - 1.0) * (x[1] - 1.0)); });
  const ode::Solution s = ode::solve(lotka_volterra, {0, 5}, {1, 1}, rates, {.rtol = 1e-10, .atol = {1e-12}});
  const ode::Gradient g = ode::gradient(s, {.final = distance});  // with respect to x0, p, t0 and t1
  print("discrete", g.parameters["p"]);
  print("interpolating",
        ode::interpolating_adjoint(s, {.final = distance}, {.rtol = 1e-10, .atol = 1e-10}).parameters["p"]);
  print("backsolve",
        ode::backsolve_adjoint(s, {.final = distance}, {.rtol = 1e-10, .atol = 1e-10}).parameters["p"]);
  print("forward", ode::forward_gradient(s, {.final = distance}).parameters["p"]);
  std::printf("loss %.7f, by t1 %.7f\n", g.value, g.t1);
  // [/final]
  // [hessian]
  const std::vector<double> h = ode::hessian(s, {.final = distance});  // 6 x 6: y0, then p
  std::printf("d2 loss / d p1^2 %.5f, d2 loss / d p1 d x1(0) %.5f\n", h[2 * 6 + 2], h[2 * 6 + 0]);
  // [/hessian]
}

void samples_and_integrals() {
  // [samples]
  // 1/2 sum of squares over three times, only the first state seen
  const auto observed = std::make_shared<ode::LeastSquares>(
      std::vector<double>{1, 2, 3}, std::vector<double>{2, 0, 5, 0, 1, 0}, std::vector<double>{1, 0});
  // and the integral of the squared predators
  const auto crowding = ode::make_function<2, 4>([](auto, auto x, auto) { return x[1] * x[1]; });
  const ode::Solution s = ode::solve(lotka_volterra, {0, 5}, {1, 1}, rates,
                                     {.rtol = 1e-10, .atol = {1e-12}, .running = crowding});
  const ode::Gradient g = ode::gradient(s, {.integral_weight = 0.1, .samples = observed});
  std::printf("loss %.6f, integral %.6f, by x(0) %.6f %.6f\n", g.value, s.integral, g.x0[0], g.x0[1]);
  // [/samples]
}

void forgetful() {
  // [backsolve]
  // Van der Pol's oscillator forgets its start within a period, and what is forgotten cannot be integrated
  // back.
  const auto van_der_pol = ode::make_field<2, 1>([](auto, auto x, auto p) {
    return std::array{x[1], p[0] * (1.0 - x[0] * x[0]) * x[1] - x[0]};
  });
  const auto first = ode::make_function<2, 1>([](auto, auto x, auto) { return x[0]; });
  for (double end : {2.0, 4.0, 8.0, 12.0}) {
    const ode::Solution s = ode::solve(van_der_pol, {0, end}, {1, 0}, {2}, {.rtol = 1e-8, .atol = {1e-8}});
    const double exact = ode::gradient(s, {.final = first}).parameters["p"][0];
    const ode::Gradient interpolating = ode::interpolating_adjoint(s, {.final = first});
    std::printf("T = %.0f: dL/dp %.4e, interpolating differs by %.0e, ", end, exact,
                std::abs(interpolating.parameters["p"][0] - exact));
    try {
      const ode::Gradient backsolve = ode::backsolve_adjoint(s, {.final = first});
      std::printf("backsolve by %.0e\n  %s\n", std::abs(backsolve.parameters["p"][0] - exact),
                  backsolve.report.label.c_str());
    } catch (const Error& error) {
      std::printf("backsolve: %s\n", error.message().what.c_str());
    }
  }
  // [/backsolve]
}

void report() {
  // [report]
  const auto lorenz = ode::make_field<3, 3>([](auto, auto x, auto p) {
    return std::array{p[0] * (x[1] - x[0]), x[0] * (p[1] - x[2]) - x[1], x[0] * x[1] - p[2] * x[2]};
  });
  const auto height = ode::make_function<3, 3>([](auto, auto x, auto) { return x[2]; });
  const ode::Solution s =
      ode::solve(lorenz, {0, 20}, {1, 2, 20}, {10, 28, 8.0 / 3}, {.method = "rk4", .dt = 0.01});
  const GradientReport r = ode::gradient(s, {.final = height}).report;
  std::printf("%s", r.to_text().c_str());
  // [/report]
}

int main() {
  final_cost();
  samples_and_integrals();
  forgetful();
  report();
}
