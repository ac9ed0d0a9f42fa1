#include "costate/geometry/round_pairs.h"

#include "costate/geometry/plane_round.h"
#include "costate/geometry/segment_pair.h"

namespace costate::geometry {

namespace {

template <class S>
COSTATE_INLINE Segment<S> segment_of(const Shape<S>& capsule) {
  return {capsule.x, capsule.size[1] * capsule.R.column(2)};
}

template <class S>
COSTATE_INLINE void segment_of_vjp(const Shape<S>& capsule, const Segment<S>& bar, ShapeBar<S>& capsule_bar) {
  capsule_bar.x += bar.c;
  capsule_bar.size[1] += dot(capsule.R.column(2), bar.a);
  add_to_column(capsule_bar.R, 2, capsule.size[1] * bar.a);
}

// Two slots; the second is for parallel capsules.
template <class S>
struct CapsulePlaces {
  SegmentPlaces<S> slot[2];
  mask_t<S> filled[2];
};

template <class S>
CapsulePlaces<S> capsule_places(const Shape<S>& first, const Shape<S>& second) {
  const Segment<S> s1 = segment_of(first), s2 = segment_of(second);
  const mask_t<S> parallel = parallel_axes(s1, s2);
  CapsulePlaces<S> r;
  r.slot[0] = r.slot[1] = closest_places(s1, s2);
  r.filled[0] = mask_t<S>(true);
  r.filled[1] = mask_t<S>(false);
  if (!any(parallel)) return r;

  // Along the first axis: where the second's ends lie, and what both capsules share.
  const S one(1), inverse = one / nonzero(squared_norm(s1.a));
  const S middle = dot(s1.a, s2.c - s1.c) * inverse, arm = dot(s1.a, s2.a) * inverse;
  const S low_end = select(arm > S(0), S(-1), one);  // x2 of the second's end at the lower x1
  const S low = middle - abs(arm), high = middle + abs(arm);
  const S no_length(value_t<S>(1e-30));
  const mask_t<S> point = squared_norm(s1.a) < no_length, point2 = squared_norm(s2.a) < no_length;
  const mask_t<S> share = (min(one, high) - max(S(-1), low) > S(value_t<S>(1e-9))) & (!point);
  const SegmentPlaces<S> lower =
      select_places(low < S(-1), places_given_first(s1, s2, S(-1)), places_given_second(s1, s2, low_end));
  const SegmentPlaces<S> upper =
      select_places(high > one, places_given_first(s1, s2, one), places_given_second(s1, s2, -low_end));
  const SegmentPlaces<S> nearest =
      select_places(point, places_given_first(s1, s2, S(0)),
                    places_given_second(s1, s2, select(high < S(-1), -low_end, low_end)));
  r.slot[0] = select_places(parallel, select_places(share, lower, nearest), r.slot[0]);
  r.slot[1] = select_places(share, upper, nearest);
  r.filled[1] = parallel & (!point) & (!point2);
  return r;
}

// x of the point of a capsule's axis closest to c, in lengths: the axis is a unit vector.
template <class S>
struct AxisPlace {
  S x;
  mask_t<S> above, below;  // beyond an end
};
template <class S>
COSTATE_INLINE AxisPlace<S> axis_place(const Shape<S>& capsule, const Vec3<S>& c) {
  const S x = dot(capsule.R.column(2), c - capsule.x), length = capsule.size[1];
  const mask_t<S> above = x > length, below = (!above) & (x < -length);
  return {select(above, length, select(below, -length, x)), above, below};
}

}  // namespace

template <class S>
void sphere_sphere(const Shape<S>& first, const Shape<S>& second, const S&, ContactPoint<S>* out) {
  out[0] = ball_pair(first.x, first.size[0], second.x, second.size[0],
                     normal_of_coincident(first.R.column(2), second.R.column(2)));
}

template <class S>
void sphere_sphere_vjp(const Shape<S>& first, const Shape<S>& second, const S&, const ContactPoint<S>* bar,
                       ShapeBar<S>& first_bar, ShapeBar<S>& second_bar) {
  ball_pair_vjp(first.x, first.size[0], second.x, second.size[0],
                normal_of_coincident(first.R.column(2), second.R.column(2)), bar[0], first_bar.x,
                first_bar.size[0], second_bar.x, second_bar.size[0]);
}

template <class S>
void sphere_capsule(const Shape<S>& sphere, const Shape<S>& capsule, const S&, ContactPoint<S>* out) {
  const Vec3<S> axis = capsule.R.column(2);
  const S x = axis_place(capsule, sphere.x).x;
  out[0] = ball_pair(sphere.x, sphere.size[0], capsule.x + x * axis, capsule.size[0],
                     normal_of_coincident(sphere.R.column(2), axis));
}

template <class S>
void sphere_capsule_vjp(const Shape<S>& sphere, const Shape<S>& capsule, const S&, const ContactPoint<S>* bar,
                        ShapeBar<S>& sphere_bar, ShapeBar<S>& capsule_bar) {
  const S zero(0);
  const Vec3<S> axis = capsule.R.column(2);
  const AxisPlace<S> place = axis_place(capsule, sphere.x);
  Vec3<S> c_bar = Vec3<S>::zero();
  ball_pair_vjp(sphere.x, sphere.size[0], capsule.x + place.x * axis, capsule.size[0],
                normal_of_coincident(sphere.R.column(2), axis), bar[0], sphere_bar.x, sphere_bar.size[0],
                c_bar, capsule_bar.size[0]);
  const S x_bar = dot(axis, c_bar);
  const S free_bar = select(place.above | place.below, zero, x_bar);
  sphere_bar.x += free_bar * axis;
  capsule_bar.x += c_bar - free_bar * axis;
  capsule_bar.size[1] += select(place.above, x_bar, select(place.below, -x_bar, zero));
  add_to_column(capsule_bar.R, 2, place.x * c_bar + free_bar * (sphere.x - capsule.x));
}

template <class S>
void capsule_capsule(const Shape<S>& first, const Shape<S>& second, const S&, ContactPoint<S>* out) {
  const Segment<S> s1 = segment_of(first), s2 = segment_of(second);
  const CapsulePlaces<S> places = capsule_places(first, second);
  const Vec3<S> coincident = normal_of_coincident(first.R.column(2), second.R.column(2));
  for (int k = 0; k < 2; ++k) {
    out[k] = ContactPoint<S>::none();
    if (!any(places.filled[k])) continue;
    const SegmentPlaces<S>& p = places.slot[k];
    out[k] = ball_pair(s1.c + p.x1 * s1.a, first.size[0], s2.c + p.x2 * s2.a, second.size[0], coincident);
    out[k].dist = select(places.filled[k], out[k].dist, S(value_t<S>(kFar)));
  }
}

template <class S>
void capsule_capsule_vjp(const Shape<S>& first, const Shape<S>& second, const S&, const ContactPoint<S>* bar,
                         ShapeBar<S>& first_bar, ShapeBar<S>& second_bar) {
  const Segment<S> s1 = segment_of(first), s2 = segment_of(second);
  const CapsulePlaces<S> places = capsule_places(first, second);
  const Vec3<S> coincident = normal_of_coincident(first.R.column(2), second.R.column(2));
  const Vec3<S> zero = Vec3<S>::zero();
  Segment<S> s1_bar = {zero, zero}, s2_bar = {zero, zero};
  for (int k = 0; k < 2; ++k) {
    if (!any(places.filled[k])) continue;
    const SegmentPlaces<S>& p = places.slot[k];
    ContactPoint<S> slot_bar = bar[k];
    slot_bar.dist = select(places.filled[k], slot_bar.dist, S(0));
    slot_bar.point = select(places.filled[k], slot_bar.point, zero);
    slot_bar.normal = select(places.filled[k], slot_bar.normal, zero);
    Vec3<S> p1_bar = zero, p2_bar = zero;
    ball_pair_vjp(s1.c + p.x1 * s1.a, first.size[0], s2.c + p.x2 * s2.a, second.size[0], coincident, slot_bar,
                  p1_bar, first_bar.size[0], p2_bar, second_bar.size[0]);
    s1_bar.c += p1_bar;
    s1_bar.a += p.x1 * p1_bar;
    s2_bar.c += p2_bar;
    s2_bar.a += p.x2 * p2_bar;
    closest_places_vjp(s1, s2, p, dot(s1.a, p1_bar), dot(s2.a, p2_bar), s1_bar, s2_bar);
  }
  segment_of_vjp(first, s1_bar, first_bar);
  segment_of_vjp(second, s2_bar, second_bar);
}

#define COSTATE_INSTANTIATE(S)                     \
  COSTATE_GEOMETRY_INSTANTIATE(sphere_sphere, S);  \
  COSTATE_GEOMETRY_INSTANTIATE(sphere_capsule, S); \
  COSTATE_GEOMETRY_INSTANTIATE(capsule_capsule, S)
COSTATE_GEOMETRY_SCALARS(COSTATE_INSTANTIATE);

}  // namespace costate::geometry
