// Two balls, centres c1 and c2, radii r1 and r2: what spheres and capsules touch with.
//
//   d = c2 - c1,   n = d / |d|,   dist = |d| - r1 - r2,   point = (c1 + c2)/2 + (r1 - r2)/2 n
//
// Transpose, with N_ = n_ + (r1 - r2)/2 point_:
//
//   d_ = dist_ n + (N_ - n (n.N_)) / |d|       the second term is the curvature: farther centres, slower
//                                              turning normal
//   c1_ += point_/2 - d_,   c2_ += point_/2 + d_,   r1_ += -dist_ + n.point_/2,   r2_ += -dist_ - n.point_/2
//
// Centres that coincide have no direction: the given one is taken, and held.
// Tests: tests/geometry/collide_test.cpp.
#pragma once

#include "costate/geometry/contact_point.h"
#include "costate/geometry/scalars.h"

namespace costate::geometry {

// The normal of two balls with one centre: across both shapes' axes, or x where these are parallel (as
// MuJoCo).
template <class S>
COSTATE_INLINE Vec3<S> normal_of_coincident(const Vec3<S>& axis1, const Vec3<S>& axis2) {
  const Vec3<S> a = {held(axis1.x), held(axis1.y), held(axis1.z)},
                b = {held(axis2.x), held(axis2.y), held(axis2.z)};
  const Vec3<S> across = cross(a, b);
  const S square = squared_norm(across);
  const mask_t<S> parallel = square < S(value_t<S>(1e-30));
  const S inverse = S(1) / sqrt(select(parallel, S(1), square));
  return select(parallel, Vec3<S>{S(1), S(0), S(0)}, inverse * across);
}

template <class S>
struct BallDirection {
  Vec3<S> n;
  S length, inverse;  // of c2 - c1; 0 and 0 where they coincide
};

template <class S>
COSTATE_INLINE BallDirection<S> ball_direction(const Vec3<S>& c1, const Vec3<S>& c2,
                                               const Vec3<S>& coincident_normal) {
  const Vec3<S> d = c2 - c1;
  const S square = squared_norm(d);
  const mask_t<S> coincide = square < S(value_t<S>(1e-30));
  const S length = sqrt(select(coincide, S(1), square));
  const S inverse = select(coincide, S(0), S(1) / length);
  return {select(coincide, coincident_normal, inverse * d), select(coincide, S(0), length), inverse};
}

template <class S>
COSTATE_INLINE ContactPoint<S> ball_pair(const Vec3<S>& c1, const S& r1, const Vec3<S>& c2, const S& r2,
                                         const Vec3<S>& coincident_normal) {
  const S half(value_t<S>(0.5));
  const BallDirection<S> d = ball_direction(c1, c2, coincident_normal);
  return {d.length - r1 - r2, half * (c1 + c2) + (half * (r1 - r2)) * d.n, d.n, Vec3<S>::zero()};
}

template <class S>
COSTATE_INLINE void ball_pair_vjp(const Vec3<S>& c1, const S& r1, const Vec3<S>& c2, const S& r2,
                                  const Vec3<S>& coincident_normal, const ContactPoint<S>& bar,
                                  Vec3<S>& c1_bar, S& r1_bar, Vec3<S>& c2_bar, S& r2_bar) {
  const S half(value_t<S>(0.5));
  const BallDirection<S> d = ball_direction(c1, c2, coincident_normal);
  const Vec3<S> n_bar = bar.normal + (half * (r1 - r2)) * bar.point;
  // Where the centres coincide `inverse` is 0, and the distance's cotangent must vanish too.
  const S dist_bar = select(d.inverse == S(0), S(0), bar.dist);
  const Vec3<S> d_bar = dist_bar * d.n + d.inverse * (n_bar - dot(d.n, n_bar) * d.n);
  const Vec3<S> middle_bar = half * bar.point;
  c1_bar += middle_bar - d_bar;
  c2_bar += middle_bar + d_bar;
  const S along = half * dot(d.n, bar.point);
  r1_bar += along - bar.dist;
  r2_bar -= along + bar.dist;
}

}  // namespace costate::geometry
