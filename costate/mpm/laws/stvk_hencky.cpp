// St. Venant-Kirchhoff in logarithmic strain: principal stresses t = 2 mu e + lambda tr(e) of principal
// Hencky strains e (hencky.h, principal_flow.h).  Tests: tests/mpm/law_test.cpp.
#include "costate/mpm/laws/principal_flow.h"

namespace costate::mpm {

struct Hencky {
  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static Principal<S, D> map(const Vec<S, D>& e, const S& plastic, const S* p) {
    const S tr = sum(e);
    auto r = scaled<S, D>(lame(p[1], p[2]), deviator(e, tr), tr, S(1), tr * S(value_t<S>(1.0 / D)));
    r.plastic = plastic;
    return r;
  }
  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static void map_vjp(const Vec<S, D>& e, const S&, const S* p,
                                                const Vec<S, D>& t_bar, const Vec<S, D>& delta_bar,
                                                const S& out_bar, Vec<S, D>& e_bar, S& plastic_bar,
                                                S* p_bar) {
    const S tr = sum(e), share(value_t<S>(1.0 / D));
    const auto bar = scaled_vjp<S, D>(lame(p[1], p[2]), deviator(e, tr), S(1), tr * share, t_bar, delta_bar);
    e_bar = deviator_vjp(bar.d, bar.tr + share * bar.mean);
    lame_vjp(p[1], p[2], bar.l, p_bar[1], p_bar[2]);
    plastic_bar = out_bar;
  }
};

template <>
struct ResponseOf<MaterialKind::stvk_hencky> {
  using Type = HenckyLaw<Hencky>;
};

#if !defined(COSTATE_RESPONSES_ALONE)
constinit const Law Law::stvk_hencky = elastic_law<MaterialKind::stvk_hencky>("stvk_hencky");
#endif

}  // namespace costate::mpm
