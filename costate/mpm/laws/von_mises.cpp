// Metal, clay: StVK-Hencky after radial return onto von Mises' cylinder [1, box 3.1]. With n = |d|
// (principal_flow.h):
//
//   e+ = mean + s d,   s = min(1, sqrt(2/3) sigma_y / (2 mu n))
//
// There is a corner where flow begins. In two dimensions this is plane strain with the deviator taken in the
// plane.
// [1] Simo, Hughes: Computational Inelasticity.  Tests: tests/mpm/law_test.cpp.
#include "costate/mpm/laws/principal_flow.h"

namespace costate::mpm {

struct VonMises {
  static constexpr double kScale = 0.81649658092772603;  // sqrt(2/3)

  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static Principal<S, D> map(const Vec<S, D>& e, const S& plastic, const S* p) {
    const Lame<S> l = lame(p[1], p[2]);
    const S tr = sum(e);
    const Vec<S, D> d = deviator(e, tr);
    const S ratio = S(value_t<S>(kScale / 2)) * p[3] / (l.mu * length(d));
    auto r = scaled<S, D>(l, d, tr, select(ratio < S(1), ratio, S(1)), tr * S(value_t<S>(1.0 / D)));
    r.plastic = plastic;
    return r;
  }
  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static void map_vjp(const Vec<S, D>& e, const S&, const S* p,
                                                const Vec<S, D>& t_bar, const Vec<S, D>& delta_bar,
                                                const S& out_bar, Vec<S, D>& e_bar, S& plastic_bar,
                                                S* p_bar) {
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

template <>
struct ResponseOf<MaterialKind::von_mises> {
  using Type = HenckyLaw<VonMises>;
};

#if !defined(COSTATE_RESPONSES_ALONE)
namespace {

constexpr Number kNumbers[] = {
    kDensity, kYoungsModulus, kPoissonsRatio, {"yield_stress", "Pa", &Material::yield_stress, kPositive}};

}  // namespace

constinit const Law Law::von_mises = {
    .name = "von_mises",
    .numbers = listed(kNumbers),
    .wave_speed = pressure_wave_speed,
    .responses = &kResponses<MaterialKind::von_mises>,
};

#endif

}  // namespace costate::mpm
