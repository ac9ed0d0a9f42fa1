// What an integrator treats implicitly: M + h B instead of M, and the transpose of that.
//
//   none                    B = 0
//   damping                 B = the damping of the joints
//   damping_and_actuators   also the damping of tendons and the slopes -d tau / d v of actuators
//                           (gyroscopic.h has those of lone bodies' gyroscopic forces, the only ones that are
//                           not symmetric)
//
// Transpose, given mu = (M + h B)^-1 a_bar:  B_bar = -h mu a',  h_bar = -<mu, B a>.
// Tests: tests/rigid/rigid_system_test.cpp, tests/rigid/dynamics/tendon_test.cpp.
#pragma once

#include "costate/rigid/dynamics/forces.h"

namespace costate::rigid {

enum class Implicit { none, damping, damping_and_actuators };

// The slope d force / d velocity of an actuator on a slide or hinge joint or a tendon.
template <class S>
COSTATE_INLINE S actuator_slope(const TreeActuator& actuator, const S* p, const ActuatorState<S>& s) {
  S slope(0);
  if (actuator.affine_bias) slope += p[actuator.p.bias + 2];
  if (actuator.affine_gain) slope += p[actuator.p.gain + 2] * s.input;
  if (actuator.p.force_range < 0) return slope;
  const S* range = p + actuator.p.force_range;
  return select((s.raw > range[0]) & (s.raw < range[1]), slope, S(0));
}

// Of all actuators of a joint, which may be limited together: 1 where they are not at the limit. Needs their
// forces in d.tau_act.
template <class S>
COSTATE_INLINE S within_joint_limit(const Tree& tree, const TreeActuator& actuator, const S* p,
                                    const Data<S>& d) {
  if (actuator.kind != TreeActuator::Kind::scalar_joint) return S(1);
  const TreeJoint& joint = tree.joints[actuator.target];
  if (joint.p.actuator_force_range < 0) return S(1);
  const S* range = p + joint.p.actuator_force_range;
  const S& force = d.tau_act[joint.dof];
  return select((force > range[0]) & (force < range[1]), S(1), S(0));
}

// <lambda, J' J a> of a tendon, as far as the pattern of the mass matrix holds J' J; adds `scale` times its
// derivative with respect to J to J_bar.
template <class S>
S tendon_product(const TreeTendon& tendon, const S* lambda, const S* a, const S& scale, Data<S>& d) {
  const S* J = d.tendon_J.data() + tendon.jacobian;
  S* J_bar = d.tendon_J_bar.data() + tendon.jacobian;
  S sum(0);
  for (const auto& pair : tendon.pairs) {
    const int i = tendon.dof[pair.first], j = tendon.dof[pair.second];
    const S product = i == j ? lambda[i] * a[i] : lambda[i] * a[j] + lambda[j] * a[i];
    sum += J[pair.first] * J[pair.second] * product;
    J_bar[pair.first] += scale * J[pair.second] * product;
    J_bar[pair.second] += scale * J[pair.first] * product;
  }
  return sum;
}

// M + h B in d.M. Where a tendon pulls on several branches, M has no place for what they share, and B goes
// without it.
template <class S>
void add_implicit(const Tree& tree, Implicit implicit, const S* p, const StateIn<S>& in, Data<S>& d) {
  if (implicit == Implicit::none) return;
  const S h = p[tree.p.dt];
  if (tree.dampers) {
    for (const TreeDof& dof : tree.dofs) {
      d.M[dof.row] += h * p[tree.joints[dof.joint].p.damping];
    }
  }
  if (implicit != Implicit::damping_and_actuators) return;
  for (const TreeTendon& tendon : tree.tendons) {
    if (!tree.dampers) break;
    const S b = h * p[tendon.p.damping];
    for (const auto& pair : tendon.pairs) {
      const S* J = d.tendon_J.data() + tendon.jacobian;
      d.M[pair.entry] += b * J[pair.first] * J[pair.second];
    }
  }
  for (std::size_t i = 0; i < tree.actuators.size(); ++i) {
    const TreeActuator& actuator = tree.actuators[i];
    if (!(actuator.affine_bias || actuator.affine_gain)) continue;
    const ActuatorState<S> s = actuate(tree, actuator, int(i), p, in.q, in.v, in.act, in.u, d);
    const S gear = p[actuator.p.gear],
            b = h * gear * gear * within_joint_limit(tree, actuator, p, d) * actuator_slope(actuator, p, s);
    if (actuator.kind == TreeActuator::Kind::scalar_joint) {
      d.M[tree.dofs[actuator.dof].row] -= b;
    } else if (actuator.kind == TreeActuator::Kind::tendon) {
      const TreeTendon& tendon = tree.tendons[actuator.target];
      const S* J = d.tendon_J.data() + tendon.jacobian;
      for (const auto& pair : tendon.pairs) d.M[pair.entry] -= b * J[pair.first] * J[pair.second];
    }
  }
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
      for (int i = joint.dof; i < joint.dof + dof_size(joint.type); ++i) sum -= lambda[i] * d.qacc[i];
      h_bar += p[joint.p.damping] * sum;
      if (wanted(joint.p.damping)) p_bar[joint.p.damping] += h * sum;
    }
  }
  if (implicit == Implicit::damping_and_actuators) {
    for (const TreeTendon& tendon : tree.tendons) {
      if (!tree.dampers) break;
      const S b = p[tendon.p.damping],
              product = tendon_product<S>(tendon, lambda, d.qacc.data(), -(h * b), d);
      h_bar -= b * product;
      if (wanted(tendon.p.damping)) p_bar[tendon.p.damping] -= h * product;
    }
    for (std::size_t i = 0; i < tree.actuators.size(); ++i) {
      const TreeActuator& actuator = tree.actuators[i];
      const bool on_tendon = actuator.kind == TreeActuator::Kind::tendon;
      if (!(actuator.affine_bias || actuator.affine_gain) ||
          !(on_tendon || actuator.kind == TreeActuator::Kind::scalar_joint))
        continue;
      const ActuatorState<S> s = actuate(tree, actuator, int(i), p, in.q, in.v, in.act, in.u, d);
      const S gear = p[actuator.p.gear], slope = actuator_slope(actuator, p, s);
      S bar;  // of -h gear^2 slope, sign inside
      if (on_tendon) {
        const TreeTendon& tendon = tree.tendons[actuator.target];
        bar = tendon_product<S>(tendon, lambda, d.qacc.data(), h * gear * gear * slope, d);
      } else {
        bar = within_joint_limit(tree, actuator, p, d) * lambda[actuator.dof] * d.qacc[actuator.dof];
      }
      h_bar += gear * gear * slope * bar;
      if (wanted(actuator.p.gear)) p_bar[actuator.p.gear] += S(2) * h * gear * slope * bar;
      d.slope_bar[i] = h * gear * gear * bar;
    }
  }
  if (wanted(tree.p.dt)) p_bar[tree.p.dt] += h_bar;
}

}  // namespace costate::rigid
