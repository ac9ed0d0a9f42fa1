// The heat equation on a 2-D grid, with a conductivity of its own in every cell.
//
//   C dT/dt = div(k grad T) + q        T temperature [K], k conductivity [W/(m K)], C heat capacity per
//                                      volume [J/(m^3 K)], q sources [W/m^3]
//
// Finite volumes on nx x ny cells of width dx, explicit Euler in time. Between two cells the conductivity is
// the harmonic mean, for which the flux is continuous where k jumps (Patankar, Numerical Heat Transfer and
// Fluid Flow, 1980, section 4.2-3):
//
//   k_f = 2 k k' / (k + k')            T+ = T + dt/(C dx^2) sum_faces k_f (T' - T) + dt/C q
//
// It is stable for dt <= C dx^2 / (4 max k), which is checked at the first step of every run.
// Sides: a fixed temperature on the side, a fixed gradient dT/dn along the outward normal (0: insulated), or
// periodic.
//
// Transpose (trailing underscore: cotangent; the sum over faces is symmetric):
//
//   T_ = T+_ + dt/(C dx^2) sum_faces k_f (T+_' - T+_)
//   k_ += dt/(C dx^2) sum_faces dk_f/dk (T' - T) (T+_ - T+_')         dk_f/dk = 2 (k' / (k + k'))^2
//   q_ += dt/C T+_          of side values, C, dx and dt: sums over the cells, in heat_kernel.h
//
// State "T" (nx*ny numbers, x fastest); parameters "conductivity" and "source" (nx*ny each), "capacity",
// "west", "east", "south", "north" (temperature or gradient; a periodic side ignores its own), "dx", "dt";
// control "heater" [W/m^3] (one number per heater). What one cell does, and its transpose: heat_kernel.h.
// Tests: tests/grid/heat_test.cpp.
#pragma once

#include <memory>
#include <vector>

#include "costate/grid/cell_values.h"
#include "costate/system/system.h"

namespace costate::grid {

struct HeatSide {
  enum class Kind { temperature, gradient, periodic };
  Kind kind = Kind::gradient;
  double value = 0;  // [K] or [K/m]: default of the parameter
};

struct HeatOptions {
  std::int64_t nx = 64, ny = 64;
  double dx = 1.0, dt = 0.2;  // defaults of the parameters
  CellValues conductivity = 1.0;
  double capacity = 1.0;
  CellValues source = 0.0;
  HeatSide west = {}, east = {}, south = {}, north = {};
  std::vector<std::int64_t> heaters = {};  // cells (j * nx + i) driven by the control
};

template <class Real>
std::shared_ptr<System<Real>> heat(const HeatOptions& options);

extern template std::shared_ptr<System<float>> heat<float>(const HeatOptions&);
extern template std::shared_ptr<System<double>> heat<double>(const HeatOptions&);

}  // namespace costate::grid
