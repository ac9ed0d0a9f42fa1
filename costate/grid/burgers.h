// Burgers' equation on every row of a grid: each row is a line of its own, which wraps.
//
//   u' + u du/dx = nu d2u/dx2 + s            u speed [m/s], nu viscosity [m^2/s], s source [m/s^2]
//
// Diffused first, then traced back along its own speed (semi-Lagrangian, linear between cells: stable for
// Courant numbers |u| dt/dx up to 3, where it says so by a value that is not a number):
//
//   w = u + nu dt/dx^2 (u_e - 2 u + u_w)                                 stable for nu dt / dx^2 <= 1/2
//   u+ = sum_d hat(-w dt/dx - d) w(d) + dt s                             hat(t) = max(0, 1 - |t|), |d| <= 3
//
// The gradient is exact where it is taken, and piecewise: it jumps where a point is traced back across the
// middle of a cell. With h = the slope of u+ along the row and t = -w dt/dx (trailing underscore: cotangent):
//
//   w_ = sum_d hat(t(-d) - d) u+_(-d) - dt/dx h u+_          u_ = w_ + nu dt/dx^2 (w_e - 2 w + w_w)_
//
// State "u" (nx*ny, x fastest); parameters "source" (nx*ny), "viscosity", "dx", "dt". What one cell does, and
// its transpose: burgers_kernel.h. Tests: tests/grid/burgers_test.cpp.
#pragma once

#include <memory>

#include "costate/grid/cell_values.h"
#include "costate/system/system.h"

namespace costate::grid {

struct BurgersOptions {
  std::int64_t nx = 128, ny = 10;  // at least 10 each
  double dx = 1.0, dt = 0.1;       // defaults of the parameters
  double viscosity = 0.01;
  CellValues source = 0.0;
};

template <class Real>
std::shared_ptr<System<Real>> burgers(const BurgersOptions& options);

extern template std::shared_ptr<System<float>> burgers<float>(const BurgersOptions&);
extern template std::shared_ptr<System<double>> burgers<double>(const BurgersOptions&);

}  // namespace costate::grid
