// Numbers of cells on edges: the mean of the four cells around, and its transpose. The edge (a, b) at an
// index is the corner of that cell towards lower a and b.
// Tests: tests/fluid/flow_test.cpp (viscosity per cell), tests/contract.
#pragma once

#include "costate/fluid/grid/sides.h"

namespace costate::fluid {

inline int edge(int a, int b) { return a + b - 1; }  // (0, 1), (0, 2), (1, 2) -> 0, 1, 2

// What lies beyond the sides of `cells` has been set.
template <class S, int Dim>
void mean_over_edges(const Shape& shape, const Plane<value_t<S>>& cells,
                     const std::array<Plane<value_t<S>>, 3>& edges) {
  Box box = shape.all_cells();
  for (int a = 0; a < Dim; ++a) ++box.hi[std::size_t(a)];
  for (int a = 0; a < Dim; ++a) {
    for (int b = a + 1; b < Dim; ++b) {
      const Index i = shape.stride[std::size_t(a)], j = shape.stride[std::size_t(b)];
      each_pack<S>(shape, box, [&](Index at, Index count) {
        const auto x = [&](Index from) { return load<S>(cells, from); };
        store<S>(edges[std::size_t(edge(a, b))], at,
                 value_t<S>(0.25) * ((x(at) + x(at - i)) + (x(at - j) + x(at - i - j))), count);
      });
    }
  }
}
// Adds to the cells, and to those beyond the sides.
template <class S, int Dim>
void mean_over_edges_vjp(const Sides& sides, const std::array<Plane<value_t<S>>, 3>& edges_bar,
                         const Plane<value_t<S>>& cells_bar) {
  for (int a = 0; a < Dim; ++a) {
    for (int b = a + 1; b < Dim; ++b) {
      const Plane<value_t<S>>& edges = edges_bar[std::size_t(edge(a, b))];
      sides.template wrap<Single<S>>(edges, -1);
      const Index i = sides.shape.stride[std::size_t(a)], j = sides.shape.stride[std::size_t(b)];
      each_pack<S>(sides.shape, sides.shape.widened(sides.shape.all_cells()), [&](Index at, Index count) {
        const auto bar = [&](Index from) { return load<S>(edges, from); };
        store<S>(cells_bar, at,
                 load<S>(cells_bar, at) +
                     value_t<S>(0.25) * ((bar(at) + bar(at + i)) + (bar(at + j) + bar(at + i + j))),
                 count);
      });
    }
  }
}

}  // namespace costate::fluid
