// A plane (normal n: the third column of its R, through its centre) and a ball, or a capsule's two ends.
//
//   dist = n.(c - x) - r,   point = c - (r + dist/2) n
//
// The transpose follows; a capsule's ends are c = x2 +- half_length * axis, and both contacts prefer the
// capsule's axis as tangent.
// Tests: tests/geometry/collide_test.cpp.
#pragma once

#include "costate/geometry/contact_point.h"
#include "costate/geometry/matrix_transpose.h"
#include "costate/geometry/scalars.h"

namespace costate::geometry {

template <class S>
COSTATE_INLINE ContactPoint<S> plane_ball(const Vec3<S>& x, const Vec3<S>& n, const Vec3<S>& c, const S& r) {
  const S dist = dot(n, c - x) - r;
  return {dist, c - (r + S(value_t<S>(0.5)) * dist) * n, n, Vec3<S>::zero()};
}

template <class S>
COSTATE_INLINE void plane_ball_vjp(const Vec3<S>& x, const Vec3<S>& n, const Vec3<S>& c, const S& r,
                                   const ContactPoint<S>& bar, Vec3<S>& x_bar, Vec3<S>& n_bar, Vec3<S>& c_bar,
                                   S& r_bar) {
  const S half(value_t<S>(0.5));
  const Vec3<S> from_plane = c - x;
  const S dist = dot(n, from_plane) - r;
  const S n_point_bar = dot(n, bar.point);
  const S dist_bar = bar.dist - half * n_point_bar;
  c_bar += bar.point + dist_bar * n;
  x_bar -= dist_bar * n;
  n_bar += bar.normal + dist_bar * from_plane - (r + half * dist) * bar.point;
  r_bar -= n_point_bar + dist_bar;
}

COSTATE_GEOMETRY_PAIR(plane_sphere);
COSTATE_GEOMETRY_PAIR(plane_capsule);

}  // namespace costate::geometry
