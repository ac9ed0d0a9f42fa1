// The stress of a fixed corotated solid [1, eq. 5], J = det F, R the rotation of F:
//
//   tau = 2 mu (F - R) F' + lambda (J - 1) J 1
//
// Transpose, T = tau_bar:  F_bar = 2 mu (T F + T'(F - R)) + polar_vjp(-2 mu T F) + lambda tr(T) (2 J - 1) cof
// F.
// [1] Stomakhin et al., Energetically consistent invertible elasticity, SCA 2012.  Tests:
// tests/mpm/law_test.cpp.
#pragma once

#include "costate/mpm/laws/polar.h"
#include "costate/mpm/laws/response.h"

namespace costate::mpm {

template <class S, int D>
COSTATE_HD COSTATE_INLINE Matrix<S, D> fixed_corotated_stress(const Matrix<S, D>& F, const S& J,
                                                              const Lame<S>& l) {
  const Matrix<S, D> R = polar_rotation(F);
  Matrix<S, D> tau = (S(2) * l.mu) * times_transpose(F - R, F);
  const S pressure = l.lambda * (J - S(1)) * J;
  for (int i = 0; i < D; ++i) tau(i, i) += pressure;
  return tau;
}
// Returns F_bar, assigns l_bar.
template <class S, int D>
COSTATE_HD COSTATE_INLINE Matrix<S, D> fixed_corotated_stress_vjp(const Matrix<S, D>& F, const Lame<S>& l,
                                                                  const Matrix<S, D>& T, Lame<S>& l_bar) {
  const Matrix<S, D> R = polar_rotation(F), E = F - R, TF = T * F;
  const S J = determinant(F), trT = trace(T), one(1), two(2);
  l_bar = {two * contract(TF, E), trT * (J - one) * J};  // <T, E F'> = <T F, E>
  return (two * l.mu) * (TF + transpose_times(T, E)) + polar_rotation_vjp(F, R, (-two * l.mu) * TF) +
         (l.lambda * trT * (two * J - one)) * cofactors(F);
}

}  // namespace costate::mpm
