// What shallow water does in one cell, and its transpose (equations in shallow_water.h). What a kernel is:
// stencil_kernel.h.
#pragma once

#include <cmath>

#include "costate/grid/stability.h"
#include "costate/grid/stencil_kernel.h"

namespace costate::grid {

struct ShallowWaterKernel {
  static constexpr int fields = 3, coefficients = 1, constants = 5, tapes = 0, drives = 0, halo = 1;
  enum {
    kLevel,
    kU,
    kV
  };  // planes of state: u on west faces, v on south faces; the coefficient is the depth
  enum { kGravity, kDrag, kDx, kDt, kRotation };  // constants
  bool wraps[2] = {false, false};

  template <class S>
  struct Scale {
    S rate, keep, pull, turn;  // dt / dx, 1 - dt drag - (dt f)^2 / 2, g dt / dx, dt f
    Vec<S, constants> c;
  };
  template <class S>
  COSTATE_HD COSTATE_INLINE Scale<S> scale(const Vec<S, constants>& c) const {
    const S rate = c[kDt] / c[kDx];
    const S turn = c[kDt] * c[kRotation];
    return {rate, S(1) - c[kDt] * c[kDrag] - S(0.5) * turn * turn, c[kGravity] * rate, turn, c};
  }

  // Of the west (axis 0) or south (axis 1) face of the cell (di, dj) from here.
  template <class S, class At>
  struct Face {
    const Scale<S>& k;
    const At& at;
    int axis, di, dj;
    COSTATE_HD COSTATE_INLINE int back_i() const { return di - (axis == 0); }
    COSTATE_HD COSTATE_INLINE int back_j() const { return dj - (axis == 1); }
    COSTATE_HD COSTATE_INLINE S open() const { return at.open(axis, di, dj); }
    COSTATE_HD COSTATE_INLINE S speed() const { return at.x(kU + axis, di, dj); }
    COSTATE_HD COSTATE_INLINE S slope() const {
      return at.x(kLevel, di, dj) - at.x(kLevel, back_i(), back_j());
    }
    COSTATE_HD COSTATE_INLINE S depth() const {
      return S(0.5) * ((at.p(0, di, dj) + at.x(kLevel, di, dj)) +
                       (at.p(0, back_i(), back_j()) + at.x(kLevel, back_i(), back_j())));
    }
    // Sum over the four faces of the other axis around this one: c(face) of a face beside it.
    template <class F>
    COSTATE_HD COSTATE_INLINE S around(const F& c) const {
      const int other = 1 - axis, si = axis == 0 ? -1 : 1, sj = -si;
      const auto face = [&](int i, int j) { return c(Face{k, at, other, di + i, dj + j}); };
      return (face(0, 0) + face(si, sj)) + (face(si, 0) + face(0, sj));
    }
    // How fast the flow is across: the mean of four faces, of which those on walls have none.
    COSTATE_HD COSTATE_INLINE S across() const {
      return S(axis == 0 ? 0.25 : -0.25) * around([](const Face& f) { return f.open() * f.speed(); });
    }
    COSTATE_HD COSTATE_INLINE S next_speed() const {
      return open() * (k.keep * speed() - k.pull * slope() + k.turn * across());
    }
    COSTATE_HD COSTATE_INLINE S flux() const { return next_speed() * depth(); }
    // Transposes: of the flux, whose cotangent is what two cells have of it; of the new speed; of the depth.
    COSTATE_HD COSTATE_INLINE S flux_bar() const {
      return k.rate * (at.y_bar(kLevel, di, dj) - at.y_bar(kLevel, back_i(), back_j()));
    }
    COSTATE_HD COSTATE_INLINE S next_speed_bar() const {
      return open() * (at.y_bar(kU + axis, di, dj) + depth() * flux_bar());
    }
    COSTATE_HD COSTATE_INLINE S depth_bar() const { return next_speed() * flux_bar(); }
    COSTATE_HD COSTATE_INLINE S speed_bar() const {
      return k.keep * next_speed_bar() + open() * S(axis == 0 ? -0.25 : 0.25) * k.turn *
                                             around([](const Face& f) { return f.next_speed_bar(); });
    }
  };
  template <class S, class At>
  static COSTATE_HD COSTATE_INLINE Face<S, At> west(const Scale<S>& k, const At& at, int di = 0) {
    return {k, at, 0, di, 0};
  }
  template <class S, class At>
  static COSTATE_HD COSTATE_INLINE Face<S, At> south(const Scale<S>& k, const At& at, int dj = 0) {
    return {k, at, 1, 0, dj};
  }
  template <class S, class At>
  static COSTATE_HD COSTATE_INLINE S outflow(const Scale<S>& k, const At& at) {
    return (west(k, at, 1).flux() - west(k, at).flux()) + (south(k, at, 1).flux() - south(k, at).flux());
  }

  template <class S, class At>
  COSTATE_HD COSTATE_INLINE Vec<S, 0> tape(const Scale<S>&, const At&) const {
    return {};
  }
  template <class S, class At>
  COSTATE_HD COSTATE_INLINE Vec<S, 3> step(const Scale<S>& k, const At& at, const Vec<S, 0>&) const {
    return {{at.x(kLevel) - k.rate * outflow(k, at), west(k, at).next_speed(), south(k, at).next_speed()}};
  }

  template <class S, class At>
  COSTATE_HD COSTATE_INLINE CellCotangent<S, ShallowWaterKernel> step_vjp(const Scale<S>& k, const At& at,
                                                                          const Vec<S, 0>&) const {
    const auto w = west(k, at), e = west(k, at, 1), s = south(k, at), n = south(k, at, 1);
    const S bar = at.y_bar(kLevel), w_bar = w.next_speed_bar(), s_bar = s.next_speed_bar();
    const S depth_bar = S(0.5) * ((w.depth_bar() + e.depth_bar()) + (s.depth_bar() + n.depth_bar()));
    const S pulled = (e.next_speed_bar() - w_bar) + (n.next_speed_bar() - s_bar);
    // Of the constants: each face belongs to the cell to its east or north.
    const S keep_bar = w.speed() * w_bar + s.speed() * s_bar;
    const S pull_bar = -(w.slope() * w_bar + s.slope() * s_bar);
    const S turn_bar = w.across() * w_bar + s.across() * s_bar - k.turn * keep_bar;
    const S dt = k.c[kDt], dx = k.c[kDx], rate_bar = k.c[kGravity] * pull_bar - outflow(k, at) * bar;
    return {{{bar + depth_bar + k.pull * pulled, w.speed_bar(), s.speed_bar()}},
            {{depth_bar}},
            {{k.rate * pull_bar, -(dt * keep_bar), -(k.rate / dx * rate_bar),
              rate_bar / dx - k.c[kDrag] * keep_bar + k.c[kRotation] * turn_bar, dt * turn_bar}}};
  }

  // Rain [m/s] onto a cell.
  template <class S>
  COSTATE_HD COSTATE_INLINE void source(const Scale<S>& k, const S& rain, Vec<S, 3>& y) const {
    y[kLevel] += k.c[kDt] * rain;
  }
  template <class S>
  COSTATE_HD COSTATE_INLINE S source_vjp(const Scale<S>& k, const S& rain, const Vec<S, 3>& y_bar,
                                         Vec<S, constants>& bar) const {
    bar[kDt] += rain * y_bar[kLevel];
    return k.c[kDt] * y_bar[kLevel];
  }

  bool periodic(int axis) const { return wraps[axis]; }

  // For still water; waves that raise it travel a little faster.
  template <class Real>
  void check(const Real* p, std::int64_t cells) const {
    const double gravity = double(p[cells + kGravity]), dx = double(p[cells + kDx]),
                 dt = double(p[cells + kDt]);
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      const double depth = double(p[cell]);
      const std::string what = "the depth of cell " + std::to_string(cell) + " is " + number(depth);
      if (!(depth > 0))
        throw Error({what, {}, "it must be positive: shallow water has no shores"}, Error::Kind::numerics);
      const double courant = std::sqrt(gravity * depth) * dt / dx;
      if (courant <= std::sqrt(0.5) * (1 + 1e-6)) continue;
      refuse_step(what, "the Courant number sqrt(g depth) dt / dx = " + number(courant) + " exceeds 0.707",
                  dt, dt * std::sqrt(0.5) / courant);
    }
  }
};

}  // namespace costate::grid
