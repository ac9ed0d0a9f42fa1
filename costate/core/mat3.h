// Mat3<S>: a 3x3 matrix (row, column), and Sym3<S>: a symmetric one in six numbers (inertia, strain, stress),
// on any scalar.
//
// inverse divides the adjugate by the determinant: exact enough for the well conditioned matrices of
// kinematics and inertia, and one division for all nine entries. A singular matrix divides by zero; the
// caller excludes it. Tests: tests/core/linear3_test.cpp.
#pragma once

#include "costate/core/vec3.h"

namespace costate {

template <class S>
struct Mat3 {
  S e[3][3];

  COSTATE_HD COSTATE_INLINE S& operator()(int i, int j) { return e[i][j]; }
  COSTATE_HD COSTATE_INLINE const S& operator()(int i, int j) const { return e[i][j]; }
  COSTATE_HD COSTATE_INLINE Vec3<S> row(int i) const { return {e[i][0], e[i][1], e[i][2]}; }
  COSTATE_HD COSTATE_INLINE Vec3<S> column(int j) const { return {e[0][j], e[1][j], e[2][j]}; }

  static COSTATE_HD COSTATE_INLINE Mat3 diagonal(const S& a, const S& b, const S& c) {
    return {{{a, S(0), S(0)}, {S(0), b, S(0)}, {S(0), S(0), c}}};
  }
  static COSTATE_HD COSTATE_INLINE Mat3 zero() { return diagonal(S(0), S(0), S(0)); }
  static COSTATE_HD COSTATE_INLINE Mat3 identity() { return diagonal(S(1), S(1), S(1)); }

  friend COSTATE_HD COSTATE_INLINE Mat3 operator+(const Mat3& a, const Mat3& b) {
    Mat3 r;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) r.e[i][j] = a.e[i][j] + b.e[i][j];
    return r;
  }
  friend COSTATE_HD COSTATE_INLINE Mat3 operator-(const Mat3& a, const Mat3& b) {
    Mat3 r;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) r.e[i][j] = a.e[i][j] - b.e[i][j];
    return r;
  }
  friend COSTATE_HD COSTATE_INLINE Mat3 operator*(const S& s, const Mat3& a) {
    Mat3 r;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) r.e[i][j] = s * a.e[i][j];
    return r;
  }
  friend COSTATE_HD COSTATE_INLINE Vec3<S> operator*(const Mat3& a, const Vec3<S>& v) {
    return {dot(a.row(0), v), dot(a.row(1), v), dot(a.row(2), v)};
  }
  friend COSTATE_HD COSTATE_INLINE Mat3 operator*(const Mat3& a, const Mat3& b) {
    Mat3 r;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) r.e[i][j] = dot(a.row(i), b.column(j));
    return r;
  }
  COSTATE_HD COSTATE_INLINE Mat3& operator+=(const Mat3& b) { return *this = *this + b; }
  COSTATE_HD COSTATE_INLINE Mat3& operator-=(const Mat3& b) { return *this = *this - b; }
};

template <class S>
COSTATE_HD COSTATE_INLINE Mat3<S> transpose(const Mat3<S>& a) {
  Mat3<S> r;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) r.e[i][j] = a.e[j][i];
  return r;
}
template <class S>
COSTATE_HD COSTATE_INLINE Vec3<S> transpose_times(const Mat3<S>& a, const Vec3<S>& v) {
  return {dot(a.column(0), v), dot(a.column(1), v), dot(a.column(2), v)};
}
template <class S>
COSTATE_HD COSTATE_INLINE S trace(const Mat3<S>& a) {
  return a.e[0][0] + a.e[1][1] + a.e[2][2];
}
// sum_ij a_ij b_ij, the inner product of matrices.
template <class S>
COSTATE_HD COSTATE_INLINE S contract(const Mat3<S>& a, const Mat3<S>& b) {
  return dot(a.row(0), b.row(0)) + dot(a.row(1), b.row(1)) + dot(a.row(2), b.row(2));
}
template <class S>
COSTATE_HD COSTATE_INLINE S determinant(const Mat3<S>& a) {
  return dot(a.row(0), cross(a.row(1), a.row(2)));
}
// Derivative of the determinant with respect to the matrix: det(a) a^-T, finite for every a.
template <class S>
COSTATE_HD COSTATE_INLINE Mat3<S> cofactors(const Mat3<S>& a) {
  const Vec3<S> r0 = cross(a.row(1), a.row(2)), r1 = cross(a.row(2), a.row(0)),
                r2 = cross(a.row(0), a.row(1));
  return {{{r0.x, r0.y, r0.z}, {r1.x, r1.y, r1.z}, {r2.x, r2.y, r2.z}}};
}
template <class S>
COSTATE_HD COSTATE_INLINE Mat3<S> inverse(const Mat3<S>& a) {
  const Mat3<S> c = cofactors(a);
  return (S(1) / dot(a.row(0), c.row(0))) * transpose(c);
}
// a b^T
template <class S>
COSTATE_HD COSTATE_INLINE Mat3<S> outer(const Vec3<S>& a, const Vec3<S>& b) {
  return {{{a.x * b.x, a.x * b.y, a.x * b.z},
           {a.y * b.x, a.y * b.y, a.y * b.z},
           {a.z * b.x, a.z * b.y, a.z * b.z}}};
}
// skew(a) b = a x b
template <class S>
COSTATE_HD COSTATE_INLINE Mat3<S> skew(const Vec3<S>& a) {
  return {{{S(0), -a.z, a.y}, {a.z, S(0), -a.x}, {-a.y, a.x, S(0)}}};
}

template <class S>
struct Sym3 {
  S xx, yy, zz, xy, xz, yz;

  static COSTATE_HD COSTATE_INLINE Sym3 diagonal(const S& a, const S& b, const S& c) {
    return {a, b, c, S(0), S(0), S(0)};
  }
  static COSTATE_HD COSTATE_INLINE Sym3 zero() { return diagonal(S(0), S(0), S(0)); }
  static COSTATE_HD COSTATE_INLINE Sym3 identity() { return diagonal(S(1), S(1), S(1)); }

  COSTATE_HD COSTATE_INLINE Mat3<S> full() const { return {{{xx, xy, xz}, {xy, yy, yz}, {xz, yz, zz}}}; }

  friend COSTATE_HD COSTATE_INLINE Sym3 operator+(const Sym3& a, const Sym3& b) {
    return {a.xx + b.xx, a.yy + b.yy, a.zz + b.zz, a.xy + b.xy, a.xz + b.xz, a.yz + b.yz};
  }
  friend COSTATE_HD COSTATE_INLINE Sym3 operator-(const Sym3& a, const Sym3& b) {
    return {a.xx - b.xx, a.yy - b.yy, a.zz - b.zz, a.xy - b.xy, a.xz - b.xz, a.yz - b.yz};
  }
  friend COSTATE_HD COSTATE_INLINE Sym3 operator*(const S& s, const Sym3& a) {
    return {s * a.xx, s * a.yy, s * a.zz, s * a.xy, s * a.xz, s * a.yz};
  }
  friend COSTATE_HD COSTATE_INLINE Vec3<S> operator*(const Sym3& a, const Vec3<S>& v) {
    return {a.xx * v.x + a.xy * v.y + a.xz * v.z, a.xy * v.x + a.yy * v.y + a.yz * v.z,
            a.xz * v.x + a.yz * v.y + a.zz * v.z};
  }
  COSTATE_HD COSTATE_INLINE Sym3& operator+=(const Sym3& b) { return *this = *this + b; }
  COSTATE_HD COSTATE_INLINE Sym3& operator-=(const Sym3& b) { return *this = *this - b; }
};

// (a + a^T) / 2
template <class S>
COSTATE_HD COSTATE_INLINE Sym3<S> symmetric_part(const Mat3<S>& a) {
  const S half(value_t<S>(0.5));
  return {a.e[0][0],
          a.e[1][1],
          a.e[2][2],
          half * (a.e[0][1] + a.e[1][0]),
          half * (a.e[0][2] + a.e[2][0]),
          half * (a.e[1][2] + a.e[2][1])};
}
// a a^T for a vector
template <class S>
COSTATE_HD COSTATE_INLINE Sym3<S> outer(const Vec3<S>& a) {
  return {a.x * a.x, a.y * a.y, a.z * a.z, a.x * a.y, a.x * a.z, a.y * a.z};
}
// r s r^T: a tensor seen from a frame rotated by r.
template <class S>
COSTATE_HD COSTATE_INLINE Sym3<S> congruence(const Mat3<S>& r, const Sym3<S>& s) {
  const Vec3<S> a = s * r.row(0), b = s * r.row(1), c = s * r.row(2);
  return {dot(r.row(0), a), dot(r.row(1), b), dot(r.row(2), c),
          dot(r.row(0), b), dot(r.row(0), c), dot(r.row(1), c)};
}
template <class S>
COSTATE_HD COSTATE_INLINE S trace(const Sym3<S>& a) {
  return a.xx + a.yy + a.zz;
}
template <class S>
COSTATE_HD COSTATE_INLINE Sym3<S> cofactors(const Sym3<S>& a) {
  return {a.yy * a.zz - a.yz * a.yz, a.xx * a.zz - a.xz * a.xz, a.xx * a.yy - a.xy * a.xy,
          a.xz * a.yz - a.xy * a.zz, a.xy * a.yz - a.xz * a.yy, a.xy * a.xz - a.yz * a.xx};
}
template <class S>
COSTATE_HD COSTATE_INLINE S determinant(const Sym3<S>& a) {
  const Sym3<S> c = cofactors(a);
  return a.xx * c.xx + a.xy * c.xy + a.xz * c.xz;
}
template <class S>
COSTATE_HD COSTATE_INLINE Sym3<S> inverse(const Sym3<S>& a) {
  const Sym3<S> c = cofactors(a);
  return (S(1) / (a.xx * c.xx + a.xy * c.xy + a.xz * c.xz)) * c;
}

}  // namespace costate
