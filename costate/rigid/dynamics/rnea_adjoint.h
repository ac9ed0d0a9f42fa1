// The transpose of recursive Newton-Euler: cotangents of q, v, qdd and of every frame and inertia, given that
// of tau.
//
// With lambda = tau_bar and the virtual velocity w_i = sum of S_d lambda_d on the way from the world to body
// i,
//
//   L = <lambda, tau> = sum_i <w_i, I a_i> + <w_i x v_i, I v_i>
//
// so the reverse sweep has three motions per body with partials
//
//   w_bar_i = I a + v x* (I v),    a_bar_i = I w,    v_bar_i = I (w x v) - w x* (I v)
//
// which add up over subtrees. Through a joint, with the motions before it:
//
//   qd_bar  = <S, v_bar> + <v x S, a_bar>            v_bar before += qd S x* a_bar
//   qdd_bar = <S, a_bar>                             w_bar, a_bar before: unchanged
//
// Pose. L does not change if everything behind a frame is carried along by a motion d together with the
// motions w, v, a that arrive at the frame. So the wrench that the pose of all that feels is W = -(w x*
// w_bar + v x* v_bar + a x* a_bar), with no derivative of any inertia, and
//
//   q_bar = <S, W> = <w x S, w_bar> + <v x S, v_bar> + <a x S, a_bar>      (values before the joint)
//
// Frame parameters are displacements too: W, contracted with the motion that the parameter makes. Inertias
// enter L linearly. Whatever else puts a wrench on a body that it carries along (a thruster) adds it to
// w_bar; what else depends on where the bodies are (the distance of two points) adds a wrench X of its own,
// and what uses the motions S themselves (a Jacobian) their cotangents S_bar, which act on the pose before
// the joint as the wrench S x* S_bar.
//
// Forward dynamics calls this with -lambda, lambda = M^-1 qdd_bar: then M's dependence on q is included.
// Tests: tests/rigid/dynamics/forward_dynamics_test.cpp (Pinocchio), rigid_system_test.cpp.
#pragma once

#include <algorithm>

#include "costate/rigid/dynamics/kinematics.h"
#include "costate/rigid/dynamics/rnea.h"
#include "costate/system/activity.h"

namespace costate::rigid {

// Which parameters' cotangents are wanted.
struct Wanted {
  const Activity* active = nullptr;  // null: none
  const std::vector<int>* field_of = nullptr;
  bool frames = true;  // some frame or inertia is: worth a sweep of its own
  bool operator()(int parameter) const {
    return active && parameter >= 0 && active->parameters[(*field_of)[parameter]];
  }
};

// Cotangents that a sweep adds to. q is in the tangent space: nv numbers. qdd and gravity may be null.
template <class S>
struct RneaBar {
  S *q = nullptr, *qd = nullptr, *qdd = nullptr, *p = nullptr, *gravity = nullptr;
};

// The virtual velocities w.
template <class S>
void virtual_velocities(const Tree& tree, const S* lambda, Data<S>& d) {
  d.w[0] = Motion<S>::zero();
  for (std::size_t i = 1; i < tree.bodies.size(); ++i) {
    const TreeBody& body = tree.bodies[i];
    Motion<S> w = d.w[body.parent];
    for (int j = body.joint_begin; j < body.joint_end; ++j) {
      const TreeJoint& joint = tree.joints[j];
      d.w_before[j] = w;
      if (joint.type == JointType::free) {
        w.v += vec3_at(lambda + joint.dof);
        w += combine(d, joint.dof + 3, 3, lambda);
      } else {
        w += combine(d, joint.dof, dof_size(joint.type), lambda);
      }
    }
    d.w[i] = w;
  }
}

// The cotangent of a body's inertia: of mass, com and moment of inertia in body axes.
template <class S>
void inertia_vjp(const BodyParameters& at, const S* p, const Mat3<S>& R, const Vec3<S>& x, const Motion<S>& w,
                 const Motion<S>& a, const Motion<S>& z, const Motion<S>& v, S* p_bar) {
  // L = <w, I a> + <z, I v>, linear in (mass, h, Io).
  const S mass_bar = dot(w.v, a.v) + dot(z.v, v.v);
  const Vec3<S> h_bar = cross(a.v, w.w) - cross(a.w, w.v) + cross(v.v, z.w) - cross(v.w, z.v);
  const Sym3<S> B = symmetric_part(outer(w.w, a.w) + outer(z.w, v.w));
  const Vec3<S> c = x + R * vec3_at(p + at.com);
  const Vec3<S> Bc = B * c;
  const S tr = trace(B);
  p_bar[at.mass] += mass_bar + dot(h_bar, c) + tr * dot(c, c) - dot(c, Bc);
  add_to(p_bar + at.com, transpose_times(R, p[at.mass] * (h_bar + S(2) * (tr * c - Bc))));
  const Sym3<S> body = congruence(transpose(R), B);
  S* to = p_bar + at.inertia;
  to[0] += body.xx;
  to[1] += body.yy;
  to[2] += body.zz;
  to[3] += S(2) * body.xy;
  to[4] += S(2) * body.xz;
  to[5] += S(2) * body.yz;
}

// Cotangents of a joint's frame: anchor, axis, ref. W: the wrench on what lies behind the joint; S_bar: of
// its motion.
template <class S>
void joint_frame_vjp(const TreeJoint& joint, std::size_t j, const S* p, const S* q, const Data<S>& d,
                     const Quat<S>& after, const Force<S>& W, const Force<S>& S_bar, const Wanted& wanted,
                     S* p_bar) {
  const Quat<S>& before = d.before[j];
  if (joint.type == JointType::slide) {
    if (wanted(joint.p.axis)) {
      const Vec3<S> bar = rotate_back(before, S_bar.f + (q[joint.q] - p[joint.p.ref]) * W.f);
      const auto unit = vec3_at(p + joint.p.axis);
      add_unit_cotangent(p_bar + joint.p.axis, unit, p[joint.p.inverse_axis_norm], bar);
    }
    return;
  }
  const Motion<S>& axis = d.axis[joint.dof];
  const Vec3<S>& anchor = d.anchor[j];
  // A shift of the anchor moves S, and the body by the difference of the two rotations of it.
  if (wanted(joint.p.pos)) {
    const Vec3<S> anchor_bar = cross(axis.w, S_bar.f);
    add_to(p_bar + joint.p.pos, rotate_back(before, anchor_bar + W.f) - rotate_back(after, W.f));
  }
  if (wanted(joint.p.axis)) {
    const Vec3<S> unit = vec3_at(p + joint.p.axis);
    const SinCos<S> t = sincos(q[joint.q] - p[joint.p.ref]);
    const Vec3<S> moment = rotate_back(before, W.n - cross(anchor, W.f));
    const Vec3<S> bar = rotate_back(before, S_bar.n + cross(S_bar.f, anchor)) + t.sin * moment +
                        (S(1) - t.cos) * cross(moment, unit);
    add_unit_cotangent(p_bar + joint.p.axis, unit, p[joint.p.inverse_axis_norm], bar);
  }
}

// sum of S_k x* S_bar_k over dofs [begin, begin + n)
template <class S>
COSTATE_INLINE Force<S> axis_wrench(const Data<S>& d, int begin, int n) {
  Force<S> sum = Force<S>::zero();
  for (int k = begin; k < begin + n; ++k) sum += cross(d.axis[k], d.axis_bar[k]);
  return sum;
}

template <class S>
COSTATE_INLINE Force<S> carried_wrench(const Motion<S>& w, const Force<S>& w_bar, const Motion<S>& v,
                                       const Force<S>& v_bar, const Motion<S>& a, const Force<S>& a_bar) {
  return -(cross(w, w_bar) + cross(v, v_bar) + cross(a, a_bar));
}

// Of one body alone.
template <class S>
struct Partials {
  Force<S> w, v, a;
};
template <class S>
COSTATE_INLINE Partials<S> body_partials(const Inertia<S>& I, const Motion<S>& w, const Motion<S>& v,
                                         const Motion<S>& a) {
  const Force<S> Iv = I * v;
  return {I * a + cross(v, Iv), I * cross(w, v) - cross(w, Iv), I * w};
}

// A free joint. Before it the world, at rest. The translation first: its own motions do not turn with
// anything. Returns v_bar before it.
template <bool kExternal, class S>
void free_joint_vjp(const TreeJoint& joint, std::size_t j, const S* qd, const S* qdd, const S* lambda,
                    const Force<S>& w_bar, Force<S>& v_bar, const Force<S>& a_bar, Force<S>& X,
                    const RneaBar<S>& bar, const Data<S>& d) {
  const Motion<S> sv = combine(d, joint.dof + 3, 3, qd);
  const Vec3<S> lambda_lin = vec3_at(lambda + joint.dof), v_lin = vec3_at(qd + joint.dof),
                a_lin = d.a_before[j].v + vec3_at(qdd + joint.dof);
  const Force<S> v_mid_bar = v_bar + cross(sv, a_bar);
  if (kExternal) X += axis_wrench(d, joint.dof + 3, 3);
  for (int k = 0; k < 3; ++k) {
    const Vec3<S>& axis = d.axis[joint.dof + 3 + k].w;
    bar.qd[joint.dof + 3 + k] += dot(axis, v_bar.n) + dot(cross(v_lin, axis), a_bar.f);
    bar.q[joint.dof + 3 + k] += dot(cross(lambda_lin, axis), w_bar.f) + dot(cross(v_lin, axis), v_mid_bar.f) +
                                dot(cross(a_lin, axis), a_bar.f);
    if (kExternal) bar.q[joint.dof + 3 + k] += dot(axis, X.n);
    if (bar.qdd) bar.qdd[joint.dof + 3 + k] += dot(axis, a_bar.n);
  }
  add_to(bar.qd + joint.dof, v_mid_bar.f);
  if (kExternal) add_to(bar.q + joint.dof, X.f);
  if (bar.qdd) add_to(bar.qdd + joint.dof, a_bar.f);
  v_bar = v_mid_bar;
}

// What a sweep finds in d.w_bar, d.v_bar, d.a_bar, d.wrench and d.axis_bar when it begins.
enum class Given {
  nothing,     // they are not read
  additions,   // what others have put on the bodies, besides forces of inertia
  everything,  // there are no forces of inertia
};

// Joints and their velocities, from the leaves to the world. Partials add up over subtrees; the sums are left
// in d.*_bar where `keep`, for the frames. Without that a body's own are never stored.
template <Given kGiven, class S>
void joint_sweep(const Tree& tree, const S* qd, const S* qdd, const S* lambda, const RneaBar<S>& bar,
                 bool keep, Data<S>& d) {
  constexpr bool kExternal = kGiven != Given::nothing;
  // Whether a child has written to the sums of a body; others' additions are there from the start.
  if (!kExternal) std::fill(d.has_sums.begin(), d.has_sums.end(), char(0));
  for (std::size_t i = tree.bodies.size() - 1; i > 0; --i) {
    const TreeBody& body = tree.bodies[i];
    Partials<S> sum;
    if constexpr (kGiven == Given::everything) {
      sum = {d.w_bar[i], d.v_bar[i], d.a_bar[i]};
    } else {
      sum = body_partials(d.inertia[i], d.w[i], d.v[i], d.a[i]);
      if (kExternal || d.has_sums[i]) {
        sum.w += d.w_bar[i];
        sum.v += d.v_bar[i];
        sum.a += d.a_bar[i];
      }
      if (keep) {
        d.w_bar[i] = sum.w;
        d.v_bar[i] = sum.v;
        d.a_bar[i] = sum.a;
      }
    }
    const Force<S>&w_bar = sum.w, &a_bar = sum.a;
    Force<S>& v_bar = sum.v;
    Force<S> X = kExternal ? d.wrench[i] : Force<S>::zero();
    for (int j = body.joint_end - 1; j >= body.joint_begin; --j) {
      const std::size_t at = j;
      const TreeJoint& joint = tree.joints[at];
      if (joint.type == JointType::free) {
        free_joint_vjp<kExternal>(joint, at, qd, qdd, lambda, w_bar, v_bar, a_bar, X, bar, d);
        continue;
      }
      const int n = dof_size(joint.type);
      const Motion<S> w0 = d.w_before[at], v0 = d.v_before[at], a0 = d.a_before[at];
      if (kExternal) X += axis_wrench(d, joint.dof, n);
      const Force<S> v_after_bar = v_bar;
      v_bar += cross(combine(d, joint.dof, n, qd), a_bar);
      for (int dof = joint.dof; dof < joint.dof + n; ++dof) {
        const Motion<S> axis = d.axis[dof], v0_axis = cross(v0, axis);
        bar.qd[dof] += dot(axis, v_after_bar) + dot(v0_axis, a_bar);
        bar.q[dof] += dot(cross(w0, axis), w_bar) + dot(v0_axis, v_bar) + dot(cross(a0, axis), a_bar);
        if (kExternal) bar.q[dof] += dot(axis, X);
        if (bar.qdd) bar.qdd[dof] += dot(axis, a_bar);
      }
    }
    const std::size_t parent = body.parent;
    if (body.parent == 0) {
      if (bar.gravity) add_to(bar.gravity, -a_bar.f);
    } else if (kExternal || d.has_sums[parent]) {
      d.w_bar[parent] += w_bar;
      d.a_bar[parent] += a_bar;
      d.v_bar[parent] += v_bar;
      if (kExternal) d.wrench[parent] += X;
    } else {
      d.w_bar[parent] = w_bar;
      d.a_bar[parent] = a_bar;
      d.v_bar[parent] = v_bar;
      d.has_sums[parent] = 1;
    }
  }
}

// Inertias and frames, after the joints' sweep has left the sums over subtrees in d.*_bar.
template <class S>
void frame_sweep(const Tree& tree, const S* p, const S* q, const S* qd, const S* qdd, const S* lambda,
                 bool external, const Wanted& wanted, S* p_bar, const Data<S>& d) {
  for (std::size_t i = 1; i < tree.bodies.size(); ++i) {
    const TreeBody& body = tree.bodies[i];
    if (wanted(body.p.mass) || wanted(body.p.com) || wanted(body.p.inertia)) {
      inertia_vjp(body.p, p, d.R[i], d.x[i], d.w[i], d.a[i], cross(d.w[i], d.v[i]), d.v[i], p_bar);
    }
    if (body.placed) continue;
    const Force<S> w_bar = d.w_bar[i], a_bar = d.a_bar[i];
    Force<S> v_bar = d.v_bar[i];
    // The wrench on what lies behind a joint; before it, that on its motion S is added.
    Force<S> W = carried_wrench(d.w[i], w_bar, d.v[i], v_bar, d.a[i], a_bar);
    if (external) W += d.wrench[i];
    for (int j = body.joint_end - 1; j >= body.joint_begin; --j) {
      const std::size_t at = j;
      const TreeJoint& joint = tree.joints[at];
      const Quat<S> after = joint.last ? d.quat[i] : d.before[at + 1];
      const Force<S> u = v_bar - cross(d.v_before[at], a_bar);
      const auto axis_bar = [&](int dof) {
        const Force<S> own = lambda[dof] * w_bar + qdd[dof] * a_bar + qd[dof] * u;
        return external ? own + d.axis_bar[dof] : own;
      };
      if (joint.type != JointType::ball) {
        const Motion<S>& axis = d.axis[joint.dof];
        const Force<S> S_bar = axis_bar(joint.dof);
        if (wanted(joint.p.ref)) p_bar[joint.p.ref] -= dot(axis, W);
        if (wanted(joint.p.pos) || wanted(joint.p.axis))
          joint_frame_vjp(joint, at, p, q, d, after, W, S_bar, wanted, p_bar);
        W += cross(axis, S_bar);
      } else {
        // S_k = (R e_k, r x R e_k) for each k: the anchor's cotangent is the sum of axis_k x S_bar_k.f.
        Vec3<S> anchor_bar = Vec3<S>::zero();
        Force<S> turn = Force<S>::zero();
        for (int dof = joint.dof; dof < joint.dof + 3; ++dof) {
          const Motion<S>& axis = d.axis[dof];
          const Force<S> S_bar = axis_bar(dof);
          anchor_bar += cross(axis.w, S_bar.f);
          turn += cross(axis, S_bar);
        }
        if (wanted(joint.p.pos))
          add_to(p_bar + joint.p.pos, rotate_back(d.before[at], anchor_bar + W.f) - rotate_back(after, W.f));
        W += turn;
      }
      v_bar += cross(combine(d, joint.dof, dof_size(joint.type), qd), a_bar);
    }
    if (!(wanted(body.p.pos) || wanted(body.p.quat))) continue;
    const std::size_t parent = body.parent;
    add_to(p_bar + body.p.pos, transpose_times(d.R[parent], W.f));
    const Quat<S> entry = body.joint_begin < body.joint_end ? d.before[body.joint_begin] : d.quat[i];
    const Vec3<S> x0 =
        body.parent == 0 ? Vec3<S>::zero() : d.x[parent] + d.R[parent] * vec3_at(p + body.p.pos);
    const Vec3<S> theta_bar = rotate_back(entry, W.n - cross(x0, W.f));
    add_to(p_bar + body.p.quat,
           quat_cotangent(quat_at(p + body.p.quat), p[body.p.inverse_quat_norm], theta_bar));
  }
}

// Needs kinematics, body_inertias, rnea_forward(qd, qdd) and virtual_velocities(lambda) in d. With
// `external`, d.w_bar, d.v_bar, d.a_bar, d.wrench and d.axis_bar hold what others have put there, for each
// body and dof.
template <class S>
void rnea_vjp(const Tree& tree, const S* p, const S* q, const S* qd, const S* qdd, const S* lambda,
              bool external, const Wanted& wanted, const RneaBar<S>& bar, Data<S>& d) {
  if (external) {
    joint_sweep<Given::additions>(tree, qd, qdd, lambda, bar, wanted.frames, d);
  } else {
    joint_sweep<Given::nothing>(tree, qd, qdd, lambda, bar, wanted.frames, d);
  }
  if (wanted.frames) frame_sweep(tree, p, q, qd, qdd, lambda, external, wanted, bar.p, d);
}

}  // namespace costate::rigid
