// Elastic laws by their Kirchhoff stress tau(F), J = det F, R the rotation of F.
//
//   neo-Hookean       tau = mu (F F' - 1) + lambda log(J) 1                       [1, eq. 6.9]
//   fixed corotated   tau = 2 mu (F - R) F' + lambda (J - 1) J 1                  [2, eq. 5]
//   muscle            fixed corotated + s a (F f)(F f)'                           f fibre, a actuation, s strength
//
// Transposes, T = tau_bar, Ts = T + T':
//
//   neo-Hookean       F_ = mu Ts F + lambda tr(T) F^-T
//   fixed corotated   F_ = 2 mu (T F + T'(F - R)) + polar_vjp(-2 mu T F) + lambda tr(T) (2 J - 1) cof F
//   muscle            F_ += s a Ts F f f'
//
// Parameters: density, E, nu (, strength).
// [1] Bonet, Wood: Nonlinear Continuum Mechanics. [2] Stomakhin et al., Energetically consistent invertible elasticity, SCA 2012.
// Tests: tests/mpm/law_test.cpp.
#pragma once

#include "costate/mpm/laws/law.h"
#include "costate/mpm/laws/polar.h"

namespace costate::mpm {

struct NeoHookean {
  template <class S, int D>
  COSTATE_INLINE static void respond(const LawInput<S, D>& in, LawOutput<S, D>& out) {
    out.F = deform(in);
    out.J = determinant(out.F);
    const Lame<S> l = lame(in.p[1], in.p[2]);
    out.tau = l.mu * times_transpose(out.F, out.F);
    const S pressure = l.lambda * log(out.J) - l.mu;
    for (int i = 0; i < D; ++i) out.tau(i, i) += pressure;
    no_plastic_flow(in, out);
  }

  template <class S, int D>
  COSTATE_INLINE static void respond_vjp(const LawInput<S, D>& in, const LawOutput<S, D>& out_bar,
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

// The stress above for given Lame parameters, so that snow can use it too.
template <class S, int D>
COSTATE_INLINE Matrix<S, D> fixed_corotated_stress(const Matrix<S, D>& F, const S& J, const Lame<S>& l) {
  const Matrix<S, D> R = polar_rotation(F);
  Matrix<S, D> tau = (S(2) * l.mu) * times_transpose(F - R, F);
  const S pressure = l.lambda * (J - S(1)) * J;
  for (int i = 0; i < D; ++i) tau(i, i) += pressure;
  return tau;
}
// Returns F_bar, assigns l_bar.
template <class S, int D>
COSTATE_INLINE Matrix<S, D> fixed_corotated_stress_vjp(const Matrix<S, D>& F, const Lame<S>& l,
                                                       const Matrix<S, D>& T, Lame<S>& l_bar) {
  const Matrix<S, D> R = polar_rotation(F), E = F - R, TF = T * F;
  const S J = determinant(F), trT = trace(T), one(1), two(2);
  l_bar = {two * contract(TF, E), trT * (J - one) * J};  // <T, E F'> = <T F, E>
  return (two * l.mu) * (TF + transpose_times(T, E)) + polar_rotation_vjp(F, R, (-two * l.mu) * TF) +
         (l.lambda * trT * (two * J - one)) * cofactors(F);
}

template <bool kMuscle>
struct Corotated {
  template <class S, int D>
  COSTATE_INLINE static void respond(const LawInput<S, D>& in, LawOutput<S, D>& out) {
    out.F = deform(in);
    out.J = determinant(out.F);
    out.tau = fixed_corotated_stress(out.F, out.J, lame(in.p[1], in.p[2]));
    if constexpr (kMuscle) {
      const Vec<S, D> g = out.F * fibre(in);
      out.tau += (in.p[3] * in.actuation) * outer(g, g);
    }
    no_plastic_flow(in, out);
  }

  template <class S, int D>
  COSTATE_INLINE static void respond_vjp(const LawInput<S, D>& in, const LawOutput<S, D>& out_bar,
                                         LawInput<S, D>& in_bar) {
    const Matrix<S, D> F = deform(in), T = out_bar.tau;
    Lame<S> l_bar;
    Matrix<S, D> F_bar = out_bar.F + fixed_corotated_stress_vjp(F, lame(in.p[1], in.p[2]), T, l_bar);
    in_bar.actuation = S(0);
    if constexpr (kMuscle) {
      const Vec<S, D> f = fibre(in), g = F * f, Tg = (T + transpose(T)) * g;
      F_bar += outer((in.p[3] * in.actuation) * Tg, f);
      const S pull_bar = S(value_t<S>(0.5)) * dot(g, Tg);
      in_bar.p[3] = in.actuation * pull_bar;
      in_bar.actuation = in.p[3] * pull_bar;
    }
    lame_vjp(in.p[1], in.p[2], l_bar, in_bar.p[1], in_bar.p[2]);
    deform_vjp(in, F_bar, in_bar);
    no_plastic_flow_vjp(out_bar, in_bar);
  }

 private:
  template <class S, int D>
  COSTATE_INLINE static Vec<S, D> fibre(const LawInput<S, D>& in) {
    Vec<S, D> f;
    for (int i = 0; i < D; ++i) f[i] = S(in.fibre[i]);
    return f;
  }
};

}  // namespace costate::mpm
