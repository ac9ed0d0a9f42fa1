// A sphere against a box or a cylinder. Where the centre is outside, the closest point of the solid is a ball
// of no radius (or, beside a cylinder, of its radius on the axis) and ball_pair.h says the rest; where it is
// inside, the nearest face is a plane.
//
//   box        c = R^T (x1 - x2), q = c clamped to +-size;  outside: ball at x2 + R q
//              inside: nearest face k with sign s; closest = size_k - s c_k, n = -s R_k, dist = -closest - r,
//              point = x1 + (r - closest)/2 n
//   cylinder   z = a.(x1 - x2), p = x1 - x2 - z a:  side  |z| < h: ball of the cylinder's radius at x2 + z a
//                                                  cap   |p| < radius: plane through x2 +- h a
//                                                  rim   otherwise: ball of no radius at
//                                                        x2 +- h a + radius p/|p|
//              a centre inside goes to the nearer of side and cap.
//
// Tests: tests/geometry/solid_test.cpp.
#pragma once

#include "costate/geometry/ball_pair.h"
#include "costate/geometry/matrix_transpose.h"

namespace costate::geometry {

template <class S>
struct PlaceInBox {
  Vec3<S> c, q, sign;    // sign: of the face that clamps, or of the nearest face
  mask_t<S> clamped[3];  // q_i = sign_i size_i
  mask_t<S> nearest[3];  // inside: the face
  mask_t<S> inside;
};

template <class S>
COSTATE_INLINE PlaceInBox<S> place_in_box(const Vec3<S>& x, const Shape<S>& box) {
  // On the border of a face, to rounding (where capsule_box.h puts its second ball), is on the face.
  using T = value_t<S>;
  const S one(1), border = S(sizeof(T) == 8 ? T(1 + 1e-12) : T(1 + 1e-6));
  PlaceInBox<S> r;
  r.c = transpose_times(box.R, x - box.x);
  S outside(0);
  for (int i = 0; i < 3; ++i) {
    r.sign[i] = select(r.c[i] > S(0), one, S(-1));
    r.clamped[i] = abs(r.c[i]) > border * box.size[i];
    r.q[i] = select(r.clamped[i], r.sign[i] * box.size[i], r.c[i]);
    const S gap = r.q[i] - r.c[i];
    outside += gap * gap;
  }
  // On the surface, to rounding, counts as inside: there the face has a normal and the gap has none.
  r.inside = outside < S(sizeof(T) == 8 ? T(1e-30) : T(1e-14));
  const S depth[3] = {box.size[0] - abs(r.c[0]), box.size[1] - abs(r.c[1]), box.size[2] - abs(r.c[2])};
  r.nearest[0] = (depth[0] <= depth[1]) & (depth[0] <= depth[2]);
  r.nearest[1] = (!r.nearest[0]) & (depth[1] <= depth[2]);
  r.nearest[2] = (!r.nearest[0]) & (!r.nearest[1]);
  return r;
}

// The nearest face from inside: normal n and how deep.
template <class S>
struct NearestFace {
  Vec3<S> n;
  S depth, sign;
};
template <class S>
COSTATE_INLINE NearestFace<S> nearest_face(const PlaceInBox<S>& p, const Shape<S>& box) {
  NearestFace<S> f = {Vec3<S>::zero(), S(0), S(0)};
  for (int i = 0; i < 3; ++i) {
    f.n = select(p.nearest[i], -(p.sign[i] * box.R.column(i)), f.n);
    f.depth = select(p.nearest[i], box.size[i] - p.sign[i] * p.c[i], f.depth);
    f.sign = select(p.nearest[i], p.sign[i], f.sign);
  }
  return f;
}

template <class S>
COSTATE_INLINE ContactPoint<S> ball_box(const Vec3<S>& x, const S& radius, const Shape<S>& box) {
  const S half(value_t<S>(0.5));
  const PlaceInBox<S> p = place_in_box(x, box);
  const NearestFace<S> f = nearest_face(p, box);
  const ContactPoint<S> outside = ball_pair(x, radius, box.x + box.R * p.q, S(0), f.n);
  return {select(p.inside, -f.depth - radius, outside.dist),
          select(p.inside, x + (half * (radius - f.depth)) * f.n, outside.point),
          select(p.inside, f.n, outside.normal), Vec3<S>::zero()};
}

template <class S>
COSTATE_INLINE void ball_box_vjp(const Vec3<S>& x, const S& radius, const Shape<S>& box,
                                 const ContactPoint<S>& bar, Vec3<S>& x_bar, S& radius_bar,
                                 ShapeBar<S>& box_bar) {
  const S half(value_t<S>(0.5)), none(0);
  const Vec3<S> zero = Vec3<S>::zero();
  const PlaceInBox<S> p = place_in_box(x, box);
  const NearestFace<S> f = nearest_face(p, box);
  const mask_t<S> outside = !p.inside;

  // outside: ball at x2 + R q
  const ContactPoint<S> ball_bar = {select(outside, bar.dist, none), select(outside, bar.point, zero),
                                    select(outside, bar.normal, zero), zero};
  Vec3<S> surface_bar = zero, q_bar = zero, c_bar = zero;
  S no_radius_bar(0);
  ball_pair_vjp(x, radius, box.x + box.R * p.q, S(0), f.n, ball_bar, x_bar, radius_bar, surface_bar,
                no_radius_bar);
  box_bar.x += surface_bar;
  times_vjp(box.R, p.q, surface_bar, box_bar.R, q_bar);
  for (int i = 0; i < 3; ++i) {
    c_bar[i] = select(p.clamped[i], none, q_bar[i]);
    box_bar.size[i] += select(p.clamped[i], p.sign[i] * q_bar[i], none);
  }

  // inside: dist = -depth - r, point = x + (r - depth)/2 n, n = -sign R_k, depth = size_k - sign c_k
  const Vec3<S> point_bar = select(p.inside, bar.point, zero);
  const S dist_bar = select(p.inside, bar.dist, none), along = half * dot(f.n, point_bar);
  const S depth_bar = -dist_bar - along;
  x_bar += point_bar;
  radius_bar += along - dist_bar;
  const Vec3<S> n_bar = select(p.inside, bar.normal, zero) + (half * (radius - f.depth)) * point_bar;
  for (int i = 0; i < 3; ++i) {
    const mask_t<S> here = p.inside & p.nearest[i];
    box_bar.size[i] += select(here, depth_bar, none);
    c_bar[i] -= select(here, f.sign * depth_bar, none);
    add_to_column(box_bar.R, i, select(here, -(f.sign * n_bar), zero));
  }

  // c = R^T (x - x2)
  Vec3<S> offset_bar = zero;
  transpose_times_vjp(box.R, x - box.x, c_bar, box_bar.R, offset_bar);
  x_bar += offset_bar;
  box_bar.x -= offset_bar;
}

COSTATE_GEOMETRY_PAIR(sphere_box);
COSTATE_GEOMETRY_PAIR(sphere_cylinder);

}  // namespace costate::geometry
