// One span of a spatial tendon: the shortest way from a point x0 to a point x1, straight or around a sphere
// or a cylinder [1].
//
//   straight   l = |x1 - x0|
//   around     l = sqrt(L^2 + h^2),  L = s0 + r theta + s1,  s = sqrt(d^2 - r^2),
//              theta = phi - atan2(s0, r) - atan2(s1, r)
//   through    l = sqrt(L^2 + h^2),
//              L = |y0 - t| + |y1 - t|, t the point of the circle for which this is least
//
// With c the centre, r the radius, y = x - c. A sphere is met in the plane of c, x0 and x1, and h = 0. A
// cylinder with axis a is met in the plane across a, and h = <a, x1 - x0>: on its side a shortest line is a
// helix, straight when unrolled. In that plane u points to y0, e across it towards y1, d = |y|, and phi is
// the angle from y0 to y1, the short way or the long one.
//
// All these are shortest among their neighbours, so that points of contact do not move to first order, and
//
//   l_x0 = (L g0 - h a) / l,   l_x1 = (L g1 + h a) / l,   l_c = -(l_x0 + l_x1),
//       g unit, along the tendon and out of it
//   l_r  = theta L / l  (through: -<g0 + g1, t> L / (r l))
//   l_a  = (h (y1 - y0) - L (<y0, a> g0 + <y1, a> g1)) / l        for motions of a that keep its length
//
// A tendon goes around where the straight line would pass through the geom, the short way. A side point
// changes that: where the line passes behind the centre as seen from it, the tendon goes the long way,
// whether it would touch or not; and a side point within the radius makes it go through. Second derivatives
// are those of these gradients, by Dual (tendon_length.h).
//
// [1] MuJoCo documentation, Computation, "tendons": geometry and choice of the side.
// Tests: tests/rigid/dynamics/tendon_test.cpp.
#pragma once

#include "costate/core/functions.h"
#include "costate/core/vec3.h"

namespace costate::rigid {

template <class S>
struct Span {
  Vec3<S> x0, x1, c, a;
  S radius;
};

// The length, and its gradient by everything that a span has.
template <class S>
struct SpanPull {
  S length;
  Vec3<S> x0, x1, c, a;
  S radius;
};

template <class S>
struct SpanWay {
  mask_t<S> wraps, through, far;  // far: the long way round
};

template <class S>
COSTATE_INLINE Vec3<S> select_vec(const mask_t<S>& m, const Vec3<S>& a, const Vec3<S>& b) {
  return {select(m, a.x, b.x), select(m, a.y, b.y), select(m, a.z, b.z)};
}

// The plane in which a geom is met: y0 = d0 u, y1 = d1 (cosine u + sine e), sine >= 0.
template <class S>
struct SpanPlane {
  Vec3<S> u, e;
  S d0, d1, cosine, sine;
  mask_t<S> apart;  // neither end is at the centre
};

template <class S>
SpanPlane<S> span_plane(bool cylinder, const Span<S>& s) {
  using T = value_t<S>;
  const S tiny(T(1e-30));
  Vec3<S> y0 = s.x0 - s.c, y1 = s.x1 - s.c;
  if (cylinder) {
    y0 = y0 - dot(y0, s.a) * s.a;
    y1 = y1 - dot(y1, s.a) * s.a;
  }
  const S square0 = dot(y0, y0), square1 = dot(y1, y1);
  SpanPlane<S> r;
  r.apart = (square0 > tiny) & (square1 > tiny);
  r.d0 = sqrt(select(r.apart, square0, S(1)));
  r.d1 = sqrt(select(r.apart, square1, S(1)));
  r.u = (S(1) / r.d0) * y0;
  const S along = dot(y1, r.u);
  const Vec3<S> rest = y1 - along * r.u;
  const S across2 = dot(rest, rest);
  // Ends in one line with the centre leave the plane open: any will do.
  const mask_t<S> line = across2 <= S(T(sizeof(T) == 8 ? 1e-28 : 1e-12)) * square1;
  const S across = sqrt(select(line, S(1), across2));
  const mask_t<S> steep = abs(r.u.x) > S(T(0.8));
  const Vec3<S> other =
      cylinder ? s.a : select_vec(steep, Vec3<S>{S(0), S(1), S(0)}, Vec3<S>{S(1), S(0), S(0)});
  const Vec3<S> any = cross(other, r.u);
  const S any2 = dot(any, any);
  r.e = select_vec(line, (S(1) / sqrt(select(any2 > S(0), any2, S(1)))) * any, (S(1) / across) * rest);
  r.cosine = along / r.d1;
  r.sine = select(line, S(0), across / r.d1);
  return r;
}

// --- which way ---------------------------------------------------------------------------------------------

// side: a point about the centre, or null.
template <class S>
SpanWay<S> span_way(bool cylinder, const Span<S>& span, const Vec3<S>* side) {
  using T = value_t<S>;
  const SpanPlane<S> plane = span_plane(cylinder, span);
  const S r = span.radius, r2 = r * r, tiny(T(1e-15));
  // The point of the straight line that is nearest to the centre.
  const S x1 = plane.d1 * plane.cosine, y1 = plane.d1 * plane.sine, gap = x1 - plane.d0;
  const S gap2 = gap * gap + y1 * y1;
  const mask_t<S> spread = gap2 > tiny;
  S along = -(gap * plane.d0) / select(spread, gap2, S(1));
  along = select(along < S(0), S(0), select(along > S(1), S(1), along));
  const S x = plane.d0 + along * gap, y = along * y1;
  const mask_t<S> crosses = x * x + y * y <= r2;
  const mask_t<S> outside = plane.apart & (plane.d0 > r) & (plane.d1 > r) & (r > tiny);  // both ends are

  SpanWay<S> way;
  way.far = way.through = mask_t<S>(false);
  if (side) {
    // Behind the centre, seen from the side point, between the two ends: the line passes on the wrong side.
    const S bx = -dot(*side, plane.u), by = -dot(*side, plane.e);
    way.far = (by > S(0)) & (bx * plane.sine > by * plane.cosine);
    way.through = dot(*side, *side) < r2;
  }
  const mask_t<S> opposite = plane.cosine < S(T(sizeof(T) == 8 ? -1 + 1e-15 : -1 + 1e-6));
  way.wraps =
      outside & ((way.through & !crosses & !opposite) | (spread & (crosses | way.far) & !way.through));
  return way;
}

// --- the length and its gradient ---------------------------------------------------------------------------

template <class S>
SpanPull<S> straight_pull(const Span<S>& s) {
  const Vec3<S> gap = s.x1 - s.x0, none = Vec3<S>::zero();
  const S square = dot(gap, gap);
  const mask_t<S> zero = square == S(0);
  const S length = sqrt(select(zero, S(1), square));
  const Vec3<S> g = select_vec(zero, none, (S(1) / length) * gap);
  return {select(zero, S(0), length), -g, g, none, none, S(0)};
}

// The angle from y0 at which the way by the circle is shortest: a zero of F(psi) = d0 sin(psi)/l0 - d1
// sin(gamma - psi)/l1, which rises.
template <class S>
S shortest_angle(const S& d0, const S& d1, const S& r, const S& gamma) {
  using T = value_t<S>;
  S F, slope;
  const auto evaluate = [&](const S& psi) {
    const SinCos<S> one = sincos(psi), two = sincos(gamma - psi);
    const S l0 = sqrt(d0 * d0 + r * r - S(2) * d0 * r * one.cos),
            l1 = sqrt(d1 * d1 + r * r - S(2) * d1 * r * two.cos);
    const S a = d0 * one.sin / l0, b = d1 * two.sin / l1;
    F = a - b;
    slope = (d0 * one.cos - r * a * a) / l0 + (d1 * two.cos - r * b * b) / l1;
  };
  const S half(T(0.5)), tolerance(T(sizeof(T) == 8 ? 1e-15 : 1e-7));
  S low(0), high = gamma, psi = half * gamma;
  mask_t<S> moves = psi == psi;  // a world stays where it has arrived, whatever its neighbours still do
  for (int i = 0; i < 60; ++i) {
    evaluate(psi);
    low = select(F < S(0), psi, low);
    high = select(F < S(0), high, psi);
    const S newton = psi - F / select(slope > S(0), slope, S(1));
    const S next = select((newton >= low) & (newton <= high) & (slope > S(0)), newton, half * (low + high));
    const mask_t<S> goes_on = moves & (abs(next - psi) > tolerance * gamma);
    psi = select(moves, next, psi);
    moves = goes_on;
    if (!any(moves)) break;
  }
  // With duals two more steps carry the tangents, of second order too.
  for (int i = 0; i < 2; ++i) {
    evaluate(psi);
    psi -= F / select(slope > S(0), slope, S(1));
  }
  return psi;
}

// Where way.wraps; finite everywhere.
template <class S>
SpanPull<S> wrapped_pull(bool cylinder, const Span<S>& s, const SpanWay<S>& way) {
  using T = value_t<S>;
  const SpanPlane<S> plane = span_plane(cylinder, s);
  const mask_t<S> around = way.wraps & !way.through, through = way.wraps & way.through;
  const S gamma = atan2(plane.sine, plane.cosine), circle(T(6.283185307179586476925));
  // Unit vectors out of the tendon, in the plane: y0 to u, y1 to f, across them e and back.
  const Vec3<S>& u = plane.u;
  const Vec3<S> f = plane.cosine * u + plane.sine * plane.e, back = plane.sine * u - plane.cosine * plane.e;
  S L(1), L_r(0);
  Vec3<S> g0 = u, g1 = f;
  if (any(around)) {
    const S d0 = select(around, plane.d0, S(2)), d1 = select(around, plane.d1, S(2)),
            r = select(around, s.radius, S(1));
    const S s0 = sqrt(d0 * d0 - r * r), s1 = sqrt(d1 * d1 - r * r);
    const S sign = select(way.far, S(-1), S(1));
    S theta = select(way.far, circle - gamma, gamma) - atan2(s0, r) - atan2(s1, r);
    theta += select(theta < S(0), circle, S(0));
    L = select(around, s0 + r * theta + s1, L);
    L_r = select(around, theta, L_r);
    g0 = select_vec(around, (s0 / d0) * u - (sign * r / d0) * plane.e, g0);
    g1 = select_vec(around, (s1 / d1) * f - (sign * r / d1) * back, g1);
  }
  if (any(through)) {
    const S d0 = select(through, plane.d0, S(2)), d1 = select(through, plane.d1, S(2)),
            r = select(through, s.radius, S(1));
    const SinCos<S> at = sincos(shortest_angle(d0, d1, r, select(through, gamma, S(1))));
    const Vec3<S> unit = at.cos * u + at.sin * plane.e;
    const Vec3<S> w0 = d0 * u - r * unit, w1 = d1 * f - r * unit;
    const S square0 = dot(w0, w0), square1 = dot(w1, w1);
    const S l0 = sqrt(select(through, square0, S(1))), l1 = sqrt(select(through, square1, S(1)));
    L = select(through, l0 + l1, L);
    g0 = select_vec(through, (S(1) / l0) * w0, g0);
    g1 = select_vec(through, (S(1) / l1) * w1, g1);
    L_r = select(through, -dot(g0 + g1, unit), L_r);
  }
  if (!cylinder) return {L, g0, g1, -(g0 + g1), Vec3<S>::zero(), L_r};
  const Vec3<S> y0 = s.x0 - s.c, y1 = s.x1 - s.c;
  const S h = dot(s.a, y1 - y0), length = sqrt(L * L + h * h), inverse = S(1) / length;
  const S flat = L * inverse, rise = h * inverse;
  const Vec3<S> x0 = flat * g0 - rise * s.a, x1 = flat * g1 + rise * s.a;
  return {length,    x0, x1, -(x0 + x1), rise * (y1 - y0) - flat * (dot(y0, s.a) * g0 + dot(y1, s.a) * g1),
          flat * L_r};
}

template <class S>
SpanPull<S> span_pull(bool cylinder, const Span<S>& s, const SpanWay<S>& way) {
  const SpanPull<S> line = straight_pull(s);
  if (!any(way.wraps)) return line;
  const SpanPull<S> w = wrapped_pull(cylinder, s, way);
  return {select(way.wraps, w.length, line.length), select_vec(way.wraps, w.x0, line.x0),
          select_vec(way.wraps, w.x1, line.x1),     select_vec(way.wraps, w.c, line.c),
          select_vec(way.wraps, w.a, line.a),       select(way.wraps, w.radius, line.radius)};
}

}  // namespace costate::rigid
