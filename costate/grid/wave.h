// The wave equation on a 2-D grid, with a speed of its own in every cell.
//
//   u'' = c^2 lap u - gamma u' + s          u displacement, c wave speed [m/s], gamma damping [1/s], s
//                                           sources [m/s^2]
//
// Five-point Laplacian on nx x ny cells of width dx, u = 0 outside (reflecting walls); symplectic Euler in
// time (equivalent to leapfrog; second order in u when gamma = 0, stable for c dt/dx < 1/sqrt(2), which
// is checked in every run):
//
//   v+ = v + dt (c^2 lap u / dx^2 - gamma v + s)
//   u+ = u + dt v+
//
// Transpose, with w = v+_ + dt u+_ (trailing underscore: cotangent) and lap' = lap (the grid is symmetric):
//
//   u_ = u+_ + dt/dx^2 lap(c^2 w)            v_ = (1 - dt gamma) w
//   c_ += 2 dt/dx^2 c (lap u) w              s_ += dt w at the sources
//   gamma_ -= dt <v, w>   dx_ -= 2 dt/dx^3 <c^2 lap u, w>   dt_ += <u+_, v+> + <w, (v+ - v)/dt>
//
// One world of any size (stencil_system.h). State "u", "v" (nx*ny numbers each, x fastest); parameters
// "speed" (nx*ny), "damping", "dx", "dt"; control "source" (one number per source cell). What one cell does,
// and its transpose: wave_kernel.h. Tests: tests/grid/wave_test.cpp.
#pragma once

#include <memory>
#include <vector>

#include "costate/grid/cell_values.h"
#include "costate/system/system.h"

namespace costate::grid {

struct WaveOptions {
  std::int64_t nx = 64, ny = 64;
  double dx = 1.0, dt = 0.5;  // defaults of the parameters
  CellValues speed = 1.0;
  double damping = 0.0;
  std::vector<std::int64_t> sources = {};  // cells (j * nx + i) driven by the control
};

template <class Real>
std::shared_ptr<System<Real>> wave(const WaveOptions& options);

extern template std::shared_ptr<System<float>> wave<float>(const WaveOptions&);
extern template std::shared_ptr<System<double>> wave<double>(const WaveOptions&);

}  // namespace costate::grid
