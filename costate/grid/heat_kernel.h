// What the heat equation does in one cell, and its transpose (equations in heat.h). What a kernel is:
// stencil_kernel.h.
#pragma once

#include "costate/grid/heat.h"
#include "costate/grid/stability.h"
#include "costate/grid/stencil_kernel.h"

namespace costate::grid {

struct HeatKernel {
  static constexpr int fields = 1, coefficients = 2, constants = 7, tapes = 0, drives = 0, halo = 1;
  static constexpr int kConductivity = 0, kSource = 1;               // coefficients
  static constexpr int kCapacity = 0, kSides = 1, kDx = 5, kDt = 6;  // constants; four sides
  HeatSide::Kind sides[4] = {};
  bool closed = false;  // nothing heats from outside: the heat content is conserved

  template <class S>
  struct Scale {
    S rate, heating;  // dt / (C dx^2), dt / C
    Vec<S, constants> c;
  };
  template <class S>
  COSTATE_HD COSTATE_INLINE Scale<S> scale(const Vec<S, constants>& c) const {
    return {c[kDt] / (c[kCapacity] * (c[kDx] * c[kDx])), c[kDt] / c[kCapacity], c};
  }

  // The sum of face(di, dj) over the four neighbours.
  template <class S, class F>
  static COSTATE_HD COSTATE_INLINE S over_faces(const F& face) {
    return (face(-1, 0) + face(1, 0)) + (face(0, -1) + face(0, 1));
  }
  template <class S>
  static COSTATE_HD COSTATE_INLINE S between(const S& k, const S& other) {
    return S(2) * k * other / (k + other);
  }
  template <class S, class At>
  static COSTATE_HD COSTATE_INLINE S conduction(const At& at) {
    return over_faces<S>([&](int di, int dj) {
      return between<S>(at.p(kConductivity), at.p(kConductivity, di, dj)) * (at.x(0, di, dj) - at.x(0));
    });
  }

  template <class S, class At>
  COSTATE_HD COSTATE_INLINE Vec<S, 0> tape(const Scale<S>&, const At&) const {
    return {};
  }
  template <class S, class At>
  COSTATE_HD COSTATE_INLINE Vec<S, 1> step(const Scale<S>& k, const At& at, const Vec<S, 0>&) const {
    return {{at.x(0) + k.rate * conduction<S>(at) + k.heating * at.p(kSource)}};
  }

  template <class S, class At>
  COSTATE_HD COSTATE_INLINE CellCotangent<S, HeatKernel> step_vjp(const Scale<S>& k, const At& at,
                                                                  const Vec<S, 0>&) const {
    const S bar = at.y_bar(0), own = at.p(kConductivity);
    const S spread = over_faces<S>([&](int di, int dj) {
      return between<S>(own, at.p(kConductivity, di, dj)) * (at.y_bar(0, di, dj) - bar);
    });
    const S own_bar = over_faces<S>([&](int di, int dj) {
      const S other = at.p(kConductivity, di, dj), share = other / (own + other);
      return S(2) * (share * share) * (at.x(0, di, dj) - at.x(0)) * (bar - at.y_bar(0, di, dj));
    });
    CellCotangent<S, HeatKernel> r{{{bar + k.rate * spread}}, {{k.rate * own_bar, k.heating * bar}}, {}};
    const S dt = k.c[kDt], capacity = k.c[kCapacity], dx = k.c[kDx];
    const S flow = conduction<S>(at) / (capacity * (dx * dx)), speed = flow + at.p(kSource) / capacity;
    r.constants = Vec<S, constants>::zero();
    r.constants[kCapacity] = -(dt * speed / capacity * bar);
    r.constants[kDx] = -(S(2) * dt * flow / dx * bar);
    r.constants[kDt] = speed * bar;
    return r;
  }

  template <class S>
  COSTATE_HD COSTATE_INLINE void source(const Scale<S>& k, const S& heater, Vec<S, 1>& y) const {
    y[0] += k.heating * heater;
  }
  template <class S>
  COSTATE_HD COSTATE_INLINE S source_vjp(const Scale<S>& k, const S& heater, const Vec<S, 1>& y_bar,
                                         Vec<S, constants>& bar) const {
    const S dt = k.c[kDt], capacity = k.c[kCapacity];
    bar[kDt] += heater / capacity * y_bar[0];
    bar[kCapacity] -= dt * heater / (capacity * capacity) * y_bar[0];
    return k.heating * y_bar[0];
  }

  bool periodic(int axis) const { return sides[2 * axis] == HeatSide::Kind::periodic; }
  // A temperature holds half a cell away, on the side itself: the mean of the cells inside and outside.
  template <class S>
  COSTATE_HD Outside<S> outside(const Scale<S>& k, Side side, int) const {
    Outside<S> r{S(1), S(0)};
    at_side(side, [&](int n) {
      const S given = k.c[kSides + n];
      r = sides[n] == HeatSide::Kind::temperature ? Outside<S>{S(-1), S(2) * given}
                                                  : Outside<S>{S(1), given * k.c[kDx]};
    });
    return r;
  }
  template <class S>
  COSTATE_HD void outside_vjp(const Scale<S>& k, Side side, int, const S& offset_bar,
                              Vec<S, constants>& bar) const {
    at_side(side, [&](int n) {
      if (sides[n] == HeatSide::Kind::temperature) {
        bar[kSides + n] += S(2) * offset_bar;
      } else {
        bar[kSides + n] += k.c[kDx] * offset_bar;
        bar[kDx] += k.c[kSides + n] * offset_bar;
      }
    });
  }
  // f(side) with the side as a constant: an index that a thread of a GPU has to compute would put all of the
  // kernel's settings into its memory, in every cell.
  template <class F>
  static COSTATE_HD COSTATE_INLINE void at_side(Side side, const F& f) {
    if (side == kWest) f(int(kWest));
    if (side == kEast) f(int(kEast));
    if (side == kSouth) f(int(kSouth));
    if (side == kNorth) f(int(kNorth));
  }

  // Heat content of a cell per depth [J/m].
  bool conserves_energy() const { return closed; }
  template <class S, class At>
  COSTATE_HD COSTATE_INLINE S energy(const Scale<S>& k, const At& at) const {
    return k.c[kCapacity] * (k.c[kDx] * k.c[kDx]) * at.x(0);
  }

  template <class Real>
  void check(const Real* p, std::int64_t cells) const {
    const Real* c = p + 2 * cells;
    const double limit = double(c[kCapacity]) * double(c[kDx]) * double(c[kDx]) / (4 * double(c[kDt]));
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      if (p[cell] > 0 && double(p[cell]) <= limit * (1 + 1e-6)) continue;
      const std::string what =
          "the conductivity of cell " + std::to_string(cell) + " is " + number(double(p[cell]));
      if (!(p[cell] > 0))
        throw Error({what, {}, "it must be positive: give an insulator a small one"}, Error::Kind::numerics);
      const double share = double(p[cell]) / limit;
      refuse_step(what, "conductivity dt / (capacity dx^2) = " + number(share / 4) + " exceeds 0.25",
                  double(c[kDt]), double(c[kDt]) / share);
    }
  }
};

}  // namespace costate::grid
