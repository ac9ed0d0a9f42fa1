// The geometry of a rod's groups: K is RodSegment or RodJoint of rod.h, q its vectors, x its vertices.
//
//   q = From x        s = strains(q)        ds_i/dx = From' ds_i/dq          d2s_i/dx2 d by a Dual of that
//
// Used by rod_term.cpp. Tests: tests/soft/rod_test.cpp.
#pragma once

#include "costate/ad/dual.h"
#include "costate/soft/elements/rod.h"

namespace costate::soft {

template <class K>
struct RodShape {
  using V = Vec3<double>;
  static constexpr int kStrains = K::kStrains;

  struct Vectors {
    V q[K::kVectors];
    static Vectors zero() {
      Vectors r;
      for (V& v : r.q) v = V::zero();
      return r;
    }
  };
  struct Nodes {
    V x[K::kNodes];
    static Nodes zero() {
      Nodes r;
      for (V& v : r.x) v = V::zero();
      return r;
    }
  };
  struct Pulls {  // of each strain
    V q[kStrains][K::kVectors];
  };
  struct Gradients {
    Nodes g[kStrains];
  };

  static Vectors vectors(const Nodes& n) {
    Vectors r = Vectors::zero();
    for (int v = 0; v < K::kVectors; ++v)
      for (int a = 0; a < K::kNodes; ++a)
        if (K::kFrom[v][a] != 0) r.q[v] += K::kFrom[v][a] * n.x[a];
    return r;
  }
  static Nodes spread(const Vectors& q) {
    Nodes r = Nodes::zero();
    for (int v = 0; v < K::kVectors; ++v)
      for (int a = 0; a < K::kNodes; ++a)
        if (K::kFrom[v][a] != 0) r.x[a] += K::kFrom[v][a] * q.q[v];
    return r;
  }
  static Vectors pulled(const Vectors& at, const double (&bar)[kStrains]) {
    Vectors r;
    K::pull(at.q, bar, r.q);
    return r;
  }
  static Pulls pulls(const Vectors& at) {
    Pulls r;
    for (int i = 0; i < kStrains; ++i) {
      double unit[kStrains] = {};
      unit[i] = 1;
      K::pull(at.q, unit, r.q[i]);
    }
    return r;
  }
  static Gradients gradients(const Vectors& at) {
    const Pulls all = pulls(at);
    Gradients r;
    for (int i = 0; i < kStrains; ++i) {
      Vectors one;
      for (int v = 0; v < K::kVectors; ++v) one.q[v] = all.q[i][v];
      r.g[i] = spread(one);
    }
    return r;
  }
  // The second derivative of strain i along each direction of d.
  static Nodes curved(const Vectors& at, int i, const Nodes& d) {
    using One = Dual<double, 1>;
    const Vectors along = vectors(d);
    Vec3<One> q[K::kVectors], q_bar[K::kVectors];
    for (int v = 0; v < K::kVectors; ++v)
      for (int c = 0; c < 3; ++c) q[v][c].v = at.q[v][c], q[v][c].d[0] = along.q[v][c];
    One unit[kStrains];
    for (int k = 0; k < kStrains; ++k) unit[k] = One(k == i ? 1. : 0.);
    K::pull(q, unit, q_bar);
    Vectors r;
    for (int v = 0; v < K::kVectors; ++v)
      for (int c = 0; c < 3; ++c) r.q[v][c] = q_bar[v][c].d[0];
    return spread(r);
  }
  static double along(const Nodes& g, const Nodes& d) {
    double sum = 0;
    for (int a = 0; a < K::kNodes; ++a) sum += dot(g.x[a], d.x[a]);
    return sum;
  }
  static void add(double f, const Nodes& g, Nodes& to) {
    for (int a = 0; a < K::kNodes; ++a) to.x[a] += f * g.x[a];
  }
};

}  // namespace costate::soft
