// The wave equation along one row of cells, in packs: the loops of wave.cpp, written once for numbers and for numbers with tangents, so that the same
// lines give values, tangents, cotangents and second order. Internal to wave.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "costate/ad/dual.h"
#include "costate/core/stream.h"
#include "costate/grid/wave_cell.h"

namespace costate::grid {

// Arrays of numbers, or of numbers with tangents: the same loops then give values, tangents, cotangents and second order.
template <class Real, bool kDual>
struct Arrays {
  using Value = Real;
  template <class T>
  using Number = std::conditional_t<kDual, Dual<T>, T>;
  struct In {
    const Real* value;
    const Real* tangent;  // null: zero
    In operator+(std::int64_t i) const { return {value + i, tangent ? tangent + i : nullptr}; }
  };
  struct Out {
    Real* value;
    Real* tangent;
    Out operator+(std::int64_t i) const { return {value + i, tangent ? tangent + i : nullptr}; }
    operator In() const { return {value, tangent}; }
  };

  template <class T>
  static COSTATE_INLINE T read(const Real* from) {
    if constexpr (std::is_same_v<T, Real>)
      return *from;
    else
      return T::load_unaligned(from);
  }
  template <class T>
  static COSTATE_INLINE void write(Real* to, T value) {
    if constexpr (std::is_same_v<T, Real>)
      *to = value;
    else
      value.store_unaligned(to);
  }
  template <class T>
  static COSTATE_INLINE Number<T> get(In from, std::int64_t i) {
    if constexpr (kDual)
      return Dual<T>(read<T>(from.value + i), from.tangent ? read<T>(from.tangent + i) : T(0));
    else
      return read<T>(from.value + i);
  }
  template <class T>
  static COSTATE_INLINE void put(Out to, std::int64_t i, const Number<T>& x) {
    if constexpr (kDual) {
      write<T>(to.value + i, x.v);
      write<T>(to.tangent + i, x.d[0]);
    } else {
      write<T>(to.value + i, x);
    }
  }
  // The same function of values and of tangents.
  template <class T, class F>
  static COSTATE_INLINE Number<T> edge(In from, const F& f) {
    if constexpr (kDual)
      return Dual<T>(f(from.value), from.tangent ? f(from.tangent) : T(0));
    else
      return f(from.value);
  }
  // A single number as seen by a loop over T.
  template <class T>
  static COSTATE_INLINE Number<T> spread(const Number<Real>& x) {
    if constexpr (kDual)
      return Dual<T>(T(x.v), T(x.d[0]));
    else
      return T(x);
  }
};

template <class A>
using Real_of = typename A::Value;

// Three neighbouring rows.
template <class In>
struct Rows {
  In centre, south, north;
};

// What a loop body works on: one cell or a pack of them, at the western or eastern end of its row or inside.
template <class T, bool kWest, bool kEast>
struct Cells {
  using Type = T;
  static constexpr bool west = kWest, east = kEast;
};

// f(i, cells) along a row: packs from the first cell on, so that they lie on cache lines when rows do; single cells for the rest.
template <class Real, class F>
COSTATE_INLINE void along_row(std::int64_t nx, const F& f) {
  using Wide = NativePack<Real>;
  constexpr std::int64_t width = Wide::lanes;
  const std::int64_t wide_end = nx / width * width;
  if (wide_end == nx && nx > width) {
    f(0, Cells<Wide, true, false>());
    for (std::int64_t i = width; i < nx - width; i += width) f(i, Cells<Wide, false, false>());
    f(nx - width, Cells<Wide, false, true>());
    return;
  }
  std::int64_t i = 0;
  if (wide_end < nx && wide_end > 0) {
    f(0, Cells<Wide, true, false>());
    for (i = width; i < wide_end; i += width) f(i, Cells<Wide, false, false>());
  }
  for (; i < nx; ++i) {
    if (i == 0)
      f(i, Cells<Real, true, false>());
    else if (i == nx - 1)
      f(i, Cells<Real, false, true>());
    else
      f(i, Cells<Real, false, false>());
  }
}

// The cells to the west (east) of those at `row`, where a zero stands outside the grid.
template <class Real, class T>
COSTATE_INLINE T west_of_first(const Real* row) {
  if constexpr (std::is_same_v<T, Real>)
    return T(0);
  else {
    Real shifted[T::lanes];
    shifted[0] = 0;
    std::copy(row, row + T::lanes - 1, shifted + 1);
    return T::load_unaligned(shifted);
  }
}
template <class Real, class T>
COSTATE_INLINE T east_of_last(const Real* row) {
  if constexpr (std::is_same_v<T, Real>)
    return T(0);
  else {
    Real shifted[T::lanes];
    shifted[T::lanes - 1] = 0;
    std::copy(row + 1, row + T::lanes, shifted);
    return T::load_unaligned(shifted);
  }
}

template <class A, class Span, class In>
COSTATE_INLINE auto stencil(const Rows<In>& rows, std::int64_t i, Span) {
  using T = typename Span::Type;
  using N = typename A::template Number<T>;
  const auto west = [&] {
    if constexpr (!Span::west)
      return A::template get<T>(rows.centre, i - 1);
    else
      return A::template edge<T>(rows.centre + i,
                                 [](const Real_of<A>* row) { return west_of_first<Real_of<A>, T>(row); });
  };
  const auto east = [&] {
    if constexpr (!Span::east)
      return A::template get<T>(rows.centre, i + 1);
    else
      return A::template edge<T>(rows.centre + i,
                                 [](const Real_of<A>* row) { return east_of_last<Real_of<A>, T>(row); });
  };
  return Stencil<N>{A::template get<T>(rows.centre, i), west(), east(), A::template get<T>(rows.south, i),
                    A::template get<T>(rows.north, i)};
}

// The stencil of a single cell anywhere in its row.
template <class A, class In>
auto stencil_at(const Rows<In>& rows, std::int64_t i, std::int64_t nx) {
  using Real = Real_of<A>;
  if (i == 0) return stencil<A>(rows, i, Cells<Real, true, false>());
  if (i == nx - 1) return stencil<A>(rows, i, Cells<Real, false, true>());
  return stencil<A>(rows, i, Cells<Real, false, false>());
}

// Parameters of one step.
template <class N>
struct Scalars {
  N damping, dx, dt;
};

// The step's constants, for single cells and for packs: made once, before the loops.
template <class Real, bool kDual>
struct Scales {
  using A = Arrays<Real, kDual>;
  using Wide = NativePack<Real>;
  template <class T>
  using Scale = WaveScale<typename A::template Number<T>>;
  Scale<Real> narrow;
  Scale<Wide> wide;
  explicit Scales(const Scalars<typename A::template Number<Real>>& s)
      : narrow(make<Real>(s)), wide(make<Wide>(s)) {}
  template <class T>
  COSTATE_INLINE const Scale<T>& get() const {
    if constexpr (std::is_same_v<T, Real>)
      return narrow;
    else
      return wide;
  }

 private:
  template <class T>
  static Scale<T> make(const Scalars<typename A::template Number<Real>>& s) {
    using N = typename A::template Number<Real>;
    return {A::template spread<T>(s.dt), A::template spread<T>(N(1) - s.dt * s.damping),
            A::template spread<T>(s.dt / (s.dx * s.dx))};
  }
};

// --- one row. Arguments are taken by value, so that the loops keep their pointers in registers. --------------------------------------

template <class Real, bool kDual>
struct RowKernels {
  using A = Arrays<Real, kDual>;
  using In = typename A::In;
  using Out = typename A::Out;
  using S = Scales<Real, kDual>;

  // kTape: u is also copied to `tape`, which is aligned to packs if `aligned`.
  template <bool kTape>
  static void step(std::int64_t nx, S scale, Rows<In> u, In v, In speed, Out u_next, Out v_next, Real* tape,
                   bool aligned) {
    along_row<Real>(nx, [=](std::int64_t i, auto cells) {
      using T = typename decltype(cells)::Type;
      const auto at = stencil<A>(u, i, cells);
      const auto next =
          wave_cell(scale.template get<T>(), at, A::template get<T>(v, i), A::template get<T>(speed, i));
      if constexpr (kTape) {
        if constexpr (std::is_same_v<T, Real>)
          tape[i] = at.centre;
        else if (aligned)
          stream(tape + i, at.centre);
        else
          at.centre.store_unaligned(tape + i);
      }
      A::template put<T>(u_next, i, next.u);
      A::template put<T>(v_next, i, next.v);
    });
  }

  static void back(std::int64_t nx, S scale, Rows<In> u, In v_next, In speed, Out v) {
    along_row<Real>(nx, [=](std::int64_t i, auto cells) {
      using T = typename decltype(cells)::Type;
      A::template put<T>(v, i,
                         wave_cell_back(scale.template get<T>(), stencil<A>(u, i, cells),
                                        A::template get<T>(v_next, i), A::template get<T>(speed, i)));
    });
  }

  // What the transpose needs of a row: w = v+_ + dt u+_ and c^2 w.
  struct Drive {
    Out w, flux;
  };
  template <class T>
  static COSTATE_INLINE void drive_cell(const S& scale, In u_bar, In v_bar, In speed, Drive out,
                                        std::int64_t i) {
    const auto c = A::template get<T>(speed, i);
    const auto w = A::template get<T>(v_bar, i) + scale.template get<T>().dt * A::template get<T>(u_bar, i);
    A::template put<T>(out.w, i, w);
    A::template put<T>(out.flux, i, (c * c) * w);
  }
  static void drive(std::int64_t nx, S scale, In u_bar, In v_bar, In speed, Drive out) {
    along_row<Real>(nx, [=](std::int64_t i, auto cells) {
      drive_cell<typename decltype(cells)::Type>(scale, u_bar, v_bar, speed, out, i);
    });
  }

  // The transpose of row j. On the way (kDrive) the drive of row j + 1, whose flux is the northern neighbour; otherwise it is there already. Row j of
  // y_bar is read before the same cells of x_bar are written, and no other row is: the two may be the same memory.
  struct NextRow {
    In u_bar, v_bar, speed;
    Drive drive;
  };
  template <bool kSpeed, bool kDrive>
  static void transpose(std::int64_t nx, S scale, NextRow next, In u_next_bar, In w, In flux, In flux_south,
                        Rows<In> u, In speed, Out u_bar, Out v_bar, Out speed_bar) {
    const Rows<In> fluxes{flux, flux_south, next.drive.flux};
    along_row<Real>(nx, [=](std::int64_t i, auto cells) {
      using T = typename decltype(cells)::Type;
      if constexpr (kDrive) drive_cell<T>(scale, next.u_bar, next.v_bar, next.speed, next.drive, i);
      const auto r =
          wave_cell_vjp(scale.template get<T>(), A::template get<T>(u_next_bar, i), A::template get<T>(w, i),
                        stencil<A>(fluxes, i, cells), stencil<A>(u, i, cells), A::template get<T>(speed, i));
      A::template put<T>(u_bar, i, r.u);
      A::template put<T>(v_bar, i, r.v);
      if constexpr (kSpeed) A::template put<T>(speed_bar, i, A::template get<T>(speed_bar, i) + r.speed);
    });
  }
};

}  // namespace costate::grid
