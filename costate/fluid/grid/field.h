// Fields on a staggered (MAC) grid of n[0] x n[1] (x n[2]) cells.
//
//   cell (i, j, k)        the number at index i + j stride[1] + k stride[2]
//   component a of speed  on the face of a cell towards lower coordinates along axis a, at the same index
//
// Every field is surrounded by `halo` numbers on each side, so that loops over cells have no branches: what
// lies beyond a side is written there beforehand (grid/sides.h). x is fastest. A field has a plane of values,
// and for derivatives a plane of tangents; S chooses which are read: Pack<Real> or Dual<Pack<Real>>.
// Tests: tests/fluid/ (every kernel runs on these).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "costate/ad/dual.h"
#include "costate/core/pack.h"
#include "costate/core/parallel.h"

namespace costate::fluid {

using Index = std::int64_t;

template <class Real>
struct Plane {
  Real* value = nullptr;
  Real* tangent = nullptr;  // null: not there

  Plane operator+(Index at) const { return {value + at, tangent ? tangent + at : nullptr}; }
};

template <class S>
inline constexpr bool kIsDual = false;
template <class P>
inline constexpr bool kIsDual<Dual<P>> = true;
// Numbers of type S at one place: one lane of it.
template <class S>
using Single = std::conditional_t<kIsDual<S>, Dual<value_t<S>>, value_t<S>>;

template <class S>
COSTATE_INLINE S load(const Plane<value_t<S>>& from, Index at) {
  using Real = value_t<S>;
  if constexpr (lanes_of<S> == 1 && !kIsDual<S>) {
    return from.value[at];
  } else if constexpr (lanes_of<S> == 1) {
    return S(from.value[at], from.tangent[at]);
  } else if constexpr (kIsDual<S>) {
    using P = NativePack<Real>;
    return S(P::load_unaligned(from.value + at), P::load_unaligned(from.tangent + at));
  } else {
    return S::load_unaligned(from.value + at);
  }
}

// One number in all lanes.
template <class S>
COSTATE_INLINE S everywhere(const Single<S>& x) {
  if constexpr (kIsDual<S>) {
    using P = NativePack<value_t<S>>;
    return S(P(x.v), P(x.d[0]));
  } else {
    return S(x);
  }
}

template <class Real, int N>
COSTATE_INLINE void store_lanes(Real* to, const Pack<Real, N>& x, Index count) {
  if (count >= N) return x.store_unaligned(to);
  for (int l = 0; l < int(count); ++l) to[l] = x[l];
}
// The first `count` lanes.
template <class S>
COSTATE_INLINE void store(const Plane<value_t<S>>& to, Index at, const S& x, Index count = 1) {
  if constexpr (lanes_of<S> == 1 && !kIsDual<S>) {
    to.value[at] = x;
  } else if constexpr (lanes_of<S> == 1) {
    to.value[at] = x.v, to.tangent[at] = x.d[0];
  } else if constexpr (kIsDual<S>) {
    store_lanes(to.value + at, x.v, count);
    store_lanes(to.tangent + at, x.d[0], count);
  } else {
    store_lanes(to.value + at, x, count);
  }
}

// A box of indices: lo[a] <= i_a < hi[a].
struct Box {
  std::array<Index, 3> lo = {}, hi = {1, 1, 1};
  Index rows() const { return std::max<Index>(0, (hi[1] - lo[1]) * (hi[2] - lo[2])); }
  Index width() const { return std::max<Index>(0, hi[0] - lo[0]); }
};

struct Shape {
  int dim = 2;
  std::array<Index, 3> n = {1, 1, 1}, stride = {1, 0, 0};
  std::array<double, 3> h = {1, 1, 1};
  std::array<bool, 3> periodic = {};
  Index size = 0, origin = 0;  // numbers of a field; where cell (0, 0, 0) is
  Index reach = 1;             // how far beyond a side fluxes read: 1, limited ones (carry/limited.h) 2
  Index halo = 2;              // numbers around the cells
  // Places of the faces along every axis, of a stretched grid (n + 1 each, the first one 0); null: they are h
  // apart. Then h is the mean width.
  std::shared_ptr<const std::array<std::vector<double>, 3>> lines = nullptr;

  Shape() = default;
  // `lanes`: rows end with room for one more pack, which is read but not used.
  Shape(int dimension, std::array<Index, 3> cells, std::array<double, 3> width, std::array<bool, 3> wraps,
        Index lanes, Index reads = 1)
      : dim(dimension), n(cells), h(width), periodic(wraps), reach(reads) {
    halo = reach == 1 ? 2 : 5;  // what gathers from beyond a side is read from further still
    stride[1] = (n[0] + 1 + 2 * halo + lanes + 7) / 8 * 8 + 8;
    stride[2] = stride[1] * (n[1] + 1 + 2 * halo);
    const Index planes = dim == 3 ? n[2] + 1 + 2 * halo : 1;
    size = stride[2] * planes + 2 * lanes;
    origin = halo + halo * stride[1] + (dim == 3 ? halo * stride[2] : 0);
  }
  Index at(Index i, Index j, Index k) const { return origin + i + j * stride[1] + k * stride[2]; }
  Index cells() const { return n[0] * n[1] * n[2]; }
  Box all_cells() const { return {{0, 0, 0}, n}; }
  // Where a face and the middle of a cell lie, inside; how wide a cell is, and how far apart the middles of
  // the two cells at a face. Beyond a side cells are mirrored, or wrap.
  double face_place(int a, Index i) const {
    return lines ? (*lines)[std::size_t(a)][std::size_t(i)] : double(i) * h[std::size_t(a)];
  }
  double cell_place(int a, Index i) const {
    return lines ? (face_place(a, i) + face_place(a, i + 1)) / 2 : (double(i) + 0.5) * h[std::size_t(a)];
  }
  double width(int a, Index i) const {
    if (!lines) return h[std::size_t(a)];
    const Index m = n[std::size_t(a)];
    if (periodic[std::size_t(a)])
      i = (i % m + m) % m;
    else
      i = std::clamp<Index>(i < 0 ? -1 - i : i >= m ? 2 * m - 1 - i : i, 0, m - 1);
    return face_place(a, i + 1) - face_place(a, i);
  }
  bool stretched(int a) const {
    if (!lines) return false;
    for (Index i = 1; i < n[std::size_t(a)]; ++i)
      if (std::abs(width(a, i) - width(a, 0)) > 1e-12 * width(a, 0)) return true;
    return false;
  }
  double distance(int a, Index i) const { return (width(a, i - 1) + width(a, i)) / 2; }
  // Where component a is stored in a state: with both ends of an axis that does not wrap.
  Box faces(int a) const {
    Box box = all_cells();
    if (!periodic[std::size_t(a)]) ++box.hi[std::size_t(a)];
    return box;
  }
  Index face_count(int a) const { return faces(a).rows() * faces(a).width(); }
  // The box and what reads it from outside: `reach` more on each side of an axis that does not wrap.
  Box widened(Box box) const {
    for (int a = 0; a < dim; ++a) {
      if (periodic[std::size_t(a)]) continue;
      box.lo[std::size_t(a)] -= reach;
      box.hi[std::size_t(a)] += reach;
    }
    return box;
  }
};

// f(row, at) for the rows of a box: their number, and the index of their first number. Chunks do not depend
// on the number of threads.
template <class F>
void each_row(const Shape& shape, const Box& box, const F& f) {
  const Index height = box.hi[1] - box.lo[1],
              grain = std::max<Index>(1, 4096 / std::max<Index>(1, box.width()));
  parallel_for(box.rows(), grain, [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row)
      f(row, shape.at(box.lo[0], box.lo[1] + row % height, box.lo[2] + row / height));
  });
}
// f(at, count) for the packs of a box.
template <class S, class F>
void each_pack(const Shape& shape, const Box& box, const F& f) {
  each_row(shape, box, [&](Index, Index at) {
    for (Index i = 0; i < box.width(); i += lanes_of<S>) f(at + i, box.width() - i);
  });
}

}  // namespace costate::fluid
