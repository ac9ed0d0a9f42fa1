// Piecewise controls: gradients by every value, and a pendulum that swings up with the least effort. Quoted
// by docs/ode.md.
#include <costate/costate.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace costate;

// [cart]
// x'' = u / m: parameters are (m, u), the control last
const auto cart = ode::make_field<2, 2>([](auto, auto x, auto p) { return std::array{x[1], p[1] / p[0]}; });

void pushed_cart() {
  // 6 N, 1 N and -2 N, each for a third of the three seconds, on 2 kg
  const ode::Solution s = ode::solve(cart, {0, 3}, {0, 0}, {2}, {.controls = {.values = {6, 1, -2}}});
  const ode::Gradient g = ode::gradient(s, ode::OutputCotangents{.final = {1, 0}});  // of x(3)
  std::printf("x(3) = %.4f m, by the force %.4f %.4f %.4f m/N, by the mass %.4f m/kg\n", s.final_state()[0],
              g.controls[0], g.controls[1], g.controls[2], g.parameters["p"][0]);
  // The same numbers as a force that is linear between four knots
  const ode::Solution l = ode::solve(
      cart, {0, 3}, {0, 0}, {2},
      {.controls = {.values = {6, 1, -2, 0}, .interpolation = ode::Controls::Interpolation::linear}});
  std::printf("x(3) = %.4f m with a force linear in time\n", l.final_state()[0]);
}
// [/cart]

void swing_up() {
  // [swing]
  // q'' = u - sin q, from hanging to upright at rest in 8 s, with the least integral of u^2
  const auto pendulum = ode::make_field<2, 1>([](auto, auto x, auto u) {
    return std::array{x[1], u[0] - sin(x[0])};
  });
  const auto effort = ode::make_function<2, 1>([](auto, auto, auto u) { return u[0] * u[0]; });
  const auto miss = ode::make_function<2, 1>([](auto, auto x, auto) {
    const auto angle = x[0] - 3.14159265358979;
    return 1000.0 * (angle * angle + x[1] * x[1]);
  });
  const auto solve_with = [&](const double* u) {
    return ode::solve(pendulum, {0, 8}, {0, 0}, {},
                      {.method = "rk4", .dt = 0.05, .running = effort, .controls = {.values = {u, u + 16}}});
  };
  const optim::Objective objective = [&](const double* u, double* gradient) {
    const ode::Gradient g = ode::gradient(solve_with(u), {.final = miss});
    std::copy(g.controls.begin(), g.controls.end(), gradient);
    return g.value;
  };
  const optim::Bounds bounds{std::vector<double>(16, -0.5), std::vector<double>(16, 0.5)};
  const optim::Result best =
      optim::minimize(objective, std::vector<double>(16, 0.1),
                      optim::LbfgsOptions{.stopping = {.max_iterations = 500}, .bounds = bounds});
  const ode::Solution s = solve_with(best.x.data());
  std::printf("upright to %.0e, effort %.3f, torques", std::abs(s.final_state()[0] - std::acos(-1)),
              s.integral);
  for (int k = 0; k < 16; k += 3) std::printf(" %.2f", best.x[std::size_t(k)]);
  std::printf("\n");
  // [/swing]
}

int main() {
  pushed_cart();
  swing_up();
}
