// Recursive Newton-Euler [1, ch. 5]: the forces that a motion needs, tau = M(q) a + c(q, v), gravity
// included.
//
//   down the tree   v_i = v_p + S qd,   a_i = a_p + S qdd + (v x S) qd,        v_0 = 0, a_0 = -gravity
//   each body       f_i = I a_i + v_i x* (I v_i)
//   up the tree     tau_d = <S_d, f_i>,  f_p += f_i
//
// A joint of several dofs moves its dofs at once; the velocity in v x S is the one before the joint
// (S x S = 0), for a free joint the rotation comes after the translation.
//
// [1] Featherstone: Rigid Body Dynamics Algorithms, 2008. Its transpose: rnea_adjoint.h.
// Tests: tests/rigid/dynamics/forward_dynamics_test.cpp, parity_test.cpp.
#pragma once

#include "costate/rigid/dynamics/data.h"

namespace costate::rigid {

// sum_k S_k c_k over the dofs [begin, begin + n)
template <class S>
COSTATE_INLINE Motion<S> combine(const Data<S>& d, int begin, int n, const S* c) {
  Motion<S> r = c[begin] * d.axis[begin];
  for (int k = 1; k < n; ++k) r += c[begin + k] * d.axis[begin + k];
  return r;
}

// Velocities and accelerations. With qdd null the accelerations are those of a motion without qdd.
template <class S>
void rnea_forward(const Tree& tree, const Vec3<S>& gravity, const S* qd, const S* qdd, Data<S>& d) {
  d.v[0] = Motion<S>::zero();
  d.a[0] = {Vec3<S>::zero(), -gravity};
  for (std::size_t i = 1; i < tree.bodies.size(); ++i) {
    const TreeBody& body = tree.bodies[i];
    Motion<S> v = d.v[body.parent], a = d.a[body.parent];
    for (int j = body.joint_begin; j < body.joint_end; ++j) {
      const TreeJoint& joint = tree.joints[j];
      const std::size_t at = j, dof = joint.dof;
      d.v_before[at] = v;
      d.a_before[at] = a;
      switch (joint.type) {
        case JointType::slide:
        case JointType::hinge: {
          const Motion<S> sv = qd[joint.dof] * d.axis[dof];
          a += cross(v, sv);
          v += sv;
          if (qdd) a += qdd[joint.dof] * d.axis[dof];
          break;
        }
        case JointType::ball: {
          const Motion<S> sv = combine(d, joint.dof, 3, qd);
          a += cross(v, sv);
          v += sv;
          if (qdd) a += combine(d, joint.dof, 3, qdd);
          break;
        }
        case JointType::
            free: {  // of a root: before it nothing moves, and its rotation passes through the origin
          v.v += vec3_at(qd + joint.dof);
          const Motion<S> sv = combine(d, joint.dof + 3, 3, qd);
          a.v += cross(v.v, sv.w);
          v.w += sv.w;
          if (qdd) {
            a.v += vec3_at(qdd + joint.dof);
            a.w += combine(d, joint.dof + 3, 3, qdd).w;
          }
          break;
        }
      }
    }
    d.v[i] = v;
    d.a[i] = a;
  }
}

template <class S>
COSTATE_INLINE Force<S> body_force(const Inertia<S>& I, const Motion<S>& v, const Motion<S>& a) {
  return I * a + cross(v, I * v);
}

// Forces of the dofs from the bodies' velocities and accelerations, less the wrenches that already act on
// them (null: none).
template <class S>
void rnea_backward(const Tree& tree, const Force<S>* applied, S* tau, Data<S>& d) {
  for (std::size_t i = 1; i < tree.bodies.size(); ++i) {
    d.force[i] = body_force(d.inertia[i], d.v[i], d.a[i]);
    if (applied) d.force[i] -= applied[i];
  }
  for (std::size_t i = tree.bodies.size() - 1; i > 0; --i) {
    const TreeBody& body = tree.bodies[i];
    const Force<S> f = d.force[i];
    for (int k = body.dof_begin; k < body.dof_end; ++k) tau[k] = dot(d.axis[k], f);
    if (body.parent > 0) d.force[body.parent] += f;
  }
}

// tau = M qdd + c. Armature is not included.
template <class S>
void rnea(const Tree& tree, const S* p, const S* qd, const S* qdd, S* tau, Data<S>& d) {
  rnea_forward(tree, vec3_at(p + tree.p.gravity), qd, qdd, d);
  rnea_backward<S>(tree, nullptr, tau, d);
}

}  // namespace costate::rigid
