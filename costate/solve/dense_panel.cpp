#include "costate/solve/dense_panel.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "costate/core/pack.h"

namespace costate::solve {
namespace {

constexpr int kPanel = 24;

// Registers of a tile: 16 of them with 256 bits, 32 with 512.
template <class Real>
struct Tile {
  using P = NativePack<Real>;
  static constexpr bool kMany = sizeof(P) >= 64;
  static constexpr int kLanes = P::lanes, kTall = kMany ? 4 : 3, kColumns = kMany ? 6 : 4;
  static_assert(kLanes <= kSpareRows && kColumns <= kSpareColumns);
};

template <class Real>
bool factor_panel(Real* A, int size, int first, int last, std::ptrdiff_t stride) {
  for (int c = first; c < last; ++c) {
    Real* to = A + c * stride;
    for (int k = first; k < c; ++k) {
      const Real* from = A + k * stride;
      const Real f = from[c];
      for (int r = c; r < size; ++r) to[r] -= f * from[r];
    }
    if (!(to[c] > 0)) return false;
    const Real root = std::sqrt(to[c]), inverse = 1 / root;
    to[c] = root;
    for (int r = c + 1; r < size; ++r) to[r] *= inverse;
  }
  return true;
}

// Rows [row, row + kTall lanes) of kColumns columns: A -= L B, with L the panel and B its rows that belong to
// the columns.
template <class Real, int kTall>
void update_tile(const Real* L, std::ptrdiff_t stride, int depth, const Real* B, Real* to) {
  using P = typename Tile<Real>::P;
  constexpr int kLanes = Tile<Real>::kLanes, kColumns = Tile<Real>::kColumns;
  P sum[kColumns][kTall];
  for (auto& column : sum)
    for (P& s : column) s = P(Real(0));
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
      Real* at = to + c * stride + t * kLanes;
      (P::load_unaligned(at) - sum[c][t]).store_unaligned(at);
    }
}

template <class Real>
void update_columns(Real* A, int size, int column, int first, int last, std::ptrdiff_t stride) {
  using T = Tile<Real>;
  const int depth = last - first, count = std::min(T::kColumns, size - column);
  Real B[kPanel * T::kColumns] = {};
  for (int k = 0; k < depth; ++k)
    for (int c = 0; c < count; ++c) B[k * T::kColumns + c] = A[(first + k) * stride + column + c];
  const Real* L = A + first * stride;
  Real* to = A + column * stride;
  int r = column;
  for (; r + (T::kTall - 1) * T::kLanes < size; r += T::kTall * T::kLanes)
    update_tile<Real, T::kTall>(L + r, stride, depth, B, to + r);
  for (; r < size; r += T::kLanes) update_tile<Real, 1>(L + r, stride, depth, B, to + r);
}

template <class Real>
bool factor(Real* A, int size, int columns, int stride) {
  for (int first = 0; first < columns; first += kPanel) {
    const int last = std::min(first + kPanel, columns);
    if (!factor_panel(A, size, first, last, stride)) return false;
    for (int c = last; c < size; c += Tile<Real>::kColumns) update_columns(A, size, c, first, last, stride);
  }
  return true;
}

}  // namespace

bool factor_columns(double* A, int size, int columns, int stride) { return factor(A, size, columns, stride); }
bool factor_columns(float* A, int size, int columns, int stride) { return factor(A, size, columns, stride); }

}  // namespace costate::solve
