// What a loss looks at: where points and axes of the model are and how they move, as functions of the state
// and the parameters.
//
//   position           x = o + X,  X = x_i + R_i r            o origin of the tree, r fixed to body i
//   axis               a = R_i s e_k                          s the frame of the site, geom or body
//   velocity           x' = v_i + w_i x X                     (w_i, v_i) spatial velocity of the body
//   angular velocity   w_i
//   mean               sum m_i c_i / sum m_i                  centre of mass of bodies with centres c_i
//   mean velocity      sum m_i c_i' / sum m_i
//   kinetic energy     sum (m_i |c_i'|^2 + w_i' J_i w_i) / 2 + sum a_d v_d^2 / 2     a_d armature of a dof
//   weight energy      -sum m_i g' c_i                        potential energy in gravity
//
// Transpose. A cotangent x_bar is a force at X: the wrench (X x x_bar, x_bar) on body i. An axis puts the
// moment a x a_bar on it. A velocity is <(w, v), F> with F = (X x x'_bar, x'_bar): F is the cotangent of the
// body's motion. The sweep of rnea_adjoint.h takes F to be carried along with the body, which this one is
// not: what is missing is the moment x' x x'_bar, that of a vector that turns with the body; likewise w x
// w_bar for an angular velocity. The momentum, which is the cotangent of a body's motion in its energy, is
// carried along, so nothing is missing there. All then goes up the tree, with no forces of inertia.
// Tests: tests/rigid/dynamics/observer_test.cpp.
#pragma once

#include <algorithm>

#include "costate/rigid/dynamics/rnea_adjoint.h"

namespace costate::rigid {

// A quantity, resolved: numbers [at, at + size) of what is observed.
struct Observed {
  enum class Kind {
    state,
    position,
    axis,
    velocity,
    angular_velocity,
    mean,
    mean_velocity,
    kinetic,
    weight
  } kind = Kind::state;
  int at = 0, size = 1;
  int state = 0;  // of Kind::state: first number of the state
  int body = 0;
  int column = 0;  // of Kind::axis
  // The frame in its body; where these are parameters, their addresses.
  Double3 pos = {0, 0, 0};
  Double4 quat = kNoRotation;
  int pos_parameter = kAbsent, quat_parameter = kAbsent, inverse_quat_norm = kAbsent;
  std::vector<int> bodies = {};  // of means and energies
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

// X of the centre of mass of a body, and how it moves.
template <class S>
COSTATE_INLINE Vec3<S> centre_arm(const Tree& tree, int i, const S* p, const Data<S>& d) {
  return d.x[i] + d.R[i] * vec3_at(p + tree.bodies[i].p.com);
}
template <class S>
COSTATE_INLINE Vec3<S> centre_velocity(const Tree& tree, int i, const S* p, const Data<S>& d) {
  return d.v[i].v + cross(d.v[i].w, centre_arm(tree, i, p, d));
}
template <class S>
COSTATE_INLINE Vec3<S> centre(const Tree& tree, int i, const S* p, const S* x, const Data<S>& d) {
  return root_origin(tree, p, x, tree.bodies[i].root) + centre_arm(tree, i, p, d);
}
// J w of a body, in its own axes; inertia as the model has it: xx yy zz xy xz yz.
template <class S>
COSTATE_INLINE Vec3<S> spin(const S* inertia, const Vec3<S>& w) {
  return {inertia[0] * w.x + inertia[3] * w.y + inertia[4] * w.z,
          inertia[3] * w.x + inertia[1] * w.y + inertia[5] * w.z,
          inertia[4] * w.x + inertia[5] * w.y + inertia[2] * w.z};
}

template <class S>
Vec3<S> mean_of(const Tree& tree, const Observed& o, const S* p, const S* x, const Data<S>& d) {
  Vec3<S> sum = Vec3<S>::zero();
  S mass = S(0);
  for (const int i : o.bodies) {
    const S m = p[tree.bodies[i].p.mass];
    sum += (o.kind == Observed::Kind::mean ? centre(tree, i, p, x, d) : centre_velocity(tree, i, p, d)) * m;
    mass += m;
  }
  return sum * (S(1) / mass);
}
template <class S>
S kinetic_energy(const Tree& tree, const Observed& o, const S* p, const S* qd, const Data<S>& d) {
  S sum = S(0);
  for (const int i : o.bodies) {
    const BodyParameters& at = tree.bodies[i].p;
    const Vec3<S> v = centre_velocity(tree, i, p, d), w = transpose_times(d.R[i], d.v[i].w);
    sum += p[at.mass] * dot(v, v) + dot(w, spin(p + at.inertia, w));
  }
  for (const TreeDof& dof : tree.dofs) {
    const S v = qd[&dof - tree.dofs.data()];
    sum += p[tree.joints[dof.joint].p.armature] * v * v;
  }
  return sum * S(0.5);
}
template <class S>
S weight_energy(const Tree& tree, const Observed& o, const S* p, const S* x, const Data<S>& d) {
  S sum = S(0);
  for (const int i : o.bodies)
    sum -= p[tree.bodies[i].p.mass] * dot(vec3_at(p + tree.p.gravity), centre(tree, i, p, x, d));
  return sum;
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
      case Observed::Kind::mean:
      case Observed::Kind::mean_velocity:
        r = mean_of(tree, o, p, x, d);
        break;
      case Observed::Kind::kinetic:
        z[o.at] = kinetic_energy(tree, o, p, x + tree.nq, d);
        continue;
      case Observed::Kind::weight:
        z[o.at] = weight_energy(tree, o, p, x, d);
        continue;
    }
    for (int k = 0; k < 3; ++k) z[o.at + k] = r[k];
  }
}

// Cotangents of the centre of mass of body i, and of its velocity.
template <class S>
void centre_vjp(const Tree& tree, int i, const S* p, const Vec3<S>& bar, S* p_bar, Data<S>& d) {
  d.wrench[i] += Force<S>{cross(centre_arm(tree, i, p, d), bar), bar};
  if (p_bar) add_to(p_bar + tree.bodies[i].p.com, transpose_times(d.R[i], bar));
}
template <class S>
void centre_velocity_vjp(const Tree& tree, int i, const S* p, const Vec3<S>& bar, S* p_bar, Data<S>& d) {
  d.v_bar[i] += Force<S>{cross(centre_arm(tree, i, p, d), bar), bar};
  if (p_bar) add_to(p_bar + tree.bodies[i].p.com, transpose_times(d.R[i], cross(bar, d.v[i].w)));
}
template <class S>
void mean_vjp(const Tree& tree, const Observed& o, const S* p, const S* x, const S* z_bar, S* p_bar,
              Data<S>& d) {
  const Vec3<S> mean = mean_of(tree, o, p, x, d), bar = vec3_at(z_bar + o.at);
  S mass = S(0);
  for (const int i : o.bodies) mass += p[tree.bodies[i].p.mass];
  for (const int i : o.bodies) {
    const int m = tree.bodies[i].p.mass;
    const Vec3<S> share = bar * (p[m] / mass);
    const bool moves = o.kind == Observed::Kind::mean_velocity;
    const Vec3<S> own = moves ? centre_velocity(tree, i, p, d) : centre(tree, i, p, x, d);
    if (p_bar) p_bar[m] += dot(bar, own - mean) / mass;
    if (moves) {
      centre_velocity_vjp(tree, i, p, share, p_bar, d);
      d.wrench[i] += Force<S>{cross(own, share), Vec3<S>::zero()};  // a cotangent that is not carried along
    } else {
      centre_vjp(tree, i, p, share, p_bar, d);
    }
  }
}
template <class S>
void kinetic_energy_vjp(const Tree& tree, const Observed& o, const S* p, const S* qd, const S& bar, S* qd_bar,
                        S* p_bar, Data<S>& d) {
  for (const int i : o.bodies) {
    const BodyParameters& at = tree.bodies[i].p;
    const Vec3<S> v = centre_velocity(tree, i, p, d), w = transpose_times(d.R[i], d.v[i].w);
    centre_velocity_vjp(tree, i, p, v * (bar * p[at.mass]), p_bar, d);
    d.v_bar[i] += Force<S>{d.R[i] * spin(p + at.inertia, w) * bar, Vec3<S>::zero()};
    if (!p_bar) continue;
    p_bar[at.mass] += bar * S(0.5) * dot(v, v);
    const S half = bar * S(0.5);
    S* const inertia = p_bar + at.inertia;
    inertia[0] += half * w.x * w.x, inertia[1] += half * w.y * w.y, inertia[2] += half * w.z * w.z;
    inertia[3] += bar * w.x * w.y, inertia[4] += bar * w.x * w.z, inertia[5] += bar * w.y * w.z;
  }
  for (const TreeDof& dof : tree.dofs) {
    const auto k = &dof - tree.dofs.data();
    const int armature = tree.joints[dof.joint].p.armature;
    qd_bar[k] += bar * p[armature] * qd[k];
    if (p_bar) p_bar[armature] += bar * S(0.5) * qd[k] * qd[k];
  }
}
template <class S>
void weight_energy_vjp(const Tree& tree, const Observed& o, const S* p, const S* x, const S& bar, S* p_bar,
                       Data<S>& d) {
  const Vec3<S> g = vec3_at(p + tree.p.gravity);
  for (const int i : o.bodies) {
    const int m = tree.bodies[i].p.mass;
    centre_vjp(tree, i, p, g * (-bar * p[m]), p_bar, d);
    if (!p_bar) continue;
    const Vec3<S> c = centre(tree, i, p, x, d);
    p_bar[m] -= bar * dot(g, c);
    add_to(p_bar + tree.p.gravity, c * (-bar * p[m]));
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
    default:  // means and energies: below
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
    } else if (o.kind == Observed::Kind::mean || o.kind == Observed::Kind::mean_velocity) {
      mean_vjp(tree, o, p, x, z_bar, p_bar, d);
    } else if (o.kind == Observed::Kind::kinetic) {
      kinetic_energy_vjp(tree, o, p, x + tree.nq, z_bar[o.at], v_bar, p_bar, d);
    } else if (o.kind == Observed::Kind::weight) {
      weight_energy_vjp(tree, o, p, x, z_bar[o.at], p_bar, d);
    } else {
      observed_vjp(o, p, z_bar, p_bar, d);
    }
  }
  const S *q = x, *qd = x + tree.nq, *zeros = d.zeros.data();
  joint_sweep<Given::everything>(tree, qd, zeros, zeros, {q_bar, v_bar, nullptr, p_bar, nullptr}, true, d);
  if (p_bar) frame_sweep(tree, p, q, qd, zeros, zeros, true, wanted, p_bar, d);
}

}  // namespace costate::rigid
