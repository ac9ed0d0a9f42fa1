// Shallow water on a 2-D grid: long waves over an uneven bottom, with staggered velocities.
//
//   u' = -g deta/dx - r u + f v,   v' = -g deta/dy - r v - f u
//   eta' = -d(h u)/dx - d(h v)/dy + rain,   h = depth + eta
//
// eta level [m], u and v velocities [m/s], h height of the water [m], g gravity [m/s^2], r drag [1/s], f
// rotation (twice the rate at which the ground turns about the vertical) [1/s], rain [m/s]. Momentum is not
// advected: waves are long and flow is slow, |u| << sqrt(g h). Arakawa's C grid: eta in the middle of a cell,
// u on its west face, v on its south face. Forward-backward in time, velocities first (Mesinger, Arakawa:
// Numerical Methods Used in Atmospheric Models, GARP 17, 1976, chapter 4), which is one sweep, since a cell
// computes the new velocities of its four faces:
//
//   U = o ((1 - dt r - (dt f)^2 / 2) u - g dt/dx (eta - eta_w) + dt f v')   o = 0 on a wall, otherwise 1
//   F = U (h + h_w) / 2                              flux through the face
//   eta+ = eta - dt/dx (F_e - F + F_n - F_s) + dt rain
//
// and V with -dt f u'; v' is the mean of o v on the four faces around, at the old time. Without its square
// the rotation would let every speed grow by (dt f)^2 / 2 per step; with it long waves keep their energy up
// to (dt f)^4 / 8 per step, and short ones lose what the mean takes.
//
// Stable for sqrt(g depth) dt/dx <= 1/sqrt(2), which is checked in every run. Still water stays still over
// any bottom, to the bit.
//
// Transpose (trailing underscore: cotangent), for every face with U_ from both of its uses:
//
//   F_ = dt/dx (eta+_ - eta+_w)      U_ = o (u+_ + F_ (h + h_w) / 2)
//   u_ = (1 - dt r - (dt f)^2 / 2) U_ - o dt f / 4 sum_faces V_      v_ with +sum_faces U_
//   eta_ = eta+_ + g dt/dx (U_e - U_w + U_n - U_s)_ + 1/2 sum_faces F_ U      depth_ = 1/2 sum_faces F_ U
//
// State "eta", "u", "v" (nx*ny each, x fastest; u of the first column and v of the first row lie on walls);
// parameters "depth" (nx*ny), "gravity", "drag", "dx", "dt", "rotation"; control "rain" (one number per
// source cell). What one cell does, and its transpose: shallow_water_kernel.h.
// Tests: tests/grid/shallow_water_test.cpp.
#pragma once

#include <memory>
#include <vector>

#include "costate/grid/cell_values.h"
#include "costate/system/system.h"

namespace costate::grid {

struct ShallowWaterOptions {
  std::int64_t nx = 64, ny = 64;
  double dx = 1.0, dt = 0.1;  // defaults of the parameters
  CellValues depth = 1.0;
  double gravity = 9.81, drag = 0.0, rotation = 0.0;
  bool periodic_x = false, periodic_y = false;  // otherwise walls
  std::vector<std::int64_t> sources = {};       // cells (j * nx + i) driven by the control
};

template <class Real>
std::shared_ptr<System<Real>> shallow_water(const ShallowWaterOptions& options);

extern template std::shared_ptr<System<float>> shallow_water<float>(const ShallowWaterOptions&);
extern template std::shared_ptr<System<double>> shallow_water<double>(const ShallowWaterOptions&);

}  // namespace costate::grid
