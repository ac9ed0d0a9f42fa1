// Derivatives of the exponential and the logarithm of rotations, in body axes [1].
//
//   exp(phi + d) = exp(phi) exp(J d),       J   = 1 - b [phi] + c [phi]^2,
//       b = (1 - cos t)/t^2,  c = (t - sin t)/t^3
//   log(q exp(e)) = log q + J^-1 e,         J^-1 = 1 + [phi]/2 + k [phi]^2,  k = (1 - (t/2) cot(t/2))/t^2
//
// t = |phi|. b, c, k are smooth in t^2; near zero they are summed as power series, elsewhere evaluated at an
// argument that select keeps away from zero. The logarithm is the shortest rotation, |phi| <= pi; it jumps at
// pi.
//
// [1] Sola, Deray, Atchuthan: A micro Lie theory for state estimation in robotics, 2018, section "SO(3)".
// Tests: tests/rigid/dynamics/so3_test.cpp.
#pragma once

#include "costate/core/quat.h"

namespace costate::rigid {

// v + s [phi] v + c [phi]^2 v
template <class S>
COSTATE_INLINE Vec3<S> polynomial_of_skew(const Vec3<S>& phi, const S& s, const S& c, const Vec3<S>& v) {
  const Vec3<S> once = cross(phi, v);
  return v + s * once + c * cross(phi, once);
}

// J' e
template <class S>
COSTATE_INLINE Vec3<S> exp_jacobian_transpose(const Vec3<S>& phi, const Vec3<S>& e) {
  const S square = dot(phi, phi);
  const mask_t<S> small = square < S(value_t<S>(1e-2));
  const S t = sqrt(select(small, S(1), square));
  const SinCos<S> at = sincos(t);
  const S inverse = S(1) / (t * t);
  const S b = select(
      small,
      power_series(square, 1.0 / 2, -1.0 / 24, 1.0 / 720, -1.0 / 40320, 1.0 / 3628800, -1.0 / 479001600),
      (S(1) - at.cos) * inverse);
  const S c = select(small,
                     power_series(square, 1.0 / 6, -1.0 / 120, 1.0 / 5040, -1.0 / 362880, 1.0 / 39916800,
                                  -1.0 / 6227020800.0),
                     (t - at.sin) * inverse / t);
  return polynomial_of_skew(phi, b, c, e);
}

// k and dk/d(t^2) at square = t^2.
template <class S>
struct LogCoefficient {
  S value, slope;
};
template <class S>
COSTATE_INLINE LogCoefficient<S> log_coefficient(const S& square) {
  const mask_t<S> small = square < S(value_t<S>(1e-2));
  const S safe = select(small, S(1), square);
  const S half = S(value_t<S>(0.5)) * sqrt(safe);
  const SinCos<S> at = sincos(half);
  const S inverse = S(1) / at.sin, g = half * at.cos * inverse, k = (S(1) - g) / safe;
  // d g / d(t^2) = (g - (half / sin half)^2) / (2 t^2)
  const S ratio = half * inverse;
  const S slope = -((g - ratio * ratio) / (S(2) * safe) + k) / safe;
  return {select(small,
                 power_series(square, 1.0 / 12, 1.0 / 720, 1.0 / 30240, 1.0 / 1209600, 1.0 / 47900160,
                              691.0 / 1307674368000.0),
                 k),
          select(small,
                 power_series(square, 1.0 / 720, 2.0 / 30240, 3.0 / 1209600, 4.0 / 47900160,
                              5 * 691.0 / 1307674368000.0, 6.0 / 74724249600.0),
                 slope)};
}

// J^-1 w
template <class S>
COSTATE_INLINE Vec3<S> log_jacobian(const Vec3<S>& phi, const Vec3<S>& w) {
  return polynomial_of_skew(phi, S(value_t<S>(0.5)), log_coefficient(dot(phi, phi)).value, w);
}
// Cotangents of r = J^-1(phi) w.
template <class S>
COSTATE_INLINE void log_jacobian_vjp(const Vec3<S>& phi, const Vec3<S>& w, const Vec3<S>& r_bar,
                                     Vec3<S>& phi_bar, Vec3<S>& w_bar) {
  const LogCoefficient<S> k = log_coefficient(dot(phi, phi));
  const S half(value_t<S>(0.5));
  w_bar = polynomial_of_skew(phi, -half, k.value, r_bar);
  const Vec3<S> turned = cross(phi, w);
  phi_bar = half * cross(w, r_bar) + k.value * (cross(turned, r_bar) + cross(w, cross(r_bar, phi))) +
            (S(2) * k.slope * dot(r_bar, cross(phi, turned))) * phi;
}

// J^-T e
template <class S>
COSTATE_INLINE Vec3<S> log_jacobian_transpose(const Vec3<S>& phi, const Vec3<S>& e) {
  return polynomial_of_skew(phi, S(value_t<S>(-0.5)), log_coefficient(dot(phi, phi)).value, e);
}

}  // namespace costate::rigid
