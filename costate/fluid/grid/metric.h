// Widths of cells, as differences read them.
//
//   cell(a, at)   1 / w_i               w_i the width of the cell along a
//   face(a, at)   1 / d_i               d_i = (w_(i-1) + w_i) / 2, between the middles of the cells at a face
//   low(a, at)    w_(i-1) / (2 d_i)     the lower cell's share of what both hold together
//
// On an even grid the first two are numbers of the axis. On a stretched one all three are fields, filled
// once; beyond a side cells are mirrored, or wrap. A difference of faces belongs to a cell and is over w, one
// of cells belongs to a face and is over d. With the volumes V of cells and F of faces (d times the area),
// minus the gradient is then the transpose of the divergence under these weights (step/projection.h).
// Tests: tests/fluid/stretched_test.cpp.
#pragma once

#include "costate/fluid/grid/field.h"

namespace costate::fluid {

template <class Real>
struct MetricFields {
  std::array<Plane<Real>, 3> cell, face, low;  // values alone; on an even grid not there

  void fill(const Shape& shape) const {
    const Index rows = shape.n[1] + 1 + 2 * shape.halo;
    for (Index at = 0; at < shape.size; ++at) {
      const Index row = at / shape.stride[1];
      const std::array<Index, 3> index = {at % shape.stride[1] - shape.halo, row % rows - shape.halo,
                                          row / rows - shape.halo};
      for (int axis = 0; axis < shape.dim; ++axis) {
        const auto a = std::size_t(axis);
        const double distance = shape.distance(axis, index[a]);
        cell[a].value[at] = Real(1 / shape.width(axis, index[a]));
        face[a].value[at] = Real(1 / distance);
        low[a].value[at] = Real(shape.width(axis, index[a] - 1) / (2 * distance));
      }
    }
  }
  // Of a cell and of a face of component a, in units of the mean cell.
  template <class S>
  COSTATE_INLINE S cell_size(const Shape& shape, Index at) const {
    S size = S(Real(1 / shape.h[0])) / load<S>(cell[0], at);
    for (std::size_t a = 1; a < std::size_t(shape.dim); ++a)
      size = size * (S(Real(1 / shape.h[a])) / load<S>(cell[a], at));
    return size;
  }
  template <class S>
  COSTATE_INLINE S face_size(const Shape& shape, int component, Index at) const {
    S size(Real(1));
    for (std::size_t a = 0; a < std::size_t(shape.dim); ++a)
      size = size * (S(Real(1 / shape.h[a])) / load<S>(int(a) == component ? face[a] : cell[a], at));
    return size;
  }
};

template <class S, bool Stretched>
struct Metric {
  using Real = value_t<S>;
  std::array<Real, 3> per_h;

  template <class Work>
  Metric(const Shape& shape, const Work&) {
    for (std::size_t a = 0; a < 3; ++a) per_h[a] = Real(1 / shape.h[a]);
  }
  COSTATE_INLINE Real cell(int a, Index) const { return per_h[std::size_t(a)]; }
  COSTATE_INLINE Real face(int a, Index) const { return per_h[std::size_t(a)]; }
};

// Packs without tangents: places of cells are no inputs.
template <class S>
struct Metric<S, true> {
  using Real = value_t<S>;
  using P = NativePack<Real>;
  MetricFields<Real> of;

  template <class Work>
  Metric(const Shape&, const Work& work) : of(work.metric) {}
  COSTATE_INLINE P cell(int a, Index at) const { return load<P>(of.cell[std::size_t(a)], at); }
  COSTATE_INLINE P face(int a, Index at) const { return load<P>(of.face[std::size_t(a)], at); }
  COSTATE_INLINE P low(int a, Index at) const { return load<P>(of.low[std::size_t(a)], at); }
};

}  // namespace costate::fluid
