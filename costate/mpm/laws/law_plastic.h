// Laws in principal Hencky strains e_i (hencky.h), with d = e - mean(e), n = |d|, tr = sum e_i, D the dimension.
//
//   StVK-Hencky      t = 2 mu e + lambda tr
//   von Mises        the same after radial return: e+ = mean + s d,  s = min(1, sqrt(2/3) sigma_y / (2 mu n))             [1, box 3.1]
//   Drucker-Prager   sand: no tension, friction angle phi. v the volume (logarithmic) gained while apart, tr' = tr + v      [2, section 7; 3]
//                      tr' >= 0   e+ = 0, v+ = tr'                             apart
//                      tr' <  0   e+ = tr'/D + s d, v+ = 0,  s = min(1, alpha (1 + D lambda/(2 mu)) (-tr') / n)
//                    alpha = sqrt(2/3) 2 sin(phi) / (3 - sin(phi))
//
// Continuous: s tends to 0 as tr' tends to 0. Corners where flow begins. Sand that falls has tr' = 0 but for rounding: it counts as apart, so that its
// derivatives do not depend on the last bit. In two dimensions this is plane strain with the deviator taken in the plane.
//
// Parameters: density, E, nu (, yield_stress | friction_angle). The plastic state is v for Drucker-Prager.
// [1] Simo, Hughes: Computational Inelasticity. [2] Klar et al., Drucker-Prager elastoplasticity for sand animation, 2016. [3] Tampubolon et al., Multi-species
// simulation of porous sand and water mixtures, 2017 (volume correction).  Tests: tests/mpm/law_test.cpp.
#pragma once

#include "costate/mpm/laws/hencky.h"

namespace costate::mpm {

namespace plastic_detail {

template <class S, int D>
COSTATE_INLINE S sum(const Vec<S, D>& v) {
  S r = v[0];
  for (int i = 1; i < D; ++i) r += v[i];
  return r;
}
template <class S, int D>
COSTATE_INLINE Vec<S, D> deviator(const Vec<S, D>& e, const S& tr) {
  Vec<S, D> d;
  for (int i = 0; i < D; ++i) d[i] = e[i] - tr * S(value_t<S>(1.0 / D));
  return d;
}
// |d|, at least 1e-20: below that nothing flows.
template <class S, int D>
COSTATE_INLINE S length(const Vec<S, D>& d) {
  const S square = dot(d, d), least(value_t<S>(1e-30));
  return sqrt(select(square < least, least, square));
}

// t = 2 mu s d + (2 mu + D lambda) mean,  delta = (s - 1) d + mean - tr/D: all three laws, given s and the mean strain after flow.
template <class S, int D>
COSTATE_INLINE Principal<S, D> scaled(const Lame<S>& l, const Vec<S, D>& d, const S& tr, const S& s,
                                      const S& mean) {
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
COSTATE_INLINE ScaledBar<S, D> scaled_vjp(const Lame<S>& l, const Vec<S, D>& d, const S& s, const S& mean,
                                          const Vec<S, D>& t_bar, const Vec<S, D>& delta_bar) {
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
COSTATE_INLINE Vec<S, D> deviator_vjp(const Vec<S, D>& d_bar, const S& tr_bar) {
  const S mean = sum(d_bar) * S(value_t<S>(1.0 / D));
  Vec<S, D> e_bar;
  for (int i = 0; i < D; ++i) e_bar[i] = d_bar[i] - mean + tr_bar;
  return e_bar;
}

}  // namespace plastic_detail

struct Hencky {
  template <class S, int D>
  COSTATE_INLINE static Principal<S, D> map(const Vec<S, D>& e, const S& plastic, const S* p) {
    using namespace plastic_detail;
    const S tr = sum(e);
    auto r = scaled<S, D>(lame(p[1], p[2]), deviator(e, tr), tr, S(1), tr * S(value_t<S>(1.0 / D)));
    r.plastic = plastic;
    return r;
  }
  template <class S, int D>
  COSTATE_INLINE static void map_vjp(const Vec<S, D>& e, const S&, const S* p, const Vec<S, D>& t_bar,
                                     const Vec<S, D>& delta_bar, const S& out_bar, Vec<S, D>& e_bar,
                                     S& plastic_bar, S* p_bar) {
    using namespace plastic_detail;
    const S tr = sum(e), share(value_t<S>(1.0 / D));
    const auto bar = scaled_vjp<S, D>(lame(p[1], p[2]), deviator(e, tr), S(1), tr * share, t_bar, delta_bar);
    e_bar = deviator_vjp(bar.d, bar.tr + share * bar.mean);
    lame_vjp(p[1], p[2], bar.l, p_bar[1], p_bar[2]);
    plastic_bar = out_bar;
  }
};

struct VonMises {
  static constexpr double kScale = 0.81649658092772603;  // sqrt(2/3)

  template <class S, int D>
  COSTATE_INLINE static Principal<S, D> map(const Vec<S, D>& e, const S& plastic, const S* p) {
    using namespace plastic_detail;
    const Lame<S> l = lame(p[1], p[2]);
    const S tr = sum(e);
    const Vec<S, D> d = deviator(e, tr);
    const S ratio = S(value_t<S>(kScale / 2)) * p[3] / (l.mu * length(d));
    auto r = scaled<S, D>(l, d, tr, select(ratio < S(1), ratio, S(1)), tr * S(value_t<S>(1.0 / D)));
    r.plastic = plastic;
    return r;
  }
  template <class S, int D>
  COSTATE_INLINE static void map_vjp(const Vec<S, D>& e, const S&, const S* p, const Vec<S, D>& t_bar,
                                     const Vec<S, D>& delta_bar, const S& out_bar, Vec<S, D>& e_bar,
                                     S& plastic_bar, S* p_bar) {
    using namespace plastic_detail;
    const Lame<S> l = lame(p[1], p[2]);
    const S tr = sum(e), share(value_t<S>(1.0 / D)), zero(0);
    const Vec<S, D> d = deviator(e, tr);
    const S n = length(d), ratio = S(value_t<S>(kScale / 2)) * p[3] / (l.mu * n);
    const mask_t<S> flows = ratio < S(1);
    const S s = select(flows, ratio, S(1));
    auto bar = scaled_vjp<S, D>(l, d, s, tr * share, t_bar, delta_bar);
    const S ratio_bar = select(flows, bar.s, zero) * ratio;  // times ratio: d log
    p_bar[3] = ratio_bar / p[3];
    bar.l.mu -= ratio_bar / l.mu;
    for (int i = 0; i < D; ++i) bar.d[i] -= ratio_bar / (n * n) * d[i];
    e_bar = deviator_vjp(bar.d, bar.tr + share * bar.mean);
    lame_vjp(p[1], p[2], bar.l, p_bar[1], p_bar[2]);
    plastic_bar = out_bar;
  }
};

struct DruckerPrager {
  template <class S, int D>
  COSTATE_INLINE static Principal<S, D> map(const Vec<S, D>& e, const S& v, const S* p) {
    using namespace plastic_detail;
    const Lame<S> l = lame(p[1], p[2]);
    const S tr = sum(e), all = tr + v, zero(0), one(1);
    const mask_t<S> apart = is_apart(all);
    const Vec<S, D> d = deviator(e, tr);
    const S ratio = -cone(p[3]) * pressure_share<S, D>(l) * all / length(d);
    const S s = select(apart, zero, select(ratio < one, ratio, one));
    auto r = scaled<S, D>(l, d, tr, s, select(apart, zero, all * S(value_t<S>(1.0 / D))));
    r.plastic = select(apart, all, zero);
    return r;
  }
  template <class S, int D>
  COSTATE_INLINE static void map_vjp(const Vec<S, D>& e, const S& v, const S* p, const Vec<S, D>& t_bar,
                                     const Vec<S, D>& delta_bar, const S& out_bar, Vec<S, D>& e_bar, S& v_bar,
                                     S* p_bar) {
    using namespace plastic_detail;
    using T = value_t<S>;
    const Lame<S> l = lame(p[1], p[2]);
    const S tr = sum(e), all = tr + v, zero(0), one(1), share(T(1.0 / D));
    const mask_t<S> apart = is_apart(all);
    const Vec<S, D> d = deviator(e, tr);
    const S n = length(d), alpha = cone(p[3]), k = pressure_share<S, D>(l), ratio = -alpha * k * all / n;
    const S s = select(apart, zero, select(ratio < one, ratio, one));
    auto bar = scaled_vjp<S, D>(l, d, s, select(apart, zero, all * share), t_bar, delta_bar);
    const S ratio_bar = select((!apart) & (ratio < one), bar.s, zero);
    // ratio = -alpha k all / n
    const S common = -ratio_bar / n, k_bar = common * alpha * all;
    const SinCos<S> t = sincos(p[3]);
    const S rest = S(3) - t.sin;
    p_bar[3] = common * k * all * S(T(6 * 0.81649658092772603)) * t.cos / (rest * rest);
    bar.l.lambda += k_bar * S(T(D / 2.0)) / l.mu;
    bar.l.mu -= k_bar * S(T(D / 2.0)) * l.lambda / (l.mu * l.mu);
    for (int i = 0; i < D; ++i) bar.d[i] -= ratio_bar * ratio / (n * n) * d[i];
    const S all_bar = select(apart, out_bar, bar.mean * share) + common * alpha * k;
    e_bar = deviator_vjp(bar.d, bar.tr + all_bar);
    v_bar = all_bar;
    lame_vjp(p[1], p[2], bar.l, p_bar[1], p_bar[2]);
  }

 private:
  template <class S>
  COSTATE_INLINE static mask_t<S> is_apart(const S& all) {
    return all >= S(value_t<S>(sizeof(value_t<S>) == 8 ? -1e-12 : -1e-6));
  }
  template <class S>
  COSTATE_INLINE static S cone(const S& phi) {
    const S sine = sin(phi);
    return S(value_t<S>(2 * 0.81649658092772603)) * sine / (S(3) - sine);
  }
  template <class S, int D>
  COSTATE_INLINE static S pressure_share(const Lame<S>& l) {
    return S(1) + S(value_t<S>(D / 2.0)) * l.lambda / l.mu;
  }
};

}  // namespace costate::mpm
