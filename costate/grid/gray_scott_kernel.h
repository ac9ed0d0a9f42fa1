// What reaction and diffusion do in one cell, and the transpose (equations in gray_scott.h). What a kernel
// is: stencil_kernel.h.
#pragma once

#include <algorithm>

#include "costate/grid/stability.h"
#include "costate/grid/stencil_kernel.h"

namespace costate::grid {

struct GrayScottKernel {
  static constexpr int fields = 2, coefficients = 1, constants = 5, tapes = 0, drives = 0, halo = 1;
  enum { kU, kV };                                         // the coefficient is the feed
  enum { kKill, kDiffusivityU, kDiffusivityV, kDx, kDt };  // constants

  template <class S>
  struct Scale {
    S per_area;  // 1 / dx^2
    Vec<S, constants> c;
  };
  template <class S>
  COSTATE_HD COSTATE_INLINE Scale<S> scale(const Vec<S, constants>& c) const {
    return {S(1) / (c[kDx] * c[kDx]), c};
  }
  template <class S, class At>
  static COSTATE_HD COSTATE_INLINE S spread(const Scale<S>& k, const At& at, int field) {
    return k.per_area * laplacian<S>([&](int di, int dj) { return at.x(field, di, dj); });
  }
  template <class S, class At>
  static COSTATE_HD COSTATE_INLINE S spread_bar(const Scale<S>& k, const At& at, int field) {
    return k.per_area * laplacian<S>([&](int di, int dj) { return at.y_bar(field, di, dj); });
  }
  template <class S, class At>
  static COSTATE_HD COSTATE_INLINE Vec<S, 2> rate(const Scale<S>& k, const At& at) {
    const S u = at.x(kU), v = at.x(kV), feed = at.p(0), eaten = u * (v * v);
    return {{k.c[kDiffusivityU] * spread(k, at, kU) - eaten + feed * (S(1) - u),
             k.c[kDiffusivityV] * spread(k, at, kV) + eaten - (feed + k.c[kKill]) * v}};
  }

  template <class S, class At>
  COSTATE_HD COSTATE_INLINE Vec<S, 0> tape(const Scale<S>&, const At&) const {
    return {};
  }
  template <class S, class At>
  COSTATE_HD COSTATE_INLINE Vec<S, 2> step(const Scale<S>& k, const At& at, const Vec<S, 0>&) const {
    const Vec<S, 2> change = rate(k, at);
    return {{at.x(kU) + k.c[kDt] * change[kU], at.x(kV) + k.c[kDt] * change[kV]}};
  }
  template <class S, class At>
  COSTATE_HD COSTATE_INLINE CellCotangent<S, GrayScottKernel> step_vjp(const Scale<S>& k, const At& at,
                                                                       const Vec<S, 0>&) const {
    const S u = at.x(kU), v = at.x(kV), feed = at.p(0), dt = k.c[kDt];
    const S u_bar = at.y_bar(kU), v_bar = at.y_bar(kV), eaten_bar = v_bar - u_bar;
    const Vec<S, 2> change = rate(k, at);
    const S through_u = spread(k, at, kU) * u_bar, through_v = spread(k, at, kV) * v_bar;
    return {{{u_bar + dt * (k.c[kDiffusivityU] * spread_bar(k, at, kU) + v * v * eaten_bar - feed * u_bar),
              v_bar + dt * (k.c[kDiffusivityV] * spread_bar(k, at, kV) + S(2) * u * v * eaten_bar -
                            (feed + k.c[kKill]) * v_bar)}},
            {{dt * (u_bar * (S(1) - u) - v_bar * v)}},
            {{-(dt * v * v_bar), dt * through_u, dt * through_v,
              -(S(2) * dt / k.c[kDx] * (k.c[kDiffusivityU] * through_u + k.c[kDiffusivityV] * through_v)),
              change[kU] * u_bar + change[kV] * v_bar}}};
  }

  template <class S>
  COSTATE_HD COSTATE_INLINE void source(const Scale<S>& k, const S& drop, Vec<S, 2>& y) const {
    y[kV] += k.c[kDt] * drop;
  }
  template <class S>
  COSTATE_HD COSTATE_INLINE S source_vjp(const Scale<S>& k, const S& drop, const Vec<S, 2>& y_bar,
                                         Vec<S, constants>& bar) const {
    bar[kDt] += drop * y_bar[kV];
    return k.c[kDt] * y_bar[kV];
  }

  bool periodic(int) const { return true; }

  template <class Real>
  void check(const Real* p, std::int64_t cells) const {
    const Real* c = p + cells;
    const double fastest = std::max(double(c[kDiffusivityU]), double(c[kDiffusivityV]));
    const double share = 4 * fastest * double(c[kDt]) / (double(c[kDx]) * double(c[kDx]));
    if (share <= 1 + 1e-6 && double(c[kDiffusivityU]) >= 0 && double(c[kDiffusivityV]) >= 0) return;
    const std::string what = "the larger diffusivity is " + number(fastest);
    if (share <= 1)
      throw Error({"a diffusivity is negative", {}, "it must be zero or positive"}, Error::Kind::numerics);
    refuse_step(what, "4 diffusivity dt / dx^2 = " + number(share) + " exceeds 1", double(c[kDt]),
                double(c[kDt]) / share);
  }
};

}  // namespace costate::grid
