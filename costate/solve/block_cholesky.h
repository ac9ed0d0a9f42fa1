// Sparse Cholesky factors of a symmetric positive definite matrix of 3x3 blocks: one per vertex of a mesh and
// one per pair of vertices that some element joins. Multifrontal, on the tree of a nested dissection.
//
//   A = L L'
//   front of a node: its own vertices (pivots) and every later vertex that they, or what is left of the
//   children's fronts, touch. Assemble A's blocks, add the children's updates, eliminate the pivots densely
//   (dense_panel.h), hand the rest to the parent.
//   x = A^-1 b: forwards through the nodes, and backwards.
//
// A is symmetric, so the transpose of the solve is the solve: b_bar = A^-1 x_bar. Large subtrees are factored
// in parallel. Sums have one order, whatever the threads: the same input gives the same bits. After analyse()
// nothing is allocated.
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
  // Places of vertices (3 n) guide the order. `single`: factor_single will be called.
  void analyse(int n, std::span<const Pair> pairs, std::span<const double> places, std::span<const char> keep,
               bool single = false);

  // 9 numbers per block, row by row; `shift` is added to the diagonal. False: not positive definite.
  bool factor(const double* blocks, double shift = 0);

  // x <- A^-1 x; of vertices that are no unknowns x is left alone. `work` has twice as many numbers as x.
  void solve(double* x, double* work) const;

  // The same with factors in single precision, in half of the time and memory: a preconditioner.
  bool factor_single(const double* blocks);
  void solve_single(double* x, double* work) const;

  std::int64_t factor_size() const { return value_count_; }
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
    std::int64_t update = 0;    // where what it leaves to its parent begins
    std::int64_t stride() const;
  };
  // Nodes [begin, end), one after the other, after the branches, which do not wait for each other.
  struct Branch {
    int begin = 0, end = 0;
    int branches[2] = {-1, -1};
    std::int64_t front = 0;  // where its front begins
  };
  template <class Real>
  struct Numbers {
    std::vector<Real> values, fronts, updates;
  };
  void symbolic();
  int plant(int node, int depth);
  void place_updates();
  void place_blocks(std::span<const Pair> pairs, std::span<const char> keep);
  template <class Real>
  bool grow(int branch, const double* blocks, double shift, Numbers<Real>& to) const;
  template <class Real>
  void assemble(const Node& node, const double* blocks, double shift, Real* F, const Real* updates) const;
  template <class Real>
  bool eliminate(const Node& node, const double* blocks, double shift, Real* F, Numbers<Real>& to) const;
  template <class Real>
  void substitute(const std::vector<Real>& values, double* x, double* work) const;

  int n_ = 0;
  double flops_ = 0;
  Graph graph_;
  NestedDissection order_;
  std::vector<int> position_;  // old to new; -1: no unknown
  std::vector<int> node_of_;   // of a new position
  std::vector<Node> nodes_;
  std::vector<Branch> branches_;  // the last one is the whole tree
  std::vector<int> rows_, map_, mark_, fill_;
  std::vector<Entry> entries_;
  std::int64_t value_count_ = 0, front_count_ = 0, update_count_ = 0;
  Numbers<double> double_;
  Numbers<float> single_;
};

}  // namespace costate::solve
