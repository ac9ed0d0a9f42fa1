#include "costate/geometry/sphere_solid.h"

#include "costate/geometry/plane_round.h"

namespace costate::geometry {

template <class S>
void sphere_box(const Shape<S>& sphere, const Shape<S>& box, const S&, ContactPoint<S>* out) {
  out[0] = ball_box(sphere.x, sphere.size[0], box);
}

template <class S>
void sphere_box_vjp(const Shape<S>& sphere, const Shape<S>& box, const S&, const ContactPoint<S>* bar,
                    ShapeBar<S>& sphere_bar, ShapeBar<S>& box_bar) {
  ball_box_vjp(sphere.x, sphere.size[0], box, bar[0], sphere_bar.x, sphere_bar.size[0], box_bar);
}

namespace {

template <class S>
struct PlaceByCylinder {
  mask_t<S> side, cap;         // neither: the rim
  Vec3<S> p;                   // from the axis
  S z, sign, length, inverse;  // along the axis, its sign; |p| and 1/|p|
};

template <class S>
COSTATE_INLINE PlaceByCylinder<S> place_by_cylinder(const Vec3<S>& x, const Shape<S>& cylinder) {
  const S one(1);
  const Vec3<S> axis = cylinder.R.column(2), from_centre = x - cylinder.x;
  PlaceByCylinder<S> r;
  r.z = dot(axis, from_centre);
  r.sign = select(r.z > S(0), one, S(-1));
  r.p = from_centre - r.z * axis;
  const S square = squared_norm(r.p);
  const mask_t<S> on_axis = square < S(value_t<S>(1e-30));
  r.length = sqrt(select(on_axis, one, square));
  r.inverse = select(on_axis, S(0), one / r.length);
  r.length = select(on_axis, S(0), r.length);
  const mask_t<S> between = abs(r.z) < cylinder.size[1], within = r.length < cylinder.size[0];
  const mask_t<S> cap_nearer = cylinder.size[1] - abs(r.z) < cylinder.size[0] - r.length;
  r.side = between & ((!within) | (!cap_nearer));
  r.cap = within & ((!between) | cap_nearer);
  return r;
}

template <class S>
COSTATE_INLINE Vec3<S> ball_centre(const PlaceByCylinder<S>& p, const Shape<S>& c) {
  const Vec3<S> axis = c.R.column(2);
  return c.x + select(p.side, p.z * axis, (p.sign * c.size[1]) * axis + (c.size[0] * p.inverse) * p.p);
}

}  // namespace

template <class S>
void sphere_cylinder(const Shape<S>& sphere, const Shape<S>& cylinder, const S&, ContactPoint<S>* out) {
  const Vec3<S> axis = cylinder.R.column(2);
  const PlaceByCylinder<S> p = place_by_cylinder(sphere.x, cylinder);
  const ContactPoint<S> ball =
      ball_pair(sphere.x, sphere.size[0], ball_centre(p, cylinder), select(p.side, cylinder.size[0], S(0)),
                normal_of_coincident(sphere.R.column(2), axis));
  const Vec3<S> n = p.sign * axis;
  const ContactPoint<S> cap = plane_ball(cylinder.x + cylinder.size[1] * n, n, sphere.x, sphere.size[0]);
  out[0] = {select(p.cap, cap.dist, ball.dist), select(p.cap, cap.point, ball.point),
            select(p.cap, -n, ball.normal), Vec3<S>::zero()};
}

template <class S>
void sphere_cylinder_vjp(const Shape<S>& sphere, const Shape<S>& cylinder, const S&,
                         const ContactPoint<S>* bar, ShapeBar<S>& sphere_bar, ShapeBar<S>& cylinder_bar) {
  const S none(0);
  const Vec3<S> axis = cylinder.R.column(2), zero = Vec3<S>::zero();
  const PlaceByCylinder<S> p = place_by_cylinder(sphere.x, cylinder);
  const mask_t<S> round = !p.cap, rim = (!p.cap) & (!p.side);

  Vec3<S> axis_bar = zero, centre_bar = zero;
  S radius_bar(0);
  const ContactPoint<S> ball_bar = {select(round, bar[0].dist, none), select(round, bar[0].point, zero),
                                    select(round, bar[0].normal, zero), zero};
  ball_pair_vjp(sphere.x, sphere.size[0], ball_centre(p, cylinder), select(p.side, cylinder.size[0], none),
                normal_of_coincident(sphere.R.column(2), axis), ball_bar, sphere_bar.x, sphere_bar.size[0],
                centre_bar, radius_bar);
  cylinder_bar.size[0] += select(p.side, radius_bar, none);
  cylinder_bar.x += centre_bar;
  // side: centre = x2 + z a;   rim: centre = x2 + sign h a + radius p/|p|
  const Vec3<S> side_bar = select(p.side, centre_bar, zero), rim_bar = select(rim, centre_bar, zero);
  const Vec3<S> outward = p.inverse * p.p;
  S z_bar = dot(axis, side_bar);
  axis_bar += p.z * side_bar + (p.sign * cylinder.size[1]) * rim_bar;
  cylinder_bar.size[1] += p.sign * dot(axis, rim_bar);
  cylinder_bar.size[0] += dot(outward, rim_bar);
  const Vec3<S> p_bar = normalized_vjp(outward, p.inverse, cylinder.size[0] * rim_bar);
  // p = (x1 - x2) - z a, z = a.(x1 - x2)
  z_bar -= dot(axis, p_bar);
  axis_bar += z_bar * (sphere.x - cylinder.x) - p.z * p_bar;
  const Vec3<S> from_centre_bar = p_bar + z_bar * axis;
  sphere_bar.x += from_centre_bar;
  cylinder_bar.x -= from_centre_bar;

  // cap: a plane whose normal points at the sphere, so the contact's is the other way
  const ContactPoint<S> cap_bar = {select(p.cap, bar[0].dist, none), select(p.cap, bar[0].point, zero),
                                   select(p.cap, -bar[0].normal, zero), zero};
  const Vec3<S> n = p.sign * axis;
  Vec3<S> plane_bar = zero, n_bar = zero;
  plane_ball_vjp(cylinder.x + cylinder.size[1] * n, n, sphere.x, sphere.size[0], cap_bar, plane_bar, n_bar,
                 sphere_bar.x, sphere_bar.size[0]);
  cylinder_bar.x += plane_bar;
  cylinder_bar.size[1] += dot(n, plane_bar);
  axis_bar += p.sign * (n_bar + cylinder.size[1] * plane_bar);
  add_to_column(cylinder_bar.R, 2, axis_bar);
}

#define COSTATE_INSTANTIATE(S)                 \
  COSTATE_GEOMETRY_INSTANTIATE(sphere_box, S); \
  COSTATE_GEOMETRY_INSTANTIATE(sphere_cylinder, S)
COSTATE_GEOMETRY_SCALARS(COSTATE_INSTANTIATE);

}  // namespace costate::geometry
