// A soft ball is thrown at a floor and comes back. How does its height in the end depend on its height at the
// start, and does that slope ripple with the phase of the impact inside a step?
//
//   soft_ripple docs/images/soft_ripple.svg     also draws the picture
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/rollout.h"
#include "examples/figure.h"

using namespace costate;

constexpr int kStarts = 12;
constexpr double kTime = 0.4, kSpeed = 1;

// [ball]
// Rubber, radius 0.1 m: the triangles of a sphere and its centre make tetrahedra.
soft::SoftModel ball(soft::Integrator integrator, double dt) {
  soft::SoftModel model{.materials = {{.name = "rubber",
                                       .law = "fixed_corotated",
                                       .numbers = {{"E", 2e5}, {"nu", 0.3}},
                                       .density = 250,
                                       .viscosity = 200}},
                        .gravity = {0, 0, 0},
                        .obstacles = {{.name = "floor"}},
                        .contact = {.distance = 0.01, .stiffness = 1e4},
                        .dt = dt,
                        .integrator = integrator};
  soft::SoftMesh mesh = soft::ball_mesh(0.1, 2);
  const int centre = int(mesh.vertices.size() / 3);
  mesh.vertices.insert(mesh.vertices.end(), {0, 0, 0});
  std::vector<int> cells;
  for (std::size_t t = 0; t < mesh.cells.size(); t += 3)
    cells.insert(cells.end(), {centre, mesh.cells[t], mesh.cells[t + 1], mesh.cells[t + 2]});
  mesh.cells = cells;
  soft::add_part(model, "ball", soft::Cells::tetrahedra, mesh, 0, {0, 0, 0.25});
  return model;
}
// [/ball]

// dz/dz0 of the centre, for starts that are a fraction of a step's way apart: phases of the impact.
std::vector<double> slopes(soft::Integrator integrator, double dt) {
  const soft::SoftModel model = ball(integrator, dt);
  const auto system = soft::soft_bodies<double>(model);
  Rollout<double> rollout(system, {.steps = std::lround(kTime / dt), .active = {}});
  const std::size_t n3 = model.rest.size(), centre = n3 - 1;
  const auto height =
      loss::lambda<double>(system->signature(), [&](auto x, auto, auto) { return x[centre]; });
  std::vector<double> out;
  for (int k = 0; k < kStarts; ++k) {
    std::vector<double> x = model.rest, v(n3, 0.0);
    for (std::size_t i = 2; i < n3; i += 3) x[i] += kSpeed * 0.004 * (k + 0.4) / kStarts, v[i] = -kSpeed;
    Arguments<double> at = rollout.arguments();
    at.x0 = soft::soft_state(model, x, v);
    const auto g = rollout.value_and_gradient(at, *height);
    double slope = 0;  // all of the ball is higher
    for (std::size_t i = 2; i < n3; i += 3) slope += g.x0[i];
    if (integrator == soft::Integrator::bdf2)
      for (std::size_t i = 2; i < n3; i += 3) slope += g.x0[2 * n3 + i];
    out.push_back(slope);
  }
  return out;
}

int main(int argc, char** argv) {
  const double steps[] = {0.004, 0.002, 0.001};
  const std::pair<const char*, soft::Integrator> cases[] = {{"euler", soft::Integrator::euler},
                                                            {"bdf2", soft::Integrator::bdf2}};
  std::printf("dz(%g)/dz0 of a soft ball's centre, least and most over %d starts\n", kTime, kStarts);
  std::printf("%-8s", "dt");
  for (const double dt : steps) std::printf("%18g", dt);
  std::printf("\n");
  figure::Figure picture;
  figure::Panel& panel = picture.panel("z0 - 0.25 m [mm]", "dz/dz0").y_range(-2, 2);
  for (const auto& [name, integrator] : cases) {
    std::printf("%-8s", name);
    for (const double dt : steps) {
      const auto s = slopes(integrator, dt);
      const auto [least, most] = std::minmax_element(s.begin(), s.end());
      std::printf("   %7.2f%8.2f", *least, *most);
      std::vector<figure::Point> points;
      for (int k = 0; k < kStarts; ++k) points.push_back({4 * (k + 0.4) / kStarts, s[std::size_t(k)]});
      if (dt == 0.002)
        panel.line(points, integrator == soft::Integrator::euler ? figure::kGrey : figure::kBlue, name);
    }
    std::printf("\n");
  }
  if (argc > 1) picture.write(argv[1]);
}
