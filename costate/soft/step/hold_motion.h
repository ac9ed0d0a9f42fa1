// Where held vertices go in a step.
//
//   stays     x' = x, v' = 0
//   driven    x' = x + dt u, v' = u
//   turning   x' = c + dt u + y,  v' = u + w x y,   y = R(dt w)(x - c),  c the mean of the hold's vertices
//
// u velocity [m/s], w spin [rad/s], both controls; R the rotation about dt w (Rodrigues), by a series where
// dt w is small. A hold that turns stays as rigid as it is.
// Tests: tests/soft/obstacle_test.cpp.
#pragma once

#include <vector>

namespace costate::soft {

struct HeldGroup {
  std::vector<int> vertices = {};
  int velocity = -1, spin = -1;  // where among the controls; -1: none
};

class HoldMotion {
 public:
  std::vector<HeldGroup> groups = {};

  // Arrays have three numbers per vertex of the model; only those of held vertices are read and written.
  void move(const double* x, const double* u, double dt, double* x_end, double* v_end) const;
  // Null tangents are zero.
  void move_jvp(const double* x, const double* u, double dt, const double* x_dot, const double* u_dot,
                double dt_dot, double* x_end_dot, double* v_end_dot) const;
  // Adds to x_bar, u_bar and dt_bar.
  void move_vjp(const double* x, const double* u, double dt, const double* x_end_bar, const double* v_end_bar,
                double* x_bar, double* u_bar, double& dt_bar) const;
};

}  // namespace costate::soft
