// Transforms (transform.h) along the axes of a box of numbers in a field, lanes across rows.
//
// Tests: tests/fluid/pressure_test.cpp, by the solvers that use it.
#pragma once

#include <array>

#include "costate/fluid/grid/field.h"
#include "costate/fluid/pressure/transform.h"

namespace costate::fluid {

template <class Real>
class BoxTransform {
 public:
  using P = NativePack<Real>;

  BoxTransform() = default;
  // Along the first `axes` axes.
  BoxTransform(const Shape& shape, const Box& box, const std::array<Ends, 3>& ends, int axes);

  Index scratch_numbers() const;
  const std::vector<double>& lambda(int axis) const { return transform_[std::size_t(axis)].lambda(); }
  double gain() const { return gain_; }  // of forward and inverse

  // In place; what lies outside of the box is left alone. Forward also multiplies by `scale`.
  void forward(Real* field, Real scale, Real* scratch) const;
  void inverse(Real* field, Real* scratch) const;

 private:
  static constexpr Index kChunks = 16;  // of parallel work, each with scratch of its own

  Index count(int axis) const { return box_.hi[std::size_t(axis)] - box_.lo[std::size_t(axis)]; }
  void along_x(Real* field, Real scale, Real* scratch, bool inverse) const;
  void along(int axis, Real* field, Real* scratch, bool inverse) const;

  Shape shape_;
  Box box_;
  int axes_ = 0;
  double gain_ = 1;
  std::array<Transform<Real>, 3> transform_;
};

extern template class BoxTransform<float>;
extern template class BoxTransform<double>;

}  // namespace costate::fluid
