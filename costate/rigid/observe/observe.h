// What a loss looks at: where points and axes of the model are and how they move, as functions of the state
// and the parameters.
//
//   position               x = o + X,  X = x_i + R_i r            o origin of the tree, r fixed to body i
//   axis, quaternion       a = R_i s e_k                          s the frame of the site, geom or body
//   velocity               x' = v_i + w_i x X                     (w_i, v_i) spatial velocity of the body
//   angular velocity       w_i
//   acceleration           x'' = a_i + w'_i x X + w_i x x'        (w'_i, a_i) spatial acceleration
//   angular acceleration   w'_i
//   field                  a constant vector of the world, as a magnetometer sees it
//
// in world axes, or in those of the frame. Sums over bodies: observe_sums.h. Forces, and the accelerations
// that they cause: observe_forces.h.
//
// Transpose. A cotangent x_bar is a force at X: the wrench (X x x_bar, x_bar) on body i. An axis puts the
// moment a x a_bar on it. A velocity is <(w, v), F> with F = (X x x'_bar, x'_bar): F is the cotangent of the
// body's motion; an acceleration has such an F too, and its term w x x' another one. The sweep of
// rnea_adjoint.h takes F to be carried along with the body. That is so for a vector in the axes of the frame.
// One in world axes is not turned with the body: what is missing is the moment x' x x'_bar, and the same for
// the others. All then goes up the tree, with no forces of inertia.
// Tests: tests/rigid/dynamics/observer_test.cpp.
#pragma once

#include <algorithm>

#include "costate/rigid/dynamics/rnea_adjoint.h"
#include "costate/rigid/observe/observed.h"

namespace costate::rigid {

template <class S>
COSTATE_INLINE Vec3<S> point_velocity(const Motion<S>& v, const Vec3<S>& X) {
  return v.v + cross(v.w, X);
}

// The three numbers of a quantity of one frame, world axes.
template <class S>
Vec3<S> world_value(const Tree& tree, const Observed& o, const S* p, const S* x, const Data<S>& d) {
  const std::size_t i = o.body;
  switch (o.kind) {
    case Observed::Kind::position:
      return root_origin(tree, p, x, tree.bodies[i].root) + arm_of(o, p, d);
    case Observed::Kind::axis:
      return d.R[i] * to_matrix(local_frame(o, p)).column(o.column);
    case Observed::Kind::velocity:
      return point_velocity(d.v[i], arm_of(o, p, d));
    case Observed::Kind::angular_velocity:
      return d.v[i].w;
    case Observed::Kind::acceleration: {
      const Vec3<S> X = arm_of(o, p, d),
                    r = d.a[i].v + cross(d.a[i].w, X) + cross(d.v[i].w, point_velocity(d.v[i], X));
      return o.weightless ? r + vec3_at(p + tree.p.gravity) : r;
    }
    case Observed::Kind::angular_acceleration:
      return d.a[i].w;
    default:
      return constant<S>(o.vector);
  }
}

template <class S>
void observe_frame(const Tree& tree, const Observed& o, const S* p, const S* x, S* z, const Data<S>& d) {
  if (o.kind == Observed::Kind::quaternion) {
    const Quat<S> q = d.quat[o.body] * local_frame(o, p);
    z[o.at] = q.w, z[o.at + 1] = q.x, z[o.at + 2] = q.y, z[o.at + 3] = q.z;
    return;
  }
  const Vec3<S> r = shown(o, p, world_value(tree, o, p, x, d), d);
  for (int k = 0; k < 3; ++k) z[o.at + k] = r[k];
}

// dq = (0, theta) q / 2 for a turn theta in world axes.
template <class S>
void quaternion_vjp(const Observed& o, const S* p, const S* z_bar, S* p_bar, Data<S>& d) {
  const Quat<S> q = d.quat[o.body] * local_frame(o, p), bar = quat_at(z_bar + o.at),
                turned = bar * conjugate(q);
  const Vec3<S> moment = Vec3<S>{turned.x, turned.y, turned.z} * S(0.5);
  d.wrench[o.body] += Force<S>{moment, Vec3<S>::zero()};
  turn_vjp(o, p, moment, p_bar, d);
}

// Cotangents of what one quantity sees: wrenches and motions of bodies into d, its own frame into p_bar
// (null: not wanted).
template <class S>
void observe_frame_vjp(const Tree& tree, const Observed& o, const S* p, const S* x, const S* z_bar, S* p_bar,
                       Data<S>& d) {
  if (o.kind == Observed::Kind::quaternion) return quaternion_vjp(o, p, z_bar, p_bar, d);
  const std::size_t i = o.body;
  const Vec3<S> bar = world_cotangent(o, p, z_bar, d), X = arm_of(o, p, d),
                value = world_value(tree, o, p, x, d);
  const auto turn = [&](const Vec3<S>& moment) { d.wrench[i] += Force<S>{moment, Vec3<S>::zero()}; };
  switch (o.kind) {
    case Observed::Kind::position:
      d.wrench[i] += Force<S>{cross(X, bar), bar};
      shift_vjp(o, bar, p_bar, d);
      return;
    case Observed::Kind::axis:
      turn(cross(value, bar));
      turn_vjp(o, p, cross(value, bar), p_bar, d);
      return;
    case Observed::Kind::velocity:
      d.v_bar[i] += Force<S>{cross(X, bar), bar};
      shift_vjp(o, cross(bar, d.v[i].w), p_bar, d);
      break;
    case Observed::Kind::angular_velocity:
      d.v_bar[i] += Force<S>{bar, Vec3<S>::zero()};
      break;
    case Observed::Kind::acceleration: {
      const Vec3<S> w = d.v[i].w, u = point_velocity(d.v[i], X), u_bar = cross(bar, w);
      d.a_bar[i] += Force<S>{cross(X, bar), bar};
      d.v_bar[i] += Force<S>{cross(u, bar) + cross(X, u_bar), u_bar};
      shift_vjp(o, cross(bar, d.a[i].w) + cross(u_bar, w), p_bar, d);
      if (o.weightless && p_bar) add_to(p_bar + tree.p.gravity, bar);
      break;
    }
    case Observed::Kind::angular_acceleration:
      d.a_bar[i] += Force<S>{bar, Vec3<S>::zero()};
      break;
    default:  // a field is not carried along: seen from the frame it turns the other way
      turn(cross(bar, value));
      break;
  }
  if (o.local) return turn_vjp(o, p, cross(bar, value), p_bar, d);
  // Gravity is a part of an acceleration that the body does not turn.
  const bool falls = o.kind == Observed::Kind::acceleration && o.weightless;
  turn(cross(falls ? value - vec3_at(p + tree.p.gravity) : value, bar));
}

// Frames alone, for bodies that move but are not pushed: kinematics, then each quantity.
template <class S>
void observe_frames(const Tree& tree, const std::vector<Observed>& list, const S* p, const S* x, S* z,
                    Data<S>& d) {
  kinematics(tree, p, x, d);
  rnea_forward<S>(tree, Vec3<S>::zero(), x + tree.nq, nullptr, d);
  for (const Observed& o : list) observe_frame(tree, o, p, x, z, d);
}

// Adds to q_bar and v_bar (tangent space, nv each) and, where it is not null, to p_bar. After
// observe_frames() at the same point.
template <class S>
void observe_frames_vjp(const Tree& tree, const std::vector<Observed>& list, const Wanted& wanted, const S* p,
                        const S* x, const S* z_bar, S* q_bar, S* v_bar, S* p_bar, Data<S>& d) {
  for (auto* array : {&d.w_bar, &d.a_bar, &d.v_bar, &d.wrench, &d.axis_bar})
    std::fill(array->begin(), array->end(), Force<S>::zero());
  for (auto* array : {&d.w, &d.w_before}) std::fill(array->begin(), array->end(), Motion<S>::zero());
  for (const Observed& o : list) observe_frame_vjp(tree, o, p, x, z_bar, p_bar, d);
  const S *q = x, *qd = x + tree.nq, *zeros = d.zeros.data();
  joint_sweep<Given::everything>(tree, qd, zeros, zeros, {q_bar, v_bar, nullptr, p_bar, nullptr}, true, d);
  if (p_bar) frame_sweep(tree, p, q, qd, zeros, zeros, true, wanted, p_bar, d);
}

}  // namespace costate::rigid
