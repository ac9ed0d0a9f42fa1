// An equation of your own on a grid: dye that a flow carries along while it spreads.
//
//   c' = D lap c - w . grad c            c concentration, w velocity of the water (per cell), D diffusivity
//
// Central differences and explicit Euler on a grid without sides. step() and step_vjp() say what one cell
// does.
#include <costate/costate.h>

#include <cstdio>

// [kernel]
#include "costate/grid/stencil_system.h"

struct DyeKernel {
  static constexpr int fields = 1, coefficients = 2, constants = 3, tapes = 0, drives = 0, halo = 1;
  enum { kEastward, kNorthward };   // coefficients: the velocity of the water
  enum { kDiffusivity, kDx, kDt };  // constants

  template <class S>
  struct Scale {
    S spread, drift, diffusivity, dx, dt;  // dt D / dx^2, dt / (2 dx)
  };
  template <class S>
  Scale<S> scale(const costate::Vec<S, 3>& c) const {
    return {c[kDt] * c[kDiffusivity] / (c[kDx] * c[kDx]), c[kDt] / (S(2) * c[kDx]), c[0], c[1], c[2]};
  }
  template <class S, class At>
  static S lap(const At& at) {
    return costate::grid::laplacian<S>([&](int di, int dj) { return at.x(0, di, dj); });
  }
  template <class S, class At>
  static costate::Vec<S, 2> slope(const At& at) {
    return {{at.x(0, 1, 0) - at.x(0, -1, 0), at.x(0, 0, 1) - at.x(0, 0, -1)}};
  }
  template <class S, class At>
  costate::Vec<S, 0> tape(const Scale<S>&, const At&) const {
    return {};
  }

  // y = x + spread lap x - drift (w . slope)
  template <class S, class At>
  costate::Vec<S, 1> step(const Scale<S>& k, const At& at, const costate::Vec<S, 0>&) const {
    const auto s = slope<S>(at);
    return {{at.x(0) + k.spread * lap<S>(at) - k.drift * (at.p(kEastward) * s[0] + at.p(kNorthward) * s[1])}};
  }

  // Its transpose gathers: the eastern neighbour read this cell with weight + drift w, the western one with
  // - drift w.
  template <class S, class At>
  costate::grid::CellCotangent<S, DyeKernel> step_vjp(const Scale<S>& k, const At& at,
                                                      const costate::Vec<S, 0>&) const {
    const S bar = at.y_bar(0);
    const auto flow = [&](int plane, int di, int dj) { return at.p(plane, di, dj) * at.y_bar(0, di, dj); };
    const S lap_bar = costate::grid::laplacian<S>([&](int di, int dj) { return at.y_bar(0, di, dj); });
    const S carried =
        (flow(kEastward, 1, 0) - flow(kEastward, -1, 0)) + (flow(kNorthward, 0, 1) - flow(kNorthward, 0, -1));
    const auto s = slope<S>(at);
    const S spread = lap<S>(at) / (k.dx * k.dx) * bar;                                // of D dt
    const S drift = (at.p(kEastward) * s[0] + at.p(kNorthward) * s[1]) / k.dx * bar;  // of -dt / 2
    return {{{bar + k.spread * lap_bar + k.drift * carried}},
            {{-(k.drift * s[0] * bar), -(k.drift * s[1] * bar)}},
            {{k.dt * spread, k.dt / k.dx * (S(0.5) * drift - S(2) * k.diffusivity * spread),
              k.diffusivity * spread - S(0.5) * drift}}};
  }
  bool periodic(int) const { return true; }
};
// [/kernel]

int main() {
  using namespace costate;
  // [use]
  constexpr std::int64_t n = 24, cells = n * n;
  Signature fields;
  fields.state("c", cells, "kg/m^3");
  fields.parameter_field("eastward", cells, 1.0, "m/s").parameter_field("northward", cells, 0.0, "m/s");
  fields.parameter("diffusivity", 0.1, "m^2/s").parameter("dx", 0.5, "m").parameter("dt", 0.02, "s");
  const auto river = std::make_shared<grid::StencilSystem<DyeKernel, double>>(fields, DyeKernel{}, n, n);

  Rollout<double> rollout(river, {.steps = 100});
  auto at = rollout.arguments();
  at.x0[12 * n + 12] = 1;  // a drop in the middle
  const auto objective = loss::final<double>(fields, "c", {});
  const auto g = rollout.value_and_gradient(at, *objective);
  const std::vector<double> c = rollout.simulate(at).final_state;
  double mass = 0, centre = 0;
  for (std::int64_t k = 0; k < cells; ++k)
    mass += c[std::size_t(k)], centre += double(k % n) * c[std::size_t(k)];
  std::printf("mass %.6f, moved by %.3f m; d/d diffusivity %.6f\n", mass, 0.5 * (centre / mass - 12),
              g.parameters["diffusivity"][0]);
  // [/use]
  for (const auto& result : {check::dot_product(rollout, at), check::stencil(rollout, at, *objective),
                             check::taylor(rollout, at, *objective)}) {
    std::printf("%s  %s\n", result.passed() ? "pass" : "FAIL", result.name.c_str());
    if (!result.passed()) return 1;
  }
}
