// Accelerations of a state: the forces of everything smooth, and the equations of motion.
//
//   (M(q) + h B) a = tau_passive(q, v) + tau_actuator(q, v, act, u) + tau_applied - c(q, v)
//
// B is what an integrator treats implicitly (0 for RK4): the damping of the joints, and for implicitfast the slopes d tau / d v of the
// actuators too.
// Transpose [MATH: implicit function]: lambda = (M + h B)^-1 a_bar is the cotangent of the right-hand side; -lambda through the
// transpose of tau = RNEA(q, v, a) gives q, v and every inertia and frame; B_bar = -h lambda a', h_bar = -<lambda, B a>.
// Tests: tests/rigid/rigid_system_test.cpp, parity_test.cpp.
#pragma once

#include <algorithm>

#include "costate/rigid/actuation_adjoint.h"
#include "costate/rigid/crba.h"
#include "costate/rigid/integrate.h"

namespace costate::rigid {

enum class Implicit { none, damping, damping_and_actuators };

template <class S>
struct StateIn {
  const S *q, *v, *act, *u, *applied;  // applied: forces on dofs, or null
};
template <class S>
struct StateBar {
  S *q, *v, *act, *u, *applied, *p;  // q in the tangent space; u, applied, p may be null
};

// tau_act: forces of actuators on dofs, within the joints' limits.
template <class S>
void limit_joint_forces(const Tree& tree, const S* p, S* tau_act) {
  for (const TreeJoint& joint : tree.joints) {
    if (joint.p.actuator_force_range < 0) continue;
    tau_act[joint.dof] = clamp_to(p + joint.p.actuator_force_range, tau_act[joint.dof]);
  }
}

// d.tau = everything but M a.
template <class S>
void smooth_forces(const Tree& tree, const S* p, const StateIn<S>& in, Data<S>& d) {
  kinematics(tree, p, in.q, d);
  body_inertias(tree, p, d);
  tendon_lengths(tree, p, in.q, d);
  rnea_forward<S>(tree, p, in.v, nullptr, d);
  std::fill(d.tau_act.begin(), d.tau_act.end(), S(0));
  if (tree.body_actuators) std::fill(d.applied.begin(), d.applied.end(), Force<S>::zero());
  actuation(tree, p, in.q, in.v, in.act, in.u, d.tau_act.data(), d);
  limit_joint_forces(tree, p, d.tau_act.data());
  rnea_backward<S>(tree, tree.body_actuators ? d.applied.data() : nullptr, d.bias.data(), d);
  for (int i = 0; i < tree.nv; ++i) {
    const auto at = static_cast<std::size_t>(i);
    d.tau[at] = d.tau_act[at] - d.bias[at];
    if (in.applied) d.tau[at] += in.applied[i];
  }
  passive_forces(tree, p, in.q, in.v, d.tau.data());
  tendon_forces(tree, p, in.v, d.tau.data(), d);
}

// The slope d force / d velocity of an actuator on a slide or hinge joint.
template <class S>
COSTATE_INLINE S actuator_slope(const TreeActuator& actuator, const S* p, const ActuatorState<S>& s) {
  S slope(0);
  if (actuator.affine_bias) slope += p[actuator.p.bias + 2];
  if (actuator.affine_gain) slope += p[actuator.p.gain + 2] * s.input;
  if (actuator.p.force_range < 0) return slope;
  const S* range = p + actuator.p.force_range;
  return select((s.raw > range[0]) & (s.raw < range[1]), slope, S(0));
}

// M + h B in d.M.
template <class S>
void add_implicit(const Tree& tree, Implicit implicit, const S* p, const StateIn<S>& in, Data<S>& d) {
  if (implicit == Implicit::none) return;
  const S h = p[tree.p.dt];
  if (tree.dampers) {
    for (const TreeDof& dof : tree.dofs) {
      d.M[static_cast<std::size_t>(dof.row)] +=
          h * p[tree.joints[static_cast<std::size_t>(dof.joint)].p.damping];
    }
  }
  if (implicit != Implicit::damping_and_actuators) return;
  for (const TreeTendon& tendon : tree.tendons) {
    if (!tree.dampers) break;
    const S b = h * p[tendon.p.damping];
    for (const auto& pair : tendon.pairs) {
      d.M[static_cast<std::size_t>(pair.entry)] +=
          b * p[tendon.p.coefficients + pair.first] * p[tendon.p.coefficients + pair.second];
    }
  }
  for (std::size_t i = 0; i < tree.actuators.size(); ++i) {
    const TreeActuator& actuator = tree.actuators[i];
    if (actuator.kind != TreeActuator::Kind::scalar_joint || !(actuator.affine_bias || actuator.affine_gain))
      continue;
    const ActuatorState<S> s = actuate(tree, actuator, int(i), p, in.q, in.v, in.act, in.u, d);
    const S gear = p[actuator.p.gear];
    d.M[static_cast<std::size_t>(tree.dofs[static_cast<std::size_t>(actuator.dof)].row)] -=
        h * gear * gear * actuator_slope(actuator, p, s);
  }
}

// d.qacc, with the factor in d.M and d.inverse_D. Needs smooth_forces.
template <class S>
void solve_acceleration(const Tree& tree, Implicit implicit, const S* p, const StateIn<S>& in, Data<S>& d) {
  crba(tree, p, d);
  add_implicit(tree, implicit, p, in, d);
  factor(tree, d.M.data(), d.inverse_D.data());
  std::copy(d.tau.begin(), d.tau.end(), d.qacc.begin());
  solve_factored(tree, d.M.data(), d.inverse_D.data(), d.qacc.data());
}

// What the implicit part hands back: -h lambda_i a_i for each B_ii, and h_bar.
template <class S>
void add_implicit_vjp(const Tree& tree, Implicit implicit, const S* p, const StateIn<S>& in, const S* lambda,
                      const Wanted& wanted, S* p_bar, Data<S>& d) {
  std::fill(d.slope_bar.begin(), d.slope_bar.end(), S(0));
  if (implicit == Implicit::none) return;
  const S h = p[tree.p.dt];
  S h_bar(0);
  if (tree.dampers) {
    for (const TreeJoint& joint : tree.joints) {
      S sum(0);
      for (int i = joint.dof; i < joint.dof + dof_size(joint.type); ++i)
        sum -= lambda[i] * d.qacc[static_cast<std::size_t>(i)];
      h_bar += p[joint.p.damping] * sum;
      if (wanted(joint.p.damping)) p_bar[joint.p.damping] += h * sum;
    }
  }
  if (implicit == Implicit::damping_and_actuators) {
    for (const TreeTendon& tendon : tree.tendons) {
      if (!tree.dampers) break;
      const S b = p[tendon.p.damping], pull = tendon_velocity(tendon, p, lambda),
              rate = tendon_velocity(tendon, p, static_cast<const S*>(d.qacc.data()));
      h_bar -= b * pull * rate;
      if (wanted(tendon.p.damping)) p_bar[tendon.p.damping] -= h * pull * rate;
      if (!wanted(tendon.p.coefficients)) continue;
      for (std::size_t k = 0; k < tendon.dof.size(); ++k) {
        const int dof = tendon.dof[k];
        p_bar[tendon.p.coefficients + int(k)] -=
            h * b * (lambda[dof] * rate + d.qacc[static_cast<std::size_t>(dof)] * pull);
      }
    }
    for (std::size_t i = 0; i < tree.actuators.size(); ++i) {
      const TreeActuator& actuator = tree.actuators[i];
      if (actuator.kind != TreeActuator::Kind::scalar_joint ||
          !(actuator.affine_bias || actuator.affine_gain))
        continue;
      const ActuatorState<S> s = actuate(tree, actuator, int(i), p, in.q, in.v, in.act, in.u, d);
      const S gear = p[actuator.p.gear], slope = actuator_slope(actuator, p, s);
      const S bar = lambda[actuator.dof] *
                    d.qacc[static_cast<std::size_t>(actuator.dof)];  // of -h gear^2 slope, sign inside
      h_bar += gear * gear * slope * bar;
      if (wanted(actuator.p.gear)) p_bar[actuator.p.gear] += S(2) * h * gear * slope * bar;
      d.slope_bar[i] = h * gear * gear * bar;
    }
  }
  if (wanted(tree.p.dt)) p_bar[tree.p.dt] += h_bar;
}

// Cotangents of the state, given those of qacc (in d.lambda, overwritten by lambda) and act_dot. Needs the factor in d.M and
// d.inverse_D and the accelerations in d.qacc; recomputes the rest.
template <class S>
void acceleration_vjp(const Tree& tree, Implicit implicit, const S* p, const StateIn<S>& in,
                      const S* act_dot_bar, const Wanted& wanted, const StateBar<S>& bar, Data<S>& d) {
  S* lambda = d.lambda.data();
  solve_factored(tree, d.M.data(), d.inverse_D.data(), lambda);

  kinematics(tree, p, in.q, d);
  body_inertias(tree, p, d);
  tendon_lengths(tree, p, in.q, d);
  rnea_forward<S>(tree, p, in.v, d.qacc.data(), d);
  for (int i = 0; i < tree.nv; ++i) d.minus_lambda[static_cast<std::size_t>(i)] = -lambda[i];
  virtual_velocities<S>(tree, d.minus_lambda.data(), d);

  const bool external = tree.body_actuators;
  if (external) {
    std::fill(d.wrench.begin(), d.wrench.end(), Force<S>::zero());
    std::fill(d.v_bar.begin(), d.v_bar.end(), Force<S>::zero());
    std::fill(d.w_bar.begin(), d.w_bar.end(), Force<S>::zero());
  }
  for (const TreeJoint& joint : tree.joints) {
    if (!wanted(joint.p.armature)) continue;
    for (int i = joint.dof; i < joint.dof + dof_size(joint.type); ++i)
      bar.p[joint.p.armature] -= lambda[i] * d.qacc[static_cast<std::size_t>(i)];
  }
  add_implicit_vjp(tree, implicit, p, in, lambda, wanted, bar.p, d);
  tendon_forces_vjp(tree, p, in.q, in.v, lambda, wanted, bar.q, bar.v, bar.p, d);
  passive_forces_vjp(tree, p, in.q, in.v, lambda, wanted, bar.q, bar.v, bar.p);
  if (bar.applied) {
    for (int i = 0; i < tree.nv; ++i) bar.applied[i] += lambda[i];
  }
  const S* tau_act_bar = lambda;
  if (tree.joint_force_limits) {
    std::copy(lambda, lambda + tree.nv, d.tau_act_bar.begin());
    std::fill(d.tau_act.begin(), d.tau_act.end(), S(0));
    actuation(tree, p, in.q, in.v, in.act, in.u, d.tau_act.data(), d);
    for (const TreeJoint& joint : tree.joints) {
      if (joint.p.actuator_force_range < 0) continue;
      S* range_bar = wanted(joint.p.actuator_force_range) ? bar.p + joint.p.actuator_force_range : nullptr;
      const auto dof = static_cast<std::size_t>(joint.dof);
      d.tau_act_bar[dof] =
          clamp_vjp(p + joint.p.actuator_force_range, d.tau_act[dof], lambda[dof], range_bar);
    }
    tau_act_bar = d.tau_act_bar.data();
  }
  actuation_vjp<S>(tree, p, in.q, in.v, in.act, in.u, tau_act_bar, act_dot_bar, d.slope_bar.data(), wanted,
                   {bar.q, bar.v, bar.act, bar.u, bar.p}, d);
  rnea_vjp<S>(tree, p, in.q, in.v, d.qacc.data(), d.minus_lambda.data(), external, wanted,
              {bar.q, bar.v, nullptr, bar.p}, d);
}

}  // namespace costate::rigid
