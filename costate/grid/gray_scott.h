// Reaction and diffusion of two substances (Gray and Scott, Chem. Eng. Sci. 39, 1984; Pearson, Science 261,
// 1993): spots, stripes and labyrinths from a uniform start.
//
//   u' = Du lap u - u v^2 + f (1 - u)        u food, v what eats it, f feed [1/s], k kill [1/s]
//   v' = Dv lap v + u v^2 - (f + k) v        Du, Dv diffusivities [m^2/s]
//
// Five-point Laplacian on nx x ny cells of width dx that wrap at both ends; forward Euler in time, stable for
// 4 max(Du, Dv) dt / dx^2 <= 1, which is checked in every run. With r = v+_ - u+_ (trailing underscore:
// cotangent):
//
//   u_ = u+_ + dt (Du/dx^2 lap u+_ + v^2 r - f u+_)
//   v_ = v+_ + dt (Dv/dx^2 lap v+_ + 2 u v r - (f + k) v+_)
//   f_ += dt (u+_ (1 - u) - v+_ v)                       k_ -= dt <v, v+_>
//
// State "u", "v" (nx*ny numbers each, x fastest); parameters "feed" (nx*ny), "kill", "diffusivity_u",
// "diffusivity_v", "dx", "dt"; control "drop" (v per second into a source cell). What one cell does, and its
// transpose: gray_scott_kernel.h. Tests: tests/grid/reaction_test.cpp.
#pragma once

#include <memory>
#include <vector>

#include "costate/grid/cell_values.h"
#include "costate/system/system.h"

namespace costate::grid {

struct GrayScottOptions {
  std::int64_t nx = 64, ny = 64;
  double dx = 1.0, dt = 1.0;  // defaults of the parameters
  CellValues feed = 0.04;
  double kill = 0.06, diffusivity_u = 0.16, diffusivity_v = 0.08;
  std::vector<std::int64_t> sources = {};  // cells (j * nx + i) driven by the control
};

template <class Real>
std::shared_ptr<System<Real>> gray_scott(const GrayScottOptions& options);

extern template std::shared_ptr<System<float>> gray_scott<float>(const GrayScottOptions&);
extern template std::shared_ptr<System<double>> gray_scott<double>(const GrayScottOptions&);

}  // namespace costate::grid
