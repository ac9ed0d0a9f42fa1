// The frame of a contact: rows normal n, tangents t1 and t2.
//
//   o  = h - (h.n) n,   t1 = o / |o|,   t2 = n x t1
//
// h is the pair's preferred tangent; without one, the y axis, or the z axis where the normal lies within 60
// degrees of y (as MuJoCo [1]). A preferred tangent along the normal (a capsule standing on a plane) is no
// direction: then the x axis, or y where the normal is near x. n is a unit vector. The choice of h is held;
// the rest is differentiated:
//
//   n_ += t1 x t2_;   t1_ += t2_ x n;   o_ = (t1_ - t1 (t1.t1_)) / |o|;   h_ = o_ - n (n.o_);
//       n_ -= (h.n) o_ + (n.o_) h
//
// [1] MuJoCo documentation, Computation, contact frames.
// Tests: tests/geometry/contact_frame_test.cpp.
#pragma once

#include "costate/geometry/contact_point.h"

namespace costate::geometry {

template <class S>
struct TangentChoice {
  Vec3<S> h;
  mask_t<S> from_pair;  // h is the pair's own
};

template <class S>
COSTATE_INLINE TangentChoice<S> choose_tangent(const Vec3<S>& normal, const Vec3<S>& tangent) {
  using T = value_t<S>;
  const S zero(0), one(1), half(T(0.5));
  const mask_t<S> given = squared_norm(tangent) >= S(T(0.25));
  // Squared sine of the angle between hint and normal; below this its direction is rounding.
  const S sine2 = squared_norm(cross(normal, tangent));
  const mask_t<S> along = sine2 < S(sizeof(T) == 8 ? T(1e-28) : T(1e-12));
  const mask_t<S> near_y = abs(normal.y) >= half, near_x = abs(normal.x) >= half;
  const Vec3<S> without_hint = {zero, select(near_y, zero, one), select(near_y, one, zero)};
  const Vec3<S> instead = {select(near_x, zero, one), select(near_x, one, zero), zero};
  const mask_t<S> from_pair = given & (!along);
  return {select(given, select(along, instead, tangent), without_hint), from_pair};
}

template <class S>
COSTATE_INLINE Mat3<S> contact_frame(const Vec3<S>& normal, const Vec3<S>& tangent) {
  const Vec3<S> h = choose_tangent(normal, tangent).h;
  const Vec3<S> o = h - dot(h, normal) * normal;
  const Vec3<S> t1 = (S(1) / sqrt(squared_norm(o))) * o;
  const Vec3<S> t2 = cross(normal, t1);
  return {{{normal.x, normal.y, normal.z}, {t1.x, t1.y, t1.z}, {t2.x, t2.y, t2.z}}};
}

// Adds to the cotangents of normal and tangent.
template <class S>
COSTATE_INLINE void contact_frame_vjp(const Vec3<S>& normal, const Vec3<S>& tangent, const Mat3<S>& frame_bar,
                                      Vec3<S>& normal_bar, Vec3<S>& tangent_bar) {
  const TangentChoice<S> choice = choose_tangent(normal, tangent);
  const Vec3<S>& h = choice.h;
  const S along = dot(h, normal);
  const Vec3<S> o = h - along * normal;
  const S inverse = S(1) / sqrt(squared_norm(o));
  const Vec3<S> t1 = inverse * o;

  const Vec3<S> t2_bar = frame_bar.row(2);
  const Vec3<S> t1_bar = frame_bar.row(1) + cross(t2_bar, normal);
  const Vec3<S> o_bar = inverse * (t1_bar - dot(t1, t1_bar) * t1);
  const S o_bar_n = dot(normal, o_bar);
  normal_bar += frame_bar.row(0) + cross(t1, t2_bar) - along * o_bar - o_bar_n * h;
  tangent_bar += select(choice.from_pair, o_bar - o_bar_n * normal, Vec3<S>::zero());
}

}  // namespace costate::geometry
