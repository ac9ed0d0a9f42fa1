// Data<S>: what one evaluation of the dynamics computes on its way, for one pack of worlds. Scratch: each
// stage fills the fields named after it and reads those of the stages above; nobody reads them after the
// step.
#pragma once

#include <vector>

#include "costate/rigid/dynamics/spatial.h"
#include "costate/rigid/dynamics/tree.h"

namespace costate::rigid {

// Numbers in memory of their own, or where a rollout keeps what a step leaves to its transpose.
template <class S>
class Placed {
 public:
  explicit Placed(std::size_t size) : own_(size), at_(own_.data()) {}
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;

  std::size_t size() const { return own_.size(); }
  S* data() { return at_; }
  const S* data() const { return at_; }
  S* begin() { return at_; }
  const S* begin() const { return at_; }
  S* end() { return at_ + own_.size(); }
  const S* end() const { return at_ + own_.size(); }
  S& operator[](std::size_t i) { return at_[i]; }
  const S& operator[](std::size_t i) const { return at_[i]; }
  void lie_here() { at_ = own_.data(); }
  void lie_at(S* memory) { at_ = memory; }

 private:
  std::vector<S> own_;
  S* at_;
};

template <class S>
struct Data {
  explicit Data(const Tree& t)
      : quat(t.bodies.size()),
        R(t.bodies.size()),
        x(t.bodies.size()),
        before(t.joints.size()),
        anchor(t.joints.size()),
        axis(t.dofs.size()),
        inertia(t.bodies.size()),
        v_before(t.joints.size()),
        v(t.bodies.size()),
        a_before(t.joints.size()),
        a(t.bodies.size()),
        force(t.bodies.size()),
        bias(t.dofs.size()),
        composite(t.bodies.size()),
        M(t.entries),
        inverse_D(t.dofs.size()),
        tendon_length(t.tendons.size()),
        tendon_J(t.tendon_entries),
        applied(t.bodies.size()),
        tau_act(t.dofs.size()),
        tau(t.dofs.size()),
        qacc(t.dofs.size()),
        act_dot(t.na),
        w_before(t.joints.size()),
        w(t.bodies.size()),
        v_bar(t.bodies.size()),
        a_bar(t.bodies.size()),
        w_bar(t.bodies.size()),
        wrench(t.bodies.size()),
        axis_bar(t.dofs.size()),
        has_sums(t.bodies.size()),
        lambda(t.dofs.size()),
        minus_lambda(t.dofs.size()),
        zeros(t.dofs.size(), S(0)),
        difference(t.dofs.size()),
        unused(t.dofs.size()),
        tau_act_bar(t.dofs.size()),
        slope_bar(t.actuators.size()),
        tendon_length_bar(t.tendons.size()),
        tendon_J_bar(tendon_J.size()) {}

  // kinematics: pose of each body about its tree's origin; frames of joints before they move; the motion S of
  // each dof
  std::vector<Quat<S>> quat;
  std::vector<Mat3<S>> R;
  std::vector<Vec3<S>> x;
  std::vector<Quat<S>> before;  // orientation of the frame in which joint j acts
  std::vector<Vec3<S>> anchor;  // of joint j, world axes, about the origin
  std::vector<Motion<S>> axis;  // S

  // body_inertias
  std::vector<Inertia<S>> inertia;

  // rnea: velocity and acceleration of bodies, and of the frame before each joint
  std::vector<Motion<S>> v_before, v, a_before, a;
  std::vector<Force<S>> force;
  std::vector<S> bias;

  // crba, ltdl
  std::vector<Inertia<S>> composite;
  Placed<S> M, inverse_D;

  // transmissions and forces: lengths of tendons and their Jacobians, wrenches that actuators put on bodies
  std::vector<S> tendon_length, tendon_J;
  std::vector<Force<S>> applied;

  // forces and accelerations of the dofs
  std::vector<S> tau_act, tau;
  Placed<S> qacc;
  std::vector<S> act_dot;

  // rnea_vjp: virtual velocity w of each body (J lambda), cotangents of v, a, w, summed over the subtree;
  // external wrenches on the pose; lambda; cotangents of the actuators' forces on dofs and of their slopes
  std::vector<Motion<S>> w_before, w;
  std::vector<Force<S>> v_bar, a_bar, w_bar, wrench;
  std::vector<Force<S>> axis_bar;  // external cotangent of S, per dof
  std::vector<char> has_sums;      // bodies to whose sums something was added
  std::vector<S> lambda, minus_lambda, zeros, difference, unused, tau_act_bar, slope_bar;
  std::vector<S> tendon_length_bar, tendon_J_bar;
};

template <class S>
COSTATE_INLINE Vec3<S> vec3_at(const S* p) {
  return {p[0], p[1], p[2]};
}
template <class S>
COSTATE_INLINE Quat<S> quat_at(const S* p) {
  return {p[0], p[1], p[2], p[3]};
}
template <class S>
COSTATE_INLINE Sym3<S> sym3_at(const S* p) {
  return {p[0], p[1], p[2], p[3], p[4], p[5]};
}
template <class S>
COSTATE_INLINE void add_to(S* p, const Vec3<S>& v) {
  p[0] += v.x;
  p[1] += v.y;
  p[2] += v.z;
}
template <class S>
COSTATE_INLINE void add_to(S* p, const Quat<S>& v) {
  p[0] += v.w;
  p[1] += v.x;
  p[2] += v.y;
  p[3] += v.z;
}

}  // namespace costate::rigid
