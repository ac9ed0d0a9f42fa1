// The gentlest throw that hits a target: drag, a landing found as an event, L-BFGS on the launch velocity.
//
//   gallery_projectile docs/images/projectile.svg     also draws the picture
#include <costate/costate.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include "examples/figure.h"

using namespace costate;

constexpr double kTarget = 30, kHeight = 1.5, kEffort = 1e-3;

int main(int argc, char** argv) {
  // [model]
  // x = (horizontal, vertical, their velocities), p = (gravity, drag per mass)
  const auto ball = ode::make_field<4, 2>([](auto, auto x, auto p) {
    const auto drag = p[1] * sqrt(x[2] * x[2] + x[3] * x[3]);
    return std::array{x[2], x[3], -drag * x[2], -p[0] - drag * x[3]};
  });
  const ode::Event lands{
      .name = "lands",
      .guard = ode::make_function<4, 2>([](auto, auto x, auto) { return x[1]; }),
      .direction = -1,
      .terminal = true,
  };
  const auto miss =
      ode::make_function<4, 2>([](auto, auto x, auto) { return 0.5 * (x[0] - kTarget) * (x[0] - kTarget); });
  // [/model]
  const std::vector<double> air = {9.81, 0.02};
  const auto fly = [&](double u, double v) {
    return ode::solve(ball, {0, 100}, {0, kHeight, u, v}, air, {.rtol = 1e-9, .events = {lands}});
  };

  // [aim]
  std::vector<std::array<double, 2>> tried;
  const auto result = optim::minimize(
      [&](const double* v, double* gradient) {
        tried.push_back({v[0], v[1]});
        const ode::Solution flight = fly(v[0], v[1]);
        const ode::Gradient g = ode::gradient(flight, {.final = miss});
        gradient[0] =
            g.x0[2] + kEffort * v[0];  // a small price on speed picks one of the many throws that hit
        gradient[1] = g.x0[3] + kEffort * v[1];
        return g.value + 0.5 * kEffort * (v[0] * v[0] + v[1] * v[1]);
      },
      {10, 10}, optim::LbfgsOptions{.stopping = {.gradient_tolerance = 1e-9}});
  // [/aim]

  const double u = result.x[0], v = result.x[1];
  const ode::Solution best = fly(u, v);
  const double degrees = std::atan2(v, u) * 180 / std::numbers::pi;
  std::printf("throw at %.3f m/s, %.2f degrees: lands at %.3f m after %.3f s\n", std::hypot(u, v), degrees,
              best.final_state()[0], best.end_time());
  std::printf("first guess landed at %.2f m; %s\n", fly(10, 10).final_state()[0],
              result.converged() ? "converged" : result.reason.c_str());
  // Without air the gentlest throw from height h over a distance d has
  // tan(angle) = (sqrt(d^2 + h^2) - h) / d.
  const double vacuum = std::atan((std::hypot(kTarget, kHeight) - kHeight) / kTarget);
  std::printf("without air the best angle would be %.2f degrees\n", vacuum * 180 / std::numbers::pi);

  if (argc > 1) {
    figure::Figure picture;
    figure::Panel& panel = picture.panel("distance [m]", "height [m]").y_range(0, 11);
    const auto draw = [&](double a, double b, const char* colour, const char* label, double width) {
      const ode::Solution s = fly(a, b);
      std::vector<figure::Point> path;
      for (int k = 0; k <= 100; ++k) {
        const std::vector<double> x = s(std::min(s.end_time(), s.end_time() * k / 100));
        path.push_back({x[0], x[1]});
      }
      panel.line(path, colour, label, width);
    };
    for (std::size_t k = 1; k + 1 < tried.size(); ++k) {
      draw(tried[k][0], tried[k][1], "#c9c9c9", k == 1 ? "tried on the way" : "", 1);
    }
    draw(10, 10, figure::kOrange, "first guess", 2);
    draw(u, v, figure::kBlue, "found", 3);
    panel.dots({{kTarget, 0.15}}, figure::kGreen, "target", 6);
    picture.write(argv[1]);
  }
  return std::abs(best.final_state()[0] - kTarget) < 0.05 ? 0 : 1;
}
