#include "costate/solve/dense_panel.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "costate/core/pack.h"

namespace costate::solve {
namespace {

using P = NativePack<double>;
constexpr int kLanes = P::lanes, kPanel = 24, kColumns = 4;

bool factor_panel(double* A, int size, int first, int last, std::ptrdiff_t stride) {
  for (int c = first; c < last; ++c) {
    double* to = A + c * stride;
    for (int k = first; k < c; ++k) {
      const double* from = A + k * stride;
      const double f = from[c];
      for (int r = c; r < size; ++r) to[r] -= f * from[r];
    }
    if (!(to[c] > 0)) return false;
    const double root = std::sqrt(to[c]), inverse = 1 / root;
    to[c] = root;
    for (int r = c + 1; r < size; ++r) to[r] *= inverse;
  }
  return true;
}

// Rows [row, row + kTall lanes) of kColumns columns: A -= L B, with L the panel and B its rows that belong to
// the columns.
template <int kTall>
void update_tile(const double* L, std::ptrdiff_t stride, int depth, const double* B, double* to) {
  P sum[kColumns][kTall];
  for (auto& column : sum)
    for (P& s : column) s = P(0.0);
  for (int k = 0; k < depth; ++k) {
    P l[kTall];
    for (int t = 0; t < kTall; ++t) l[t] = P::load_unaligned(L + k * stride + t * kLanes);
    for (int c = 0; c < kColumns; ++c) {
      const P b(B[k * kColumns + c]);
      for (int t = 0; t < kTall; ++t) sum[c][t] += b * l[t];
    }
  }
  for (int c = 0; c < kColumns; ++c)
    for (int t = 0; t < kTall; ++t) {
      double* at = to + c * stride + t * kLanes;
      (P::load_unaligned(at) - sum[c][t]).store_unaligned(at);
    }
}

void update_columns(double* A, int size, int column, int count, int first, int last, std::ptrdiff_t stride) {
  const int depth = last - first;
  double B[kPanel * kColumns] = {};
  for (int k = 0; k < depth; ++k)
    for (int c = 0; c < count; ++c) B[k * kColumns + c] = A[(first + k) * stride + column + c];
  const double* L = A + first * stride;
  int r = column;
  if (count == kColumns) {
    for (; r + 3 * kLanes <= size; r += 3 * kLanes)
      update_tile<3>(L + r, stride, depth, B, A + column * stride + r);
    for (; r + kLanes <= size; r += kLanes) update_tile<1>(L + r, stride, depth, B, A + column * stride + r);
  }
  for (; r < size; ++r)
    for (int c = 0; c < count; ++c) {
      double sum = 0;
      for (int k = 0; k < depth; ++k) sum += B[k * kColumns + c] * L[k * stride + r];
      A[(column + c) * stride + r] -= sum;
    }
}

}  // namespace

bool factor_columns(double* A, int size, int columns, int stride) {
  for (int first = 0; first < columns; first += kPanel) {
    const int last = std::min(first + kPanel, columns);
    if (!factor_panel(A, size, first, last, stride)) return false;
    for (int c = last; c < size; c += kColumns)
      update_columns(A, size, c, std::min(kColumns, size - c), first, last, stride);
  }
  return true;
}

}  // namespace costate::solve
