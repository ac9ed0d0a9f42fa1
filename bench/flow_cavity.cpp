// The cavity with a moving lid, steady, on even and on stretched grids: the figures of docs/fluid.md.
//
//   costate_bench_cavity 1000 64 4    Reynolds number, cells along each side, how many times wider the cells
//                                     in the middle are than those at the walls (1: an even grid)
//
// Prints u in the middle, the least u on the upright through the middle, the kinetic energy, and the
// derivative of the energy with respect to the viscosity.
// Botella, Peyret, Comput. Fluids 27 (1998) have the least u at Reynolds number 1000: -0.3885698.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "costate/fluid/flow.h"
#include "costate/fluid/flow_places.h"
#include "costate/fluid/grid/graded.h"
#include "costate/system/rollout.h"

using namespace costate;

namespace {

struct Cavity {
  fluid::FlowOptions options;
  std::int64_t n;

  Cavity(double reynolds, std::int64_t cells, double ratio) : n(cells / 2 * 2) {
    options.cells = {n, n};
    options.widths[0] = options.widths[1] = fluid::graded_widths({{0, 1}, {0.5, ratio}, {1, 1}}, n);
    const double least = options.widths[0][0];
    options.viscosity = 1 / reynolds;
    options.dt = std::min(0.9 * least, 0.25 * least * least * reynolds);
    for (std::size_t side = 0; side < 4; ++side) options.sides[side] = fluid::wall();
    options.sides[3] = fluid::wall({1, 0, 0});
  }
  // Area of the cells around the faces of a component, times the number there: the energy is half of that.
  ObjectivePtr<double> energy(const Signature& fields, const std::vector<double>& state, std::int64_t steps,
                              double& value) const {
    std::vector<double> weights(state.size(), 0.0);
    const std::vector<double>& w = options.widths[0];
    value = 0;
    std::size_t next = 0;
    for (int c = 0; c < 2; ++c)
      for (std::int64_t j = 0; j < n + c; ++j)
        for (std::int64_t i = 0; i < n + 1 - c; ++i, ++next) {
          const std::int64_t across = c == 0 ? i : j, along = c == 0 ? j : i;
          const double before = across > 0 ? w[std::size_t(across - 1)] : 0,
                       after = across < n ? w[std::size_t(across)] : 0;
          weights[next] = (before + after) / 2 * w[std::size_t(along)] * state[next];
          value += weights[next] * state[next] / 2;
        }
    return loss::cotangents<double>(fields, {steps}, {weights});
  }
};

void run(double reynolds, std::int64_t cells, double ratio) {
  const Cavity cavity(reynolds, cells, ratio);
  const auto system = fluid::flow<double>(cavity.options);
  const auto steps = std::int64_t(std::ceil((reynolds > 500 ? 60 : 30) / cavity.options.dt));
  Rollout<double> rollout(system, {.steps = steps, .checkpoints = binomial(60), .active = {"viscosity"}});
  auto at = rollout.arguments();
  const auto end = rollout.simulate(at).final_state;
  const std::int64_t n = cavity.n;
  const auto u = [&](std::int64_t j) { return end[std::size_t(j * (n + 1) + n / 2)]; };
  std::int64_t lowest = 1;
  for (std::int64_t j = 1; j + 1 < n; ++j)
    if (u(j) < u(lowest)) lowest = j;
  const auto places = fluid::face_places(cavity.options, 0);
  const auto y = [&](std::int64_t j) { return places[std::size_t(j * (n + 1))][1]; };
  // Of the parabola through three numbers.
  const double a = y(lowest) - y(lowest - 1), b = y(lowest + 1) - y(lowest), down = u(lowest - 1) - u(lowest),
               up = u(lowest + 1) - u(lowest);
  const double curve = (down / a + up / b) / (a + b), slope = up / b - curve * b;
  double energy = 0;
  const auto objective = cavity.energy(system->signature(), end, steps, energy);
  const auto g = rollout.value_and_gradient(at, *objective);
  double by_viscosity = 0;
  for (const double x : g.parameters["viscosity"]) by_viscosity += x;
  std::printf(
      "%lld x %lld cells, ratio %.1f, %lld steps: u in the middle %.6f, least u %.6f, energy %.6f, its "
      "derivative with respect to the viscosity %.4f\n",
      (long long)n, (long long)n, ratio, (long long)steps, (u(n / 2 - 1) + u(n / 2)) / 2,
      u(lowest) - slope * slope / (4 * curve), energy, by_viscosity);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "costate_bench_cavity REYNOLDS CELLS [RATIO]\n"), 1;
  run(std::atof(argv[1]), std::max(8, std::atoi(argv[2])), argc > 3 ? std::atof(argv[3]) : 1);
  return 0;
}
