// Nested dissection of a graph whose vertices have places in space: an order in which a sparse symmetric
// matrix is eliminated with little fill, as a binary tree.
//
//   A part is cut at the median of its longest direction. The separator is that of the two boundaries
//   (vertices of one side with a neighbour on the other) which has fewer vertices. Both sides come before
//   the separator, and are cut again.
//
// Meshes of simulations have places, and a straight cut through a mesh is close to the best cut; no graph
// partitioner is needed. The result depends on nothing but the input.
// [1] George: Nested Dissection of a Regular Finite Element Mesh, SIAM J. Numer. Anal. 10 (1973).
// Tests: tests/solve/block_cholesky_test.cpp.
#pragma once

#include <span>
#include <vector>

namespace costate::solve {

// Neighbours of vertex i: neighbour[begin[i]] ... neighbour[begin[i + 1] - 1].
struct Graph {
  std::vector<int> begin, neighbour;
};

class NestedDissection {
 public:
  struct Node {
    int first = 0, count = 0;    // its vertices: order[first] ... order[first + count - 1]
    int children[2] = {-1, -1};  // nodes before this one; -1: none
  };
  std::vector<int> order;   // new to old
  std::vector<Node> nodes;  // in postorder

  // Vertices with keep[i] == 0 are left out. Places: 3 numbers per vertex.
  void run(const Graph& graph, std::span<const double> places, std::span<const char> keep);

 private:
  int part(int first, int last);
  int separate(int first, int last, int axis);

  const Graph* graph_ = nullptr;
  const double* places_ = nullptr;
  std::vector<int> side_;  // which call last put the vertex to the left (positive) or right (negative)
  std::vector<int> list_;  // vertices, permuted in place
  int calls_ = 0;
};

}  // namespace costate::solve
