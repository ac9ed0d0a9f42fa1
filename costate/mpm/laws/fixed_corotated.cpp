// Fixed corotated solid: corotated_stress.h has its equations and their transpose.  Tests:
// tests/mpm/law_test.cpp.
#include "costate/mpm/laws/corotated_stress.h"

namespace costate::mpm {

struct FixedCorotated {
  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static void respond(const LawInput<S, D>& in, LawOutput<S, D>& out) {
    out.F = deform(in);
    out.J = determinant(out.F);
    out.tau = fixed_corotated_stress(out.F, out.J, lame(in.p[1], in.p[2]));
    no_plastic_flow(in, out);
  }

  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static void respond_vjp(const LawInput<S, D>& in, const LawOutput<S, D>& out_bar,
                                                    LawInput<S, D>& in_bar) {
    const Matrix<S, D> F = deform(in), T = out_bar.tau;
    Lame<S> l_bar;
    Matrix<S, D> F_bar = out_bar.F + fixed_corotated_stress_vjp(F, lame(in.p[1], in.p[2]), T, l_bar);
    in_bar.actuation = S(0);
    lame_vjp(in.p[1], in.p[2], l_bar, in_bar.p[1], in_bar.p[2]);
    deform_vjp(in, F_bar, in_bar);
    no_plastic_flow_vjp(out_bar, in_bar);
  }
};

template <>
struct ResponseOf<MaterialKind::fixed_corotated> {
  using Type = FixedCorotated;
};

#if !defined(COSTATE_RESPONSES_ALONE)
constinit const Law Law::fixed_corotated = elastic_law<MaterialKind::fixed_corotated>("fixed_corotated");
#endif

}  // namespace costate::mpm
