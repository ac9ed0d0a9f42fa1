// Snow [1]: stretches beyond 1 - theta_c and 1 + theta_s are permanent, and what was compressed hardens. In
// principal strains e_i = log(stretch_i):
//
//   e+ = clamp(e, log(1 - theta_c), log(1 + theta_s)),   Jp+ = Jp exp(sum e - sum e+)
//   h = exp(xi (1 - Jp+)),  s_i = exp(e+_i),  J = exp(sum e+)
//   t_i = h (2 mu s_i (s_i - 1) + lambda (J - 1) J)                       the fixed corotated stress
//
// Divided differences: t_i - t_j = 2 h mu (s_i + s_j - 1)(s_i - s_j). The divided difference of the clamp is
// 1, 0, or a quotient whose denominator is not small (the pair is on different sides of a bound). The plastic
// state is Jp.
// [1] Stomakhin et al., A material point method for snow simulation, SIGGRAPH 2013, eq. 1-3.  Tests:
// tests/mpm/law_test.cpp.
#include "costate/mpm/laws/principal_flow.h"

namespace costate::mpm {

struct Snow {
  template <class S, int D>
  struct State {
    S low, high, h, J, plastic;
    Vec<S, D> e, s;  // after flow
    Lame<S> l;
  };
  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static State<S, D> flow(const Vec<S, D>& e, const S& plastic, const S* p) {
    const S one(1);
    State<S, D> r;
    r.low = log(one - p[3]);
    r.high = log(one + p[4]);
    r.l = lame(p[1], p[2]);
    for (int i = 0; i < D; ++i) {
      r.e[i] = select(e[i] < r.low, r.low, select(e[i] > r.high, r.high, e[i]));
      r.s[i] = exp(r.e[i]);
    }
    r.J = exp(sum(r.e));
    r.plastic = plastic * exp(sum(e) - sum(r.e));
    r.h = exp(p[5] * (one - r.plastic));
    return r;
  }

  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static Principal<S, D> map(const Vec<S, D>& e, const S& plastic, const S* p) {
    const S one(1), two(2);
    const State<S, D> f = flow<S, D>(e, plastic, p);
    Principal<S, D> r;
    for (int i = 0; i < D; ++i) {
      r.t[i] = f.h * (two * f.l.mu * f.s[i] * (f.s[i] - one) + f.l.lambda * (f.J - one) * f.J);
      r.delta[i] = f.e[i] - e[i];
      for (int j = i + 1; j < D; ++j) {
        const S gap = e[i] - e[j], gap_after = f.e[i] - f.e[j];
        const mask_t<S> same = gap_after == gap;  // both inside
        const S clamp = select(same, one, gap_after / select(gap == S(0), one, gap));
        r.stress_slope[pair_of(i, j)] =
            two * f.h * f.l.mu * (f.s[i] + f.s[j] - one) * divided_exp(f.e[i], f.e[j]) * clamp;
        r.flow_slope[pair_of(i, j)] = clamp - one;
      }
    }
    r.plastic = f.plastic;
    return r;
  }

  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static void map_vjp(const Vec<S, D>& e, const S& plastic, const S* p,
                                                const Vec<S, D>& t_bar, const Vec<S, D>& delta_bar,
                                                const S& out_bar, Vec<S, D>& e_bar, S& plastic_bar,
                                                S* p_bar) {
    const S zero(0), one(1), two(2), t_sum = sum(t_bar);
    const State<S, D> f = flow<S, D>(e, plastic, p);
    const S volumetric = (f.J - one) * f.J;
    S shear(0);
    for (int i = 0; i < D; ++i) shear += t_bar[i] * two * f.s[i] * (f.s[i] - one);
    const S h_bar = f.l.mu * shear + f.l.lambda * volumetric * t_sum;
    lame_vjp(p[1], p[2], Lame<S>{f.h * shear, f.h * volumetric * t_sum}, p_bar[1], p_bar[2]);
    p_bar[5] = h_bar * f.h * (one - f.plastic);
    const S Jp_bar = out_bar - h_bar * f.h * p[5];
    plastic_bar = Jp_bar * f.plastic / plastic;
    const S drift_bar = Jp_bar * f.plastic;
    const S J_bar = f.h * f.l.lambda * (two * f.J - one) * t_sum;
    S low_bar(0), high_bar(0);
    for (int i = 0; i < D; ++i) {
      const S after_bar = t_bar[i] * f.h * two * f.l.mu * (two * f.s[i] - one) * f.s[i] + J_bar * f.J +
                          delta_bar[i] - drift_bar;
      const mask_t<S> below = e[i] < f.low, above = (!below) & (e[i] > f.high);
      low_bar += select(below, after_bar, zero);
      high_bar += select(above, after_bar, zero);
      e_bar[i] = drift_bar - delta_bar[i] + select(below | above, zero, after_bar);
    }
    p_bar[3] = -low_bar / (one - p[3]);
    p_bar[4] = high_bar / (one + p[4]);
  }
};

template <>
struct ResponseOf<MaterialKind::snow> {
  using Type = HenckyLaw<Snow>;
};

#if !defined(COSTATE_RESPONSES_ALONE)
namespace {

constexpr Number kNumbers[] = {
    kDensity,
    kYoungsModulus,
    kPoissonsRatio,
    // At 1 the smallest stretch would not be one.
    {"critical_compression", "", &Material::critical_compression, {.low = 0, .high = 1, .open = false}},
    {"critical_stretch", "", &Material::critical_stretch, kNotNegative},
    {"hardening", "", &Material::hardening, kNotNegative}};

}  // namespace

constinit const Law Law::snow = {.name = "snow",
                                 .numbers = listed(kNumbers),
                                 .wave_speed = pressure_wave_speed,
                                 .responses = &kResponses<MaterialKind::snow>,
                                 .plastic = 1.0};

#endif

}  // namespace costate::mpm
