// What laws in principal Hencky strains e_i (hencky.h) share when they scale the deviator: with tr = sum e_i,
// d = e - tr/D, a scale s and a mean strain after flow,
//
//   e+ = s d + mean,   t = 2 mu e+ + lambda tr(e+)
//
// StVK-Hencky has s = 1; von Mises and Drucker-Prager choose s so that the stress stays within their yield
// surface.
// Tests: tests/mpm/law_test.cpp.
#pragma once

#include "costate/mpm/laws/hencky.h"

namespace costate::mpm {

template <class S, int D>
COSTATE_HD COSTATE_INLINE S sum(const Vec<S, D>& v) {
  S r = v[0];
  for (int i = 1; i < D; ++i) r += v[i];
  return r;
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Vec<S, D> deviator(const Vec<S, D>& e, const S& tr) {
  Vec<S, D> d;
  for (int i = 0; i < D; ++i) d[i] = e[i] - tr * S(value_t<S>(1.0 / D));
  return d;
}
// |d|, at least 1e-20: below that nothing flows.
template <class S, int D>
COSTATE_HD COSTATE_INLINE S length(const Vec<S, D>& d) {
  const S square = dot(d, d), least(value_t<S>(1e-30));
  return sqrt(select(square < least, least, square));
}

// t = 2 mu s d + (2 mu + D lambda) mean,  delta = (s - 1) d + mean - tr/D: given s and
// the mean strain after flow.
template <class S, int D>
COSTATE_HD COSTATE_INLINE Principal<S, D> scaled(const Lame<S>& l, const Vec<S, D>& d, const S& tr,
                                                 const S& s, const S& mean) {
  using T = value_t<S>;
  Principal<S, D> r;
  const S shear = S(2) * l.mu * s, flow = s - S(1);
  const S spherical = (S(2) * l.mu + S(T(D)) * l.lambda) * mean, shift = mean - tr * S(T(1.0 / D));
  for (int i = 0; i < D; ++i) {
    r.t[i] = shear * d[i] + spherical;
    r.delta[i] = flow * d[i] + shift;
  }
  r.set_slopes(shear, flow);
  return r;
}
template <class S, int D>
struct ScaledBar {
  Vec<S, D> d;
  S s, mean, tr;
  Lame<S> l;
};
template <class S, int D>
COSTATE_HD COSTATE_INLINE ScaledBar<S, D> scaled_vjp(const Lame<S>& l, const Vec<S, D>& d, const S& s,
                                                     const S& mean, const Vec<S, D>& t_bar,
                                                     const Vec<S, D>& delta_bar) {
  using T = value_t<S>;
  const S two(2), t_sum = sum(t_bar), delta_sum = sum(delta_bar), t_d = dot(t_bar, d);
  ScaledBar<S, D> r;
  for (int i = 0; i < D; ++i) r.d[i] = two * l.mu * s * t_bar[i] + (s - S(1)) * delta_bar[i];
  r.s = two * l.mu * t_d + dot(delta_bar, d);
  r.mean = (two * l.mu + S(T(D)) * l.lambda) * t_sum + delta_sum;
  r.tr = -delta_sum * S(T(1.0 / D));
  r.l.mu = two * (s * t_d + mean * t_sum);
  r.l.lambda = S(T(D)) * mean * t_sum;
  return r;
}
// e_bar from d_bar and tr_bar.
template <class S, int D>
COSTATE_HD COSTATE_INLINE Vec<S, D> deviator_vjp(const Vec<S, D>& d_bar, const S& tr_bar) {
  const S mean = sum(d_bar) * S(value_t<S>(1.0 / D));
  Vec<S, D> e_bar;
  for (int i = 0; i < D; ++i) e_bar[i] = d_bar[i] - mean + tr_bar;
  return e_bar;
}

}  // namespace costate::mpm
