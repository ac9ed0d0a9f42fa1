// Particles sorted by cell, the same on every run: what each thread does.
//
//   FindCells      the cell of a particle, and how many there are in each cell
//   SumCounts, SumAbove, PlaceAbove, PlaceCells      where each cell's particles begin
//   PlaceParticle  a particle into the part of its cell, in any order
//   RankParticle   and from there to its place among them, which is that of its number
//
// Integers are counted with atomics; which thread comes first decides the order within a cell only until
// RankParticle. Cells that hold particles are numbered (ranks) in the order of the cells.
// Tests: tests/cuda/device_points_test.cpp.
#pragma once

#include "costate/cuda/mpm/points_field.h"

namespace costate::cuda {

struct PointsOrder {
  int *cell, *ticket, *slot;   // of each particle; cell and slot are -1 outside the grid
  int *slot_cell, *any_order;  // of each slot: its cell; some particle of that cell
  int *count, *begin, *rank;   // of each cell: particles, first slot, number among those that hold any, or -1
  int* first;                  // of each rank: first slot
  int* live;                   // ranks
};

// Particles in the lower half, cells that hold any in the upper.
using CellSum = std::uint64_t;
inline constexpr int kCellsEach = 8, kSumsEach = 16;

COSTATE_HD COSTATE_INLINE CellSum cell_sum(int count) {
  return CellSum(unsigned(count)) | CellSum(count > 0) << 32;
}
COSTATE_HD COSTATE_INLINE int fetch_and_increment(int* at) {
#if defined(__CUDA_ARCH__)
  return atomicAdd(at, 1);
#else
  return __atomic_fetch_add(at, 1, __ATOMIC_RELAXED);
#endif
}

namespace thread {

template <class S, int D>
struct FindCells {
  PointsField<S, D> field;
  const S* x;  // positions
  PointsOrder to;
  COSTATE_HD void operator()(std::int64_t p) const {
    S f[D];
    const int cell = cell_of(field, x + p * D, f);
    to.cell[p] = cell;
    to.slot[p] = -1;
    if (cell >= 0) to.ticket[p] = fetch_and_increment(to.count + cell);
  }
};

// Arrays of cells are as long as the next multiple of kCellsEach, and hold zeros there.
struct SumCounts {
  const int* count;
  CellSum* sums;
  COSTATE_HD void operator()(std::int64_t t) const {
    CellSum sum = 0;
    int each[kCellsEach];
    load_record(count + t * kCellsEach, each);
    for (const int c : each) sum += cell_sum(c);
    sums[t] = sum;
  }
};
struct SumAbove {
  const CellSum* from;
  int size;
  CellSum* sums;
  COSTATE_HD void operator()(std::int64_t t) const {
    CellSum sum = 0;
    const int begin = int(t) * kSumsEach, end = begin + kSumsEach < size ? begin + kSumsEach : size;
    for (int i = begin; i < end; ++i) sum += from[i];
    sums[t] = sum;
  }
};
// Each sum becomes what comes before it. above: what comes before each chunk, or null at the top.
struct PlaceAbove {
  CellSum* sums;
  int size;
  const CellSum* above;
  COSTATE_HD void operator()(std::int64_t t) const {
    CellSum before = above ? above[t] : 0;
    const int begin = int(t) * kSumsEach, end = begin + kSumsEach < size ? begin + kSumsEach : size;
    for (int i = begin; i < end; ++i) {
      const CellSum own = sums[i];
      sums[i] = before;
      before += own;
    }
  }
};
struct PlaceCells {
  const CellSum* before;
  std::int64_t threads;
  PointsOrder to;
  COSTATE_HD void operator()(std::int64_t t) const {
    CellSum sum = before[t];
    int count[kCellsEach], begin[kCellsEach], rank[kCellsEach];
    load_record(to.count + t * kCellsEach, count);
    for (int c = 0; c < kCellsEach; ++c) {
      begin[c] = int(sum & 0xffffffffu);
      rank[c] = count[c] > 0 ? int(sum >> 32) : -1;
      if (count[c] > 0) to.first[sum >> 32] = begin[c];
      sum += cell_sum(count[c]);
    }
    store_record(to.begin + t * kCellsEach, begin);
    store_record(to.rank + t * kCellsEach, rank);
    if (t + 1 < threads) return;
    *to.live = int(sum >> 32);
    to.first[sum >> 32] = to.begin[threads * kCellsEach] = int(sum & 0xffffffffu);
  }
};

struct PlaceParticle {
  PointsOrder to;
  COSTATE_HD void operator()(std::int64_t p) const {
    const int cell = to.cell[p];
    if (cell >= 0) to.any_order[to.begin[cell] + to.ticket[p]] = int(p);
  }
};
struct RankParticle {
  PointsOrder to;
  COSTATE_HD void operator()(std::int64_t p) const {
    const int cell = to.cell[p];
    if (cell < 0) return;
    const int begin = to.begin[cell], end = to.begin[cell + 1];
    int slot = begin;
    for (int s = begin; s < end; ++s) slot += to.any_order[s] < int(p) ? 1 : 0;
    to.slot_cell[slot] = cell;
    to.slot[p] = slot;
  }
};

}  // namespace thread
}  // namespace costate::cuda
