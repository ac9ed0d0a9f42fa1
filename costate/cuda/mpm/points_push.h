// Bodies that material points push, between the nodes' own velocities and the particles: what each thread
// does. The equations are those of mpm/bodies/body_contact.h; what moves the bodies is asked on the host
// (points_mechanisms.h).
//
//   LookNodes   what the nodes would give if a body kept its velocity
//   PushNodes   the nodes' velocities after the bodies, in their order, and what the bodies receive
//   PushBack, LookBack      their transposes
//
// Each takes many nodes in turn and adds up for itself what all nodes add to, in planes of one number per
// thread. Nodes without mass are left alone. Tests: tests/cuda/device_points_test.cpp.
#pragma once

#include "costate/cuda/mpm/points_grid.h"
#include "costate/mpm/bodies/body_contact.h"

namespace costate::cuda {

inline constexpr int kSumsOfBody = 27;

// body(number) for each number of what the nodes add up to.
template <class AnySums, class Body>
COSTATE_HD COSTATE_INLINE void for_sum_numbers(AnySums& sums, const Body& body) {
  for (int i = 0; i < 3; ++i) body(sums.J[i]);
  for (int i = 0; i < 3; ++i) body(sums.L[i]);
  for (int i = 0; i < 6; ++i) body(sums.K[i]);
  for (int i = 0; i < 6; ++i) body(sums.Kw[i]);
  for (int i = 0; i < 9; ++i) body(sums.Kvw[i]);
}

// What the four have in common.
template <class S, int D>
struct PushedNodes {
  PointsField<S, D> field;
  PointsColliders<S> bodies;
  const Quad<S>* momentum;
  double* planes;
  std::int64_t threads;

  // body(node, position) for those of thread t.
  template <class Body>
  COSTATE_HD COSTATE_INLINE void for_nodes(std::int64_t t, const Body& body) const {
    for (std::int64_t node = t; node < field.node_count; node += threads) {
      if (!(momentum[node].e[3] > S(0))) continue;
      int at[D];
      field.coordinates(int(node), at);
      body(node, field.position(at));
    }
  }
  COSTATE_HD COSTATE_INLINE S band(int b) const { return S(bodies.of[b].band * field.spacing); }
  COSTATE_HD COSTATE_INLINE bool near(int b, const Vec3<S>& X) const {
    const mpm::Pose<S>& pose = bodies.poses[b];
    return mpm::reaches(bodies.of[b].shape, transpose_times(pose.R, X - pose.c), D, band(b));
  }
  // One body on one node: its new velocity. What the body receives goes to the planes, if there are any.
  COSTATE_HD inline Vec3<S> push(std::int64_t t, int b, const Vec3<S>& X, const S& m,
                                 const Vec3<S>& v) const {
    if (!near(b, X)) return v;
    mpm::BodySums<S> sums = mpm::BodySums<S>::zero();
    const Vec3<S> after = mpm::push_body(bodies.of[b], band(b), D, bodies.poses[b], X, m, v, sums);
    if (t < 0) return after;
    double* to = planes + std::int64_t(b) * kSumsOfBody * threads + t;
    for_sum_numbers(sums, [&](const S& number) {
      *to += double(number);
      to += threads;
    });
    return after;
  }
  COSTATE_HD inline mpm::NodeBar<S> pull(std::int64_t t, int b, const Vec3<S>& X, const S& m,
                                         const Vec3<S>& v, const Vec3<S>& out_bar,
                                         const mpm::BodySums<double>& sums_bar) const {
    if (!near(b, X)) return {out_bar, S(0)};
    mpm::Pose<double> pose_bar{Mat3<double>::zero(), Vec3<double>::zero(), Vec3<double>::zero(),
                               Vec3<double>::zero(), 0.0};
    const mpm::NodeBar<S> bar =
        mpm::push_body_vjp(bodies.of[b], band(b), D, bodies.poses[b], X, m, v, out_bar, sums_bar, pose_bar);
    double* to = planes + std::int64_t(b) * kPoseNumbers * threads + t;
    for_pose_numbers(pose_bar, [&](double number) {
      *to += number;
      to += threads;
    });
    return bar;
  }
  static COSTATE_HD COSTATE_INLINE Vec3<S> vector(const Quad<S>& q) { return {q.e[0], q.e[1], q.e[2]}; }
};

namespace thread {

template <class S, int D>
struct LookNodes {
  PushedNodes<S, D> nodes;
  const Quad<S>* velocity;
  COSTATE_HD void operator()(std::int64_t t) const {
    nodes.for_nodes(t, [&](std::int64_t node, const Vec3<S>& X) {
      for (int b = 0; b < nodes.bodies.count; ++b)
        nodes.push(t, b, X, nodes.momentum[node].e[3], nodes.vector(velocity[node]));
    });
  }
};

template <class S, int D>
struct PushNodes {
  PushedNodes<S, D> nodes;
  Quad<S>* velocity;
  COSTATE_HD void operator()(std::int64_t t) const {
    nodes.for_nodes(t, [&](std::int64_t node, const Vec3<S>& X) {
      Vec3<S> v = nodes.vector(velocity[node]);
      for (int b = 0; b < nodes.bodies.count; ++b) v = nodes.push(t, b, X, nodes.momentum[node].e[3], v);
      velocity[node] = {{v.x, v.y, v.z, S(0)}};
    });
  }
};

// before: velocities before the bodies. bar: cotangents of the velocities, from after the bodies to before
// them; its fourth numbers collect those of the masses.
template <class S, int D>
struct PushBack {
  PushedNodes<S, D> nodes;
  const Quad<S>* before;
  const mpm::BodySums<double>* sums_bar;
  Quad<S>* bar;
  COSTATE_HD void operator()(std::int64_t t) const {
    nodes.for_nodes(t, [&](std::int64_t node, const Vec3<S>& X) {
      const S m = nodes.momentum[node].e[3];
      Vec3<S> v[kMostColliders], now = nodes.vector(before[node]);
      for (int b = 0; b < nodes.bodies.count; ++b) {
        v[b] = now;
        now = nodes.push(-1, b, X, m, now);
      }
      Quad<S> out = bar[node];
      Vec3<S> v_bar = nodes.vector(out);
      for (int b = nodes.bodies.count - 1; b >= 0; --b) {
        const mpm::NodeBar<S> back = nodes.pull(t, b, X, m, v[b], v_bar, sums_bar[b]);
        v_bar = back.v;
        out.e[3] += back.m;
      }
      for (int a = 0; a < 3; ++a) out.e[a] = v_bar[a];
      bar[node] = out;
    });
  }
};
template <class S, int D>
struct LookBack {
  PushedNodes<S, D> nodes;
  const Quad<S>* before;
  const mpm::BodySums<double>* sums_bar;
  Quad<S>* bar;
  COSTATE_HD void operator()(std::int64_t t) const {
    nodes.for_nodes(t, [&](std::int64_t node, const Vec3<S>& X) {
      Quad<S> out = bar[node];
      for (int b = 0; b < nodes.bodies.count; ++b) {
        const mpm::NodeBar<S> back = nodes.pull(t, b, X, nodes.momentum[node].e[3],
                                                nodes.vector(before[node]), Vec3<S>::zero(), sums_bar[b]);
        for (int a = 0; a < 3; ++a) out.e[a] += back.v[a];
        out.e[3] += back.m;
      }
      bar[node] = out;
    });
  }
};

// Sums of cells to nodes, for who needs them before the walls and colliders.
template <class S, int D, int kTaps>
struct GatherNode {
  PointsField<S, D> field;
  PointsOrder order;
  const Quad<S>* sums;
  Quad<S>* to;
  COSTATE_HD void operator()(std::int64_t node) const {
    int at[D];
    Quad<S> sum;
    field.coordinates(int(node), at);
    gather_node<kTaps>(field, order, sums, at, sum);
    to[node] = sum;
  }
};

}  // namespace thread
}  // namespace costate::cuda
