// Transforms (transform.h) along the axes of a box of numbers in a field, lanes across rows.
//
// Tests: tests/fluid/pressure_test.cpp, by the solvers that use it.
#pragma once

#include <array>

#include "costate/fluid/grid/field.h"
#include "costate/fluid/pressure/lane_transpose.h"
#include "costate/fluid/pressure/transform.h"

namespace costate::fluid {

inline constexpr Index kTransformChunks = 16;  // of parallel work, each with scratch of its own

// f(block, x, y) -> x or y, for blocks of P::lanes rows of a box, from `begin` to `end`: lane l of the packs
// x is row l, and what f returns is written back. y is scratch; both have a pack per number of a row.
template <class Real, class F>
void blocks_of_rows(const Shape& shape, const Box& box, Index begin, Index end, Real* field,
                    NativePack<Real>* x, NativePack<Real>* y, const F& f) {
  using P = NativePack<Real>;
  constexpr Index W = P::lanes;
  const Index n = box.width(), rows = box.rows(), height = box.hi[1] - box.lo[1];
  const auto row_at = [&](Index row) {
    row = std::min(row, rows - 1);
    return field + shape.at(box.lo[0], box.lo[1] + row % height, box.lo[2] + row / height);
  };
  for (Index block = begin; block < end; ++block) {
    std::array<Real*, std::size_t(W)> row;
    for (Index l = 0; l < W; ++l) row[std::size_t(l)] = row_at(block * W + l);
    for (Index i = 0; i < n; i += W) {
      for (Index l = 0; l < W; ++l) x[i + l] = P::load_unaligned(row[std::size_t(l)] + i);
      transpose_lanes(x + i);
    }
    P* const done = f(block, x, y);
    for (Index l = n; l < (n + W - 1) / W * W; ++l) done[l] = P(0);
    for (Index i = 0; i < n; i += W) {
      transpose_lanes(done + i);
      for (Index l = 0; l < std::min(W, rows - block * W); ++l)
        store_lanes(row[std::size_t(l)] + i, done[i + l], n - i);
    }
  }
}
template <class Real, class F>
void each_block_of_rows(const Shape& shape, const Box& box, Real* field, Real* scratch, const F& f) {
  using P = NativePack<Real>;
  constexpr Index W = P::lanes;
  const Index n = box.width(), blocks = (box.rows() + W - 1) / W;
  const Index grain = (blocks + kTransformChunks - 1) / kTransformChunks;
  parallel_for(blocks, grain, [&](Index begin, Index end) {
    P* const x = reinterpret_cast<P*>(scratch) + begin / grain * 2 * (n + W);
    blocks_of_rows(shape, box, begin, end, field, x, x + (n + W), f);
  });
}

template <class Real>
class BoxTransform {
 public:
  using P = NativePack<Real>;

  BoxTransform() = default;
  // Along all axes except one, or along all (-1).
  BoxTransform(const Shape& shape, const Box& box, const std::array<Ends, 3>& ends, int without);

  Index scratch_numbers() const;
  const std::vector<double>& lambda(int axis) const { return transform_[std::size_t(axis)].lambda(); }
  double gain() const { return gain_; }  // of forward and inverse

  // In place; what lies outside of the box is left alone.
  void forward(Real* field, Real* scratch) const;
  void inverse(Real* field, Real* scratch) const;

 private:
  Index count(int axis) const { return box_.hi[std::size_t(axis)] - box_.lo[std::size_t(axis)]; }
  P* line(int axis, P* x, P* y, bool inverse) const;
  void along(int axis, Real* field, Real* scratch, bool inverse) const;
  void columns(int axis, const Box& box, Index begin, Index end, Real* field, P* x, P* y, bool inverse) const;
  void planes(Real* field, Real* scratch, bool inverse) const;
  bool plane_by_plane() const { return shape_.dim == 3 && without_ != 0 && without_ != 1; }

  Shape shape_;
  Box box_;
  int without_ = -1;
  double gain_ = 1;
  std::array<Transform<Real>, 3> transform_;
};

extern template class BoxTransform<float>;
extern template class BoxTransform<double>;

}  // namespace costate::fluid
