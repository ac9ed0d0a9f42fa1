// What lies beyond the sides of a box, and its transpose.
//
//   side       speed across it                  speeds along it, beyond            pressure beyond
//   periodic   wraps                            wrap                               wraps
//   velocity   the face has the given speed     2 given - the one inside           even
//   slip       the face has speed 0             the one inside                     even
//   outflow    the next face has the same       the one inside                     odd: 0 on the side
//
// `set_sides` writes these into the halo of the components before a stage reads them. `set_sides_vjp` takes
// cotangents out of the halo and adds them where their values came from: to faces inside and to the given
// speeds. Sides that wrap need no fold: the transpose of a stage reads wrapped cotangents instead.
// Tests: tests/fluid/flow_test.cpp, cavity_test.cpp.
#pragma once

#include <array>

#include "costate/fluid/flow.h"
#include "costate/fluid/grid/field.h"
#include "costate/fluid/pressure/transform.h"

namespace costate::fluid {

template <class Real>
using Speeds = std::array<Plane<Real>, 3>;

// The given speeds of one component on one side: a number per face, x fastest.
template <class Real>
using SideSpeeds = std::array<std::array<std::array<Plane<Real>, 3>, 2>, 3>;  // [axis][end][component]

struct Sides {
  Shape shape;
  std::array<std::array<Side::Kind, 2>, 3> kind = {};  // [axis][end]

  bool given(int axis, int end) const {
    const auto k = kind[std::size_t(axis)][std::size_t(end)];
    return k == Side::Kind::velocity || k == Side::Kind::slip;
  }
  bool open(int axis, int end) const {
    return kind[std::size_t(axis)][std::size_t(end)] == Side::Kind::outflow;
  }
  // Faces of component a whose speed the step computes.
  Box free_faces(int a) const {
    Box box = shape.faces(a);
    const auto axis = std::size_t(a);
    if (given(a, 0)) ++box.lo[axis];
    if (given(a, 1)) --box.hi[axis];
    return box;
  }
  Ends ends(int a) const {
    if (shape.periodic[std::size_t(a)]) return Ends::periodic;
    if (open(a, 0)) return open(a, 1) ? Ends::odd_odd : Ends::odd_even;
    return open(a, 1) ? Ends::even_odd : Ends::even_even;
  }

  // f(at, number) for the lines of a box along `axis`: the index where their coordinate is 0.
  template <class F>
  void each_line(Box box, int axis, const F& f) const {
    box.lo[std::size_t(axis)] = 0, box.hi[std::size_t(axis)] = 1;
    Index number = 0;
    for (Index k = box.lo[2]; k < box.hi[2]; ++k)
      for (Index j = box.lo[1]; j < box.hi[1]; ++j)
        for (Index i = box.lo[0]; i < box.hi[0]; ++i) f(shape.at(i, j, k), number++);
  }
  Index side_faces(int axis, int component) const {
    Box box = shape.faces(component);
    box.lo[std::size_t(axis)] = 0, box.hi[std::size_t(axis)] = 1;
    return box.rows() * box.width();
  }

  // Copies of a field beyond the sides that wrap, corners too. `faces`: component, or -1 for cells.
  template <class S>
  void wrap(const Plane<value_t<S>>& field, int faces) const;

  // --- speeds ---------------------------------------------------------------------------------------------

  // S is a single number, with its tangent or without. The faces across a side, then what lies beyond.
  template <class S>
  void set_faces(const Speeds<value_t<S>>& u, const SideSpeeds<value_t<S>>& side) const;
  template <class S>
  void set_sides(const Speeds<value_t<S>>& u, const SideSpeeds<value_t<S>>& side) const;
  template <class S>
  void set_sides_vjp(const Speeds<value_t<S>>& u_bar, const SideSpeeds<value_t<S>>& side_bar) const;
  template <class S>
  void set_faces_vjp(const Speeds<value_t<S>>& u_bar, const SideSpeeds<value_t<S>>& side_bar) const;

  // For fluxes that read two numbers beyond a side, the second one (of a component across a side with given
  // speeds the first): on the line through the two before it. `faces`: component, or -1 for cells.
  template <class S>
  void carry_on(const Plane<value_t<S>>& f, int faces) const;
  template <class S>
  void carry_on_vjp(const Plane<value_t<S>>& f_bar, int faces) const;

  // One component with homogeneous sides: zero on walls, as inside beyond the others.
  template <class S>
  void set_still(const Plane<value_t<S>>& u, int c) const;
  // Nothing on faces that are not free, nor beyond.
  template <class S>
  void set_nothing_beyond(const Plane<value_t<S>>& u, int c) const;

  // --- pressure -------------------------------------------------------------------------------------------

  template <class S>
  void set_pressure(const Plane<value_t<S>>& p) const;
  // The transpose of a divergence sees nothing beyond a side that does not wrap.
  template <class S>
  void set_nothing(const Plane<value_t<S>>& p) const;
  // The gradient of pressure at an open side is that over half a cell: twice as large.
  template <class S>
  void scale_open_faces(const Speeds<value_t<S>>& u, double factor) const;

  // --- cells ----------------------------------------------------------------------------------------------

  // A field of cells goes on beyond a side as it is inside. Later axes carry on what earlier ones have made.
  template <class S>
  void extend(const Plane<value_t<S>>& f) const;
  template <class S>
  void extend_vjp(const Plane<value_t<S>>& f_bar) const;

 private:
  template <class S>
  void set_across(int a, int end, const Plane<value_t<S>>& u, const SideSpeeds<value_t<S>>& side) const {
    if (!given(a, end)) return;
    const auto axis = std::size_t(a);
    const Index offset = end ? shape.n[axis] * shape.stride[axis] : 0;
    const bool still = kind[axis][std::size_t(end)] == Side::Kind::slip;
    const Plane<value_t<S>>& speed = side[axis][std::size_t(end)][axis];
    each_line(shape.faces(a), a,
              [&](Index at, Index face) { store<S>(u, at + offset, still ? S(0) : load<S>(speed, face)); });
  }
  template <class S>
  void set_across_vjp(int a, int end, const Plane<value_t<S>>& u_bar,
                      const SideSpeeds<value_t<S>>& side_bar) const {
    if (!given(a, end)) return;
    const auto axis = std::size_t(a);
    const Index offset = end ? shape.n[axis] * shape.stride[axis] : 0;
    const bool still = kind[axis][std::size_t(end)] == Side::Kind::slip;
    const Plane<value_t<S>>& bar = side_bar[axis][std::size_t(end)][axis];
    each_line(shape.faces(a), a, [&](Index at, Index face) {
      if (!still) store<S>(bar, face, load<S>(bar, face) + load<S>(u_bar, at + offset));
      store<S>(u_bar, at + offset, S(0));
    });
  }

  // f(at, outside, inside, kind) for the lines of component c across the sides that do not wrap; across a
  // given side `outside` is the face on it.
  enum class Beyond { zero, odd, even };
  template <class F>
  void each_crossing(int c, const F& f) const {
    for (int a = 0; a < shape.dim; ++a) {
      if (shape.periodic[std::size_t(a)]) continue;
      for (int end = 0; end < 2; ++end) {
        const bool across = a == c && given(a, end);
        const auto [out, inside] = crossing(a, end, c);
        const Index outside = across ? inside : out;
        const Beyond beyond = across                                                           ? Beyond::zero
                              : kind[std::size_t(a)][std::size_t(end)] == Side::Kind::velocity ? Beyond::odd
                                                                                               : Beyond::even;
        each_line(shape.faces(c), a, [&, in = inside](Index at, Index) { f(at, outside, in, beyond); });
      }
    }
  }

  // f(outside, and the two numbers before it)
  template <class F>
  void each_second(int faces, const F& f) const {
    if (shape.reach == 1) return;
    for (int a = 0; a < shape.dim; ++a) {
      if (shape.periodic[std::size_t(a)]) continue;
      for (int end = 0; end < 2; ++end) {
        const auto [outside, inside] = crossing(a, end, faces);
        const Index step = outside - inside, first = a == faces && given(a, end) ? outside : outside + step;
        each_line(faces < 0 ? shape.all_cells() : shape.faces(faces), a,
                  [&](Index at, Index) { f(at + first, at + first - step, at + first - 2 * step); });
      }
    }
  }

  // The line across a side: where it leaves the box, and the nearest number inside.
  struct Crossing {
    Index outside, inside;
  };
  Crossing crossing(int a, int end, int c) const {
    const auto axis = std::size_t(a);
    const Index s = shape.stride[axis], n = shape.n[axis] + (a == c ? 1 : 0);
    return end ? Crossing{n * s, (n - 1) * s} : Crossing{-s, 0};
  }
  template <class S>
  void set_beyond(int a, int end, int c, const Plane<value_t<S>>& u,
                  const SideSpeeds<value_t<S>>& side) const {
    if (shape.periodic[std::size_t(a)] || (a == c && !open(a, end))) return;
    const auto [outside, inside] = crossing(a, end, c);
    if (kind[std::size_t(a)][std::size_t(end)] != Side::Kind::velocity)
      return each_line(shape.faces(c), a, [&, out = outside, in = inside](Index at, Index) {
        store<S>(u, at + out, load<S>(u, at + in));
      });
    const Plane<value_t<S>>& speed = side[std::size_t(a)][std::size_t(end)][std::size_t(c)];
    each_line(shape.faces(c), a, [&, out = outside, in = inside](Index at, Index face) {
      store<S>(u, at + out, value_t<S>(2) * load<S>(speed, face) - load<S>(u, at + in));
    });
  }
  template <class S>
  void set_beyond_vjp(int a, int end, int c, const Plane<value_t<S>>& u_bar,
                      const SideSpeeds<value_t<S>>& side_bar) const {
    if (shape.periodic[std::size_t(a)] || (a == c && !open(a, end))) return;
    const auto [outside, inside] = crossing(a, end, c);
    const bool fixed = kind[std::size_t(a)][std::size_t(end)] == Side::Kind::velocity;
    const Plane<value_t<S>>& bar = side_bar[std::size_t(a)][std::size_t(end)][std::size_t(c)];
    each_line(shape.faces(c), a, [&, out = outside, in = inside](Index at, Index face) {
      const S beyond = load<S>(u_bar, at + out), within = load<S>(u_bar, at + in);
      store<S>(u_bar, at + in, fixed ? within - beyond : within + beyond);
      store<S>(u_bar, at + out, S(0));
      if (fixed) store<S>(bar, face, load<S>(bar, face) + value_t<S>(2) * beyond);
    });
  }

  template <class S>
  void beyond_pressure(const Plane<value_t<S>>& p, value_t<S> sign) const {
    for (int a = 0; a < shape.dim; ++a) {
      if (shape.periodic[std::size_t(a)]) continue;
      for (int end = 0; end < 2; ++end) {
        const auto [outside, inside] = crossing(a, end, -1);
        const bool mirrored = open(a, end) && sign != value_t<S>(0);
        each_line(shape.all_cells(), a, [&, out = outside, in = inside](Index at, Index) {
          store<S>(p, at + out, mirrored ? sign * load<S>(p, at + in) : S(0));
        });
      }
    }
  }

  template <class F>
  void each_extension(const F& f, bool backwards) const {
    Box boxes[3];
    Box box = shape.all_cells();
    for (int a = 0; a < shape.dim; ++a) {
      boxes[a] = box;
      if (!shape.periodic[std::size_t(a)]) --box.lo[std::size_t(a)], ++box.hi[std::size_t(a)];
    }
    for (int m = 0; m < shape.dim; ++m) {
      const int a = backwards ? shape.dim - 1 - m : m;
      if (shape.periodic[std::size_t(a)]) continue;
      for (int end = 0; end < 2; ++end) {
        const auto [outside, inside] = crossing(a, end, -1);
        each_line(boxes[a], a, [&, out = outside, in = inside](Index at, Index) { f(at + out, at + in); });
      }
    }
  }
};

}  // namespace costate::fluid
