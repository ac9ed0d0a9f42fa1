// A ball meets an elastic floor and comes back: z(2) = 2 - z0 and a little, so dz(2)/dz0 = -1. What does a
// simulator say?
//
//   contact_ripple docs/images/contact_ripple.svg     also draws the picture
#include <costate/costate.h>
#include <costate/io/model/mjcf.h>
#include <costate/rigid/compile/compile.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "examples/elastic_ball.h"
#include "examples/figure.h"

using namespace costate;

constexpr int kStarts = 200;

// dz(2)/dz0 for 200 starts a twentieth of a millimetre apart: 200 phases of the impact inside a step.
std::vector<double> slopes(rigid::Integrator integrator, double dt, rigid::Onset onset) {
  rigid::Model model = rigid::compile(io::parse_mjcf(kBall));
  model.options.integrator = integrator;
  const auto system = rigid::make_system<double>(model, {.onset = onset});
  Rollout<double> rollout(system, {.steps = std::lround(2 / dt), .worlds = kStarts, .active = {}});
  Arguments<double> at = rollout.arguments();
  at.parameters.set("dt", dt);
  at.x0.clear();
  for (int i = 0; i < kStarts; ++i) at.x0.insert(at.x0.end(), {0.5 + 5e-5 * i, -1.0});
  const auto g = rollout.value_and_gradient(at, *loss::final_value<double>(system->signature(), "q"));
  std::vector<double> out;
  for (std::size_t i = 0; i < kStarts; ++i) out.push_back(g.x0[2 * i]);
  return out;
}

int main(int argc, char** argv) {
  using rigid::Integrator, rigid::Onset;
  struct Case {
    const char* name;
    Integrator integrator;
    Onset onset;
  };
  const Case cases[] = {{"Euler, onset = none", Integrator::euler, Onset::none},
                        {"RK4,   onset = none", Integrator::rk4, Onset::none},
                        {"Euler, default", Integrator::euler, Onset::automatic},
                        {"implicitfast, default", Integrator::implicitfast, Onset::automatic},
                        {"RK4,   default", Integrator::rk4, Onset::automatic},
                        {"adaptive", Integrator::adaptive, Onset::automatic}};
  std::printf("dz(2)/dz0, least and most over %d starts; the physics says -1\n", kStarts);
  std::printf("%-24s", "dt");
  for (double dt : {0.004, 0.002, 0.001, 0.0005}) std::printf("%18g", dt);
  std::printf("\n");
  for (const Case& c : cases) {
    std::printf("%-24s", c.name);
    for (double dt : {0.004, 0.002, 0.001, 0.0005}) {
      const auto s = slopes(c.integrator, dt, c.onset);
      const auto [least, most] = std::minmax_element(s.begin(), s.end());
      std::printf("   %7.2f%8.2f", *least, *most);
    }
    std::printf("\n");
  }
  if (argc < 2) return 0;

  figure::Figure picture;
  const auto draw = [&](figure::Panel& panel, Integrator integrator, Onset onset, const char* colour,
                        const std::string& label) {
    const auto s = slopes(integrator, 0.002, onset);
    std::vector<figure::Point> points;
    for (int i = 0; i < kStarts; ++i) points.push_back({1000 * 5e-5 * i, s[std::size_t(i)]});
    panel.line(points, colour, label);
  };
  figure::Panel& wide = picture.panel("z0 - 0.5 m [mm]", "dz(2)/dz0");
  draw(wide, Integrator::euler, Onset::none, figure::kGrey, "Euler, none");
  draw(wide, Integrator::rk4, Onset::none, figure::kOrange, "RK4, none");
  draw(wide, Integrator::euler, Onset::automatic, figure::kBlue, "Euler, default");
  figure::Panel& near = picture.panel("z0 - 0.5 m [mm]", "dz(2)/dz0").y_range(-1.02, -0.98);
  draw(near, Integrator::euler, Onset::automatic, figure::kBlue, "Euler, default");
  picture.write(argv[1]);
}
