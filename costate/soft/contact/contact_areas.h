// The area of the rest shape that a barrier stands for: contact that does not depend on the mesh.
//
//   vertex   a third of the triangles around it; where there are none half of the segments of rods, a length
//   edge     a third of the triangles beside it; a segment of a rod its length
//   weight   of a point and a triangle  point/4,   of two edges  (edge + edge)/4,
//            of a vertex and an obstacle  vertex
//
// A surface on another one has points and edges of both on it, and the weights of all pairs add up to its
// area: contact/stiffness is then a stiffness per area [Pa/m].
// [1] Li, Ferguson, Schneider, Langlois, Zorin, Panozzo, Jiang, Kaufman: Convergent Incremental Potential
// Contact, arXiv 2307.15908 (2023), section 3. Tests: tests/soft/contact_areas_test.cpp,
// tests/python/test_ipctk.py (against the IPC Toolkit).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace costate::soft {

// Vertices first, then edges in the order in which triangles and then segments name them.
class ContactAreas {
 public:
  ContactAreas(int vertices, std::span<const int> triangles, std::span<const int> segments);

  std::int64_t count() const { return vertices_ + std::int64_t(edges_.size()); }
  void of(const double* rest, double* areas) const;
  void of_jvp(const double* rest, const double* rest_dot, double* areas_dot) const;
  void of_vjp(const double* rest, const double* areas_bar, double* rest_bar) const;  // adds

  // The place of an edge of these two vertices among the areas.
  std::int64_t edge(int a, int b) const;

 private:
  using Edge = std::pair<int, int>;  // the smaller vertex first
  template <class Triangle, class Segment>
  void visit(const Triangle& triangle, const Segment& segment) const;

  int vertices_;
  std::vector<int> triangles_, segments_;
  std::vector<char> on_triangle_;  // per vertex
  std::vector<Edge> edges_;        // sorted
};

}  // namespace costate::soft
