// Neo-Hookean solid [1, eq. 6.9]: tau = mu (F F' - 1) + lambda log(J) 1,  J = det F.
//
// Transpose, T = tau_bar: F_bar = mu (T + T') F + lambda tr(T) F^-T.
// [1] Bonet, Wood: Nonlinear Continuum Mechanics.  Tests: tests/mpm/law_test.cpp.
#include "costate/mpm/laws/response.h"

namespace costate::mpm {

struct NeoHookean {
  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static void respond(const LawInput<S, D>& in, LawOutput<S, D>& out) {
    out.F = deform(in);
    out.J = determinant(out.F);
    const Lame<S> l = lame(in.p[1], in.p[2]);
    out.tau = l.mu * times_transpose(out.F, out.F);
    const S pressure = l.lambda * log(out.J) - l.mu;
    for (int i = 0; i < D; ++i) out.tau(i, i) += pressure;
    no_plastic_flow(in, out);
  }

  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static void respond_vjp(const LawInput<S, D>& in, const LawOutput<S, D>& out_bar,
                                                    LawInput<S, D>& in_bar) {
    const Matrix<S, D> F = deform(in), T = out_bar.tau;
    const S J = determinant(F), trT = trace(T);
    const Lame<S> l = lame(in.p[1], in.p[2]);
    const Matrix<S, D> TsF = (T + transpose(T)) * F;
    const Matrix<S, D> F_bar = out_bar.F + l.mu * TsF + (l.lambda * trT / J) * cofactors(F);
    // <T, F F'> = <Ts F, F> / 2
    const Lame<S> l_bar{S(value_t<S>(0.5)) * contract(TsF, F) - trT, trT * log(J)};
    lame_vjp(in.p[1], in.p[2], l_bar, in_bar.p[1], in_bar.p[2]);
    deform_vjp(in, F_bar, in_bar);
    in_bar.actuation = S(0);
    no_plastic_flow_vjp(out_bar, in_bar);
  }
};

template <>
struct ResponseOf<MaterialKind::neo_hookean> {
  using Type = NeoHookean;
};

#if !defined(COSTATE_RESPONSES_ALONE)
constinit const Law Law::neo_hookean = elastic_law<MaterialKind::neo_hookean>("neo_hookean");
#endif

}  // namespace costate::mpm
