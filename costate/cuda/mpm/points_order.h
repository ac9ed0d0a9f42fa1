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
  int *cell, *ticket, *slot;          // of each particle; cell and slot are -1 outside the grid
  int *order, *slot_cell, *any_order;  // of each slot: particle, cell
  int *count, *rank;                  // of each cell: particles; number among those that hold any, or -1
  int *cells, *first;                 // of each rank: cell, first slot
  int* live;                          // ranks
};

// Particles in the lower half, cells that hold any in the upper.
using CellSum = std::uint64_t;
inline constexpr int kCellsEach = 32, kSumsEach = 128;

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

struct SumCounts {
  const int* count;
  int cells;
  CellSum* sums;
  COSTATE_HD void operator()(std::int64_t t) const {
    CellSum sum = 0;
    const int begin = int(t) * kCellsEach, end = begin + kCellsEach < cells ? begin + kCellsEach : cells;
    for (int c = begin; c < end; ++c) sum += cell_sum(count[c]);
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
  int cells;
  PointsOrder to;
  COSTATE_HD void operator()(std::int64_t t) const {
    CellSum sum = before[t];
    const int begin = int(t) * kCellsEach, end = begin + kCellsEach < cells ? begin + kCellsEach : cells;
    for (int c = begin; c < end; ++c) {
      const int count = to.count[c], rank = int(sum >> 32);
      to.rank[c] = count > 0 ? rank : -1;
      if (count > 0) to.cells[rank] = c, to.first[rank] = int(sum & 0xffffffffu);
      sum += cell_sum(count);
    }
    if (end == cells) *to.live = int(sum >> 32), to.first[sum >> 32] = int(sum & 0xffffffffu);
  }
};

struct PlaceParticle {
  PointsOrder to;
  COSTATE_HD void operator()(std::int64_t p) const {
    const int cell = to.cell[p];
    if (cell >= 0) to.any_order[to.first[to.rank[cell]] + to.ticket[p]] = int(p);
  }
};
struct RankParticle {
  PointsOrder to;
  COSTATE_HD void operator()(std::int64_t p) const {
    const int cell = to.cell[p];
    if (cell < 0) return;
    const int rank = to.rank[cell], begin = to.first[rank], end = to.first[rank + 1];
    int slot = begin;
    for (int s = begin; s < end; ++s) slot += to.any_order[s] < int(p) ? 1 : 0;
    to.order[slot] = int(p);
    to.slot_cell[slot] = cell;
    to.slot[p] = slot;
  }
};

}  // namespace thread
}  // namespace costate::cuda
