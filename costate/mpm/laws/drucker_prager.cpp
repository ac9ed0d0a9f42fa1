// Sand: no tension, friction angle phi. With n = |d| (principal_flow.h), v the volume (logarithmic) gained
// while grains were apart, tr' = tr + v [1, section 7; 2]:
//
//   tr' >= 0   e+ = 0, v+ = tr'                             apart
//   tr' <  0   e+ = tr'/D + s d, v+ = 0,  s = min(1, alpha (1 + D lambda/(2 mu)) (-tr') / n)
//   alpha = sqrt(2/3) 2 sin(phi) / (3 - sin(phi))
//
// Continuous: s tends to 0 as tr' tends to 0. There are corners where flow begins. Sand that falls has tr' =
// 0 up to rounding: it counts as apart, so that its derivatives do not depend on the last bit. In two
// dimensions this is plane strain with the deviator taken in the plane. The plastic state is v.
//
// [1] Klar et al., Drucker-Prager elastoplasticity for sand animation, 2016. [2] Tampubolon et al.,
// Multi-species simulation of porous sand and water mixtures, 2017 (volume correction).  Tests:
// tests/mpm/law_test.cpp.
#include "costate/mpm/laws/principal_flow.h"

namespace costate::mpm {

struct DruckerPrager {
  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static Principal<S, D> map(const Vec<S, D>& e, const S& v, const S* p) {
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
  COSTATE_HD COSTATE_INLINE static void map_vjp(const Vec<S, D>& e, const S& v, const S* p,
                                                const Vec<S, D>& t_bar, const Vec<S, D>& delta_bar,
                                                const S& out_bar, Vec<S, D>& e_bar, S& v_bar, S* p_bar) {
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
  COSTATE_HD COSTATE_INLINE static mask_t<S> is_apart(const S& all) {
    return all >= S(value_t<S>(sizeof(value_t<S>) == 8 ? -1e-12 : -1e-6));
  }
  template <class S>
  COSTATE_HD COSTATE_INLINE static S cone(const S& phi) {
    const S sine = sin(phi);
    return S(value_t<S>(2 * 0.81649658092772603)) * sine / (S(3) - sine);
  }
  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static S pressure_share(const Lame<S>& l) {
    return S(1) + S(value_t<S>(D / 2.0)) * l.lambda / l.mu;
  }
};

template <>
struct ResponseOf<MaterialKind::drucker_prager> {
  using Type = HenckyLaw<DruckerPrager>;
};

#if !defined(COSTATE_RESPONSES_ALONE)
namespace {

constexpr Number kNumbers[] = {kDensity,
                               kYoungsModulus,
                               kPoissonsRatio,
                               // At pi/2 the cone would open into the wrong half.
                               {"friction_angle",
                                "rad",
                                &Material::friction_angle,
                                {.low = 0, .high = 1.5707963267948966, .open = false}}};

}  // namespace

constinit const Law Law::drucker_prager = {.name = "drucker_prager",
                                           .numbers = listed(kNumbers),
                                           .wave_speed = pressure_wave_speed,
                                           .responses = &kResponses<MaterialKind::drucker_prager>,
                                           .plastic = 0.0};

#endif

}  // namespace costate::mpm
