#include "costate/ad/dense_lanes.h"

#include <algorithm>
#include <cmath>

#include "costate/core/functions.h"
#include "costate/core/pack.h"

namespace costate::ad {
namespace {

// 32 registers with AVX-512, 16 before.
constexpr int kTileRows = kSimdBytes == 64 ? 8 : 4;
constexpr int kOuterRows = kSimdBytes == 64 ? 4 : 3;

// One world: W is walked column by column, which leaves the rows to SIMD.
template <class T>
void multiply_one(const T* columns_first, int rows, int columns, const T* x, T* y) {
  std::fill_n(y, rows, T(0));
  for (int j = 0; j < columns; ++j) {
    const T* const w = columns_first + static_cast<std::int64_t>(j) * rows;
    for (int i = 0; i < rows; ++i) y[i] = std::fma(w[i], x[j], y[i]);
  }
}

template <class T>
void multiply_one(const LaneWeights<T>& w, int rows, int columns, const T* x, T* y) {
  std::fill_n(y, rows, T(0));
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) y[i] = std::fma(w.own[i * w.row_stride + j * w.column_stride], x[j], y[i]);
  }
}

// A tile of Rows x Packs sums. weight(r, j, k): of row r of the tile, column j, pack k.
template <class T, int Rows, int Packs, class Weight>
COSTATE_INLINE void multiply_tile(const Weight& weight, int columns, int lanes, const T* x, T* y) {
  using P = NativePack<T>;
  P sum[Rows][Packs];
  for (int r = 0; r < Rows; ++r) {
    for (int k = 0; k < Packs; ++k) sum[r][k] = P(0);
  }
  for (int j = 0; j < columns; ++j) {
    P v[Packs];
    for (int k = 0; k < Packs; ++k) v[k] = P::load(x + static_cast<std::int64_t>(j) * lanes + k * P::lanes);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
      for (int k = 0; k < Packs; ++k) sum[r][k] = costate::fma(weight(r, j, k), v[k], sum[r][k]);
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int k = 0; k < Packs; ++k) sum[r][k].store(y + static_cast<std::int64_t>(r) * lanes + k * P::lanes);
  }
}

template <class T, int Packs>
COSTATE_INLINE void multiply_rows(const LaneWeights<T>& w, int rows, int columns, int lanes, int lane,
                                  const T* x, T* y) {
  using P = NativePack<T>;
  int i = 0;
  for (; w.shared() && i + kTileRows <= rows; i += kTileRows) {
    const T* const tile = w.rows + static_cast<std::int64_t>(i) * columns;
    const auto weight = [&](int r, int j, int) {
      return P(tile[static_cast<std::int64_t>(r) * columns + j]);
    };
    multiply_tile<T, kTileRows, Packs>(weight, columns, lanes, x + lane,
                                       y + static_cast<std::int64_t>(i) * lanes + lane);
  }
  for (; i < rows; ++i) {
    T* const out = y + static_cast<std::int64_t>(i) * lanes + lane;
    if (w.shared()) {
      const T* const row = w.rows + static_cast<std::int64_t>(i) * columns;
      multiply_tile<T, 1, Packs>([&](int, int j, int) { return P(row[j]); }, columns, lanes, x + lane, out);
    } else {
      const auto weight = [&](int, int j, int k) {
        return P::load(w.own + (i * w.row_stride + j * w.column_stride) * lanes + lane + k * P::lanes);
      };
      multiply_tile<T, 1, Packs>(weight, columns, lanes, x + lane, out);
    }
  }
}

template <class T, int Rows, int Columns>
COSTATE_INLINE void outer_tile(const OuterSum<T>& sum, int i, int j, int lanes, int lane,
                               std::int64_t row_stride, std::int64_t column_stride, T* w_bar) {
  using P = NativePack<T>;
  const auto at = [&](int r, int c) {
    return w_bar + ((i + r) * row_stride + (j + c) * column_stride) * lanes + lane;
  };
  P total[Rows][Columns];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < Columns; ++c) total[r][c] = P::load(at(r, c));
  }
  for (int s = 0; s < sum.count; ++s) {
    const T* const y = sum.y_bar + s * sum.y_stride + static_cast<std::int64_t>(i) * lanes + lane;
    const T* const x = sum.x + s * sum.x_stride + static_cast<std::int64_t>(j) * lanes + lane;
    P row[Rows], column[Columns];
    for (int r = 0; r < Rows; ++r) row[r] = P::load(y + static_cast<std::int64_t>(r) * lanes);
    for (int c = 0; c < Columns; ++c) column[c] = P::load(x + static_cast<std::int64_t>(c) * lanes);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c) total[r][c] = costate::fma(row[r], column[c], total[r][c]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < Columns; ++c) total[r][c].store(at(r, c));
  }
}

// Rows are contiguous: dot products, Rows of them at once.
template <class T, int Rows>
COSTATE_INLINE void dot_rows(const T* w, int columns, std::int64_t row_stride, const T* x, T* y) {
  using P = NativePack<T>;
  P sum[Rows];
  for (int r = 0; r < Rows; ++r) sum[r] = P(0);
  int j = 0;
  for (; j + P::lanes <= columns; j += P::lanes) {
    const P v = P::load_unaligned(x + j);
    for (int r = 0; r < Rows; ++r)
      sum[r] = costate::fma(P::load_unaligned(w + r * row_stride + j), v, sum[r]);
  }
  for (int r = 0; r < Rows; ++r) {
    T total = 0;
    for (int k = j; k < columns; ++k) total = std::fma(w[r * row_stride + k], x[k], total);
    for (int l = 0; l < P::lanes; ++l) total += sum[r][l];
    y[r] = total;
  }
}

// Columns are contiguous: Packs of rows in registers.
template <class T, int Packs>
COSTATE_INLINE void add_columns(const T* w, int columns, std::int64_t column_stride, const T* x, T* y) {
  using P = NativePack<T>;
  P sum[Packs];
  for (int k = 0; k < Packs; ++k) sum[k] = P(0);
  for (int j = 0; j < columns; ++j) {
    const P v(x[j]);
    for (int k = 0; k < Packs; ++k)
      sum[k] = costate::fma(P::load_unaligned(w + j * column_stride + k * P::lanes), v, sum[k]);
  }
  for (int k = 0; k < Packs; ++k) sum[k].store_unaligned(y + k * P::lanes);
}

}  // namespace

template <class T>
void multiply_in_place(const T* w, int rows, int columns, std::int64_t row_stride, std::int64_t column_stride,
                       const T* x, T* y) {
  constexpr int width = NativePack<T>::lanes;
  int i = 0;
  if (column_stride == 1) {
    for (; i + 4 <= rows; i += 4) dot_rows<T, 4>(w + i * row_stride, columns, row_stride, x, y + i);
    for (; i < rows; ++i) dot_rows<T, 1>(w + i * row_stride, columns, row_stride, x, y + i);
    return;
  }
  if (row_stride == 1) {
    for (; i + 4 * width <= rows; i += 4 * width) add_columns<T, 4>(w + i, columns, column_stride, x, y + i);
    for (; i + width <= rows; i += width) add_columns<T, 1>(w + i, columns, column_stride, x, y + i);
  }
  for (; i < rows; ++i) {
    T sum = 0;
    for (int j = 0; j < columns; ++j) sum = std::fma(w[i * row_stride + j * column_stride], x[j], sum);
    y[i] = sum;
  }
}

template <class T>
void multiply(const LaneWeights<T>& w, int rows, int columns, int lanes, const T* x, T* y) {
  constexpr int width = NativePack<T>::lanes;
  if (lanes == 1) {
    return w.shared() ? multiply_one(w.columns_first, rows, columns, x, y)
                      : multiply_one(w, rows, columns, x, y);
  }
  int lane = 0;
  for (; lane + 2 * width <= lanes; lane += 2 * width)
    multiply_rows<T, 2>(w, rows, columns, lanes, lane, x, y);
  for (; lane < lanes; lane += width) multiply_rows<T, 1>(w, rows, columns, lanes, lane, x, y);
}

template <class T>
void add_outer(const OuterSum<T>& sum, int rows, int columns, int lanes, std::int64_t row_stride,
               std::int64_t column_stride, T* w_bar) {
  if (lanes == 1) {
    for (int i = 0; i < rows; ++i) {
      for (int s = 0; s < sum.count; ++s) {
        const T y = sum.y_bar[s * sum.y_stride + i];
        const T* const x = sum.x + s * sum.x_stride;
        T* const row = w_bar + i * row_stride;
        if (column_stride == 1) {
          for (int j = 0; j < columns; ++j) row[j] = std::fma(y, x[j], row[j]);
          continue;
        }
        for (int j = 0; j < columns; ++j) row[j * column_stride] = std::fma(y, x[j], row[j * column_stride]);
      }
    }
    return;
  }
  for (int lane = 0; lane < lanes; lane += NativePack<T>::lanes) {
    int i = 0;
    const auto row_of_tiles = [&]<int Rows>() {
      int j = 0;
      for (; j + 4 <= columns; j += 4)
        outer_tile<T, Rows, 4>(sum, i, j, lanes, lane, row_stride, column_stride, w_bar);
      for (; j < columns; ++j)
        outer_tile<T, Rows, 1>(sum, i, j, lanes, lane, row_stride, column_stride, w_bar);
    };
    for (; i + kOuterRows <= rows; i += kOuterRows) row_of_tiles.template operator()<kOuterRows>();
    for (; i < rows; ++i) row_of_tiles.template operator()<1>();
  }
}

#define COSTATE_INSTANTIATE(T)                                                                \
  template void multiply(const LaneWeights<T>&, int, int, int, const T*, T*);                 \
  template void add_outer(const OuterSum<T>&, int, int, int, std::int64_t, std::int64_t, T*); \
  template void multiply_in_place(const T*, int, int, std::int64_t, std::int64_t, const T*, T*);
COSTATE_INSTANTIATE(float)
COSTATE_INSTANTIATE(double)
#undef COSTATE_INSTANTIATE

}  // namespace costate::ad
