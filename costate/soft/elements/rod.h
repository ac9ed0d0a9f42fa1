// The strains of a rod and their transposes, on any scalar.
//
// A segment has two ends x0, x1 and a frame point g beside it: a point of the material that turns with the
// segment's cross-section, as a mark on its skin does. So twist needs no angle in the state, and no frame
// that depends on what happened before.
//
//   e = x1 - x0,  a = g - (x0 + x1)/2,  t = e/|e|,  p = a - (a.t) t,  m1 = p/|p|,  m2 = t x m1
//
//   segment   s = (|e|, a.t, |p|)                  length, and where the frame point is beside it
//   joint     of segments (e0, a0), (e1, a1) that follow one another:
//             kb = 2 t0 x t1/(1 + t0.t1)                                                        [1] eq. 1
//             kappa = (kb.m2_0, -kb.m1_0, kb.m2_1, -kb.m1_1)      in the frames of both segments, [1] eq. 2
//             twist = angle about t1 from u to m1_1,  u = m1_0 - (t0 + t1) (t1.m1_0)/(1 + t0.t1)
//             (u is m1_0 carried along from t0 to t1 without turning about the rod)
//
// The first and third numbers of kappa count bending towards the frame point, the others sideways; each has
// half of the stiffness, so that a rod that bends as easily to all sides does not notice how it is twisted
// ([2] takes the mean of the frames instead, and its bending changes with the twist of a joint).
// `pull` returns the derivative of bar . s with respect to the vectors; second derivatives are a Dual of it.
// [1] Bergou, Wardetzky, Robinson, Audoly, Grinspun: Discrete Elastic Rods, ACM TOG 27 (2008). [2] Bergou,
// Audoly, Vouga, Wardetzky, Grinspun: Discrete Viscous Threads, ACM TOG 29 (2010).
// Tests: tests/soft/rod_test.cpp.
#pragma once

#include "costate/core/functions.h"
#include "costate/core/mat3.h"
#include "costate/soft/laws/rod_law.h"

namespace costate::soft {

template <class S>
struct RodFrame {
  S length, along, beside;  // |e|, a.t, |p|
  Vec3<S> t, m1, m2;
};
template <class S>
RodFrame<S> rod_frame(const Vec3<S>& e, const Vec3<S>& a) {
  using costate::sqrt;
  RodFrame<S> f;
  f.length = sqrt(dot(e, e));
  f.t = (S(1) / f.length) * e;
  f.along = dot(a, f.t);
  const Vec3<S> p = a - f.along * f.t;
  f.beside = sqrt(dot(p, p));
  f.m1 = (S(1) / f.beside) * p;
  f.m2 = cross(f.t, f.m1);
  return f;
}
// From cotangents of t, m1 and m2 to those of e and a.
template <class S>
void rod_frame_pull(const RodFrame<S>& f, const Vec3<S>& a, Vec3<S> t_bar, Vec3<S> m1_bar,
                    const Vec3<S>& m2_bar, Vec3<S>& e_bar, Vec3<S>& a_bar) {
  t_bar += cross(f.m1, m2_bar);
  m1_bar += cross(m2_bar, f.t);
  const Vec3<S> p_bar = (S(1) / f.beside) * (m1_bar - dot(f.m1, m1_bar) * f.m1);
  const S across = dot(p_bar, f.t);
  a_bar = p_bar - across * f.t;
  t_bar -= across * a + f.along * p_bar;
  e_bar = (S(1) / f.length) * (t_bar - dot(f.t, t_bar) * f.t);
}

struct RodSegment {
  static constexpr int kNodes = 3, kVectors = 2, kStrains = 3;  // x0, x1, g; e, a
  static constexpr double kFrom[kVectors][kNodes] = {{-1, 1, 0}, {-.5, -.5, 1}};
  static constexpr bool kMass = true;

  template <class S>
  static void strains(const Vec3<S> (&q)[kVectors], S (&s)[kStrains]) {
    const RodFrame<S> f = rod_frame(q[0], q[1]);
    s[0] = f.length, s[1] = f.along, s[2] = f.beside;
  }
  template <class S>
  static void pull(const Vec3<S> (&q)[kVectors], const S (&bar)[kStrains], Vec3<S> (&q_bar)[kVectors]) {
    const RodFrame<S> f = rod_frame(q[0], q[1]);
    // p = a - (a.t) t, so d|p| = m1 . (da - (a.t) dt).
    const Vec3<S> t_bar = bar[1] * q[1] - (bar[2] * f.along) * f.m1;
    q_bar[0] = bar[0] * f.t + (S(1) / f.length) * (t_bar - dot(f.t, t_bar) * f.t);
    q_bar[1] = bar[1] * f.t + bar[2] * f.m1;
  }
  // Energy stiffness (s - natural)^2/2 of each strain. The frame point is kept where it is as stiffly as the
  // length is: nothing pulls it away but its own inertia.
  template <class S>
  static void stiffness(const Vec3<S> (&rest)[kVectors], const RodStiffness<S>& c, S (&k)[kStrains],
                        S (&share)[kStrains]) {
    const RodFrame<S> f = rod_frame(rest[0], rest[1]);
    k[0] = c.stretch / f.length;
    k[1] = k[2] = c.stretch * f.length / (f.beside * f.beside);
    share[0] = share[1] = share[2] = S(1);
  }
};

struct RodJoint {
  static constexpr int kNodes = 5, kVectors = 4, kStrains = 5;  // x0, x1, x2, g0, g1; e0, e1, a0, a1
  static constexpr double kFrom[kVectors][kNodes] = {
      {-1, 1, 0, 0, 0}, {0, -1, 1, 0, 0}, {-.5, -.5, 0, 1, 0}, {0, -.5, -.5, 0, 1}};
  static constexpr bool kMass = false;

  template <class S>
  static void strains(const Vec3<S> (&q)[kVectors], S (&s)[kStrains]) {
    using costate::atan2;
    const RodFrame<S> f = rod_frame(q[0], q[2]), g = rod_frame(q[1], q[3]);
    const S c = S(1) + dot(f.t, g.t);
    const Vec3<S> kb = (S(2) / c) * cross(f.t, g.t);
    s[0] = dot(kb, f.m2), s[1] = -dot(kb, f.m1);
    s[2] = dot(kb, g.m2), s[3] = -dot(kb, g.m1);
    const Vec3<S> u = f.m1 - (dot(g.t, f.m1) / c) * (f.t + g.t);
    s[4] = atan2(-dot(u, g.m2), dot(u, g.m1));
  }
  template <class S>
  static void pull(const Vec3<S> (&q)[kVectors], const S (&bar)[kStrains], Vec3<S> (&q_bar)[kVectors]) {
    const RodFrame<S> f = rod_frame(q[0], q[2]), g = rod_frame(q[1], q[3]);
    const S c = S(1) + dot(f.t, g.t), h = dot(g.t, f.m1) / c;
    const Vec3<S> kb = (S(2) / c) * cross(f.t, g.t), u = f.m1 - h * (f.t + g.t);
    const S sine = -dot(u, g.m2), cosine = dot(u, g.m1);
    // Twist: sine and cosine belong to one angle, so d twist = cosine d sine - sine d cosine.
    const S sine_bar = cosine * bar[4], cosine_bar = -(sine * bar[4]);
    const Vec3<S> u_bar = cosine_bar * g.m1 - sine_bar * g.m2;
    const S h_bar = -dot(f.t + g.t, u_bar);
    // Curvatures.
    const Vec3<S> kb_bar = bar[0] * f.m2 - bar[1] * f.m1 + bar[2] * g.m2 - bar[3] * g.m1;
    const Vec3<S> cross_bar = (S(2) / c) * kb_bar;
    const S c_bar = -(dot(kb, kb_bar) + h_bar * h) / c;
    const Vec3<S> t0_bar = cross(g.t, cross_bar) + c_bar * g.t - h * u_bar;
    const Vec3<S> t1_bar = cross(cross_bar, f.t) + c_bar * f.t - h * u_bar + (h_bar / c) * f.m1;
    rod_frame_pull(f, q[2], t0_bar, u_bar + (h_bar / c) * g.t - bar[1] * kb, bar[0] * kb, q_bar[0], q_bar[2]);
    rod_frame_pull(g, q[3], t1_bar, cosine_bar * u - bar[3] * kb, bar[2] * kb - sine_bar * u, q_bar[1],
                   q_bar[3]);
  }
  template <class S>
  static void stiffness(const Vec3<S> (&rest)[kVectors], const RodStiffness<S>& c, S (&k)[kStrains],
                        S (&share)[kStrains]) {
    using costate::sqrt;
    const S length = S(.5) * (sqrt(dot(rest[0], rest[0])) + sqrt(dot(rest[1], rest[1])));
    const S half = S(.5) / length;
    k[0] = k[2] = half * c.bend_1, k[1] = k[3] = half * c.bend_2, k[4] = c.twist / length;
    share[0] = share[1] = share[2] = share[3] = c.natural_bend, share[4] = c.natural_twist;
  }
};

}  // namespace costate::soft
