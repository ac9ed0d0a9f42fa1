// Matrix products over the lanes of a block: the arithmetic of LayeredProgram's layers.
//
//   multiply        y_i  = sum_j W_ij x_j             (with W transposed: its own transpose)
//   add_outer       W'_ij += sum_s y'_i(s) x_j(s)     cotangent of the weights, over several products at once
//
// Vectors lie as [index][lane]. Weights are one matrix for all lanes, or a matrix per lane. Sums run over j
// (over s) in order, one fused multiply-add at a time, from 0: a world gets the same bits in every block.
//
// Registers hold a tile of the result (rows x packs of lanes); the sum is the innermost loop. Tests:
// tests/ad/layered_test.cpp.
#pragma once

#include <cstdint>

namespace costate::ad {

// Weights of a product. Shared: `rows` and `columns_first` are the matrix row by row and column by column,
// compact. Otherwise element (i, j) of lane l is own[(i * row_stride + j * column_stride) * lanes + l].
template <class T>
struct LaneWeights {
  const T* rows = nullptr;
  const T* columns_first = nullptr;
  const T* own = nullptr;
  std::int64_t row_stride = 0, column_stride = 0;

  bool shared() const { return own == nullptr; }
  LaneWeights transposed() const { return {columns_first, rows, own, column_stride, row_stride}; }
};

// lanes: 1, or a multiple of the native pack; then x and y lie on cache lines.
template <class T>
void multiply(const LaneWeights<T>& w, int rows, int columns, int lanes, const T* x, T* y);

// One world with weights where they lie: y = W x, element (i, j) at w[i * row_stride + j * column_stride].
// Sums run in an order of their own, the fastest for these strides: for fields that are never run in blocks
// (ode/layered_field.h).
template <class T>
void multiply_in_place(const T* w, int rows, int columns, std::int64_t row_stride, std::int64_t column_stride,
                       const T* x, T* y);

// Products s < count have y_bar at y_bar + s * y_stride, x at x + s * x_stride. Element (i, j) of the
// cotangent is at w_bar + (i * row_stride + j * column_stride) * lanes.
template <class T>
struct OuterSum {
  const T* y_bar;
  std::int64_t y_stride;
  const T* x;
  std::int64_t x_stride;
  int count;
};
template <class T>
void add_outer(const OuterSum<T>& sum, int rows, int columns, int lanes, std::int64_t row_stride,
               std::int64_t column_stride, T* w_bar);

}  // namespace costate::ad
