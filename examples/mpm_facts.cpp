// Two facts that a material point simulation is judged by, computed and drawn.
//
//   dam break   a column of water of width a and height 2 a collapses; its front x(t) against Martin and Moyce's measurements (Phil. Trans. R. Soc.
//               A 244, 1952), Z = x/a over T = t sqrt(2 g/a)
//   energy      an elastic block falls and bounces: kinetic, elastic and potential energy. Transfers by APIC lose energy, and never make any
//
//   mpm_facts docs/images      also draws docs/images/mpm_dam_break.svg and mpm_energy.svg
#include <costate/costate.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "examples/figure.h"

using namespace costate;
using figure::Point;

// [dam]
std::vector<Point> dam_break() {
  const double a = 0.1, g = 9.81;
  mpm::Model model;
  model.dimension = 2;
  model.dx = a / 20;
  model.nodes = {116, 60, 1};
  model.dt = 1e-4;
  model.gravity = {0, -g, 0};
  model.materials = {{.name = "water",
                      .kind = mpm::MaterialKind::liquid,
                      .density = 1000,
                      .bulk_modulus = 4e5,
                      .viscosity = 1e-3}};
  for (mpm::Wall& wall : model.walls) wall.contact = mpm::Contact::separate;
  model.walls[2] = {mpm::Contact::sticky, 3, 0};
  const double corner = 3 * model.dx;
  mpm::fill(model, mpm::Shape::box(a / 2, a), {corner + a / 2, corner + a}, model.dx / 2, 0);
  Rollout rollout(mpm::system<double>(model), {.steps = 2000, .keep = 20});
  Arguments<double> at = rollout.arguments();
  at.x0 = mpm::initial_state<double>(model);
  const auto film = rollout.simulate(at);
  std::vector<Point> front;
  const std::size_t states = at.x0.size(), n = std::size_t(mpm::particle_count(model));
  for (std::size_t frame = 0; frame < film.kept.size(); ++frame) {
    // The front: where the layer is still two particles deep.
    std::vector<int> column(std::size_t(model.nodes[0]), 0);
    for (std::size_t p = 0; p < n; ++p) ++column[std::size_t(film.states[frame * states + 2 * p] / model.dx)];
    double x = 0;
    for (std::size_t c = 0; c < column.size(); ++c)
      if (column[c] >= 4) x = (double(c) + 1) * model.dx;
    front.push_back({double(film.kept[frame]) * model.dt * std::sqrt(2 * g / a), (x - corner) / a});
  }
  return front;
}
// [/dam]

struct Energies {
  std::vector<Point> kinetic, elastic, potential, total;
};
Energies bounce() {
  mpm::Model model;
  model.dimension = 2;
  model.nodes = {40, 50, 1};
  model.dx = 0.02;
  model.dt = 2e-4;
  model.materials = {
      {.name = "rubber", .kind = mpm::MaterialKind::neo_hookean, .density = 1000, .E = 1e5, .nu = 0.3}};
  mpm::fill(model, mpm::Shape::box(0.1, 0.1), {0.4, 0.35}, 0.01, 0);
  Rollout rollout(mpm::system<double>(model), {.steps = 4000, .keep = 20});
  Arguments<double> at = rollout.arguments();
  at.x0 = mpm::initial_state<double>(model);
  const auto film = rollout.simulate(at);
  const mpm::Material& m = model.materials[0];
  const double mu = m.E / (2 * (1 + m.nu)), lambda = m.E * m.nu / ((1 + m.nu) * (1 - 2 * m.nu)), V = 1e-4;
  const std::size_t n = std::size_t(mpm::particle_count(model)), states = at.x0.size();
  Energies e;
  for (std::size_t frame = 0; frame < film.kept.size(); ++frame) {
    const double *x = film.states.data() + frame * states, *v = x + 2 * n, *C = v + 2 * n, *F = C + 4 * n;
    double kinetic = 0, elastic = 0, potential = 0;
    for (std::size_t p = 0; p < n; ++p) {
      const double *Cp = C + 4 * p, *Fp = F + 4 * p, J = Fp[0] * Fp[3] - Fp[1] * Fp[2];
      double square = 0, affine = 0;
      for (int i = 0; i < 4; ++i) square += Fp[i] * Fp[i], affine += Cp[i] * Cp[i];
      // A particle carries an affine velocity field; its spread over the stencil is dx^2 / 4 along each axis.
      kinetic += 0.5 * m.density * V * (v[2 * p] * v[2 * p] + v[2 * p + 1] * v[2 * p + 1]);
      kinetic += 0.5 * m.density * V * affine * model.dx * model.dx / 4;
      elastic += V * (0.5 * mu * (square - 2) - mu * std::log(J) + 0.5 * lambda * std::log(J) * std::log(J));
      potential += m.density * V * 9.81 * (x[2 * p + 1] - 0.16);
    }
    const double t = double(film.kept[frame]) * model.dt;
    e.kinetic.push_back({t, kinetic});
    e.elastic.push_back({t, elastic});
    e.potential.push_back({t, potential});
    e.total.push_back({t, kinetic + elastic + potential});
  }
  return e;
}

double at(const std::vector<Point>& curve, double x) {
  std::size_t i = 1;
  while (i + 1 < curve.size() && curve[i].x < x) ++i;
  const double s = (x - curve[i - 1].x) / (curve[i].x - curve[i - 1].x);
  return curve[i - 1].y + s * (curve[i].y - curve[i - 1].y);
}

int main(int argc, char** argv) {
  // Martin and Moyce 1952, table for a column twice as high as wide: (T, Z).
  const std::vector<Point> measured = {{0.41, 1.11}, {0.84, 1.22}, {1.19, 1.44}, {1.43, 1.67},
                                       {1.63, 1.89}, {1.83, 2.11}, {1.98, 2.33}, {2.20, 2.56},
                                       {2.32, 2.78}, {2.51, 3.00}, {2.65, 3.22}, {2.83, 3.44}};
  const std::vector<Point> front = dam_break();
  double worst = 0;
  for (const Point& p : measured) worst = std::max(worst, std::abs(at(front, p.x) / p.y - 1));
  std::printf("dam break: the front is within %.0f %% of the measurements\n", 100 * worst);

  const Energies e = bounce();
  double rise = 0, lowest = e.total[0].y;
  for (const Point& p : e.total) {
    rise = std::max(rise, p.y - lowest);
    lowest = std::min(lowest, p.y);
  }
  std::printf("bounce: energy %.2f J at first, %.2f J after %.1f s; it never rises by more than %.1f %%\n",
              e.total[0].y, e.total.back().y, e.total.back().x, 100 * rise / e.total[0].y);

  if (argc > 1) {
    figure::Figure dam, energy;
    auto& panel = dam.panel("T = t sqrt(2 g / a)", "front Z = x / a");
    panel.line(front, figure::kBlue, "material points");
    panel.dots(measured, figure::kOrange, "Martin, Moyce 1952", 4);
    dam.write(std::string(argv[1]) + "/mpm_dam_break.svg");
    auto& curves = energy.panel("time [s]", "energy [J]");
    curves.line(e.potential, figure::kGreen, "potential");
    curves.line(e.kinetic, figure::kBlue, "kinetic");
    curves.line(e.elastic, figure::kOrange, "elastic");
    curves.line(e.total, figure::kGrey, "sum", 3);
    energy.write(std::string(argv[1]) + "/mpm_energy.svg");
  }
  return worst < 0.15 && rise < 0.01 * e.total[0].y ? 0 : 1;
}
