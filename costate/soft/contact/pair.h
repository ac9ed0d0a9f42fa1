// Barrier and friction between a point and a triangle, or between two edges.
//
//   W = stiffness m(q) b(d)                          d distance (closest.h), b barrier (barrier.h)
//   m(q) = 1 - (1 - q/e)^3 for q < e, else 1         of edges: q = |a x b|^2, e = 1e-3 |A|^2 |B|^2 at rest
//   grad_i W = stiffness (m b'(d)/d w_i c + b m' grad_i q)
//   friction lambda f0(|u|):  lambda = -stiffness m b'(d), w and n = c/d of the start of the step,
//                             u = (I - n n') sum_i w_i (z - x)_i
//
// The mollifier m takes the barrier away where edges become parallel, and there the closest points jump [1].
// This one is twice continuously differentiable at q = e (the usual s (2 - s) is so once), so that Newton's
// matrix and the transpose are continuous.
// All of it on any scalar; second derivatives are Dual of the gradient.
// [1] Li et al.: Incremental Potential Contact, ACM TOG 39 (2020), section 5.2. Tests:
// tests/soft/closest_test.cpp.
#pragma once

#include "costate/soft/contact/barrier.h"
#include "costate/soft/contact/closest.h"

namespace costate::soft {

struct TouchingPair {
  int v[4];
  bool edges;    // (a0, a1, b0, b1), or a point and a triangle (p, t0, t1, t2)
  Closest kind;  // of the state that was looked at
};

template <class S>
struct PairNumbers {
  S stiffness, reach, parallel;  // parallel: e of the mollifier; not read of a point and a triangle
};

template <class S>
struct Mollifier {
  S value, slope;  // m and dm/dq
  bool active;
};
template <class S>
Mollifier<S> mollifier(const S& q, const S& e) {
  if (!(q < e)) return {S(1), S(0), false};
  const S r = 1.0 - q / e;
  return {1.0 - r * r * r, 3.0 * r * r / e, true};
}

template <class S>
struct PairState {
  S w[4], d, q;
  Vec3<S> c, n, a, b;  // n = a x b, of edges
  Mollifier<S> m;
};
template <class S>
PairState<S> pair_state(bool edges, Closest kind, const Vec3<S> (&x)[4], const S& parallel) {
  using costate::sqrt;
  PairState<S> r;
  closest_weights(kind, x, r.w);
  r.c = r.w[0] * x[0] + r.w[1] * x[1] + r.w[2] * x[2] + r.w[3] * x[3];
  r.d = sqrt(dot(r.c, r.c));
  r.m = {S(1), S(0), false};
  if (edges) {
    r.a = x[1] - x[0], r.b = x[3] - x[2], r.n = cross(r.a, r.b);
    r.q = dot(r.n, r.n);
    r.m = mollifier(r.q, parallel);
  }
  return r;
}

template <class S>
S pair_energy(bool edges, Closest kind, const Vec3<S> (&x)[4], const PairNumbers<S>& p) {
  const PairState<S> s = pair_state(edges, kind, x, p.parallel);
  return p.stiffness * s.m.value * barrier(s.d, p.reach).value;
}

template <class S>
void pair_gradient(bool edges, Closest kind, const Vec3<S> (&x)[4], const PairNumbers<S>& p,
                   Vec3<S> (&g)[4]) {
  const PairState<S> s = pair_state(edges, kind, x, p.parallel);
  const Barrier<S> b = barrier(s.d, p.reach);
  const S along = p.stiffness * s.m.value * b.slope / s.d;
  for (int i = 0; i < 4; ++i) g[i] = (along * s.w[i]) * s.c;
  if (!s.m.active) return;
  const S turn = 2.0 * p.stiffness * b.value * s.m.slope;
  const Vec3<S> by_a = turn * cross(s.b, s.n), by_b = turn * cross(s.n, s.a);
  g[0] -= by_a, g[1] += by_a, g[2] -= by_b, g[3] += by_b;
}

// What friction keeps of the start of a step.
template <class S>
struct PairLag {
  S force, w[4];
  Vec3<S> n;
};
template <class S>
PairLag<S> pair_lag(bool edges, Closest kind, const Vec3<S> (&x)[4], const PairNumbers<S>& p) {
  const PairState<S> s = pair_state(edges, kind, x, p.parallel);
  PairLag<S> r;
  r.force = -p.stiffness * s.m.value * barrier(s.d, p.reach).slope;
  for (int i = 0; i < 4; ++i) r.w[i] = s.w[i];
  r.n = (1.0 / s.d) * s.c;
  return r;
}
// The slip of the closest points for displacements y.
template <class S>
Vec3<S> pair_slip(const PairLag<S>& lag, const Vec3<S> (&y)[4]) {
  const Vec3<S> u = lag.w[0] * y[0] + lag.w[1] * y[1] + lag.w[2] * y[2] + lag.w[3] * y[3];
  return u - dot(lag.n, u) * lag.n;
}

}  // namespace costate::soft
