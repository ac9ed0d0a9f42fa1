// The rotation of the polar decomposition F = R S (R orthogonal, S symmetric), for det F > 0, and its
// derivative.
//
//   2-D  R is the rotation along (F00 + F11, F10 - F01)
//   3-D  Newton's iteration X <- (g X + X^-T / g) / 2 from X = F, with Higham's scaling
//        g = sqrt(|X^-1| / |X|); quadratic
//
// Derivative: dR = R [omega]x with (tr(S) 1 - S) omega = ax(R' dF), ax(A) = (A21 - A12, A02 - A20,
// A10 - A01). The matrix has the eigenvalues s_i + s_j: finite at equal stretches, singular only where two
// stretches cancel (an inverted element). No singular value decomposition is needed. Transpose: F_bar = R
// [y]x with (tr(S) 1 - S) y = ax(R' R_bar).
//
// Higham, Computing the polar decomposition, SIAM J. Sci. Stat. Comput. 7 (1986).
// Tests: tests/mpm/law_test.cpp.
#pragma once

#include "costate/ad/dual.h"
#include "costate/mpm/matrix.h"

namespace costate::mpm {

namespace polar_detail {

// omega from ax = (tr(S) 1 - S) omega, as the skew matrix [omega]x times R from the right: R [omega]x.
template <class S, int D>
COSTATE_HD COSTATE_INLINE Matrix<S, D> turn(const Matrix<S, D>& R, const Matrix<S, D>& stretch,
                                            const Matrix<S, D>& A) {
  if constexpr (D == 2) {
    const S omega = (A(1, 0) - A(0, 1)) / trace(stretch);
    Matrix<S, 2> skew;
    skew(0, 0) = skew(1, 1) = S(0);
    skew(1, 0) = omega;
    skew(0, 1) = -omega;
    return R * skew;
  } else {
    const Matrix<S, 3> G = Matrix<S, 3>::diagonal(trace(stretch)) - symmetric_part(stretch);
    const Matrix<S, 3> adjugate = cofactors(G);  // symmetric
    const Vec<S, 3> ax{{A(2, 1) - A(1, 2), A(0, 2) - A(2, 0), A(1, 0) - A(0, 1)}};
    const Vec<S, 3> omega = (S(1) / determinant(G)) * (adjugate * ax);
    Matrix<S, 3> skew;
    skew(0, 0) = skew(1, 1) = skew(2, 2) = S(0);
    skew(2, 1) = omega[0];
    skew(1, 2) = -omega[0];
    skew(0, 2) = omega[1];
    skew(2, 0) = -omega[1];
    skew(1, 0) = omega[2];
    skew(0, 1) = -omega[2];
    return R * skew;
  }
}

}  // namespace polar_detail

template <class S, int D>
COSTATE_HD COSTATE_INLINE Matrix<S, D> polar_rotation(const Matrix<S, D>& F) {
  if constexpr (is_dual<S>) {
    using V = typename S::Inner;
    Matrix<V, D> value, rate;
    for (int i = 0; i < D; ++i)
      for (int j = 0; j < D; ++j) value(i, j) = F(i, j).v, rate(i, j) = F(i, j).d[0];
    const Matrix<V, D> R = polar_rotation(value);
    const Matrix<V, D> R_dot = polar_detail::turn(R, transpose_times(R, value), transpose_times(R, rate));
    Matrix<S, D> r;
    for (int i = 0; i < D; ++i)
      for (int j = 0; j < D; ++j) r(i, j) = S(R(i, j), R_dot(i, j));
    return r;
  } else if constexpr (D == 2) {
    const S c = F(0, 0) + F(1, 1), s = F(1, 0) - F(0, 1), square = c * c + s * s;
    const S scale = S(1) / sqrt(select(square == S(0), S(1), square));
    Matrix<S, 2> R;
    R(0, 0) = R(1, 1) = scale * c;
    R(1, 0) = scale * s;
    R(0, 1) = -scale * s;
    return R;
  } else {
    using T = value_t<S>;
    const S tiny(T(1e-30)), half(T(0.5)), close(sizeof(T) == 8 ? T(1e-16) : T(1e-7));
    Matrix<S, 3> X = F;
    for (int iteration = 0; iteration < 15; ++iteration) {
      const Matrix<S, 3> C = cofactors(X);
      const S det = X(0, 0) * C(0, 0) + X(0, 1) * C(0, 1) + X(0, 2) * C(0, 2);
      const S inverse = S(1) / select(abs(det) < tiny, tiny, det);
      // g^2 = |X^-T| / |X|, so g^4 is the ratio of the squares.
      const S size = contract(X, X), dual_size = contract(C, C) * inverse * inverse;
      const S g = sqrt(sqrt(dual_size / select(size < tiny, tiny, size)));
      const S a = half * g, b = half * inverse / select(g < tiny, tiny, g);
      Matrix<S, 3> next;
      S change(0);
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
          next(i, j) = a * X(i, j) + b * C(i, j);
          const S d = next(i, j) - X(i, j);
          change += d * d;
        }
      }
      X = next;
      if (!any(change > close)) break;  // quadratic: what is left is the square of this change
    }
    return X;
  }
}

// F_bar from R_bar.
template <class S, int D>
COSTATE_HD COSTATE_INLINE Matrix<S, D> polar_rotation_vjp(const Matrix<S, D>& F, const Matrix<S, D>& R,
                                                          const Matrix<S, D>& R_bar) {
  return polar_detail::turn(R, transpose_times(R, F), transpose_times(R, R_bar));
}

}  // namespace costate::mpm
