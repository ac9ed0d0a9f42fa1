// The pose of a collider from the controls (where it moves) or the parameters (where it rests), and the
// transpose. Tests: tests/mpm/collider_test.cpp.
#pragma once

#include <cstdint>

#include "costate/mpm/bodies/collider.h"

namespace costate::mpm {

// Where a collider's numbers begin: in the controls where it moves, else in the parameters.
struct ColliderNumbers {
  std::int64_t position, rotation, velocity, angular_velocity;
  std::int64_t friction;  // in the parameters
  bool moves;
};

// u(i), p(i): control and parameter number i.
template <int D, class S, class Controls, class Parameters>
COSTATE_HD Pose<S> read_pose(const ColliderNumbers& n, const Controls& u, const Parameters& p) {
  const auto vector = [](const auto& from, std::int64_t at) {
    Vec3<S> r = Vec3<S>::zero();
    for (int a = 0; a < D; ++a) r[a] = from(at + a);
    return r;
  };
  const auto turn = [&](const auto& from, std::int64_t at) {
    return D == 3 ? vector(from, at) : Vec3<S>{S(0), S(0), from(at)};
  };
  Pose<S> pose;
  pose.c = n.moves ? vector(u, n.position) : vector(p, n.position);
  pose.R = rotation_matrix(n.moves ? turn(u, n.rotation) : turn(p, n.rotation));
  pose.V = n.moves ? vector(u, n.velocity) : Vec3<S>::zero();
  pose.W = n.moves ? turn(u, n.angular_velocity) : Vec3<S>::zero();
  pose.mu = p(n.friction);
  return pose;
}

// Adds to u_bar and p_bar. Null: not wanted.
template <int D, class Real>
COSTATE_HD void read_pose_vjp(const ColliderNumbers& n, const Real* u, const Real* p, const Pose<double>& bar,
                              Real* u_bar, Real* p_bar) {
  if (p_bar) p_bar[n.friction] += Real(bar.mu);
  Real* const to = n.moves ? u_bar : p_bar;
  if (!to) return;
  const Real* const turn = (n.moves ? u : p) + n.rotation;
  Vec3<double> phi = Vec3<double>::zero();
  if constexpr (D == 3)
    phi = {double(turn[0]), double(turn[1]), double(turn[2])};
  else
    phi.z = double(turn[0]);
  const Vec3<double> phi_bar = rotation_matrix_vjp(phi, bar.R);
  for (int a = 0; a < D; ++a) {
    to[n.position + a] += Real(bar.c[a]);
    if (n.moves) to[n.velocity + a] += Real(bar.V[a]);
  }
  for (int a = 0; a < (D == 3 ? 3 : 1); ++a) {
    const int axis = D == 3 ? a : 2;
    to[n.rotation + a] += Real(phi_bar[axis]);
    if (n.moves) to[n.angular_velocity + a] += Real(bar.W[axis]);
  }
}

}  // namespace costate::mpm
