// The pressure of a box: an exact solver of the discrete Poisson equation, its own transpose.
//
//   (D G p)(c) = sum_a (p(c + a) - 2 p(c) + p(c - a)) / h_a^2 = r(c)
//
// with p beyond a side even, odd or wrapped (transform.h). Along every axis except the last one p and r are
// transformed, which leaves for every mode of total lambda = sum_a lambda_a / h_a^2 a tridiagonal system
// along the last axis [1, 2]:
//
//   (p_(j+1) - 2 p_j + p_(j-1)) / h^2 - lambda p_j = r_j
//
// solved by elimination. An axis that wraps is cut at cell 0: with p = y + p_0 z, z the answer to p_0 = 1,
// the equation of cell 0 gives p_0. Eigenvalues are those of the differences, not of the derivatives, so
// that the projection is exact to rounding. Without a fixed pressure anywhere, lambda = 0 is singular: the
// mean of r is taken out of that mode, and the mean of p is zero there (the pseudo-inverse, which is
// symmetric too).
//
// Cost: two FFTs per transformed axis, lanes across rows, and about ten operations per cell.
//
// [1] Hockney, A Fast Direct Solution of Poisson's Equation Using Fourier Analysis, J. ACM 12 (1965).
// [2] Swarztrauber, SIAM Review 19 (1977).
// Tests: tests/fluid/pressure_test.cpp.
#pragma once

#include <array>
#include <vector>

#include "costate/core/aligned_buffer.h"
#include "costate/fluid/grid/field.h"
#include "costate/fluid/pressure/box_transform.h"

namespace costate::fluid {

template <class Real>
class PressureSolver {
 public:
  using P = NativePack<Real>;

  PressureSolver() = default;
  PressureSolver(const Shape& shape, const std::array<Ends, 3>& ends);

  // Numbers of scratch that a solution needs.
  Index scratch_numbers() const { return transform_.scratch_numbers(); }
  // r becomes p. A field of the shape; the numbers outside of its cells are left alone.
  void solve(Real* field, Real* scratch) const;
  bool singular() const { return singular_; }

 private:
  static constexpr Index kStrip = 64;  // columns that are eliminated together

  void along_last(Real* field) const;
  void eliminate(Real* column, Index width, const Real* pivots, const Real* answers) const;
  void level(Real* column) const;
  void factorise(Ends ends, double inverse_h2);

  Shape shape_;
  int last_ = 1;
  bool singular_ = false, wraps_ = false;
  BoxTransform<Real> transform_;  // along all axes except the last one
  Index columns_ = 0;             // modes: packed rows of round-up(n[0]) numbers
  Index row_ = 0;                 // length of a packed row
  Real coupling_ = 1, scale_ = 1;
  std::vector<Real> pivot_;   // inverse pivots, [cell along the last axis][column]
  std::vector<Real> answer_;  // z, where the last axis wraps; row 0 holds 1 / (the equation of cell 0)
};

extern template class PressureSolver<float>;
extern template class PressureSolver<double>;

}  // namespace costate::fluid
