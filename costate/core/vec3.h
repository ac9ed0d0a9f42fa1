// Vec3<S>: a vector of three-dimensional space, on any scalar.
//
// norm and normalized are defined at zero too: there the norm has derivative 0 and the direction is the zero
// vector, so that a lane with a vanishing vector neither divides by zero nor sends NaN into a gradient.
// Tests: tests/core/linear3_test.cpp.
#pragma once

#include "costate/core/functions.h"

namespace costate {

template <class S>
struct Vec3 {
  S x, y, z;

  static COSTATE_HD COSTATE_INLINE Vec3 zero() { return {S(0), S(0), S(0)}; }
  COSTATE_HD COSTATE_INLINE S& operator[](int i) { return i == 0 ? x : i == 1 ? y : z; }
  COSTATE_HD COSTATE_INLINE const S& operator[](int i) const { return i == 0 ? x : i == 1 ? y : z; }

  friend COSTATE_HD COSTATE_INLINE Vec3 operator+(const Vec3& a, const Vec3& b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
  }
  friend COSTATE_HD COSTATE_INLINE Vec3 operator-(const Vec3& a, const Vec3& b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
  }
  friend COSTATE_HD COSTATE_INLINE Vec3 operator-(const Vec3& a) { return {-a.x, -a.y, -a.z}; }
  friend COSTATE_HD COSTATE_INLINE Vec3 operator*(const S& s, const Vec3& a) {
    return {s * a.x, s * a.y, s * a.z};
  }
  friend COSTATE_HD COSTATE_INLINE Vec3 operator*(const Vec3& a, const S& s) { return s * a; }
  friend COSTATE_HD COSTATE_INLINE Vec3 operator/(const Vec3& a, const S& s) { return (S(1) / s) * a; }
  COSTATE_HD COSTATE_INLINE Vec3& operator+=(const Vec3& b) { return *this = *this + b; }
  COSTATE_HD COSTATE_INLINE Vec3& operator-=(const Vec3& b) { return *this = *this - b; }
  COSTATE_HD COSTATE_INLINE Vec3& operator*=(const S& s) { return *this = s * *this; }
};

template <class S>
COSTATE_HD COSTATE_INLINE S dot(const Vec3<S>& a, const Vec3<S>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class S>
COSTATE_HD COSTATE_INLINE Vec3<S> cross(const Vec3<S>& a, const Vec3<S>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
template <class S>
COSTATE_HD COSTATE_INLINE S squared_norm(const Vec3<S>& a) {
  return dot(a, a);
}
template <class S>
COSTATE_HD COSTATE_INLINE S norm(const Vec3<S>& a) {
  const S square = dot(a, a);
  const mask_t<S> is_zero = square == S(0);
  return select(is_zero, S(0), sqrt(select(is_zero, S(1), square)));
}
template <class S>
COSTATE_HD COSTATE_INLINE Vec3<S> normalized(const Vec3<S>& a) {
  const S square = dot(a, a);
  const mask_t<S> is_zero = square == S(0);
  return select(is_zero, S(0), S(1) / sqrt(select(is_zero, S(1), square))) * a;
}
template <class S>
COSTATE_HD COSTATE_INLINE Vec3<S> select(const mask_t<S>& m, const Vec3<S>& a, const Vec3<S>& b) {
  return {select(m, a.x, b.x), select(m, a.y, b.y), select(m, a.z, b.z)};
}

}  // namespace costate
