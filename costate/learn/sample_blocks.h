// Samples as lanes: rows of a batch are turned into blocks of lanes for the kernels of ad/dense_lanes.h, and
// back. Chunks of blocks are what threads take, and what sums over samples are made of: always the same ones,
// so that sums have the same bits for any number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "costate/ad/dense_lanes.h"
#include "costate/core/pack.h"

namespace costate::learn {

template <class Real>
inline constexpr int kSampleLanes =
    2 * kNativeLanes<Real>;                 // of a block: two packs hide the latency of a product
inline constexpr std::int64_t kChunk = 16;  // blocks whose cotangents of weights are summed together

inline std::int64_t blocks_of(std::int64_t count, int lanes) { return (count + lanes - 1) / lanes; }

// Lanes past the last sample are zero.
template <class Real>
void to_lanes(const Real* rows, std::int64_t first, std::int64_t count, int size, Real* block) {
  constexpr int lanes = kSampleLanes<Real>;
  const int used = int(std::min<std::int64_t>(lanes, count - first));
  for (int l = 0; l < lanes; ++l) {
    for (int i = 0; i < size; ++i) block[i * lanes + l] = l < used ? rows[(first + l) * size + i] : Real(0);
  }
}
template <class Real>
void from_lanes(const Real* block, std::int64_t first, std::int64_t count, int size, Real* rows) {
  constexpr int lanes = kSampleLanes<Real>;
  const int used = int(std::min<std::int64_t>(lanes, count - first));
  for (int l = 0; l < used; ++l) {
    for (int i = 0; i < size; ++i) rows[(first + l) * size + i] = block[i * lanes + l];
  }
}

// y = sum over the lanes of `blocks` blocks of `rows` numbers.
template <class Real>
void sum_of_lanes(const Real* from, std::int64_t blocks, int rows, Real* y) {
  constexpr int lanes = kSampleLanes<Real>;
  for (int i = 0; i < rows; ++i) {
    Real sum = 0;
    for (std::int64_t b = 0; b < blocks; ++b) {
      for (int k = 0; k < lanes; ++k) sum += from[(b * rows + i) * lanes + k];
    }
    y[i] = sum;
  }
}

// W_bar = sum over samples of y_bar x', rows x columns; lane_sums: rows x columns x lanes numbers of scratch.
template <class Real>
void sum_of_products(const Real* y_bar, const Real* x, std::int64_t blocks, int rows, int columns,
                     Real* lane_sums, Real* w_bar) {
  constexpr int lanes = kSampleLanes<Real>;
  const std::int64_t size = std::int64_t(rows) * columns;
  std::fill_n(lane_sums, size * lanes, Real(0));
  ad::add_outer<Real>({y_bar, std::int64_t(rows) * lanes, x, std::int64_t(columns) * lanes, int(blocks)},
                      rows, columns, lanes, columns, 1, lane_sums);
  sum_of_lanes(lane_sums, 1, int(size), w_bar);
}

}  // namespace costate::learn
