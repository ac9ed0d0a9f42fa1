// What a free body and one node do to each other, and the transpose. As a collider does (collider.h), the
// body changes the node's velocity by
//
//   dv = s (contact(r; n, mu) - r),   r = v - (V + W x y),   y = X - c
//
// and what the node of mass m gains, the body loses:
//
//   J -= m dv,   L -= m y x dv;   where dv is not zero also, with a = y x n,
//   K += m s n n',   Kw += m s a a',   Kvw += m s n a'                                        (body_motion.h)
//
// Tests: tests/mpm/body_test.cpp.
#pragma once

#include "costate/mpm/bodies/body_motion.h"
#include "costate/mpm/bodies/collider.h"

namespace costate::mpm {

namespace body_detail {

template <class S>
COSTATE_HD void add_outer(S (&k)[6], const S& scale, const Vec3<S>& n) {
  k[0] += scale * n.x * n.x, k[1] += scale * n.y * n.y, k[2] += scale * n.z * n.z;
  k[3] += scale * n.y * n.z, k[4] += scale * n.x * n.z, k[5] += scale * n.x * n.y;
}
// The gradient of <bar, n n'> with respect to n: 2 bar n, where bar holds each off-diagonal number once.
template <class S>
COSTATE_HD Vec3<S> outer_vjp(const double (&bar)[6], const Vec3<S>& n) {
  const S b[6] = {S(bar[0]), S(bar[1]), S(bar[2]), S(bar[3]), S(bar[4]), S(bar[5])};
  const S two(2);
  return {two * b[0] * n.x + b[5] * n.y + b[4] * n.z, two * b[1] * n.y + b[5] * n.x + b[3] * n.z,
          two * b[2] * n.z + b[4] * n.x + b[3] * n.y};
}

template <class S>
COSTATE_HD void add_mixed(S (&k)[9], const S& scale, const Vec3<S>& n, const Vec3<S>& a) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) k[3 * i + j] += scale * n[i] * a[j];
}

// Whether contact changes a velocity r relative to a surface of normal n. Bodies neither stick nor let
// everything pass (check(model)).
template <class S>
COSTATE_HD bool touches(Contact contact, const Vec3<S>& r, const Vec3<S>& n) {
  return contact == Contact::slip || dot(r, n) < S(0);
}

}  // namespace body_detail

// Returns the node's new velocity; adds to the body's sums. pose: where the body is and the velocity that the
// node shall see.
template <class AnyCollider, class S>
COSTATE_HD Vec3<S> push_body(const AnyCollider& shape, value_t<S> band, int dimension, const Pose<S>& pose,
                             const Vec3<value_t<S>>& X, const S& m, const Vec3<S>& v, BodySums<S>& sums) {
  const Vec3<S> y = Vec3<S>{S(X.x), S(X.y), S(X.z)} - pose.c, l = transpose_times(pose.R, y);
  if (!reaches(shape.shape, l, dimension, band)) return v;
  const DistanceAt<S> at = distance_at(shape.shape, l, dimension);
  const S s = fade(at.phi, band).value;
  const Vec3<S> n = pose.R * normalized(at.gradient), r = v - (pose.V + cross(pose.W, y));
  if (!body_detail::touches(shape.contact, r, n)) return v;
  const Vec3<S> dv = s * (contact_velocity(shape.contact, r, n, pose.mu) - r);
  sums.J -= m * dv;
  sums.L -= m * cross(y, dv);
  body_detail::add_outer(sums.K, m * s, n);
  body_detail::add_outer(sums.Kw, m * s, cross(y, n));
  body_detail::add_mixed(sums.Kvw, m * s, n, cross(y, n));
  return v + dv;
}

template <class S>
struct NodeBar {
  Vec3<S> v;
  S m;
};

// Returns the cotangents of the node's velocity (before) and mass; adds to pose_bar.
template <class AnyCollider, class S>
COSTATE_HD NodeBar<S> push_body_vjp(const AnyCollider& shape, S band, int dimension, const Pose<S>& pose,
                                    const Vec3<S>& X, const S& m, const Vec3<S>& v, const Vec3<S>& out_bar,
                                    const BodySums<double>& sums_bar, Pose<double>& pose_bar) {
  const NodeBar<S> untouched{out_bar, S(0)};
  const Vec3<S> y = X - pose.c, l = transpose_times(pose.R, y);
  if (!reaches(shape.shape, l, dimension, band)) return untouched;
  using D = Dual<S, 3>;
  const DistanceAt<D> at = distance_at(
      shape.shape, Vec3<D>{D::variable(l.x, 0), D::variable(l.y, 1), D::variable(l.z, 2)}, dimension);
  const Fade<S> s = fade(at.phi.v, band);
  const Vec3<D> normal = normalized(at.gradient);
  const Vec3<S> local{normal.x.v, normal.y.v, normal.z.v}, n = pose.R * local,
                                                           r = v - (pose.V + cross(pose.W, y));
  if (!body_detail::touches(shape.contact, r, n)) return untouched;
  const Vec3<S> w = contact_velocity(shape.contact, r, n, pose.mu), dv = s.value * (w - r), a = cross(y, n);
  const auto plain = [](const Vec3<double>& b) { return Vec3<S>{S(b.x), S(b.y), S(b.z)}; };
  const Vec3<S> J_bar = plain(sums_bar.J), L_bar = plain(sums_bar.L);

  // J, L
  const Vec3<S> given_bar = J_bar + cross(L_bar, y), dv_bar = out_bar - m * given_bar;
  Vec3<S> y_bar = -m * cross(dv, L_bar);
  // K, Kw
  Vec3<S> n_pull = body_detail::outer_vjp(sums_bar.K, n), a_pull = body_detail::outer_vjp(sums_bar.Kw, a);
  S stiffness_bar = S(0.5) * (dot(n_pull, n) + dot(a_pull, a));  // of m s
  // Kvw
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const S bar(sums_bar.Kvw[3 * i + j]);
      stiffness_bar += bar * n[i] * a[j];
      n_pull[i] += bar * a[j];
      a_pull[j] += bar * n[i];
    }
  }
  const Vec3<S> a_bar = (m * s.value) * a_pull;
  Vec3<S> n_bar = (m * s.value) * n_pull + cross(a_bar, y);
  y_bar += cross(n, a_bar);
  // dv = s (w - r)
  const S s_bar = dot(dv_bar, w - r) + m * stiffness_bar;
  const ContactBar<S> c = contact_velocity_vjp(shape.contact, r, n, pose.mu, s.value * dv_bar);
  const Vec3<S> r_bar = c.r - s.value * dv_bar;
  n_bar += c.n;
  // u = V + W x y, n = R normal(l), s(phi(l)), l = R' y
  y_bar += cross(-r_bar, pose.W);
  const Vec3<S> local_bar = transpose_times(pose.R, n_bar);
  const S phi_bar = s_bar * s.slope;
  Vec3<S> l_bar;
  for (int k = 0; k < 3; ++k) {
    l_bar[k] = phi_bar * at.phi.d[k] + local_bar.x * normal.x.d[k] + local_bar.y * normal.y.d[k] +
               local_bar.z * normal.z.d[k];
  }
  if (dimension == 2) l_bar.z = S(0);
  y_bar += pose.R * l_bar;
  const Vec3<S> W_bar = cross(y, -r_bar);
  const Mat3<S> R_bar = outer(n_bar, local) + outer(y, l_bar);
  for (int i = 0; i < 3; ++i) {
    pose_bar.V[i] -= double(r_bar[i]);
    pose_bar.W[i] += double(W_bar[i]);
    pose_bar.c[i] -= double(y_bar[i]);
    for (int j = 0; j < 3; ++j) pose_bar.R.e[i][j] += double(R_bar.e[i][j]);
  }
  pose_bar.mu += double(c.mu);
  return {out_bar + r_bar, s.value * stiffness_bar - dot(dv, given_bar)};
}

}  // namespace costate::mpm
