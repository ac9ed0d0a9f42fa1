// Matrix<S, D>: a D x D matrix on any scalar, with what a constitutive law needs. D = 2 or 3.
#pragma once

#include "costate/core/vec.h"

namespace costate::mpm {

template <class S, int D>
struct Matrix {
  S e[D][D];

  COSTATE_HD COSTATE_INLINE S& operator()(int i, int j) { return e[i][j]; }
  COSTATE_HD COSTATE_INLINE const S& operator()(int i, int j) const { return e[i][j]; }

  static COSTATE_HD COSTATE_INLINE Matrix diagonal(const S& s) {
    Matrix r;
    for (int i = 0; i < D; ++i)
      for (int j = 0; j < D; ++j) r.e[i][j] = i == j ? s : S(0);
    return r;
  }
  static COSTATE_HD COSTATE_INLINE Matrix zero() { return diagonal(S(0)); }
  static COSTATE_HD COSTATE_INLINE Matrix identity() { return diagonal(S(1)); }

  friend COSTATE_HD COSTATE_INLINE Matrix operator+(const Matrix& a, const Matrix& b) {
    Matrix r;
    for (int i = 0; i < D; ++i)
      for (int j = 0; j < D; ++j) r.e[i][j] = a.e[i][j] + b.e[i][j];
    return r;
  }
  friend COSTATE_HD COSTATE_INLINE Matrix operator-(const Matrix& a, const Matrix& b) {
    Matrix r;
    for (int i = 0; i < D; ++i)
      for (int j = 0; j < D; ++j) r.e[i][j] = a.e[i][j] - b.e[i][j];
    return r;
  }
  friend COSTATE_HD COSTATE_INLINE Matrix operator*(const S& s, const Matrix& a) {
    Matrix r;
    for (int i = 0; i < D; ++i)
      for (int j = 0; j < D; ++j) r.e[i][j] = s * a.e[i][j];
    return r;
  }
  friend COSTATE_HD COSTATE_INLINE Matrix operator*(const Matrix& a, const Matrix& b) {
    Matrix r;
    for (int i = 0; i < D; ++i) {
      for (int j = 0; j < D; ++j) {
        S sum = a.e[i][0] * b.e[0][j];
        for (int k = 1; k < D; ++k) sum += a.e[i][k] * b.e[k][j];
        r.e[i][j] = sum;
      }
    }
    return r;
  }
  COSTATE_HD COSTATE_INLINE Matrix& operator+=(const Matrix& b) { return *this = *this + b; }
};

template <class S, int D>
COSTATE_HD COSTATE_INLINE Matrix<S, D> transpose(const Matrix<S, D>& a) {
  Matrix<S, D> r;
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j) r(i, j) = a(j, i);
  return r;
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Vec<S, D> operator*(const Matrix<S, D>& a, const Vec<S, D>& v) {
  Vec<S, D> r;
  for (int i = 0; i < D; ++i) {
    r[i] = a(i, 0) * v[0];
    for (int j = 1; j < D; ++j) r[i] += a(i, j) * v[j];
  }
  return r;
}
// a' b, and a b'
template <class S, int D>
COSTATE_HD COSTATE_INLINE Matrix<S, D> transpose_times(const Matrix<S, D>& a, const Matrix<S, D>& b) {
  return transpose(a) * b;
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Matrix<S, D> times_transpose(const Matrix<S, D>& a, const Matrix<S, D>& b) {
  return a * transpose(b);
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Matrix<S, D> outer(const Vec<S, D>& a, const Vec<S, D>& b) {
  Matrix<S, D> r;
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j) r(i, j) = a[i] * b[j];
  return r;
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE S trace(const Matrix<S, D>& a) {
  S r = a(0, 0);
  for (int i = 1; i < D; ++i) r += a(i, i);
  return r;
}
// sum_ij a_ij b_ij
template <class S, int D>
COSTATE_HD COSTATE_INLINE S contract(const Matrix<S, D>& a, const Matrix<S, D>& b) {
  S r(0);
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j) r += a(i, j) * b(i, j);
  return r;
}
// d det / d a = det(a) a^-T
template <class S, int D>
COSTATE_HD COSTATE_INLINE Matrix<S, D> cofactors(const Matrix<S, D>& a) {
  Matrix<S, D> r;
  if constexpr (D == 2) {
    r(0, 0) = a(1, 1);
    r(0, 1) = -a(1, 0);
    r(1, 0) = -a(0, 1);
    r(1, 1) = a(0, 0);
  } else {
    for (int i = 0; i < 3; ++i) {
      const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
      for (int j = 0; j < 3; ++j) {
        const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
        r(i, j) = a(i1, j1) * a(i2, j2) - a(i1, j2) * a(i2, j1);
      }
    }
  }
  return r;
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE S determinant(const Matrix<S, D>& a) {
  if constexpr (D == 2) {
    return a(0, 0) * a(1, 1) - a(0, 1) * a(1, 0);
  } else {
    return a(0, 0) * (a(1, 1) * a(2, 2) - a(1, 2) * a(2, 1)) +
           a(0, 1) * (a(1, 2) * a(2, 0) - a(1, 0) * a(2, 2)) +
           a(0, 2) * (a(1, 0) * a(2, 1) - a(1, 1) * a(2, 0));
  }
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Matrix<S, D> symmetric_part(const Matrix<S, D>& a) {
  return S(value_t<S>(0.5)) * (a + transpose(a));
}

}  // namespace costate::mpm
