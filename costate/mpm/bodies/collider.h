// A collider on one node, and the transpose. World position X of the node, pose (c, R), velocity V and
// angular velocity W of the collider:
//
//   y = X - c,  l = R' y,  phi(l),  n = R grad phi / |grad phi|,  u = V + W x y
//       signed distance, normal, surface velocity
//   s = 1 for phi <= 0,  t^2 (3 - 2 t) with t = 1 - phi/band,  0 for phi >= band
//       how much of the condition holds
//   v+ = v + s (contact(v - u; n, mu) - (v - u))
//
// phi is written once, on any scalar (shape_distance.h): a Dual in three directions gives the normal, a Dual
// of it the Hessian that the transpose needs. Pose and velocities are inputs: their cotangents are sums over
// nodes, R's is taken back to the rotation vector once a step (Pose).
// Tests: tests/mpm/collider_test.cpp.
#pragma once

#include "costate/core/quat.h"
#include "costate/mpm/bodies/contact.h"
#include "costate/mpm/bodies/shape_distance.h"

namespace costate::mpm {

template <class S>
struct Pose {
  Mat3<S> R;
  Vec3<S> c, V, W;
  S mu;
};

// exp([phi]x); in two dimensions phi = (0, 0, angle).
template <class S>
COSTATE_HD Mat3<S> rotation_matrix(const Vec3<S>& phi) {
  return to_matrix(exp_map(phi));
}
template <class S>
COSTATE_HD Vec3<S> rotation_matrix_vjp(const Vec3<S>& phi, const Mat3<S>& R_bar) {
  using D = Dual<S, 3>;
  const Mat3<D> R =
      rotation_matrix(Vec3<D>{D::variable(phi.x, 0), D::variable(phi.y, 1), D::variable(phi.z, 2)});
  Vec3<S> bar = Vec3<S>::zero();
  for (int k = 0; k < 3; ++k)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) bar[k] += R_bar.e[i][j] * R.e[i][j].d[k];
  return bar;
}

// phi and its gradient at a point of the shape's own space.
template <class S>
struct DistanceAt {
  S phi;
  Vec3<S> gradient;
};
template <class AnyShape, class S>
COSTATE_HD DistanceAt<S> distance_at(const AnyShape& shape, const Vec3<S>& l, int dimension) {
  using D = Dual<S, 3>;
  const D x[3] = {D::variable(l.x, 0), D::variable(l.y, 1), D::variable(l.z, 2)};
  const D phi = distance(shape, x, dimension);
  return {phi.v, {phi.d[0], phi.d[1], dimension == 3 ? phi.d[2] : S(0)}};
}

// Whether the condition holds at all, told by the plain distance: most nodes near a collider are outside its
// band.
template <class AnyShape, class S>
COSTATE_HD bool reaches(const AnyShape& shape, const Vec3<S>& l, int dimension, value_t<S> band) {
  using T = value_t<S>;
  const T x[3] = {T(primal(l.x)), T(primal(l.y)), T(primal(l.z))};
  const T phi = distance(shape, x, dimension);
  return phi < band || phi <= T(0);
}

template <class S>
struct Fade {
  S value, slope;
};
template <class S>
COSTATE_HD Fade<S> fade(const S& phi, const value_t<S>& band) {
  const S zero(0), one(1);
  if (phi <= zero) return {one, zero};
  if (phi >= S(band)) return {zero, zero};
  const S t = one - phi / band;
  return {t * t * (S(3) - S(2) * t), S(-6) * t * (one - t) / band};
}

// band [m]. AnyCollider: a Collider, or what a GPU has in its place.
template <class AnyCollider, class S>
COSTATE_HD Vec3<S> collide(const AnyCollider& collider, value_t<S> band, int dimension, const Pose<S>& pose,
                           const Vec3<value_t<S>>& X, const Vec3<S>& v) {
  const Vec3<S> y = Vec3<S>{S(X.x), S(X.y), S(X.z)} - pose.c, l = transpose_times(pose.R, y);
  if (!reaches(collider.shape, l, dimension, band)) return v;
  const DistanceAt<S> at = distance_at(collider.shape, l, dimension);
  const S s = fade(at.phi, band).value;
  const Vec3<S> n = pose.R * normalized(at.gradient), r = v - (pose.V + cross(pose.W, y));
  return v + s * (contact_velocity(collider.contact, r, n, pose.mu) - r);
}

// Returns v_bar, adds to pose_bar.
template <class AnyCollider, class S>
COSTATE_HD Vec3<S> collide_vjp(const AnyCollider& collider, S band, int dimension, const Pose<S>& pose,
                               const Vec3<S>& X, const Vec3<S>& v, const Vec3<S>& out_bar,
                               Pose<double>& pose_bar) {
  const Vec3<S> y = X - pose.c, l = transpose_times(pose.R, y);
  if (!reaches(collider.shape, l, dimension, band)) return out_bar;
  using D = Dual<S, 3>;
  const DistanceAt<D> at = distance_at(
      collider.shape, Vec3<D>{D::variable(l.x, 0), D::variable(l.y, 1), D::variable(l.z, 2)}, dimension);
  const S phi = at.phi.v;
  const Fade<S> s = fade(phi, band);
  const Vec3<D> m = normalized(at.gradient);  // with its derivative along l
  const Vec3<S> m_value{m.x.v, m.y.v, m.z.v}, n = pose.R * m_value, r = v - (pose.V + cross(pose.W, y));
  const Vec3<S> u = contact_velocity(collider.contact, r, n, pose.mu);

  const S s_bar = dot(out_bar, u - r);
  const ContactBar<S> c = contact_velocity_vjp(collider.contact, r, n, pose.mu, s.value * out_bar);
  const Vec3<S> r_bar = c.r - s.value * out_bar;
  const Vec3<S> m_bar = transpose_times(pose.R, c.n);
  const S phi_bar = s_bar * s.slope;
  Vec3<S> l_bar;
  for (int k = 0; k < 3; ++k)
    l_bar[k] = phi_bar * at.phi.d[k] + m_bar.x * m.x.d[k] + m_bar.y * m.y.d[k] + m_bar.z * m.z.d[k];
  if (dimension == 2) l_bar.z = S(0);
  // surface velocity u = V + W x y has cotangent -r_bar
  const Vec3<S> W_bar = cross(y, -r_bar);
  const Vec3<S> y_bar = cross(-r_bar, pose.W) + pose.R * l_bar;
  const Mat3<S> R_bar = outer(c.n, m_value) + outer(y, l_bar);
  for (int i = 0; i < 3; ++i) {
    pose_bar.V[i] -= double(r_bar[i]);
    pose_bar.W[i] += double(W_bar[i]);
    pose_bar.c[i] -= double(y_bar[i]);
    for (int j = 0; j < 3; ++j) pose_bar.R.e[i][j] += double(R_bar.e[i][j]);
  }
  pose_bar.mu += double(c.mu);
  return out_bar + r_bar;
}

}  // namespace costate::mpm
