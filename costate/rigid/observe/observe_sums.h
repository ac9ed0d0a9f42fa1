// Quantities of several bodies, and of tendons.
//
//   mean               sum m_i c_i / sum m_i                  centre of mass of bodies with centres c_i
//   mean velocity      sum m_i c_i' / sum m_i
//   angular momentum   sum J_i w_i + m_i (c_i - C) x (c_i' - C')       about the mean C, world axes
//   kinetic energy     sum (m_i |c_i'|^2 + w_i' J_i w_i) / 2 + sum a_d v_d^2 / 2     a_d armature of a dof
//   weight energy      -sum m_i g' c_i                        potential energy in gravity
//   spring energy      sum k |q - q_spring|^2 / 2             of joints (rotations: |log|) and tendons
//   tendon             l, and J v
//
// Transpose: as in observe.h. The momentum, which is the cotangent of a body's motion in its energy, is
// carried along, so no moment is missing there. Of the sums with weights m_i (c_i - C) the cotangents of C
// vanish.
// Tests: tests/rigid/dynamics/observer_test.cpp.
#pragma once

#include "costate/rigid/dynamics/passive.h"
#include "costate/rigid/dynamics/tendon.h"
#include "costate/rigid/observe/observe.h"

namespace costate::rigid {

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
// Adds the cotangent of the inertia in a' J b.
template <class S>
COSTATE_INLINE void spin_vjp(const Vec3<S>& a, const Vec3<S>& b, S* bar) {
  bar[0] += a.x * b.x, bar[1] += a.y * b.y, bar[2] += a.z * b.z;
  bar[3] += a.x * b.y + a.y * b.x, bar[4] += a.x * b.z + a.z * b.x, bar[5] += a.y * b.z + a.z * b.y;
}

template <class S>
Vec3<S> mean_of(const Tree& tree, const Observed& o, bool velocity, const S* p, const S* x,
                const Data<S>& d) {
  Vec3<S> sum = Vec3<S>::zero();
  S mass = S(0);
  for (const int i : o.bodies) {
    const S m = p[tree.bodies[i].p.mass];
    sum += (velocity ? centre_velocity(tree, i, p, d) : centre(tree, i, p, x, d)) * m;
    mass += m;
  }
  return sum * (S(1) / mass);
}
template <class S>
Vec3<S> angular_momentum(const Tree& tree, const Observed& o, const S* p, const S* x, const Data<S>& d) {
  const Vec3<S> C = mean_of(tree, o, false, p, x, d), V = mean_of(tree, o, true, p, x, d);
  Vec3<S> sum = Vec3<S>::zero();
  for (const int i : o.bodies) {
    const BodyParameters& at = tree.bodies[i].p;
    sum += d.R[i] * spin(p + at.inertia, transpose_times(d.R[i], d.v[i].w));
    sum += p[at.mass] * cross(centre(tree, i, p, x, d) - C, centre_velocity(tree, i, p, d) - V);
  }
  return sum;
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

// How far the spring of a joint is stretched, three numbers at a time: visit(first dof, stretch).
template <class S, class Visit>
void for_each_stretch(const Tree& tree, const TreeJoint& joint, const S* p, const S* q, const Visit& visit) {
  using Real = value_t<S>;
  const double* rest = tree.qpos_spring.data() + joint.q;
  switch (joint.type) {
    case JointType::free:
      visit(joint.dof, Vec3<S>{q[joint.q] - S(Real(rest[0])), q[joint.q + 1] - S(Real(rest[1])),
                               q[joint.q + 2] - S(Real(rest[2]))});
      visit(joint.dof + 3, spring_rotation(rest + 3, q + joint.q + 3));
      break;
    case JointType::ball:
      visit(joint.dof, spring_rotation(rest, q + joint.q));
      break;
    case JointType::slide:
    case JointType::hinge:
      visit(joint.dof, Vec3<S>{q[joint.q] - p[joint.p.springref], S(0), S(0)});
      break;
  }
}
template <class S>
S spring_energy(const Tree& tree, const S* p, const S* q, const Data<S>& d) {
  S sum = S(0);
  if (!tree.springs) return sum;
  for (const TreeJoint& joint : tree.joints) {
    if (!joint.has_spring) continue;
    for_each_stretch(tree, joint, p, q,
                     [&](int, const Vec3<S>& s) { sum += p[joint.p.stiffness] * dot(s, s); });
  }
  for (std::size_t t = 0; t < tree.tendons.size(); ++t) {
    const TendonParameters& at = tree.tendons[t].p;
    const S stretch = tendon_stretch(p + at.springlength, d.tendon_length[t]);
    sum += p[at.stiffness] * stretch * stretch;
  }
  return sum * S(0.5);
}

template <class S>
void observe_sum(const Tree& tree, const Observed& o, const S* p, const S* x, S* z, const Data<S>& d) {
  const auto put = [&](const Vec3<S>& r) {
    for (int k = 0; k < 3; ++k) z[o.at + k] = r[k];
  };
  switch (o.kind) {
    case Observed::Kind::mean:
      return put(mean_of(tree, o, false, p, x, d));
    case Observed::Kind::mean_velocity:
      return put(mean_of(tree, o, true, p, x, d));
    case Observed::Kind::angular_momentum:
      return put(angular_momentum(tree, o, p, x, d));
    case Observed::Kind::kinetic:
      z[o.at] = kinetic_energy(tree, o, p, x + tree.nq, d);
      return;
    case Observed::Kind::weight:
      z[o.at] = weight_energy(tree, o, p, x, d);
      return;
    case Observed::Kind::spring:
      z[o.at] = spring_energy(tree, p, x, d);
      return;
    case Observed::Kind::tendon_length:
      z[o.at] = d.tendon_length[o.element];
      return;
    default:
      z[o.at] = tendon_velocity(tree.tendons[o.element], d, x + tree.nq);
      return;
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
  const bool moves = o.kind == Observed::Kind::mean_velocity;
  const Vec3<S> mean = mean_of(tree, o, moves, p, x, d), bar = vec3_at(z_bar + o.at);
  S mass = S(0);
  for (const int i : o.bodies) mass += p[tree.bodies[i].p.mass];
  for (const int i : o.bodies) {
    const int m = tree.bodies[i].p.mass;
    const Vec3<S> share = bar * (p[m] / mass);
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
void angular_momentum_vjp(const Tree& tree, const Observed& o, const S* p, const S* x, const S* z_bar,
                          S* p_bar, Data<S>& d) {
  const Vec3<S> C = mean_of(tree, o, false, p, x, d), V = mean_of(tree, o, true, p, x, d),
                bar = vec3_at(z_bar + o.at);
  for (const int i : o.bodies) {
    const BodyParameters& at = tree.bodies[i].p;
    const S m = p[at.mass];
    const Vec3<S> r = centre(tree, i, p, x, d) - C, v = centre_velocity(tree, i, p, d), u = v - V;
    const Vec3<S> v_bar = m * cross(bar, r);
    centre_vjp(tree, i, p, m * cross(u, bar), p_bar, d);
    centre_velocity_vjp(tree, i, p, v_bar, p_bar, d);
    const Vec3<S> w = transpose_times(d.R[i], d.v[i].w), local = transpose_times(d.R[i], bar);
    d.v_bar[i] += Force<S>{d.R[i] * spin(p + at.inertia, local), Vec3<S>::zero()};
    // Neither the cotangent of the velocity nor `bar` is carried along.
    d.wrench[i] += Force<S>{cross(v, v_bar) + cross(d.R[i] * spin(p + at.inertia, w), bar), Vec3<S>::zero()};
    if (!p_bar) continue;
    p_bar[at.mass] += dot(bar, cross(r, u));
    spin_vjp(local, w, p_bar + at.inertia);
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
// A force is minus the slope of its energy.
template <class S>
void spring_energy_vjp(const Tree& tree, const S* p, const S* q, const S& bar, S* q_bar, S* p_bar,
                       Data<S>& d) {
  if (!tree.springs) return;
  for (const TreeJoint& joint : tree.joints) {
    if (!joint.has_spring) continue;
    const S k = p[joint.p.stiffness];
    const bool scalar = joint.type == JointType::slide || joint.type == JointType::hinge;
    for_each_stretch(tree, joint, p, q, [&](int dof, const Vec3<S>& s) {
      for (int i = 0; i < (scalar ? 1 : 3); ++i) q_bar[dof + i] += bar * k * s[i];
      if (!p_bar) return;
      p_bar[joint.p.stiffness] += bar * S(0.5) * dot(s, s);
      if (scalar) p_bar[joint.p.springref] -= bar * k * s.x;
    });
  }
  for (std::size_t t = 0; t < tree.tendons.size(); ++t) {
    const TendonParameters& at = tree.tendons[t].p;
    const S *rest = p + at.springlength, length = d.tendon_length[t], s = tendon_stretch(rest, length),
            pull = bar * p[at.stiffness] * s;
    d.tendon_length_bar[t] += pull;
    if (!p_bar) continue;
    p_bar[at.stiffness] += bar * S(0.5) * s * s;
    p_bar[at.springlength] -= select(length >= rest[1], S(0), pull);
    p_bar[at.springlength + 1] -= select(length >= rest[1], pull, S(0));
  }
}

// Adds to q_bar and v_bar (tangent space), to p_bar (null: not wanted) and to the sums of d.
template <class S>
void observe_sum_vjp(const Tree& tree, const Observed& o, const S* p, const S* x, const S* z_bar, S* q_bar,
                     S* v_bar, S* p_bar, Data<S>& d) {
  const S *bar = z_bar + o.at, *qd = x + tree.nq;
  switch (o.kind) {
    case Observed::Kind::mean:
    case Observed::Kind::mean_velocity:
      return mean_vjp(tree, o, p, x, z_bar, p_bar, d);
    case Observed::Kind::angular_momentum:
      return angular_momentum_vjp(tree, o, p, x, z_bar, p_bar, d);
    case Observed::Kind::kinetic:
      return kinetic_energy_vjp(tree, o, p, qd, *bar, v_bar, p_bar, d);
    case Observed::Kind::weight:
      return weight_energy_vjp(tree, o, p, x, *bar, p_bar, d);
    case Observed::Kind::spring:
      return spring_energy_vjp(tree, p, x, *bar, q_bar, p_bar, d);
    case Observed::Kind::tendon_length:
      d.tendon_length_bar[o.element] += *bar;
      return;
    default:
      return tendon_vjp(tree, o.element, qd, S(0), static_cast<const S*>(d.zeros.data()), S(0), *bar, v_bar,
                        d);
  }
}

}  // namespace costate::rigid
