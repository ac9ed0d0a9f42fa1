#include "costate/geometry/plane_round.h"

namespace costate::geometry {

template <class S>
void plane_sphere(const Shape<S>& plane, const Shape<S>& sphere, const S&, ContactPoint<S>* out) {
  out[0] = plane_ball(plane.x, plane.R.column(2), sphere.x, sphere.size[0]);
}

template <class S>
void plane_sphere_vjp(const Shape<S>& plane, const Shape<S>& sphere, const S&, const ContactPoint<S>* bar,
                      ShapeBar<S>& plane_bar, ShapeBar<S>& sphere_bar) {
  Vec3<S> n_bar = Vec3<S>::zero();
  plane_ball_vjp(plane.x, plane.R.column(2), sphere.x, sphere.size[0], bar[0], plane_bar.x, n_bar,
                 sphere_bar.x, sphere_bar.size[0]);
  add_to_column(plane_bar.R, 2, n_bar);
}

template <class S>
void plane_capsule(const Shape<S>& plane, const Shape<S>& capsule, const S&, ContactPoint<S>* out) {
  const Vec3<S> n = plane.R.column(2), axis = capsule.R.column(2);
  const Vec3<S> arm = capsule.size[1] * axis;
  out[0] = plane_ball(plane.x, n, capsule.x + arm, capsule.size[0]);
  out[1] = plane_ball(plane.x, n, capsule.x - arm, capsule.size[0]);
  out[0].tangent = out[1].tangent = axis;
}

template <class S>
void plane_capsule_vjp(const Shape<S>& plane, const Shape<S>& capsule, const S&, const ContactPoint<S>* bar,
                       ShapeBar<S>& plane_bar, ShapeBar<S>& capsule_bar) {
  const Vec3<S> n = plane.R.column(2), axis = capsule.R.column(2);
  const Vec3<S> arm = capsule.size[1] * axis;
  Vec3<S> n_bar = Vec3<S>::zero(), upper_bar = Vec3<S>::zero(), lower_bar = Vec3<S>::zero();
  plane_ball_vjp(plane.x, n, capsule.x + arm, capsule.size[0], bar[0], plane_bar.x, n_bar, upper_bar,
                 capsule_bar.size[0]);
  plane_ball_vjp(plane.x, n, capsule.x - arm, capsule.size[0], bar[1], plane_bar.x, n_bar, lower_bar,
                 capsule_bar.size[0]);
  const Vec3<S> arm_bar = upper_bar - lower_bar;
  capsule_bar.x += upper_bar + lower_bar;
  capsule_bar.size[1] += dot(axis, arm_bar);
  add_to_column(capsule_bar.R, 2, capsule.size[1] * arm_bar + bar[0].tangent + bar[1].tangent);
  add_to_column(plane_bar.R, 2, n_bar);
}

#define COSTATE_INSTANTIATE(S)                   \
  COSTATE_GEOMETRY_INSTANTIATE(plane_sphere, S); \
  COSTATE_GEOMETRY_INSTANTIATE(plane_capsule, S)
COSTATE_GEOMETRY_SCALARS(COSTATE_INSTANTIATE);

}  // namespace costate::geometry
