// Forward kinematics: where the bodies are, and along which motion each dof moves them.
//
// A body's frame is its parent's, displaced by (pos, quat), then moved by its joints one after the other [1]:
//
//   free    x = q[0:3], R = rot(q[3:7] / |q[3:7]|)
//   ball    about its anchor, R = R0 rot(q / |q|)
//   hinge   about its anchor and axis, by q - ref
//   slide   along its axis, by q - ref
//
// The motion of a dof about the tree's origin, with a its axis and r its anchor in world axes:
//
//   hinge, ball, free rotation   S = (a, r x a)            slide, free translation   S = (0, a)
//
// The origin of a tree is the position of its root: the dynamics do not depend on it, and numbers stay small
// far from the world's origin. root_origin() gives it where absolute positions count.
//
// A small displacement of a joint's frame is a motion d about the origin that carries along all that lies
// behind it. So the transpose of kinematics is a sum of wrenches over subtrees: with W the wrench on all that
// is behind joint j, q_bar_j = <S_j, W> (rnea_adjoint.h). Orientations have their cotangents in the tangent
// space, three numbers; the ambient cotangent of a quaternion is q_bar = (2 / |q|) q/|q| * (0, theta_bar),
// orthogonal to q.
//
// [1] MuJoCo documentation, Computation: "kinematics".
// Tests: tests/rigid/parity_test.cpp, rigid_system_test.cpp.
#pragma once

#include "costate/rigid/dynamics/data.h"

namespace costate::rigid {

// Copies parameters, with unit vectors made unit and their inverse lengths behind them.
template <class S>
void prepare_units(const ParameterMap& map, S* p) {
  for (const auto& unit : map.units) {
    S square = p[unit.at] * p[unit.at];
    for (int i = 1; i < unit.length; ++i) square += p[unit.at + i] * p[unit.at + i];
    const S inverse = S(1) / sqrt(square);
    for (int i = 0; i < unit.length; ++i) p[unit.at + i] = inverse * p[unit.at + i];
    p[unit.inverse_norm] = inverse;
  }
  p[map.whole_dt] = p[map.dt];
}

// Cotangent of v, given that of u = v / |v|.
template <class S>
COSTATE_INLINE void add_unit_cotangent(S* p_bar, const Vec3<S>& unit, const S& inverse_norm,
                                       const Vec3<S>& bar) {
  add_to(p_bar, inverse_norm * (bar - dot(bar, unit) * unit));
}

// q * (0, theta)
template <class S>
COSTATE_INLINE Quat<S> times_vector(const Quat<S>& q, const Vec3<S>& t) {
  return {-(q.x * t.x) - q.y * t.y - q.z * t.z, q.w * t.x + q.y * t.z - q.z * t.y,
          q.w * t.y - q.x * t.z + q.z * t.x, q.w * t.z + q.x * t.y - q.y * t.x};
}

// Cotangent of q, given the rotation's in body axes; `unit` is q / |q|.
template <class S>
COSTATE_INLINE Quat<S> quat_cotangent(const Quat<S>& unit, const S& inverse_norm, const Vec3<S>& theta_bar) {
  return times_vector(unit, (S(2) * inverse_norm) * theta_bar);
}

// q / |q|, and 1/|q|.
template <class S>
COSTATE_INLINE Quat<S> unit_quat(const S* q, S& inverse_norm) {
  const Quat<S> raw = quat_at(q);
  inverse_norm = S(1) / sqrt(dot(raw, raw));
  return {inverse_norm * raw.w, inverse_norm * raw.x, inverse_norm * raw.y, inverse_norm * raw.z};
}

template <class S>
void joint_kinematics(const TreeJoint& joint, int j, const S* p, const S* q, Quat<S>& quat, Vec3<S>& x,
                      Data<S>& d) {
  const std::size_t at = j, dof = joint.dof;
  d.before[at] = quat;
  switch (joint.type) {
    case JointType::free: {
      S inverse;
      quat = unit_quat(q + joint.q + 3, inverse);
      x = Vec3<S>::zero();
      d.anchor[at] = x;
      const Mat3<S> R = to_matrix(quat);
      for (int k = 0; k < 3; ++k) {
        Vec3<S> e = Vec3<S>::zero();
        e[k] = S(1);
        d.axis[dof + k] = {Vec3<S>::zero(), e};
        d.axis[dof + 3 + k] = {R.column(k), Vec3<S>::zero()};
      }
      break;
    }
    case JointType::ball: {
      const Vec3<S> pos = vec3_at(p + joint.p.pos);
      const Vec3<S> anchor = x + rotate(quat, pos);
      S inverse;
      quat = quat * unit_quat(q + joint.q, inverse);
      const Mat3<S> R = to_matrix(quat);
      x = anchor - R * pos;
      d.anchor[at] = anchor;
      for (int k = 0; k < 3; ++k) d.axis[dof + k] = {R.column(k), cross(anchor, R.column(k))};
      break;
    }
    case JointType::hinge: {
      const Vec3<S> pos = vec3_at(p + joint.p.pos), local = vec3_at(p + joint.p.axis);
      const Vec3<S> anchor = x + rotate(quat, pos), axis = rotate(quat, local);
      const SinCos<S> half = sincos(S(value_t<S>(0.5)) * (q[joint.q] - p[joint.p.ref]));
      quat = quat * Quat<S>{half.cos, half.sin * local.x, half.sin * local.y, half.sin * local.z};
      x = anchor - rotate(quat, pos);
      d.anchor[at] = anchor;
      d.axis[dof] = {axis, cross(anchor, axis)};
      break;
    }
    case JointType::slide: {
      const Vec3<S> axis = rotate(quat, vec3_at(p + joint.p.axis));
      d.anchor[at] = x;
      x += (q[joint.q] - p[joint.p.ref]) * axis;
      d.axis[dof] = {Vec3<S>::zero(), axis};
      break;
    }
  }
}

// The pose of a body: its parent's, displaced. Its joints then move it.
template <class S>
COSTATE_INLINE void enter_body(const TreeBody& body, const S* p, const Data<S>& d, Quat<S>& quat,
                               Vec3<S>& x) {
  quat = Quat<S>::identity();
  x = Vec3<S>::zero();
  if (body.parent == 0) {
    if (!body.placed) quat = quat_at(p + body.p.quat);
    return;
  }
  const std::size_t parent = body.parent;
  x = d.x[parent] + d.R[parent] * vec3_at(p + body.p.pos);
  quat = d.quat[parent] * quat_at(p + body.p.quat);
}

// Quaternion and position behind each joint: with them the transpose finds everything again without a sine.
inline constexpr int kPose = 7;
inline int poses_size(const Tree& tree) { return kPose * static_cast<int>(tree.joints.size()); }

// poses: where they are kept, or null.
template <class S>
void kinematics(const Tree& tree, const S* p, const S* q, Data<S>& d, S* poses = nullptr) {
  d.quat[0] = Quat<S>::identity();
  d.R[0] = Mat3<S>::identity();
  d.x[0] = Vec3<S>::zero();
  for (std::size_t i = 1; i < tree.bodies.size(); ++i) {
    const TreeBody& body = tree.bodies[i];
    Quat<S> quat;
    Vec3<S> x;
    enter_body(body, p, d, quat, x);
    for (int j = body.joint_begin; j < body.joint_end; ++j) {
      joint_kinematics(tree.joints[j], j, p, q, quat, x, d);
      if (!poses) continue;
      S* pose = poses + kPose * j;
      pose[0] = quat.w, pose[1] = quat.x, pose[2] = quat.y, pose[3] = quat.z;
      pose[4] = x.x, pose[5] = x.y, pose[6] = x.z;
    }
    d.quat[i] = quat;
    d.R[i] = to_matrix(quat);
    d.x[i] = x;
  }
}

// The same from the poses, but for what only cotangents of frames need (d.before, d.anchor). A joint does not
// turn its own axis and does not move its own anchor, so both follow from the pose behind it.
template <class S>
void recall_kinematics(const Tree& tree, const S* p, const S* poses, Data<S>& d) {
  d.quat[0] = Quat<S>::identity();
  d.R[0] = Mat3<S>::identity();
  d.x[0] = Vec3<S>::zero();
  for (std::size_t i = 1; i < tree.bodies.size(); ++i) {
    const TreeBody& body = tree.bodies[i];
    Quat<S> quat;
    Vec3<S> x;
    Mat3<S> R;
    if (body.joint_begin == body.joint_end) {
      enter_body(body, p, d, quat, x);
      R = to_matrix(quat);
    }
    for (int j = body.joint_begin; j < body.joint_end; ++j) {
      const TreeJoint& joint = tree.joints[j];
      const std::size_t dof = joint.dof;
      quat = quat_at(poses + kPose * j);
      x = vec3_at(poses + kPose * j + 4);
      R = to_matrix(quat);
      switch (joint.type) {
        case JointType::free:
          for (int k = 0; k < 3; ++k) {
            Vec3<S> e = Vec3<S>::zero();
            e[k] = S(1);
            d.axis[dof + k] = {Vec3<S>::zero(), e};
            d.axis[dof + 3 + k] = {R.column(k), Vec3<S>::zero()};
          }
          break;
        case JointType::ball: {
          const Vec3<S> anchor = x + R * vec3_at(p + joint.p.pos);
          for (int k = 0; k < 3; ++k) d.axis[dof + k] = {R.column(k), cross(anchor, R.column(k))};
          break;
        }
        case JointType::hinge: {
          const Vec3<S> anchor = x + R * vec3_at(p + joint.p.pos), axis = R * vec3_at(p + joint.p.axis);
          d.axis[dof] = {axis, cross(anchor, axis)};
          break;
        }
        case JointType::slide:
          d.axis[dof] = {Vec3<S>::zero(), R * vec3_at(p + joint.p.axis)};
          break;
      }
    }
    d.quat[i] = quat;
    d.R[i] = R;
    d.x[i] = x;
  }
}

// The origin of the tree whose root is body `root`.
template <class S>
COSTATE_INLINE Vec3<S> root_origin(const Tree& tree, const S* p, const S* q, int root) {
  if (root == 0) return Vec3<S>::zero();
  const TreeBody& body = tree.bodies[root];
  if (body.placed) return vec3_at(q + tree.joints[body.joint_begin].q);
  return vec3_at(p + body.p.pos);
}

// Inertias about the tree's origin, in world axes.
template <class S>
void body_inertias(const Tree& tree, const S* p, Data<S>& d) {
  for (std::size_t i = 1; i < tree.bodies.size(); ++i) {
    const BodyParameters& at = tree.bodies[i].p;
    const S mass = p[at.mass];
    const Vec3<S> com = d.x[i] + d.R[i] * vec3_at(p + at.com);
    d.inertia[i] = {mass, mass * com,
                    congruence(d.R[i], sym3_at(p + at.inertia)) + mass * point_inertia(com)};
  }
}

}  // namespace costate::rigid
