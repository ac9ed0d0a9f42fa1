// Velocities of nodes and their transposes: what each thread does. The equations are those of
// mpm/transfer/grid_velocity.h:
//
//   v = p / (m + floor) + dt g;  walls, low x to high z;  colliders, in their order
//
//   ReadPose       the pose of one collider
//   UpdateNode     one node, from the sums of the cells around it
//   PullNodes      the transpose, many nodes in turn. What all nodes add to (gravity, dt, friction, poses)
//                  each thread adds up for itself, in planes of one number per thread
//   FinishSums     one thread for gravity, dt and the walls, one for each collider
//
// Tests: tests/cuda/device_points_test.cpp.
#pragma once

#include "costate/cuda/mpm/points_bodies.h"
#include "costate/cuda/mpm/points_transfer.h"

namespace costate::cuda {

// Colliders, and what a step tells about them.
template <class S>
struct PointsColliders {
  const DeviceCollider* of;
  int count;
  mpm::Pose<S>* poses;
};
inline constexpr int kMostColliders = 64;  // as on the CPU
inline constexpr int kPoseNumbers = 19;

// Planes of PullNodes: velocities, friction of the walls, poses.
template <int D>
struct GridPlanes {
  static constexpr int velocity = 0, friction = D, poses = 3 * D;
};

template <class S, int D>
COSTATE_HD COSTATE_INLINE bool in_wall(const PointsField<S, D>& field, int face, const int (&at)[D]) {
  const int a = face / 2, nodes = field.walls[face].nodes;
  if (field.walls[face].contact == mpm::Contact::none) return false;
  return face % 2 == 0 ? at[a] < nodes : at[a] >= field.nodes[a] - nodes;
}
template <class S>
COSTATE_HD COSTATE_INLINE Vec3<S> wall_normal(int face) {
  Vec3<S> n = Vec3<S>::zero();
  n[face / 2] = S(face % 2 == 0 ? 1 : -1);
  return n;
}
// body(wall, -1) for each that holds a node.
template <class S, int D, class Body>
COSTATE_HD COSTATE_INLINE void for_walls(const PointsField<S, D>& field, const int (&at)[D],
                                         const Body& body) {
  for (int face = 0; face < 2 * D; ++face)
    if (in_wall(field, face, at)) body(face, -1);
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE S wall_friction(const PointsField<S, D>& field, const S* p, int face) {
  return field.friction >= 0 ? p[field.friction + face] : S(0);
}
template <class S, int D>
COSTATE_HD inline Vec3<S> after_condition(const PointsField<S, D>& field, const PointsColliders<S>& colliders,
                                          const S* p, const int (&at)[D], int wall, int collider,
                                          const Vec3<S>& v) {
  if (wall >= 0)
    return mpm::contact_velocity(field.walls[wall].contact, v, wall_normal<S>(wall),
                                 wall_friction(field, p, wall));
  const DeviceCollider& c = colliders.of[collider];
  return mpm::collide(c, S(c.band * field.spacing), D, colliders.poses[collider], field.position(at), v);
}

// body(number) for each of the kPoseNumbers of a pose, or of its cotangent.
template <class AnyPose, class Body>
COSTATE_HD COSTATE_INLINE void for_pose_numbers(AnyPose& pose, const Body& body) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) body(pose.R.e[i][j]);
  for (int i = 0; i < 3; ++i) body(pose.c[i]);
  for (int i = 0; i < 3; ++i) body(pose.V[i]);
  for (int i = 0; i < 3; ++i) body(pose.W[i]);
  body(pose.mu);
}

namespace thread {

template <class S, int D>
struct ReadPose {
  PointsColliders<S> colliders;
  const S *u, *p;
  COSTATE_HD void operator()(std::int64_t c) const {
    const S *const controls = u, *const parameters = p;
    colliders.poses[c] = mpm::read_pose<D, S>(
        colliders.of[c].numbers, [=](std::int64_t i) { return controls[i]; },
        [=](std::int64_t i) { return parameters[i]; });
  }
};

// momentum: where momentum and mass go, or null.
template <class S, int D, int kTaps>
struct UpdateNode {
  PointsField<S, D> field;
  PointsOrder order;
  PointsColliders<S> colliders;
  const S* p;
  const Quad<S>* sums;
  Quad<S>*momentum, *velocity;
  COSTATE_HD void operator()(std::int64_t node) const {
    int at[D];
    Quad<S> state;
    field.coordinates(int(node), at);
    if (!gather_node<kTaps>(field, order, sums, at, state)) return;
    if (momentum) momentum[node] = state;
    const S inverse = S(1) / (state.e[3] + field.floor), dt = p[field.dt];
    Vec3<S> v = Vec3<S>::zero();
    for (int a = 0; a < D; ++a) v[a] = state.e[a] * inverse + dt * p[field.gravity + a];
    const auto condition = [&](int wall, int collider) {
      v = after_condition(field, colliders, p, at, wall, collider, v);
    };
    for_walls(field, at, condition);
    for (int c = 0; c < colliders.count; ++c) condition(-1, c);
    velocity[node] = {{v.x, v.y, v.z, S(0)}};
  }
};

// kMost: colliders, at most.
template <class S, int D, int kTaps, int kMost>
struct PullNodes {
  PointsField<S, D> field;
  PointsOrder order;
  PointsColliders<S> colliders;
  const S* p;
  const Quad<S>*sums, *momentum;  // of cotangents; of the step
  Quad<S>* bar;                   // of momenta and masses
  bool given;                     // bar holds those of velocities, and in the fourth numbers of masses
  double* planes;                 // null: not wanted
  std::int64_t threads;

  COSTATE_HD void operator()(std::int64_t t) const {
    double velocity[D], friction[2 * D];
    for (double& v : velocity) v = 0;
    for (double& f : friction) f = 0;
    for (std::int64_t node = t; node < field.node_count; node += threads) {
      int at[D];
      Quad<S> sum;
      field.coordinates(int(node), at);
      const Quad<S> state = momentum[node];
      if (given) {
        if (!(state.e[3] > S(0))) continue;
        sum = bar[node];
      } else if (!gather_node<kTaps>(field, order, sums, at, sum)) {
        continue;
      }
      const S inverse = S(1) / (state.e[3] + field.floor);
      Vec3<S> free = Vec3<S>::zero(), v_bar = Vec3<S>::zero();
      for (int a = 0; a < D; ++a) free[a] = state.e[a] * inverse, v_bar[a] = sum.e[a];
      through_conditions(t, at, free, friction, v_bar);
      Quad<S> out{{S(0), S(0), S(0), given ? sum.e[3] : S(0)}};
      for (int a = 0; a < D; ++a) {
        velocity[a] += double(v_bar[a]);
        out.e[a] = inverse * v_bar[a];
        out.e[3] -= inverse * (free[a] * v_bar[a]);
      }
      bar[node] = out;
    }
    if (planes == nullptr) return;
    using G = GridPlanes<D>;
    for (int a = 0; a < D; ++a) planes[(G::velocity + a) * threads + t] += velocity[a];
    for (int f = 0; f < 2 * D; ++f) planes[(G::friction + f) * threads + t] += friction[f];
  }

 private:
  // v_bar from after the walls and colliders to before them.
  COSTATE_HD COSTATE_INLINE void through_conditions(std::int64_t t, const int (&at)[D], const Vec3<S>& free,
                                                    double (&friction)[2 * D], Vec3<S>& v_bar) const {
    bool any = kMost > 0;
    for (int face = 0; face < 2 * D; ++face) any = any || in_wall(field, face, at);
    if (!any) return;
    Vec3<S> before[2 * D + kMost], v = free;
    const S dt = p[field.dt];
    for (int a = 0; a < D; ++a) v[a] += dt * p[field.gravity + a];
    const auto condition = [&](int wall, int collider) {
      before[wall >= 0 ? wall : 2 * D + collider] = v;
      v = after_condition(field, colliders, p, at, wall, collider, v);
    };
    for_walls(field, at, condition);
    if constexpr (kMost > 0) {
      for (int c = 0; c < colliders.count; ++c) condition(-1, c);
      for (int c = colliders.count - 1; c >= 0; --c)
        v_bar = through_collider(t, c, at, before[2 * D + c], v_bar);
    }
    for (int face = 2 * D - 1; face >= 0; --face) {
      if (!in_wall(field, face, at)) continue;
      const auto back = mpm::contact_velocity_vjp(field.walls[face].contact, before[face],
                                                  wall_normal<S>(face), wall_friction(field, p, face), v_bar);
      friction[face] += double(back.mu);
      v_bar = back.r;
    }
  }
  COSTATE_HD COSTATE_INLINE Vec3<S> through_collider(std::int64_t t, int collider, const int (&at)[D],
                                                     const Vec3<S>& v, const Vec3<S>& out_bar) const {
    const DeviceCollider& c = colliders.of[collider];
    const mpm::Pose<S>& pose = colliders.poses[collider];
    const Vec3<S> X = field.position(at);
    const S band = S(c.band * field.spacing);
    if (!mpm::reaches(c.shape, transpose_times(pose.R, X - pose.c), D, band)) return out_bar;
    mpm::Pose<double> pose_bar{Mat3<double>::zero(), Vec3<double>::zero(), Vec3<double>::zero(),
                               Vec3<double>::zero(), 0.0};
    const Vec3<S> v_bar = mpm::collide_vjp(c, band, D, pose, X, v, out_bar, pose_bar);
    if (planes == nullptr) return v_bar;
    using G = GridPlanes<D>;
    double* to = planes + (G::poses + kPoseNumbers * collider) * threads + t;
    for_pose_numbers(pose_bar, [&](double number) {
      *to += number;
      to += threads;
    });
    return v_bar;
  }
};

// totals: of the planes.
template <class S, int D>
struct FinishSums {
  PointsField<S, D> field;
  PointsColliders<S> colliders;
  const double* totals;
  const S *u, *p;
  S *u_bar, *p_bar;  // null: not wanted
  COSTATE_HD void operator()(std::int64_t index) const {
    using G = GridPlanes<D>;
    if (index > 0) {
      const int c = int(index) - 1;
      const double* number = totals + G::poses + kPoseNumbers * c;
      mpm::Pose<double> pose;
      for_pose_numbers(pose, [&](double& to) { to = *number++; });
      mpm::read_pose_vjp<D>(colliders.of[c].numbers, u, p, pose, u_bar, p_bar);
      return;
    }
    if (p_bar == nullptr) return;
    for (int a = 0; a < D; ++a) {
      p_bar[field.gravity + a] += S(double(p[field.dt]) * totals[G::velocity + a]);
      p_bar[field.dt] += S(double(p[field.gravity + a]) * totals[G::velocity + a]);
    }
    for (int f = 0; field.friction >= 0 && f < 2 * D; ++f)
      p_bar[field.friction + f] += S(totals[G::friction + f]);
  }
};

}  // namespace thread
}  // namespace costate::cuda
