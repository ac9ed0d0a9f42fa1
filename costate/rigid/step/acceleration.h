// Accelerations of a state: the forces of everything smooth, and the equations of motion.
//
//   (M(q) + h B) a' = tau + J' f,    tau = tau_passive(q, v) + tau_actuator(q, v, act, u) + tau_applied - c(q, v)
//   M(q) a          = tau + J' f(J a - aref)                                                            constraints.h
//
// B is what an integrator treats implicitly (0 for RK4): the damping of the joints, and for implicitfast the slopes d tau / d v of the
// actuators and of lone bodies' gyroscopic forces too (gyroscopic.h; the only ones that are not symmetric).
// Transpose. Without constraints a' = a: lambda = (M + h B)^-1 a_bar is the cotangent of tau, and -lambda through the transpose of
// tau = RNEA(q, v, a) gives q, v and every inertia and frame; B_bar = -h lambda a', h_bar = -<lambda, B a>.
// With them: mu = (M + h B)^-1 a'_bar, then nu = mu - H^-1 J' S J mu = H^-1 M mu with H = M + J' S J (nu = H^-1 a_bar if B = 0) is the cotangent
// of tau and of J' f. The residuals of both equations add up to -<nu, RNEA(a)> - <mu, M (a' - a)>: one sweep with nu, and a
// second one without velocities.
// Tests: tests/rigid/rigid_system_test.cpp, parity_test.cpp.
#pragma once

#include <algorithm>

#include "costate/rigid/constraints/constraint_adjoint.h"
#include "costate/rigid/contact/contact_penalty.h"
#include "costate/rigid/dynamics/actuation_adjoint.h"
#include "costate/rigid/dynamics/crba.h"
#include "costate/rigid/dynamics/fluid.h"
#include "costate/rigid/dynamics/gravity_compensation.h"
#include "costate/rigid/dynamics/gyroscopic.h"
#include "costate/rigid/dynamics/integrate.h"

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

// d.tau = everything but M a. poses: where kinematics leaves them for the transpose, or null.
template <class S>
void smooth_forces(const Tree& tree, const S* p, const StateIn<S>& in, Data<S>& d, S* poses = nullptr) {
  kinematics(tree, p, in.q, d, poses);
  body_inertias(tree, p, d);
  tendon_lengths(tree, p, in.q, d);
  rnea_forward<S>(tree, vec3_at(p + tree.p.gravity), in.v, nullptr, d);
  std::fill(d.tau_act.begin(), d.tau_act.end(), S(0));
  if (tree.body_wrenches()) std::fill(d.applied.begin(), d.applied.end(), Force<S>::zero());
  if (tree.gravcomp) gravity_compensation(tree, p, d);
  if (tree.fluid) fluid_forces(tree, p, d);
  actuation(tree, p, in.q, in.v, in.act, in.u, d.tau_act.data(), d);
  limit_joint_forces(tree, p, d.tau_act.data());
  rnea_backward<S>(tree, tree.body_wrenches() ? d.applied.data() : nullptr, d.bias.data(), d);
  for (int i = 0; i < tree.nv; ++i) {
    const auto at = static_cast<std::size_t>(i);
    d.tau[at] = d.tau_act[at] - d.bias[at];
    if (in.applied) d.tau[at] += in.applied[i];
  }
  passive_forces(tree, p, in.q, in.v, d.tau.data());
  tendon_forces(tree, p, in.v, d.tau.data(), d);
}

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

// Of all actuators of a joint, which may be limited together: 1 where they are not at the limit. Needs their forces in d.tau_act.
template <class S>
COSTATE_INLINE S within_joint_limit(const Tree& tree, const TreeActuator& actuator, const S* p,
                                    const Data<S>& d) {
  if (actuator.kind != TreeActuator::Kind::scalar_joint) return S(1);
  const TreeJoint& joint = tree.joints[static_cast<std::size_t>(actuator.target)];
  if (joint.p.actuator_force_range < 0) return S(1);
  const S* range = p + joint.p.actuator_force_range;
  const S& force = d.tau_act[static_cast<std::size_t>(joint.dof)];
  return select((force > range[0]) & (force < range[1]), S(1), S(0));
}

// <lambda, J' J a> of a tendon, as far as the pattern of the mass matrix holds J' J; adds `scale` times its derivative by J to J_bar.
template <class S>
S tendon_product(const TreeTendon& tendon, const S* lambda, const S* a, const S& scale, Data<S>& d) {
  const S* J = d.tendon_J.data() + tendon.jacobian;
  S* J_bar = d.tendon_J_bar.data() + tendon.jacobian;
  S sum(0);
  for (const auto& pair : tendon.pairs) {
    const int i = tendon.dof[static_cast<std::size_t>(pair.first)],
              j = tendon.dof[static_cast<std::size_t>(pair.second)];
    const S product = i == j ? lambda[i] * a[i] : lambda[i] * a[j] + lambda[j] * a[i];
    sum += J[pair.first] * J[pair.second] * product;
    J_bar[pair.first] += scale * J[pair.second] * product;
    J_bar[pair.second] += scale * J[pair.first] * product;
  }
  return sum;
}

// M + h B in d.M. Where a tendon pulls on several branches, M has no place for what they share, and B goes without it.
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
      const S* J = d.tendon_J.data() + tendon.jacobian;
      d.M[static_cast<std::size_t>(pair.entry)] += b * J[pair.first] * J[pair.second];
    }
  }
  for (std::size_t i = 0; i < tree.actuators.size(); ++i) {
    const TreeActuator& actuator = tree.actuators[i];
    if (!(actuator.affine_bias || actuator.affine_gain)) continue;
    const ActuatorState<S> s = actuate(tree, actuator, int(i), p, in.q, in.v, in.act, in.u, d);
    const S gear = p[actuator.p.gear],
            b = h * gear * gear * within_joint_limit(tree, actuator, p, d) * actuator_slope(actuator, p, s);
    if (actuator.kind == TreeActuator::Kind::scalar_joint) {
      d.M[static_cast<std::size_t>(tree.dofs[static_cast<std::size_t>(actuator.dof)].row)] -= b;
    } else if (actuator.kind == TreeActuator::Kind::tendon) {
      const TreeTendon& tendon = tree.tendons[static_cast<std::size_t>(actuator.target)];
      const S* J = d.tendon_J.data() + tendon.jacobian;
      for (const auto& pair : tendon.pairs)
        d.M[static_cast<std::size_t>(pair.entry)] -= b * J[pair.first] * J[pair.second];
    }
  }
}

// Contacts are forces like any other.
inline bool springy(const Constraints& cons) {
  return cons.contact == ContactModel::penalty && !cons.pairs.empty();
}

// d.qacc, with the factor of M + h B in d.M and d.inverse_D, and the acceleration of the constrained problem in c.a. Needs
// smooth_forces.
template <class S>
void solve_acceleration(const Tree& tree, const Constraints& cons, Implicit implicit, const S* p,
                        const StateIn<S>& in, Data<S>& d, ConstraintData<S>& c) {
  if (springy(cons))
    penalty_forces(tree, cons, p, in.q, in.v, static_cast<const Data<S>&>(d), c, d.tau.data());
  crba(tree, p, d);
  if (cons.rows > 0) {
    make_rows(tree, cons, p, in.q, in.v, d, c);
    if (c.in_play) std::copy(d.M.begin(), d.M.end(), c.mass.begin());
  }
  add_implicit(tree, implicit, p, in, d);
  factor(tree.dofs, d.M.data(), d.inverse_D.data());
  std::copy(d.tau.begin(), d.tau.end(), d.qacc.begin());
  solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), d.qacc.data());
  add_gyroscopic<S>(tree, p, in.v, d, d.qacc.data());
  if (cons.rows == 0) return;
  std::copy(d.qacc.begin(), d.qacc.end(), c.a.begin());
  if (!c.in_play) return;
  solve_constraints<S>(tree, cons, d.tau.data(), d.M.data(), d.inverse_D.data(), c);
  // A world of its own keeps its bits: where nothing is in play, nothing has been solved.
  for (std::size_t i = 0; i < c.a.size(); ++i) c.a[i] = select(c.worlds, c.a[i], d.qacc[i]);
  if (implicit == Implicit::none) {
    std::copy(c.a.begin(), c.a.end(), d.qacc.begin());
    return;
  }
  multiply_mass(tree, c.mass.data(), c.a.data(), c.Ma.data());  // tau + J' f, without the forces' rounding
  solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), c.Ma.data());
  add_gyroscopic<S>(tree, p, in.v, d, c.Ma.data());
  for (std::size_t i = 0; i < c.a.size(); ++i) d.qacc[i] = select(c.worlds, c.Ma[i], d.qacc[i]);
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
        const TreeTendon& tendon = tree.tendons[static_cast<std::size_t>(actuator.target)];
        bar = tendon_product<S>(tendon, lambda, d.qacc.data(), h * gear * gear * slope, d);
      } else {
        bar = within_joint_limit(tree, actuator, p, d) * lambda[actuator.dof] *
              d.qacc[static_cast<std::size_t>(actuator.dof)];
      }
      h_bar += gear * gear * slope * bar;
      if (wanted(actuator.p.gear)) p_bar[actuator.p.gear] += S(2) * h * gear * slope * bar;
      d.slope_bar[i] = h * gear * gear * bar;
    }
  }
  if (wanted(tree.p.dt)) p_bar[tree.p.dt] += h_bar;
}

// c.nu = H^-1 c.Ma, with one step of refinement: stiff rows make H ill conditioned.
template <class S>
void solve_newton_refined(const Tree& tree, const Constraints& cons, ConstraintData<S>& c) {
  std::copy(c.Ma.begin(), c.Ma.end(), c.nu.begin());
  solve_factored(cons.dofs, c.H.data(), c.inverse_D.data(), c.nu.data());
  multiply_mass(tree, c.mass.data(), c.nu.data(), c.Md.data());
  multiply_rows(cons, c, static_cast<const S*>(c.nu.data()), c.Jd.data());
  multiply_slopes(cons, c, c.Jd.data());
  for (std::size_t i = 0; i < c.nu.size(); ++i) c.direction[i] = c.Ma[i] - c.Md[i];
  add_transposed(cons, c, static_cast<const S*>(c.Jd.data()), S(-1), c.direction.data());
  S residual(0), scale(0);
  for (std::size_t i = 0; i < c.nu.size(); ++i) {
    residual += c.direction[i] * c.direction[i];
    scale += c.Ma[i] * c.Ma[i];
  }
  c.residual2 = residual / select(scale > S(0), scale, S(1));
  solve_factored(cons.dofs, c.H.data(), c.inverse_D.data(), c.direction.data());
  for (std::size_t i = 0; i < c.nu.size(); ++i) c.nu[i] += c.direction[i];
}

// The Newton matrix at c.a, factored, and M itself in c.mass. Needs the rows of the state.
template <class S>
void factor_at_solution(const Tree& tree, const Constraints& cons, const S* p, Data<S>& d,
                        ConstraintData<S>& c) {
  evaluate_rows(cons, static_cast<const S*>(c.a.data()), c);
  crba(tree, p, c.mass.data(), d);
  factor_newton_matrix(cons, c);
}

// nu in c.nu and mu in d.lambda, given a'_bar there. Needs factor_at_solution.
template <class S>
void solve_adjoint(const Tree& tree, const Constraints& cons, Implicit implicit, Data<S>& d,
                   ConstraintData<S>& c) {
  if (implicit == Implicit::none) std::copy(d.lambda.begin(), d.lambda.end(), c.Ma.begin());
  solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), d.lambda.data());
  if (implicit != Implicit::none) multiply_mass(tree, c.mass.data(), d.lambda.data(), c.Ma.data());
  solve_newton_refined(tree, cons, c);
  for (std::size_t i = 0; i < c.nu.size(); ++i) c.nu[i] = select(c.worlds, c.nu[i], d.lambda[i]);
}

// -<mu, M (a' - a)>: what the second equation of motion adds.
template <class S>
void implicit_mass_vjp(const Tree& tree, const S* p, const S* q, const S* mu, const Wanted& wanted, S* q_bar,
                       S* p_bar, Data<S>& d, const ConstraintData<S>& c) {
  for (std::size_t i = 0; i < d.qacc.size(); ++i) {
    d.difference[i] = d.qacc[i] - c.a[i];
    d.minus_lambda[i] = -mu[i];
  }
  for (const TreeJoint& joint : tree.joints) {
    if (!wanted(joint.p.armature)) continue;
    for (int i = joint.dof; i < joint.dof + dof_size(joint.type); ++i)
      p_bar[joint.p.armature] -= mu[i] * d.difference[static_cast<std::size_t>(i)];
  }
  rnea_forward<S>(tree, Vec3<S>::zero(), d.zeros.data(), d.difference.data(), d);
  virtual_velocities<S>(tree, d.minus_lambda.data(), d);
  rnea_vjp<S>(tree, p, q, d.zeros.data(), d.difference.data(), d.minus_lambda.data(), false, wanted,
              {q_bar, d.unused.data(), nullptr, p_bar, nullptr}, d);
}

// What the transpose needs of the state, whatever the cotangents: poses, rows, and the factor of the Newton matrix. Needs the accelerations
// in c.a, leaves the factor in d.M alone. poses: as kinematics left them, or null.
template <class S>
void prepare_acceleration_vjp(const Tree& tree, const Constraints& cons, const S* p, const StateIn<S>& in,
                              const S* poses, const Wanted& wanted, Data<S>& d, ConstraintData<S>& c) {
  if (poses && !wanted.frames)
    recall_kinematics(tree, p, poses, d);
  else
    kinematics(tree, p, in.q, d);
  body_inertias(tree, p, d);
  tendon_lengths(tree, p, in.q, d);
  if (cons.rows == 0) return;
  if (cons.bodies) rnea_forward<S>(tree, vec3_at(p + tree.p.gravity), in.v, nullptr, d);
  make_rows(tree, cons, p, in.q, in.v, static_cast<const Data<S>&>(d), c);
  if (c.in_play) factor_at_solution(tree, cons, p, d, c);
}

// Cotangents of the state, given those of qacc (in d.lambda, overwritten) and act_dot. Needs the factor in d.M and d.inverse_D, the
// accelerations in d.qacc and c.a, and prepare_acceleration_vjp.
template <class S>
void prepared_acceleration_vjp(const Tree& tree, const Constraints& cons, Implicit implicit, const S* p,
                               const StateIn<S>& in, const S* act_dot_bar, const Wanted& wanted,
                               const StateBar<S>& bar, Data<S>& d, ConstraintData<S>& c) {
  const bool constrained = cons.rows > 0 && c.in_play;
  add_gyroscopic_transposed<S>(tree, p, in.v, d, d.lambda.data());
  const S *lambda = d.lambda.data(),
          *a = d.qacc.data();  // cotangent of tau; acceleration of the equation it belongs to
  if (constrained) {
    solve_adjoint(tree, cons, implicit, d, c);
    lambda = c.nu.data();
    a = c.a.data();
  } else {
    solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), d.lambda.data());
  }
  rnea_forward<S>(tree, vec3_at(p + tree.p.gravity), in.v, a, d);
  for (int i = 0; i < tree.nv; ++i) d.minus_lambda[static_cast<std::size_t>(i)] = -lambda[i];
  virtual_velocities<S>(tree, d.minus_lambda.data(), d);

  const bool external = tree.body_wrenches() || tree.spatial_tendons || constrained || springy(cons);
  if (external) {
    std::fill(d.wrench.begin(), d.wrench.end(), Force<S>::zero());
    std::fill(d.axis_bar.begin(), d.axis_bar.end(), Force<S>::zero());
    std::fill(d.v_bar.begin(), d.v_bar.end(), Force<S>::zero());
    std::fill(d.a_bar.begin(), d.a_bar.end(), Force<S>::zero());
    std::fill(d.w_bar.begin(), d.w_bar.end(), Force<S>::zero());
  }
  clear_tendon_cotangents(d);
  for (const TreeJoint& joint : tree.joints) {
    if (!wanted(joint.p.armature)) continue;
    for (int i = joint.dof; i < joint.dof + dof_size(joint.type); ++i)
      bar.p[joint.p.armature] -= lambda[i] * a[i];
  }
  if (tree.joint_force_limits) {
    std::fill(d.tau_act.begin(), d.tau_act.end(), S(0));
    actuation(tree, p, in.q, in.v, in.act, in.u, d.tau_act.data(), d);
  }
  // The implicit part belongs to mu and a', which are lambda and a where nothing constrains.
  add_implicit_vjp(tree, implicit, p, in, static_cast<const S*>(d.lambda.data()), wanted, bar.p, d);
  gyroscopic_vjp<S>(tree, p, in.v, d.lambda.data(), d.qacc.data(), wanted, bar.q, bar.v, bar.p, d);
  if (tree.gravcomp) gravity_compensation_vjp(tree, p, wanted, bar.p, d);
  if (tree.fluid) fluid_forces_vjp(tree, p, wanted, bar.p, d);
  if (constrained) constraint_vjp<S>(tree, cons, p, in.q, in.v, a, wanted, {bar.q, bar.v, bar.p}, d, c);
  if (springy(cons)) penalty_vjp<S>(tree, cons, p, in.q, in.v, lambda, wanted, {bar.q, bar.v, bar.p}, d, c);
  tendon_forces_vjp<S>(tree, p, in.v, lambda, wanted, bar.v, bar.p, d);
  passive_forces_vjp(tree, p, in.q, in.v, lambda, wanted, bar.q, bar.v, bar.p);
  if (bar.applied) {
    for (int i = 0; i < tree.nv; ++i) bar.applied[i] += lambda[i];
  }
  const S* tau_act_bar = lambda;
  if (tree.joint_force_limits) {
    std::copy(lambda, lambda + tree.nv, d.tau_act_bar.begin());
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
  tendon_lengths_vjp<S>(tree, p, in.q, wanted, bar.q, bar.p, d);
  rnea_vjp<S>(tree, p, in.q, in.v, a, d.minus_lambda.data(), external, wanted,
              {bar.q, bar.v, nullptr, bar.p, wanted(tree.p.gravity) ? bar.p + tree.p.gravity : nullptr}, d);
  if (constrained && (implicit != Implicit::none || cons.contact == ContactModel::hard))
    implicit_mass_vjp(tree, p, in.q, static_cast<const S*>(d.lambda.data()), wanted, bar.q, bar.p, d, c);
}

// Both at once.
template <class S>
void acceleration_vjp(const Tree& tree, const Constraints& cons, Implicit implicit, const S* p,
                      const StateIn<S>& in, const S* poses, const S* act_dot_bar, const Wanted& wanted,
                      const StateBar<S>& bar, Data<S>& d, ConstraintData<S>& c) {
  prepare_acceleration_vjp(tree, cons, p, in, poses, wanted, d, c);
  prepared_acceleration_vjp(tree, cons, implicit, p, in, act_dot_bar, wanted, bar, d, c);
}

}  // namespace costate::rigid
