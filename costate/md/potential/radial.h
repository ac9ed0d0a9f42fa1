// Laws of a pair that depend on its distance alone.
//
//   U(s), s = |d|^2:     dU/dd = 2 U'(s) d
//   U(r), r = |d|:       dU/dd = U'(r) d / r
#pragma once

#include "costate/md/potential/local_term.h"

namespace costate::md {

inline constexpr std::array<Link, 1> kPair = {{{1, 0}}};

template <class T>
COSTATE_INLINE T square_of(const Point<T>& d) {
  return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}
template <class T>
COSTATE_INLINE Point<T> cross_of(const Point<T>& a, const Point<T>& b) {
  return {{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}};
}

// A pair's interaction beyond some distance: cut off, shifted to zero there, or switched off smoothly between
// two distances by 1 - 10 t^3 + 15 t^4 - 6 t^5.
struct Cutoff {
  double cutoff = 0, from = 0;  // 0: none
  bool shifted = false;

  template <class T>
  COSTATE_INLINE mask_t<T> within(const T& s) const {
    return s < T(value_t<T>(cutoff > 0 ? cutoff * cutoff : 1e30));
  }
};

// Value and derivative of the switch with respect to s = r^2.
template <class T>
struct Switched {
  T value, slope;
};
template <class T>
COSTATE_INLINE Switched<T> switch_off(const Cutoff& cut, const T& s) {
  using costate::max, costate::min, costate::sqrt;
  using V = value_t<T>;
  const T r = sqrt(s);
  const V width = V(cut.cutoff - cut.from);
  const T raw = (r - V(cut.from)) / width;
  const T t = select(raw < T(0), T(0), select(raw > T(1), T(1), raw));
  const T tt = t * t;
  return {1 - tt * t * (10 - 15 * t + 6 * tt), -(30 * tt * (1 - 2 * t + tt)) / (2 * width * r)};
}

// Its second derivative with respect to s; w = 1 - 10 t^3 + 15 t^4 - 6 t^5 of t = (r - from) / width:
//   w_ss = w_tt t_s^2 + w_t t_ss,   t_s = 1 / (2 width r),   t_ss = -t_s / (2 s)
template <class T>
COSTATE_INLINE T switch_curvature(const Cutoff& cut, const T& s) {
  using costate::sqrt;
  using V = value_t<T>;
  const T r = sqrt(s);
  const V width = V(cut.cutoff - cut.from);
  const T raw = (r - V(cut.from)) / width;
  const T t = select(raw < T(0), T(0), select(raw > T(1), T(1), raw));
  const T t_s = 1 / (2 * width * r), rest = 1 - t;
  const T first = -30 * t * t * rest * rest, second = -60 * t * rest * (1 - 2 * t);
  return second * t_s * t_s - first * t_s / (2 * s);
}

// U = strength q_a q_b shape(r) of numbers p = (q_a, q_b, strength), with slope = shape'(r) / r.
template <class T>
COSTATE_INLINE T charged_pair(const T& shape, const T& slope, const Point<T>& d, const T* p, Point<T>& d_bar,
                              T* p_bar) {
  const T charges = p[0] * p[1];
  d_bar = (p[2] * charges * slope) * d;
  p_bar[0] = p[2] * p[1] * shape;
  p_bar[1] = p[2] * p[0] * shape;
  p_bar[2] = charges * shape;
  return p[2] * p_bar[2];
}

}  // namespace costate::md
