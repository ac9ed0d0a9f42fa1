// Wind on triangles: pressure along the normal, proportional to the normal speed of the wind, with the shape
// of the start of the step.
//
//   N = (x1 - x0) x (x2 - x0),   force on each vertex: c/3 A (n.W) n = c/6 (N.W) N/|N|
//
// W wind [m/s], c drag [kg/(m^2 s)]. The transpose is beside it: for mu . f, with s = sum of mu,
//   N_bar = c/6 (W (N.s) + s (N.W) - N (N.W)(N.s)/|N|^2)/|N|.
// Tests: tests/soft/soft_test.cpp.
#pragma once

#include <vector>

#include "costate/core/mat3.h"
#include "costate/soft/elements/term.h"

namespace costate::soft {

class Wind {
 public:
  using V = Vec3<double>;
  Groups triangles = {3, {}};

  // Slots of 3 numbers per vertex of each triangle.
  void force(const double* x, const V& W, double c, double* slots) const;
  void force_jvp(const double* x, const double* x_dot, const V& W, const V& W_dot, double c, double c_dot,
                 double* slots) const;
  // Writes slots of x_bar, adds to W_bar and c_bar.
  void force_vjp(const double* x, const V& W, double c, const double* mu, double* x_bar, V& W_bar,
                 double& c_bar) const;
};

}  // namespace costate::soft
