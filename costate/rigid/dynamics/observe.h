// What a loss looks at: where points and axes of the model are and how they move, as functions of the state
// and the parameters.
//
//   position           x = o + X,  X = x_i + R_i r            o origin of the tree, r fixed to body i
//   axis               a = R_i s e_k                          s the frame of the site, geom or body
//   velocity           x' = v_i + w_i x X                     (w_i, v_i) spatial velocity of the body
//   angular velocity   w_i
//
// Transpose. A cotangent x_bar is a force at X: the wrench (X x x_bar, x_bar) on body i. An axis puts the
// moment a x a_bar on it. A velocity is <(w, v), F> with F = (X x x'_bar, x'_bar): F is the cotangent of the
// body's motion. The sweep of rnea_adjoint.h takes F to be carried along with the body, which this one is
// not: what is missing is the moment x' x x'_bar, that of a vector that turns with the body; likewise w x
// w_bar for an angular velocity. All then goes up the tree, with no forces of inertia.
// Tests: tests/rigid/dynamics/observer_test.cpp.
#pragma once

#include <algorithm>

#include "costate/rigid/dynamics/rnea_adjoint.h"

namespace costate::rigid {

// A quantity, resolved: numbers [at, at + size) of what is observed.
struct Observed {
  enum class Kind { state, position, axis, velocity, angular_velocity } kind = Kind::state;
  int at = 0, size = 1;
  int state = 0;  // of Kind::state: first number of the state
  int body = 0;
  int column = 0;  // of Kind::axis
  // The frame in its body; where these are parameters, their addresses.
  Double3 pos = {0, 0, 0};
  Double4 quat = kNoRotation;
  int pos_parameter = kAbsent, quat_parameter = kAbsent, inverse_quat_norm = kAbsent;
};

template <class S>
COSTATE_INLINE Vec3<S> local_position(const Observed& o, const S* p) {
  using Real = value_t<S>;
  if (o.pos_parameter >= 0) return vec3_at(p + o.pos_parameter);
  return {S(Real(o.pos[0])), S(Real(o.pos[1])), S(Real(o.pos[2]))};
}
template <class S>
COSTATE_INLINE Quat<S> local_frame(const Observed& o, const S* p) {
  using Real = value_t<S>;
  if (o.quat_parameter >= 0) return quat_at(p + o.quat_parameter);
  return {S(Real(o.quat[0])), S(Real(o.quat[1])), S(Real(o.quat[2])), S(Real(o.quat[3]))};
}
// X: about the origin of its tree.
template <class S>
COSTATE_INLINE Vec3<S> arm_of(const Observed& o, const S* p, const Data<S>& d) {
  const std::size_t i = o.body;
  return d.x[i] + d.R[i] * local_position(o, p);
}
template <class S>
COSTATE_INLINE Vec3<S> axis_of(const Observed& o, const S* p, const Data<S>& d) {
  return d.R[o.body] * to_matrix(local_frame(o, p)).column(o.column);
}

// z[o.at ...] of every quantity; x is the whole state.
template <class S>
void observe(const Tree& tree, const std::vector<Observed>& list, const S* p, const S* x, S* z, Data<S>& d) {
  kinematics(tree, p, x, d);
  rnea_forward<S>(tree, Vec3<S>::zero(), x + tree.nq, nullptr, d);
  for (const Observed& o : list) {
    const std::size_t i = o.body;
    Vec3<S> r = Vec3<S>::zero();
    switch (o.kind) {
      case Observed::Kind::state:
        std::copy(x + o.state, x + o.state + o.size, z + o.at);
        continue;
      case Observed::Kind::position:
        r = root_origin(tree, p, x, tree.bodies[i].root) + arm_of(o, p, d);
        break;
      case Observed::Kind::axis:
        r = axis_of(o, p, d);
        break;
      case Observed::Kind::velocity:
        r = d.v[i].v + cross(d.v[i].w, arm_of(o, p, d));
        break;
      case Observed::Kind::angular_velocity:
        r = d.v[i].w;
        break;
    }
    for (int k = 0; k < 3; ++k) z[o.at + k] = r[k];
  }
}

// Cotangents of what one quantity sees: wrenches and motions of bodies into d, its own frame into p_bar
// (null: not wanted).
template <class S>
void observed_vjp(const Observed& o, const S* p, const S* z_bar, S* p_bar, Data<S>& d) {
  const std::size_t i = o.body;
  const Vec3<S> bar = vec3_at(z_bar + o.at), arm = arm_of(o, p, d);
  const auto shift = [&](const Vec3<S>& force) {
    if (p_bar && o.pos_parameter >= 0) add_to(p_bar + o.pos_parameter, transpose_times(d.R[i], force));
  };
  const auto turn = [&](const Vec3<S>& moment) { d.wrench[i] += Force<S>{moment, Vec3<S>::zero()}; };
  switch (o.kind) {
    case Observed::Kind::state:
      break;
    case Observed::Kind::position:
      d.wrench[i] += Force<S>{cross(arm, bar), bar};
      shift(bar);
      break;
    case Observed::Kind::axis: {
      const Vec3<S> moment = cross(axis_of(o, p, d), bar);
      turn(moment);
      if (p_bar && o.quat_parameter >= 0) {
        const Quat<S> frame = local_frame(o, p);
        add_to(p_bar + o.quat_parameter, quat_cotangent(frame, p[o.inverse_quat_norm],
                                                        rotate_back(frame, transpose_times(d.R[i], moment))));
      }
      break;
    }
    case Observed::Kind::velocity:
      d.v_bar[i] += Force<S>{cross(arm, bar), bar};
      turn(cross(d.v[i].v + cross(d.v[i].w, arm), bar));
      shift(cross(bar, d.v[i].w));
      break;
    case Observed::Kind::angular_velocity:
      d.v_bar[i] += Force<S>{bar, Vec3<S>::zero()};
      turn(cross(d.v[i].w, bar));
      break;
  }
}

// Adds to q_bar and v_bar (tangent space, nv each), to x_bar (the state itself: what Kind::state reads) and,
// where it is not null, to p_bar. After observe() at the same point.
template <class S>
void observe_vjp(const Tree& tree, const std::vector<Observed>& list, const Wanted& wanted, const S* p,
                 const S* x, const S* z_bar, S* q_bar, S* v_bar, S* x_bar, S* p_bar, Data<S>& d) {
  for (auto* array : {&d.w_bar, &d.a_bar, &d.v_bar, &d.wrench, &d.axis_bar})
    std::fill(array->begin(), array->end(), Force<S>::zero());
  for (auto* array : {&d.w, &d.w_before}) std::fill(array->begin(), array->end(), Motion<S>::zero());
  for (const Observed& o : list) {
    if (o.kind == Observed::Kind::state) {
      for (int k = 0; k < o.size; ++k) x_bar[o.state + k] += z_bar[o.at + k];
    } else {
      observed_vjp(o, p, z_bar, p_bar, d);
    }
  }
  const S *q = x, *qd = x + tree.nq, *zeros = d.zeros.data();
  joint_sweep<Given::everything>(tree, qd, zeros, zeros, {q_bar, v_bar, nullptr, p_bar, nullptr}, true, d);
  if (p_bar) frame_sweep(tree, p, q, qd, zeros, zeros, true, wanted, p_bar, d);
}

}  // namespace costate::rigid
