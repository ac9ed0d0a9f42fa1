// Products of small dense matrices in registers: C += X'Y, for the two products of a Riccati step.
//
// Rows are padded to whole packs, so that there are no remainders: a block of four rows and a few packs of C
// stays in registers while the depth runs. At the sizes of robots (5 to 100 rows) this is faster than a
// library's blocked product, which is made for larger ones.
// Tests: tests/control/riccati_test.cpp.
#pragma once

#include <algorithm>

#include "costate/core/pack.h"

namespace costate::control {

using Row = NativePack<double>;
constexpr int kRow = lanes_of<Row>;
constexpr int kBlockRows = 4;

constexpr int padded(int size, int unit = kRow) { return (size + unit - 1) / unit * unit; }

// Whether a product begins with what is in C, or with zero.
enum class Onto { sum, zero };

// C[i][j] += sum_k X[k][i] Y[k][j] for a block of kBlockRows rows i from `row` and `Packs` packs j from
// `column`.
template <int Packs, Onto onto>
COSTATE_INLINE void product_block(int depth, const double* X, int x_stride, const double* Y, int y_stride,
                                  double* C, int c_stride) {
  Row sum[kBlockRows][Packs];
  for (int i = 0; i < kBlockRows; ++i)
    for (int p = 0; p < Packs; ++p)
      sum[i][p] = onto == Onto::zero ? Row(0.0) : load<Row>(C + i * c_stride + p * kRow);
  for (int k = 0; k < depth; ++k) {
    Row y[Packs];
    for (int p = 0; p < Packs; ++p) y[p] = load<Row>(Y + k * y_stride + p * kRow);
    for (int i = 0; i < kBlockRows; ++i) {
      const Row x(X[k * x_stride + i]);
      for (int p = 0; p < Packs; ++p) sum[i][p] += x * y[p];
    }
  }
  for (int i = 0; i < kBlockRows; ++i)
    for (int p = 0; p < Packs; ++p) store<Row>(C + i * c_stride + p * kRow, sum[i][p]);
}

// Rows are a multiple of kBlockRows, strides and columns of kRow. lower: what lies right of the block on the
// diagonal is left alone.
template <Onto onto = Onto::sum>
inline void add_product(int depth, int rows, int columns, const double* X, int x_stride, const double* Y,
                        int y_stride, double* C, int c_stride, bool lower) {
  constexpr int kPacks = kRow == 8 ? 4 : 2;  // as many as there are registers for
  for (int i = 0; i < rows; i += kBlockRows) {
    const int end = lower ? std::min(columns, padded(i + kBlockRows)) : columns;
    int j = 0;
    for (; j + kPacks * kRow <= end; j += kPacks * kRow)
      product_block<kPacks, onto>(depth, X + i, x_stride, Y + j, y_stride, C + i * c_stride + j, c_stride);
    for (; j + 2 * kRow <= end; j += 2 * kRow)
      product_block<2, onto>(depth, X + i, x_stride, Y + j, y_stride, C + i * c_stride + j, c_stride);
    for (; j < end; j += kRow)
      product_block<1, onto>(depth, X + i, x_stride, Y + j, y_stride, C + i * c_stride + j, c_stride);
  }
}

}  // namespace costate::control
