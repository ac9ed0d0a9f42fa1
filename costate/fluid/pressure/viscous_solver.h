// Implicit viscosity where it is the same everywhere: an exact solver, its own transpose.
//
//   u - spread lap u = r        u one component of the speed on its free faces, spread = theta dt nu [m^2]
//
// with u beyond a side as the homogeneous sides have it: zero on a wall, even on open and slippery ones. All
// axes are transformed (box_transform.h), by which lap is a number per mode. `spread` is an argument: nothing
// is factorised. Tests: tests/fluid/pressure_test.cpp.
#pragma once

#include "costate/fluid/grid/sides.h"
#include "costate/fluid/pressure/box_transform.h"

namespace costate::fluid {

template <class Real>
class ViscousSolver {
 public:
  ViscousSolver() = default;
  explicit ViscousSolver(const Sides& sides);

  Index scratch_numbers() const;
  // r becomes u, on the free faces of a component.
  void solve(int component, Real* field, double spread, Real* scratch) const;

 private:
  Shape shape_;
  std::array<Box, 3> box_;
  std::array<BoxTransform<Real>, 3> transform_;
};

extern template class ViscousSolver<float>;
extern template class ViscousSolver<double>;

}  // namespace costate::fluid
