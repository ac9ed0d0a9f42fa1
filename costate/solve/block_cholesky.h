// Sparse Cholesky factors of a symmetric positive definite matrix of 3x3 blocks: one per vertex of a mesh and
// one per pair of vertices that some element joins. Multifrontal, on the tree of a nested dissection.
//
//   A = L L'
//   front of a node: its own vertices (pivots) and every later vertex that they, or what is left of the
//   children's fronts, touch. Assemble A's blocks, add the children's updates, eliminate the pivots densely
//   (dense_panel.h), hand the rest to the parent.
//   x = A^-1 b: forwards through the nodes, and backwards.
//
// A is symmetric, so the transpose of the solve is the solve: b_bar = A^-1 x_bar. Sums have one order,
// whatever the machine's load: the same input gives the same bits. After analyse() nothing is allocated.
// [1] Duff, Reid: The Multifrontal Solution of Indefinite Sparse Symmetric Linear Equations, ACM TOMS 9
// (1983). Tests: tests/solve/block_cholesky_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "costate/solve/nested_dissection.h"

namespace costate::solve {

class BlockCholesky {
 public:
  using Pair = std::array<int, 2>;  // row, column

  // Blocks are numbered: n on the diagonal, then one per pair (row != column, each pair of vertices once; the
  // other half is its transpose). Vertices with keep[i] == 0 are not unknowns: their blocks are not read.
  // Places of vertices (3 n) guide the order.
  void analyse(int n, std::span<const Pair> pairs, std::span<const double> places,
               std::span<const char> keep);

  // 9 numbers per block, row by row; `shift` is added to the diagonal. False: not positive definite.
  bool factor(const double* blocks, double shift = 0);

  // x <- A^-1 x; of vertices that are no unknowns x is left alone. `work` has as many numbers as x.
  void solve(double* x, double* work) const;

  std::int64_t factor_size() const { return std::int64_t(values_.size()); }
  double flops() const { return flops_; }  // multiply-adds of a factorisation

 private:
  struct Entry {  // block -> front
    int block, row, column;
    bool transposed;
  };
  struct Node {
    int first = 0, pivots = 0, rows = 0;  // vertices; rows: those below the pivots
    int row_begin = 0;                    // into rows_
    int entry_begin = 0, entry_end = 0;
    int children[2] = {-1, -1};
    int map_begin[2] = {0, 0};  // into map_: where the child's rows lie in this front
    std::int64_t values = 0;    // where its columns of L begin
  };
  void symbolic();
  void place_blocks(std::span<const Pair> pairs, std::span<const char> keep);
  void assemble(const Node& node, const double* blocks, double shift, const double* const* updates);

  int n_ = 0;
  double flops_ = 0;
  Graph graph_;
  NestedDissection order_;
  std::vector<int> position_;  // old to new; -1: no unknown
  std::vector<int> node_of_;   // of a new position
  std::vector<Node> nodes_;
  std::vector<int> rows_, map_, mark_, fill_;
  std::vector<Entry> entries_;
  std::vector<double> values_, front_, stack_;
};

}  // namespace costate::solve
