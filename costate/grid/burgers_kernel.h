// What Burgers' equation does in one cell, and its transpose (equations in burgers.h). What a kernel is:
// stencil_kernel.h.
#pragma once

#include <limits>

#include "costate/core/functions.h"
#include "costate/grid/stability.h"
#include "costate/grid/stencil_kernel.h"

namespace costate::grid {

struct BurgersKernel {
  static constexpr int kReach = 3;  // cells that a point may have come from
  static constexpr int fields = 1, coefficients = 1, constants = 3, tapes = 0, drives = 0, halo = kReach + 2;
  enum { kViscosity, kDx, kDt };  // constants; the coefficient is the source

  template <class S>
  struct Scale {
    S spread, rate;  // nu dt / dx^2, dt / dx
    Vec<S, constants> c;
  };
  template <class S>
  COSTATE_HD COSTATE_INLINE Scale<S> scale(const Vec<S, constants>& c) const {
    const S rate = c[kDt] / c[kDx];
    return {c[kViscosity] * rate / c[kDx], rate, c};
  }

  // hat, and its slope towards larger t.
  template <class S>
  static COSTATE_HD COSTATE_INLINE S hat(const S& t) {
    const S inside = select(t < S(0), S(1) + t, S(1) - t);
    return select(t < S(-1), S(0), select(t < S(1), inside, S(0)));
  }
  template <class S>
  static COSTATE_HD COSTATE_INLINE S hat_slope(const S& t) {
    const S inside = select(t < S(0), S(1), S(-1));
    return select(t < S(-1), S(0), select(t < S(1), inside, S(0)));
  }
  template <class S, class At>
  static COSTATE_HD COSTATE_INLINE S bend(const At& at, int i) {
    return (at.x(0, i - 1, 0) - at.x(0, i, 0)) + (at.x(0, i + 1, 0) - at.x(0, i, 0));
  }

  // Diffused speeds of the cells i, |i| <= reach.
  template <class S, int reach>
  struct Diffused {
    S w[2 * reach + 1];
    template <class At>
    COSTATE_HD COSTATE_INLINE Diffused(const Scale<S>& k, const At& at) {
      for (int i = -reach; i <= reach; ++i) w[i + reach] = at.x(0, i, 0) + k.spread * bend<S>(at, i);
    }
    COSTATE_HD COSTATE_INLINE const S& operator[](int i) const { return w[i + reach]; }
  };

  template <class S, class At>
  COSTATE_HD COSTATE_INLINE Vec<S, 0> tape(const Scale<S>&, const At&) const {
    return {};
  }
  template <class S, class At>
  COSTATE_HD COSTATE_INLINE Vec<S, 1> step(const Scale<S>& k, const At& at, const Vec<S, 0>&) const {
    const Diffused<S, kReach> w(k, at);
    const S t = -(w[0] * k.rate);
    S y = k.c[kDt] * at.p(0);
    for (int d = -kReach; d <= kReach; ++d) y = y + hat(t - S(d)) * w[d];
    const S nowhere(std::numeric_limits<value_t<S>>::quiet_NaN());
    return {{select(t < S(-kReach), nowhere, select(t <= S(kReach), y, nowhere))}};
  }

  template <class S, class At>
  COSTATE_HD COSTATE_INLINE CellCotangent<S, BurgersKernel> step_vjp(const Scale<S>& k, const At& at,
                                                                     const Vec<S, 0>&) const {
    const Diffused<S, kReach> w(k, at);
    S w_bar[3];
    for (int i = -1; i <= 1; ++i) w_bar[i + 1] = diffused_bar(k, at, i);
    const S bar = at.y_bar(0), t = -(w[0] * k.rate);
    S slope(0);
    for (int d = -kReach; d <= kReach; ++d) slope = slope + hat_slope(t - S(d)) * w[d];
    const S spread_bar = w_bar[1] * bend<S>(at, 0), rate_bar = -(bar * slope * w[0]);
    const S nu = k.c[kViscosity], dx = k.c[kDx], dt = k.c[kDt];
    return {{{w_bar[1] + k.spread * ((w_bar[0] - w_bar[1]) + (w_bar[2] - w_bar[1]))}},
            {{dt * bar}},
            {{spread_bar * k.rate / dx, -((S(2) * k.spread * spread_bar + k.rate * rate_bar) / dx),
              (nu / dx * spread_bar + rate_bar) / dx + at.p(0) * bar}}};
  }

 private:
  // The cotangent of the diffused speed of cell i.
  template <class S, class At>
  static COSTATE_HD COSTATE_INLINE S diffused_bar(const Scale<S>& k, const At& at, int i) {
    const auto w = [&](int j) { return at.x(0, j, 0) + k.spread * bend<S>(at, j); };
    const S own = -(w(i) * k.rate);
    S seen(0), sum(0);
    for (int d = -kReach; d <= kReach; ++d) {
      seen = seen + hat_slope(own - S(d)) * w(i + d);
      sum = sum + hat(-(w(i - d) * k.rate) - S(d)) * at.y_bar(0, i - d, 0);
    }
    return sum - k.rate * seen * at.y_bar(0, i, 0);
  }

 public:
  bool periodic(int) const { return true; }

  template <class Real>
  void check(const Real* p, std::int64_t cells) const {
    const Real* c = p + cells;
    const double share = 2 * double(c[kViscosity]) * double(c[kDt]) / (double(c[kDx]) * double(c[kDx]));
    if (share <= 1 + 1e-6 && c[kViscosity] >= 0) return;
    const std::string what = "the viscosity is " + number(double(c[kViscosity]));
    if (share <= 1) throw Error({what, {}, "it must be zero or positive"}, Error::Kind::numerics);
    refuse_step(what, "viscosity dt / dx^2 = " + number(share / 2) + " exceeds 0.5", double(c[kDt]),
                double(c[kDt]) / share);
  }
};

}  // namespace costate::grid
