// A ball that bounces: drop it from the height, or give it the restitution, that puts its third impact at a
// wanted time.
//
//   gallery_bounce docs/images/bounce.svg     also draws the picture
#include <costate/costate.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "examples/figure.h"

using namespace costate;

constexpr double kWanted = 2.5;  // s

// [model]
// x = (height, velocity), p = (gravity, restitution, drag per mass)
const auto falling = ode::make_field<2, 3>([](auto, auto x, auto p) {
  return std::array{x[1], -p[0] - p[2] * x[1] * sqrt(x[1] * x[1] + 1e-12)};
});
const ode::Event impact{
    .name = "impact",
    .guard = ode::make_function<2, 3>([](auto, auto x, auto) { return x[0]; }),
    .direction = -1,
    .jump = ode::make_function<2, 3>([](auto, auto x, auto p) {
      return std::array{x[0], -p[1] * x[1]};
    }),
};
ode::Solution bounce(double height, double restitution, double drag) {
  return ode::solve(falling, {0, 3.2}, {height, 0}, {9.81, restitution, drag},
                    {.method = "dop853", .rtol = 1e-11, .atol = {1e-12}, .events = {impact}});
}
// [/model]

// [third]
struct ThirdImpact {
  double time, by_height, by_restitution;
};
ThirdImpact third_impact(double height, double restitution, double drag) {
  const ode::Solution s = bounce(height, restitution, drag);
  std::vector<double> times(s.events.size(), 0.0);
  times[2] = 1;  // the cotangent: we want the derivative of this time
  const ode::Gradient g = ode::gradient(s, ode::OutputCotangents{.event_times = times});
  return {s.events[2].t, g.x0[0], g.parameters["p"][1]};
}
// [/third]

int main(int argc, char** argv) {
  // In vacuum t3 = sqrt(2 h / g) (1 + 2 e + 2 e^2).
  const double e = 0.8, h = 1.0, fall = std::sqrt(2 * h / 9.81);
  const ThirdImpact vacuum = third_impact(h, e, 0);
  std::printf("vacuum, h = 1 m:  t3 %.9f   dt3/dh %.9f   dt3/de %.9f\n", vacuum.time, vacuum.by_height,
              vacuum.by_restitution);
  std::printf("closed form:      t3 %.9f   dt3/dh %.9f   dt3/de %.9f\n\n", fall * (1 + 2 * e + 2 * e * e),
              fall * (1 + 2 * e + 2 * e * e) / (2 * h), fall * (2 + 4 * e));

  // [design]
  double height = 1.0;
  for (int iteration = 0; iteration < 6; ++iteration) {  // Newton
    const ThirdImpact now = third_impact(height, e, 0.15);
    std::printf("with drag, h = %.6f m: third impact at %.6f s\n", height, now.time);
    if (std::abs(now.time - kWanted) < 1e-9) break;
    height -= (now.time - kWanted) / now.by_height;
  }
  // [/design]
  double restitution = 0.8;
  for (int iteration = 0; iteration < 6; ++iteration) {
    const ThirdImpact now = third_impact(2.5, restitution, 0.15);
    if (std::abs(now.time - kWanted) < 1e-9) break;
    restitution -= (now.time - kWanted) / now.by_restitution;
  }
  std::printf("\nor dropped from 2.5 m with restitution %.6f: third impact at %.6f s\n", restitution,
              third_impact(2.5, restitution, 0.15).time);

  if (argc > 1) {
    figure::Figure picture;
    figure::Panel& panel = picture.panel("time [s]", "height [m]");
    const auto draw = [&](double from, double with, const char* colour, const char* label) {
      const ode::Solution s = bounce(from, with, 0.15);
      std::vector<figure::Point> path;
      for (int k = 0; k <= 600; ++k) path.push_back({3.2 * k / 600, s(3.2 * k / 600)[0]});
      panel.line(path, colour, label);
      panel.dots({{s.events[2].t, 0}}, colour, "", 5);
    };
    draw(1, e, figure::kOrange, "first guess: h = 1 m, e = 0.8");
    draw(height, e, figure::kBlue, "e = 0.8, height chosen");
    draw(2.5, restitution, figure::kGreen, "h = 2.5 m, restitution chosen");
    panel.line({{kWanted, 0}, {kWanted, height}}, figure::kGrey, "wanted: third impact here", 1.5, true);
    picture.write(argv[1]);
  }
  return std::abs(third_impact(height, e, 0.15).time - kWanted) < 1e-9 && std::abs(restitution) < 1 ? 0 : 1;
}
