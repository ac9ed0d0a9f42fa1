// The pressure of a box: an exact solver of the discrete Poisson equation, its own transpose.
//
//   (D G p)(c) = sum_a (p(c + a) - 2 p(c) + p(c - a)) / h_a^2 = r(c)
//
// with p beyond a side even, odd or wrapped (transform.h). Along every axis except one p and r are
// transformed, which leaves for every mode of total lambda = sum_a lambda_a / h_a^2 a tridiagonal system
// along that one [1, 2]:
//
//   c_(j+1) (p_(j+1) - p_j) - c_j (p_j - p_(j-1)) - w_j lambda p_j = w_j r_j
//
// solved by elimination; c = 1 / h^2 and w = 1 on an even axis. That is the last axis, or the longest one of
// those stretched: c_j = 1 / (d_j h), w_j the width in units of h (grid/metric.h). A second one is multiplied
// by the matrix of its modes (stretched_modes.h). The solver is symmetric under the volumes of the cells. An
// axis that wraps is cut at cell 0: with p = y + p_0 z, z the answer to p_0 = 1, the equation of cell 0 gives
// p_0. Eigenvalues are those of the differences, not of the derivatives, so
// that the projection is exact to rounding. Without a fixed pressure anywhere, lambda = 0 is singular: the
// mean of r is taken out of that mode, and the mean of p is zero there (the pseudo-inverse, which is
// symmetric too). On a stretched grid means are weighted by volume.
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

  // A line of cells along the axis of elimination: numbers `next` apart, `width` neighbours of it beside it.
  // Its pivots and answers lie `rows` apart.
  struct Lines {
    Real* first;
    Index next, width;
    const Real *pivots, *answers;
    Index rows;
  };
  void along_columns(Real* field) const;
  void along_rows(Real* field, Real* scratch) const;
  void eliminate(const Lines& lines) const;
  void level(Real* line) const;
  void factorise(Ends ends);
  // The cells of a mode, and where the pivot of one lies.
  Index lines() const;
  double lambda(Index line) const;
  std::size_t place(Index line, Index k) const;

  Shape shape_;
  int axis_ = 1;   // that of the elimination
  int other_ = 2;  // beside it and x
  bool singular_ = false, wraps_ = false;
  BoxTransform<Real> transform_;  // along all other axes
  Index columns_ = 0;             // modes: packed rows of round-up(n[0]) numbers
  Index row_ = 0;                 // length of a packed row
  std::vector<Real> coupling_;    // c, of the faces
  std::vector<Real> weight_;      // w, of the cells, over the gain of the transforms
  // Inverse pivots, [cell along the axis][column]; where that is x [block of rows][cell][lane].
  std::vector<Real> pivot_;
  std::vector<Real> answer_;  // z, where the axis wraps; cell 0 holds 1 / (its equation)
};

extern template class PressureSolver<float>;
extern template class PressureSolver<double>;

}  // namespace costate::fluid
