// Quat<S>: rotations as unit quaternions q = w + x i + y j + z k (Hamilton's product, w first).
//
// q takes body coordinates to world coordinates: v_world = q v q*, u = (x, y, z),
//
//   rotate       v + 2 w (u x v) + 2 u x (u x v)
//   exp_map      of a rotation vector phi, theta = |phi|:    (cos theta/2,  sin(theta/2)/theta phi)
//   log_map      its inverse, shortest way: 2 atan2(|u|, w)/|u| u, after q -> -q where w < 0
//   integrate    q exp(omega dt), omega in body coordinates, renormalised so that rounding does not build up
//
// The factors sin(theta/2)/theta and atan(t)/t are smooth in theta^2 and t^2. Near zero they are summed as
// power series in these, so nothing divides by zero and first and second derivatives are right there;
// elsewhere they come from the functions, evaluated at an argument that select keeps away from zero.
// log_map's rotation vector jumps at angle pi, as it must.
//
// Reference: Sola, Quaternion kinematics for the error-state Kalman filter, 2017.
// Tests: tests/core/linear3_test.cpp.
#pragma once

#include "costate/core/mat3.h"

namespace costate {

template <class S>
struct Quat {
  S w, x, y, z;

  static COSTATE_HD COSTATE_INLINE Quat identity() { return {S(1), S(0), S(0), S(0)}; }
  COSTATE_HD COSTATE_INLINE Vec3<S> vec() const { return {x, y, z}; }

  friend COSTATE_HD COSTATE_INLINE Quat operator*(const Quat& a, const Quat& b) {
    return {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
            a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
  }
};

template <class S>
COSTATE_HD COSTATE_INLINE S dot(const Quat<S>& a, const Quat<S>& b) {
  return a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class S>
COSTATE_HD COSTATE_INLINE Quat<S> conjugate(const Quat<S>& q) {
  return {q.w, -q.x, -q.y, -q.z};
}
// q / |q|; the zero quaternion, which is no rotation, becomes the identity.
template <class S>
COSTATE_HD COSTATE_INLINE Quat<S> normalized(const Quat<S>& q) {
  const S square = dot(q, q);
  const mask_t<S> is_zero = square == S(0);
  const S scale = S(1) / sqrt(select(is_zero, S(1), square));
  return {select(is_zero, S(1), scale * q.w), scale * q.x, scale * q.y, scale * q.z};
}

template <class S>
COSTATE_HD COSTATE_INLINE Vec3<S> rotate(const Quat<S>& q, const Vec3<S>& v) {
  const Vec3<S> u = q.vec();
  const Vec3<S> t = S(2) * cross(u, v);
  return v + q.w * t + cross(u, t);
}
template <class S>
COSTATE_HD COSTATE_INLINE Vec3<S> rotate_back(const Quat<S>& q, const Vec3<S>& v) {
  return rotate(conjugate(q), v);
}
// The rotation matrix of a unit quaternion.
template <class S>
COSTATE_HD COSTATE_INLINE Mat3<S> to_matrix(const Quat<S>& q) {
  const S two(2), one(1);
  const S xx = two * q.x * q.x, yy = two * q.y * q.y, zz = two * q.z * q.z;
  const S xy = two * q.x * q.y, xz = two * q.x * q.z, yz = two * q.y * q.z;
  const S wx = two * q.w * q.x, wy = two * q.w * q.y, wz = two * q.w * q.z;
  return {{{one - yy - zz, xy - wz, xz + wy},
           {xy + wz, one - xx - zz, yz - wx},
           {xz - wy, yz + wx, one - xx - yy}}};
}

// c0 + c1 x + c2 x^2 + ... by Horner's rule, on any scalar.
template <class S, class... More>
COSTATE_HD COSTATE_INLINE S power_series(const S& x, double c, More... more) {
  if constexpr (sizeof...(More) == 0)
    return S(value_t<S>(c));
  else
    return S(value_t<S>(c)) + x * power_series(x, more...);
}

template <class S>
COSTATE_HD COSTATE_INLINE Quat<S> exp_map(const Vec3<S>& phi) {
  const S half(value_t<S>(0.5));
  const S square = dot(phi, phi);
  const mask_t<S> small = square < S(value_t<S>(1e-2));  // terms left out: below 1e-19
  const S theta = sqrt(select(small, S(1), square));
  const SinCos<S> t = sincos(half * theta);
  const S factor = select(small,
                          power_series(square, 1.0 / 2, -1.0 / 48, 1.0 / 3840, -1.0 / 645120, 1.0 / 185794560,
                                       -1.0 / 81749606400.0),
                          t.sin / theta);
  const S w = select(
      small,
      power_series(square, 1.0, -1.0 / 8, 1.0 / 384, -1.0 / 46080, 1.0 / 10321920, -1.0 / 3715891200.0),
      t.cos);
  return {w, factor * phi.x, factor * phi.y, factor * phi.z};
}

template <class S>
COSTATE_HD COSTATE_INLINE Vec3<S> log_map(const Quat<S>& q) {
  const S one(1);
  const S flip = select(q.w < S(0), S(-1), one);
  const S w = flip * q.w;
  const Vec3<S> u = flip * q.vec();
  const S square = dot(u, u);
  // t = |u| / w; small t^2 by the series of atan(t)/t, terms left out below 1e-19.
  const mask_t<S> small = square < S(value_t<S>(1e-3)) * (w * w);
  const S safe_w = select(small, w, one);
  const S t2 = select(small, square, S(0)) / (safe_w * safe_w);
  const S series = power_series(t2, 1.0, -1.0 / 3, 1.0 / 5, -1.0 / 7, 1.0 / 9, -1.0 / 11, 1.0 / 13) / safe_w;
  const S length = sqrt(select(small, one, square));
  const S factor = S(2) * select(small, series, atan2(length, w) / length);
  return factor * u;
}

template <class S>
COSTATE_HD COSTATE_INLINE Quat<S> integrate(const Quat<S>& q, const Vec3<S>& body_rate, const S& dt) {
  return normalized(q * exp_map(dt * body_rate));
}

}  // namespace costate
