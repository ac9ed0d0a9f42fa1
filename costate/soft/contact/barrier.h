// The barrier that keeps things apart, and smoothed Coulomb friction.
//
//   b(d) = -(d - h)^2 ln(d/h)   for 0 < d < h, else 0      d distance, h where the barrier begins [m]; twice
//                                                          continuously differentiable at h
//   f0(y) = y                   for y >= e                  y length of a slip [m], e slip_speed dt
//         = y^2/e - y^3/(3 e^2) + e/3  below                f0' = f1 = 2 y/e - (y/e)^2 there: sticking creeps
//
// on any scalar. [1] Li et al.: Incremental Potential Contact, ACM TOG 39 (2020), eqs. 6 and 18.
// Tests: tests/soft/contact_test.cpp.
#pragma once

#include "costate/core/functions.h"

namespace costate::soft {

template <class S>
struct Barrier {
  S value, slope, curve;       // b, b', b''
  S by_reach, slope_by_reach;  // db/dh, db'/dh
};

template <class S>
Barrier<S> barrier(const S& d, const S& h) {
  if (!(d < h)) return {S(0), S(0), S(0), S(0), S(0)};
  using costate::log;
  const S q = d - h, l = log(d / h);
  return {-(q * q) * l, -2.0 * q * l - q * q / d, -2.0 * l - 4.0 * q / d + q * q / (d * d),
          2.0 * q * l + q * q / h, 2.0 * l + 2.0 * q / h + 2.0 * q / d};
}

template <class S>
struct Slip {
  S value;       // f0
  S over;        // f1(y)/y
  S over_slope;  // d(f1/y)/dy / y: finite at 0
};
// f1/y = 2/e - y/e^2 below e, 1/y above.
template <class S>
Slip<S> slip(const S& y, const S& e) {
  if (!(y < e)) return {y, 1.0 / y, -1.0 / (y * y * y)};
  return {y * y / e - y * y * y / (3.0 * e * e) + e / 3.0, 2.0 / e - y / (e * e),
          y > S(0) ? -1.0 / (e * e * y) : S(0)};
}

}  // namespace costate::soft
