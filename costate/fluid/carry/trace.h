// Numbers that the flow carries along, traced back to where they were (semi-Lagrangian [1]), and corrected
// as MacCormack does [2]; with their transposes.
//
//   traced        y_i = f(x_i - shift_i)                     shift = dt u(x_i), f linear between its points
//   MacCormack    once = traced f     twice_i = once(x_i + shift_i)
//                 y = once + (f - twice) / 2, held between the least and the largest of the 2^d numbers of f
//                 around x_i - shift_i
//
// f is a component on its faces, or a scalar in cells (component -1). Beyond a side that wraps lies the
// other end, beyond one with a given value that value, and beyond any other (and of `once`) what lies on
// it. dt has no limit. There is a corner where a point is traced across the middle of cells, or begins to be
// held: derivatives are exact between those. Still air lies on a corner everywhere, and so does the axis of
// whatever is symmetric. Rounding must not choose their side: a point that is less than kNoise of a cell
// below a number of f counts as above it, and numbers that differ by less than kNoise of themselves count as
// equal.
//
//   traced, transposed        f_bar(corner) += weight y_bar        shift_bar = -slope y_bar
//   MacCormack, transposed    the stages in reverse; a number that is held passes y_bar on to what holds it
//
// Corners are scattered to, in the order of the points, by one thread.
//
// [1] Courant, Isaacson, Rees, Comm. Pure Appl. Math. 5 (1952); Stam, Stable Fluids, SIGGRAPH 1999.
// [2] Selle, Fedkiw, Kim, Liu, Rossignac, J. Sci. Comput. 35 (2008), section 3.
// Tests: tests/fluid/smoke_test.cpp.
#pragma once

#include <cmath>

#include "costate/fluid/step/flow_inputs.h"
#include "costate/fluid/step/row_sums.h"

namespace costate::fluid {

template <class S, int Dim>
struct Trace {
  using Real = value_t<S>;
  using One = Single<S>;
  // Given numbers beyond a side, or null; [2 axis + end].
  using Beyond = std::array<const Plane<Real>*, 6>;
  static constexpr int kCells = -1;
  static constexpr Real kNoise = Real(sizeof(Real) == 8 ? 1e-9 : 1e-5);

  const Sides& sides;
  FlowScratch<Real>& work;
  const Speeds<Real>& u;  // with what lies beyond the sides
  One dt;
  const Shape& shape = sides.shape;

  // --- the step --------------------------------------------------------------------------------------------

  // To the points of `box`. `from` is copied to work.trace first.
  void traced(int c, const Box& box, const Plane<Real>& from, const Beyond& beyond,
              const Plane<Real>& to) const {
    recall(c, from, beyond, work.trace.from);
    trace(c, box, work.trace.from, to);
  }
  void mac_cormack(const Plane<Real>& from, const Beyond& beyond, const Plane<Real>& to) const {
    recall(kCells, from, beyond, work.trace.from);
    trace_once();
    each_point(shape.all_cells(), [&](const Point& x, Index at) { store<One>(to, at, corrected(x, at).y); });
  }

  // --- its transpose ---------------------------------------------------------------------------------------

  // y_bar on the points of `box`; adds to f_bar, beyond_bar and work.trace.shift_bar.
  void traced_vjp(int c, const Box& box, const Plane<Real>& from, const Beyond& beyond,
                  const Plane<Real>& y_bar, const Plane<Real>& f_bar, const Beyond& beyond_bar) const {
    recall(c, from, beyond, work.trace.from);
    clear<S>(shape, work.trace.from_bar);
    each_point_in_order(box, [&](const Point& x, Index at) {
      sample_vjp(place(c, x, at, -1), work.trace.from, load<One>(y_bar, at), -1, at, work.trace.from_bar);
    });
    give_back(c, beyond_bar, work.trace.from_bar, f_bar);
  }
  void mac_cormack_vjp(const Plane<Real>& from, const Beyond& beyond, const Plane<Real>& y_bar,
                       const Plane<Real>& f_bar, const Beyond& beyond_bar) const {
    const auto& t = work.trace;
    recall(kCells, from, beyond, t.from);
    trace_once();
    clear<S>(shape, t.from_bar);
    clear<S>(shape, t.once_bar);
    each_point_in_order(shape.all_cells(), [&](const Point& x, Index at) {
      const Corrected made = corrected(x, at);
      const One bar = load<One>(y_bar, at), half = One(Real(0.5)) * bar;
      if (made.held >= 0) return add(t.from_bar, made.held, bar);
      add(t.once_bar, at, bar);
      add(t.from_bar, at, half);
      sample_vjp(place(kCells, x, at, 1), t.once, -half, 1, at, t.once_bar);
    });
    fold(kCells, {}, t.once_bar);
    each_point_in_order(shape.all_cells(), [&](const Point& x, Index at) {
      sample_vjp(place(kCells, x, at, -1), t.from, load<One>(t.once_bar, at), -1, at, t.from_bar);
    });
    give_back(kCells, beyond_bar, t.from_bar, f_bar);
  }

  void clear_shifts() const {
    for (std::size_t a = 0; a < Dim; ++a) clear<S>(shape, work.trace.shift_bar[a]);
  }
  // What the shifts of the points of component c got goes to the speeds that they were made of.
  void shifts_vjp(int c, const Speeds<Real>& u_bar) const {
    for (int a = 0; a < Dim; ++a) {
      const Plane<Real>& bar = work.trace.shift_bar[std::size_t(a)];
      sides.template wrap<One>(bar, c);
      const S scale = everywhere<S>(One(Real(1 / shape.h[std::size_t(a)])) * dt);
      each_pack<S>(shape, shape.widened(shape.faces(a)), [&](Index at, Index count) {
        store<S>(u_bar[std::size_t(a)], at,
                 load<S>(u_bar[std::size_t(a)], at) + scale * spread(c, a, bar, at), count);
      });
    }
  }
  // <d shift / d dt, shift_bar>
  One dt_bar(int c, const Box& box) const {
    One total(0);
    for (int a = 0; a < Dim; ++a) {
      const Plane<Real>& bar = work.trace.shift_bar[std::size_t(a)];
      const auto sum = sum_packs<S, 1>(shape, box, work.sums, [&](Index at, Index) {
        return std::array<S, 1>{load<S>(bar, at) * mean_speed<S>(c, a, at)};
      });
      total = total + One(Real(1 / shape.h[std::size_t(a)])) * sum[0];
    }
    return total;
  }

 private:
  using Point = std::array<Index, 3>;
  // A point between numbers of a field: the lowest of its corners, and how far it is from there along each
  // axis.
  struct Place {
    Index at;
    std::array<One, Dim> t;
    std::array<bool, Dim> moves;  // false: so far beyond a side that nothing changes any more
  };
  static Real value(const One& x) {
    if constexpr (kIsDual<S>)
      return x.v;
    else
      return x;
  }
  Box points(int c) const { return c < 0 ? shape.all_cells() : shape.faces(c); }

  // The speed along a where component c lies: a mean of one, two or four.
  template <class T>
  T mean_speed(int c, int a, Index at) const {
    const Plane<Real>& of = u[std::size_t(a)];
    if (c == a) return load<T>(of, at);
    const Index s = shape.stride[std::size_t(a)];
    const T here = load<T>(of, at) + load<T>(of, at + s);
    if (c < 0) return Real(0.5) * here;
    const Index below = at - shape.stride[std::size_t(c)];
    return Real(0.25) * (here + (load<T>(of, below) + load<T>(of, below + s)));
  }
  // The same numbers gathered the other way: what the speed on a face of a gave to its points.
  S spread(int c, int a, const Plane<Real>& bar, Index at) const {
    if (c == a) return load<S>(bar, at);
    const Index s = shape.stride[std::size_t(a)];
    const S here = load<S>(bar, at) + load<S>(bar, at - s);
    if (c < 0) return Real(0.5) * here;
    const Index above = at + shape.stride[std::size_t(c)];
    return Real(0.25) * (here + (load<S>(bar, above) + load<S>(bar, above - s)));
  }

  Place place(int c, const Point& x, Index at, int sign) const {
    Place p{shape.origin, {}, {}};
    const Box box = points(c);
    for (std::size_t a = 0; a < Dim; ++a) {
      const One shift =
          One(Real(double(sign) / shape.h[a])) * dt * mean_speed<One>(c, int(a), at);  // in cells
      const Real n = Real(box.hi[a]), wanted = Real(x[a]) + value(shift);
      Index low = -1;
      p.moves[a] = true;
      if (!std::isfinite(wanted)) {
        p.t[a] = shift;  // which is not a number either
      } else if (shape.periodic[a]) {
        const Real floor = std::floor(wanted + kNoise), rest = floor - n * std::floor(floor / n);
        p.t[a] = shift + One(Real(x[a]) - floor);
        low = rest >= 0 && rest < n ? Index(rest) : 0;  // 0: too far for the digits of a number
      } else if (wanted >= n || wanted < Real(-1)) {
        p.moves[a] = false;
        p.t[a] = One(Real(wanted < 0 ? 0 : 1));
        low = wanted < 0 ? -1 : box.hi[a] - 1;
      } else {
        low = std::min(Index(std::floor(wanted + kNoise)), box.hi[a] - 1);
        p.t[a] = shift + One(Real(x[a] - low));
      }
      p.at += low * shape.stride[a];
    }
    return p;
  }
  static constexpr int kCorners = 1 << Dim;
  Index corner(const Place& p, int k) const {
    Index at = p.at;
    for (int a = 0; a < Dim; ++a)
      if (k >> a & 1) at += shape.stride[std::size_t(a)];
    return at;
  }
  // The weight of corner k, without the factor of axis `without`.
  static One weight(const Place& p, int k, int without = -1) {
    One w(1);
    for (int a = 0; a < Dim; ++a) {
      const One& t = p.t[std::size_t(a)];
      if (a != without) w = w * (k >> a & 1 ? t : One(1) - t);
    }
    return w;
  }
  One sample(const Place& p, const Plane<Real>& f) const {
    One sum(0);
    for (int k = 0; k < kCorners; ++k) sum = sum + weight(p, k) * load<One>(f, corner(p, k));
    return sum;
  }
  // `sign`: of the shift in the place.
  void sample_vjp(const Place& p, const Plane<Real>& f, const One& bar, int sign, Index at,
                  const Plane<Real>& f_bar) const {
    for (int k = 0; k < kCorners; ++k) add(f_bar, corner(p, k), weight(p, k) * bar);
    for (int a = 0; a < Dim; ++a) {
      if (!p.moves[std::size_t(a)]) continue;
      One slope(0);
      for (int k = 0; k < kCorners; ++k) {
        const One part = weight(p, k, a) * load<One>(f, corner(p, k));
        slope = k >> a & 1 ? slope + part : slope - part;
      }
      add(work.trace.shift_bar[std::size_t(a)], at, One(Real(sign)) * slope * bar);
    }
  }
  static void add(const Plane<Real>& to, Index at, const One& x) {
    store<One>(to, at, load<One>(to, at) + x);
  }

  void trace(int c, const Box& box, const Plane<Real>& from, const Plane<Real>& to) const {
    each_point(box, [&](const Point& x, Index at) { store<One>(to, at, sample(place(c, x, at, -1), from)); });
  }
  void trace_once() const {
    trace(kCells, shape.all_cells(), work.trace.from, work.trace.once);
    extend(kCells, {}, work.trace.once);
  }
  static bool is_below(Real a, Real b) { return b - a > kNoise * (std::abs(a) + std::abs(b)); }
  struct Corrected {
    One y;
    Index held;  // at: by the number at this index; -1: it is not
  };
  Corrected corrected(const Point& x, Index at) const {
    const Plane<Real>&from = work.trace.from, &once = work.trace.once;
    const One y =
        load<One>(once, at) + One(Real(0.5)) * (load<One>(from, at) - sample(place(kCells, x, at, 1), once));
    const Place back = place(kCells, x, at, -1);
    Index least = corner(back, 0), most = least;
    for (int k = 1; k < kCorners; ++k) {
      const Index here = corner(back, k);
      if (is_below(from.value[here], from.value[least])) least = here;
      if (is_below(from.value[most], from.value[here])) most = here;
    }
    if (is_below(value(y), from.value[least])) return {load<One>(from, least), least};
    if (is_below(from.value[most], value(y))) return {load<One>(from, most), most};
    return {y, -1};
  }

  // --- beyond the sides ------------------------------------------------------------------------------------

  void recall(int c, const Plane<Real>& f, const Beyond& beyond, const Plane<Real>& to) const {
    const Box box = points(c);
    each_pack<S>(shape, box, [&](Index at, Index count) { store<S>(to, at, load<S>(f, at), count); });
    extend(c, beyond, to);
  }
  void extend(int c, const Beyond& beyond, const Plane<Real>& f) const {
    for (int a = 0; a < Dim; ++a)
      each_beyond(c, a, [&](std::size_t side, Index out, Index in, Index face) {
        store<One>(f, out, beyond[side] ? load<One>(*beyond[side], face) : load<One>(f, in));
      });
  }
  void fold(int c, const Beyond& beyond_bar, const Plane<Real>& f_bar) const {
    for (int a = Dim - 1; a >= 0; --a)
      each_beyond(c, a, [&](std::size_t side, Index out, Index in, Index face) {
        const One bar = load<One>(f_bar, out);
        store<One>(f_bar, out, One(0));
        if (beyond_bar[side])
          add(*beyond_bar[side], face, bar);
        else
          add(f_bar, in, bar);
      });
  }
  void give_back(int c, const Beyond& beyond_bar, const Plane<Real>& from_bar,
                 const Plane<Real>& f_bar) const {
    fold(c, beyond_bar, from_bar);
    each_pack<S>(shape, points(c), [&](Index at, Index count) {
      store<S>(f_bar, at, load<S>(f_bar, at) + load<S>(from_bar, at), count);
    });
  }
  // f(side, outside, inside, number of the face on the side): axis a after those before it, corners too.
  template <class F>
  void each_beyond(int c, int a, const F& f) const {
    const Box all = points(c);
    Box box = all;
    for (int b = 0; b < a; ++b) --box.lo[std::size_t(b)], ++box.hi[std::size_t(b)];
    const auto axis = std::size_t(a);
    const Index n = all.hi[axis], s = shape.stride[axis];
    const bool wraps = shape.periodic[axis];
    box.lo[axis] = 0, box.hi[axis] = 1;
    for (Index k = box.lo[2]; k < box.hi[2]; ++k) {
      for (Index j = box.lo[1]; j < box.hi[1]; ++j) {
        for (Index i = box.lo[0]; i < box.hi[0]; ++i) {
          const Point x{i, j, k};
          Index face = 0, faces = 1;
          for (std::size_t b = 0; b < 3; ++b) {
            if (b == axis) continue;
            face += faces * std::clamp<Index>(x[b], 0, all.hi[b] - 1);
            faces *= all.hi[b];
          }
          const Index at = shape.at(i, j, k);
          f(2 * axis, at - s, wraps ? at + (n - 1) * s : at, face);
          f(2 * axis + 1, at + n * s, wraps ? at : at + (n - 1) * s, face);
        }
      }
    }
  }

  template <class F>
  void in_row(const Box& box, Index row, const F& f) const {
    const Index height = box.hi[1] - box.lo[1];
    Point x{box.lo[0], box.lo[1] + row % height, box.lo[2] + row / height};
    const Index at = shape.at(x[0], x[1], x[2]);
    for (Index i = 0; i < box.width(); ++i, ++x[0]) f(x, at + i);
  }
  template <class F>
  void each_point(const Box& box, const F& f) const {
    each_row(shape, box, [&](Index row, Index) { in_row(box, row, f); });
  }
  template <class F>
  void each_point_in_order(const Box& box, const F& f) const {
    for (Index row = 0; row < box.rows(); ++row) in_row(box, row, f);
  }
};

}  // namespace costate::fluid
