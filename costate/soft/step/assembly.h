// Assembly: slots of groups (elements/term.h) become numbers of vertices and blocks of the Newton matrix.
//
// Each vertex, and each pair of vertices that share a group, has a list of the slots that belong to it, and
// adds them up in the order of the groups. Nothing is scattered, so loops run in parallel and have the same
// bits for every number of threads.
#pragma once

#include <span>
#include <vector>

#include "costate/soft/elements/term.h"
#include "costate/solve/block_cholesky.h"

namespace costate::soft {

class Assembly {
 public:
  using Pair = solve::BlockCholesky::Pair;

  // Slots of the groups follow one another in one array, and so do their blocks.
  Assembly(int vertices, const std::vector<const Groups*>& groups);

  const std::vector<Pair>& pairs() const { return pairs_; }
  std::int64_t slots() const { return slots_; }         // of one vertex each
  std::int64_t block_slots() const { return blocks_; }  // of one pair each
  std::int64_t blocks() const { return vertices_ + std::int64_t(pairs_.size()); }

  // out[vertex] += sum of its slots, `width` numbers each.
  void add(const double* slots, int width, double* out) const;
  // blocks: vertices on the diagonal, then pairs().
  void gather_blocks(const double* slots, double* blocks) const;
  // Number of the block (row, column), row > column; -1: there is none.
  std::int64_t find(int row, int column) const;
  // y = A x with the blocks of both halves.
  void multiply(const double* blocks, const double* x, double* y) const;

 private:
  struct Source {
    std::int64_t slot;
    bool transposed;
  };
  struct Entry {
    std::int64_t block;
    int column;
    bool transposed;
  };
  int vertices_;
  std::int64_t slots_ = 0, blocks_ = 0;
  std::vector<Pair> pairs_;
  std::vector<std::int64_t> slot_begin_, slot_of_;
  std::vector<std::int64_t> source_begin_;
  std::vector<Source> sources_;
  std::vector<std::int64_t> row_begin_;
  std::vector<Entry> rows_;
};

}  // namespace costate::soft
