// The motion of a free rigid body over one step, and what material points do to it.
//
// State: position c of the centre of mass, orientation (an angle in 2-D, a quaternion in 3-D), velocity V,
// angular velocity W in world axes. With the impulse J and the angular impulse L about c that the nodes give
// back (body_contact.h), inertia I in the body's axes and M = R I R':
//
//   V+ = V + dt g + J / mass,   c+ = c + dt V+
//   H  = M W + L,   W* = M^-1 H,   R+ = exp(dt [W*]x) R,   W+ = R+ I^-1 R+' H
//      angular momentum is kept to rounding where L = 0
//
// Nodes are given the velocity that the body will have rather than the one it had: a light body would
// otherwise be thrown back and forth. predict() is one Newton step towards it: with K = sum m s n n',
// Kw = sum m s a a' and Kvw = sum m s n a' of the touching nodes, a = y x n, as a first look at them found,
//
//   (V*, W*) = (V + dt g, W) + [mass 1 + K, Kvw; Kvw', M + Kw]^-1 (J, L)
//
// Whatever the prediction, what a body receives is what its nodes lose: momentum is conserved to rounding.
// Both maps are small; their transposes come from Dual numbers. Tests: tests/mpm/body_test.cpp.
#pragma once

#include "costate/ad/dual.h"
#include "costate/core/quat.h"
#include "costate/solve/dense_ldl.h"

namespace costate::mpm {

template <class S>
struct BodyMotion {
  Vec3<S> c, V, W;
  S turn[4];  // 2-D: angle, 0, 0, 0
};
template <class S>
struct BodyNumbers {
  S mass, inertia[3];
};
// What the nodes add up to; symmetric matrices as xx, yy, zz, yz, xz, xy.
template <class S>
struct BodySums {
  Vec3<S> J, L;
  S K[6], Kw[6];
  S Kvw[9];  // row by row

  static COSTATE_HD BodySums zero() {
    BodySums r;
    r.J = r.L = Vec3<S>::zero();
    for (int i = 0; i < 6; ++i) r.K[i] = r.Kw[i] = S(0);
    for (S& k : r.Kvw) k = S(0);
    return r;
  }
  COSTATE_HD void add(const BodySums& b) {
    J += b.J;
    L += b.L;
    for (int i = 0; i < 6; ++i) K[i] += b.K[i], Kw[i] += b.Kw[i];
    for (int i = 0; i < 9; ++i) Kvw[i] += b.Kvw[i];
  }
};

template <int D, class S>
Mat3<S> orientation(const S (&turn)[4]) {
  if constexpr (D == 3) return to_matrix(normalized(Quat<S>{turn[0], turn[1], turn[2], turn[3]}));
  return to_matrix(exp_map(Vec3<S>{S(0), S(0), turn[0]}));
}

// R diag(i) R'
template <class S>
void world_inertia(const Mat3<S>& R, const S (&i)[3], S (&out)[6]) {
  const auto entry = [&](int a, int b) {
    return R.e[a][0] * i[0] * R.e[b][0] + R.e[a][1] * i[1] * R.e[b][1] + R.e[a][2] * i[2] * R.e[b][2];
  };
  out[0] = entry(0, 0), out[1] = entry(1, 1), out[2] = entry(2, 2);
  out[3] = entry(1, 2), out[4] = entry(0, 2), out[5] = entry(0, 1);
}

// V and W that the nodes shall see.
template <int D, class S>
void predict(BodyMotion<S>& body, const BodyNumbers<S>& n, const BodySums<S>& sums, const Vec3<S>& g,
             const S& dt) {
  S angular[6], A[36], change[6];
  world_inertia(orientation<D>(body.turn), n.inertia, angular);
  constexpr int kPlace[3][3] = {{0, 5, 4}, {5, 1, 3}, {4, 3, 2}};  // of the entries of a symmetric matrix
  for (int i = 0; i < 3; ++i) {
    change[i] = sums.J[i], change[3 + i] = sums.L[i];
    for (int j = 0; j < 3; ++j) {
      A[6 * i + j] = sums.K[kPlace[i][j]] + (i == j ? n.mass : S(0));
      A[6 * (3 + i) + j] = sums.Kvw[3 * j + i];
      A[6 * (3 + i) + 3 + j] = angular[kPlace[i][j]] + sums.Kw[kPlace[i][j]];
    }
  }
  solve::ldl_factorise<S>(6, A);
  solve::ldl_solve<S>(6, A, change);
  for (int i = 0; i < 3; ++i) {
    body.V[i] = body.V[i] + dt * g[i] + change[i];
    body.W[i] += change[3 + i];
  }
}

template <int D, class S>
BodyMotion<S> move(const BodyMotion<S>& body, const BodyNumbers<S>& n, const BodySums<S>& sums,
                   const Vec3<S>& g, const S& dt) {
  BodyMotion<S> next = body;
  next.V = body.V + dt * g + (S(1) / n.mass) * sums.J;
  next.c = body.c + dt * next.V;
  if constexpr (D == 2) {
    next.W.z = body.W.z + sums.L.z / n.inertia[2];
    next.turn[0] = body.turn[0] + dt * next.W.z;
  } else {
    const auto rate = [&](const Mat3<S>& R, const Vec3<S>& H) {
      const Vec3<S> h = transpose_times(R, H);
      return R * Vec3<S>{h.x / n.inertia[0], h.y / n.inertia[1], h.z / n.inertia[2]};
    };
    const Mat3<S> R = orientation<3>(body.turn);
    const Vec3<S> w = transpose_times(R, body.W);
    const Vec3<S> H = R * Vec3<S>{n.inertia[0] * w.x, n.inertia[1] * w.y, n.inertia[2] * w.z} + sums.L;
    const Quat<S> q = normalized(exp_map(dt * rate(R, H)) *
                                 Quat<S>{body.turn[0], body.turn[1], body.turn[2], body.turn[3]});
    next.turn[0] = q.w, next.turn[1] = q.x, next.turn[2] = q.y, next.turn[3] = q.z;
    next.W = rate(orientation<3>(next.turn), H);
  }
  return next;
}

// --- transposes --------------------------------------------------------------------------------------------

// All numbers that the two maps read, one after the other.
template <class S>
struct BodyInputs {
  BodyMotion<S> body;
  BodyNumbers<S> n;
  BodySums<S> sums;
  Vec3<S> g;
  S dt;

  static constexpr int kCount = 13 + 4 + 27 + 4;
  template <class Visit>
  void each(const Visit& visit) {
    const auto vector = [&](Vec3<S>& v) { visit(v.x), visit(v.y), visit(v.z); };
    vector(body.c), vector(body.V), vector(body.W);
    for (S& t : body.turn) visit(t);
    visit(n.mass);
    for (S& i : n.inertia) visit(i);
    vector(sums.J), vector(sums.L);
    for (S& k : sums.K) visit(k);
    for (S& k : sums.Kw) visit(k);
    for (S& k : sums.Kvw) visit(k);
    vector(g);
    visit(dt);
  }
};

// The transpose of map: BodyInputs -> BodyMotion, by a tangent for each input.
template <class Map>
BodyInputs<double> body_vjp(BodyInputs<double> in, const BodyMotion<double>& out_bar, const Map& map) {
  using T = Dual<double>;
  double values[BodyInputs<double>::kCount];
  int count = 0;
  in.each([&](double& v) { values[count++] = v; });
  BodyInputs<double> bar;
  int which = 0;
  bar.each([&](double& b) {
    BodyInputs<T> at;
    int i = 0;
    at.each([&](T& v) {
      v = T(values[i], i == which ? 1.0 : 0.0);
      ++i;
    });
    const BodyMotion<T> out = map(at);
    b = 0;
    for (int a = 0; a < 3; ++a)
      b += out.c[a].d[0] * out_bar.c[a] + out.V[a].d[0] * out_bar.V[a] + out.W[a].d[0] * out_bar.W[a];
    for (int a = 0; a < 4; ++a) b += out.turn[a].d[0] * out_bar.turn[a];
    ++which;
  });
  return bar;
}

}  // namespace costate::mpm
