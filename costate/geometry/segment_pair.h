// Closest points of two segments, and of a point and a segment, as round_pairs.h describes.
#pragma once

#include "costate/geometry/ball_pair.h"

namespace costate::geometry {

template <class S>
struct Segment {
  Vec3<S> c, a;  // c + x a, |x| <= 1
};

// Where on two segments; free: x solves its equation, otherwise it is at an end.
template <class S>
struct SegmentPlaces {
  S x1, x2;
  mask_t<S> free1, free2;
};

template <class S>
COSTATE_INLINE S clamp_unit(const S& x) {
  return select(x > S(1), S(1), select(x < S(-1), S(-1), x));
}
// A divisor that may be zero for a segment of no length; then x is 0 / 1 = 0.
template <class S>
COSTATE_INLINE S nonzero(const S& square) {
  return select(square > S(0), square, S(1));
}

// x2 closest to the point x1 of the first segment.
template <class S>
COSTATE_INLINE SegmentPlaces<S> places_given_first(const Segment<S>& s1, const Segment<S>& s2, const S& x1) {
  const S x2 = dot(s2.a, s1.c + x1 * s1.a - s2.c) / nonzero(squared_norm(s2.a));
  return {x1, clamp_unit(x2), mask_t<S>(false), abs(x2) <= S(1)};
}
template <class S>
COSTATE_INLINE SegmentPlaces<S> places_given_second(const Segment<S>& s1, const Segment<S>& s2, const S& x2) {
  const S x1 = dot(s1.a, s2.c + x2 * s2.a - s1.c) / nonzero(squared_norm(s1.a));
  return {clamp_unit(x1), x2, abs(x1) <= S(1), mask_t<S>(false)};
}
template <class S>
COSTATE_INLINE SegmentPlaces<S> select_places(const mask_t<S>& m, const SegmentPlaces<S>& a,
                                              const SegmentPlaces<S>& b) {
  return {select(m, a.x1, b.x1), select(m, a.x2, b.x2), mask_t<S>((m & a.free1) | ((!m) & b.free1)),
          mask_t<S>((m & a.free2) | ((!m) & b.free2))};
}

// Squared sine of the angle between the axes, times both squared lengths: parallel when below this.
template <class S>
COSTATE_INLINE mask_t<S> parallel_axes(const Segment<S>& s1, const Segment<S>& s2) {
  using T = value_t<S>;
  const T eps2 = sizeof(T) == 8 ? T(3e-30) : T(9e-13);
  const S floor = S(eps2) * squared_norm(s1.a) * squared_norm(s2.a);
  return squared_norm(cross(s1.a, s2.a)) < max(S(T(1e-15)), floor);
}

// Axes that are not parallel. Lanes whose axes are give something finite.
template <class S>
COSTATE_INLINE SegmentPlaces<S> closest_places(const Segment<S>& s1, const Segment<S>& s2) {
  const S one(1);
  const Vec3<S> d = s1.c - s2.c, m = cross(s1.a, s2.a);
  const mask_t<S> parallel = parallel_axes(s1, s2);
  const S inverse = one / select(parallel, one, squared_norm(m));
  const S x1 = -(dot(m, cross(d, s2.a)) * inverse), x2 = dot(m, cross(s1.a, d)) * inverse;

  SegmentPlaces<S> p = {x1, x2, mask_t<S>(true), mask_t<S>(true)};
  const mask_t<S> clamped1 = abs(x1) > one;
  const S end1 = select(x1 > one, one, S(-1));
  // The free x2 that belongs to a clamped x1, itself still to be clamped.
  const S x2_again = dot(s2.a, s1.c + end1 * s1.a - s2.c) / nonzero(squared_norm(s2.a));
  p.x1 = select(clamped1, end1, p.x1);
  p.x2 = select(clamped1, x2_again, p.x2);
  p.free1 = !clamped1;
  const mask_t<S> clamped2 = abs(p.x2) > one;
  const SegmentPlaces<S> at_end2 = places_given_second(s1, s2, select(p.x2 > one, one, S(-1)));
  return select_places(clamped2, at_end2, p);
}

template <class S>
COSTATE_INLINE void closest_places_vjp(const Segment<S>& s1, const Segment<S>& s2, const SegmentPlaces<S>& p,
                                       const S& x1_bar, const S& x2_bar, Segment<S>& s1_bar,
                                       Segment<S>& s2_bar) {
  const S zero(0), one(1);
  const S aa = squared_norm(s1.a), bb = squared_norm(s2.a), ab = dot(s1.a, s2.a);
  const mask_t<S> both = p.free1 & p.free2;
  // [aa, -ab; -ab, bb]^-1, or one equation alone.
  const S det = select(both, squared_norm(cross(s1.a, s2.a)), one);
  const S safe_det = select(det > zero, det, one);
  const S inverse = one / safe_det;
  const S both1 = (bb * x1_bar + ab * x2_bar) * inverse, both2 = (ab * x1_bar + aa * x2_bar) * inverse;
  const S l1 = select(p.free1, select(both, both1, x1_bar / nonzero(aa)), zero);
  const S l2 = select(p.free2, select(both, both2, x2_bar / nonzero(bb)), zero);

  const Vec3<S> gap = s1.c + p.x1 * s1.a - s2.c - p.x2 * s2.a;  // p1 - p2
  const Vec3<S> towards = l1 * s1.a - l2 * s2.a;                // d(l.g)/d(p1 - p2)
  s1_bar.c -= towards;
  s2_bar.c += towards;
  s1_bar.a -= p.x1 * towards + l1 * gap;
  s2_bar.a -= -(p.x2 * towards) - l2 * gap;
}

}  // namespace costate::geometry
