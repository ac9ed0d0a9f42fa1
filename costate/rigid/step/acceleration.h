// Accelerations of a state: the forces of everything smooth, and the equations of motion.
//
//   (M(q) + h B) a' = tau + J' f,
//   tau = tau_passive(q, v) + tau_actuator(q, v, act, u) + tau_applied - c(q, v)
//   M(q) a          = tau + J' f(J a - aref)                                               constraints.h
//
// The smooth forces are a list of terms (forces.h). B is what an integrator treats implicitly (implicit.h; 0
// for RK4).
//
// Transpose: the stages in reverse. Without constraints a' = a, and lambda = (M + h B)^-1 a_bar is the
// cotangent of tau; -lambda through the transpose of tau = RNEA(q, v, a) gives q, v and every inertia and
// frame. With constraints, H = M + J' S J:
//
//   mu = (M + h B)^-1 a'_bar,   nu = mu - H^-1 J' S J mu = H^-1 M mu         (nu = H^-1 a_bar where B = 0)
//
// Noslip iterations (noslip.h) change a once more between the two equations.
//
// nu is the cotangent of tau and of J' f. The residuals of both equations add up to
// -<nu, RNEA(a)> - <mu, M (a' - a)>: one sweep with nu, and a second one without velocities.
// Tests: tests/rigid/rigid_system_test.cpp, parity_test.cpp.
#pragma once

#include <algorithm>

#include "costate/rigid/constraints/constraint_adjoint.h"
#include "costate/rigid/contact/contact_penalty.h"
#include "costate/rigid/dynamics/crba.h"
#include "costate/rigid/dynamics/gyroscopic.h"
#include "costate/rigid/dynamics/integrate.h"
#include "costate/rigid/step/implicit.h"
#include "costate/rigid/step/in_step.h"

namespace costate::rigid {

// d.tau = everything except M a. poses: where kinematics leaves them for the transpose, or null.
template <class S>
void smooth_forces(const Tree& tree, const S* p, const StateIn<S>& x, Data<S>& d, S* poses = nullptr) {
  const ForceInput<S> in{tree, p, x};
  kinematics(tree, p, x.q, d, poses);
  keep_in_step();
  body_inertias(tree, p, d);
  tendon_lengths(tree, p, x.q, d);
  rnea_forward<S>(tree, vec3_at(p + tree.p.gravity), x.v, nullptr, d);
  std::fill(d.tau_act.begin(), d.tau_act.end(), S(0));
  const bool wrenches = BodyForces::on_bodies(tree);
  if (wrenches) std::fill(d.applied.begin(), d.applied.end(), Force<S>::zero());
  BodyForces::forces(in, d);
  rnea_backward<S>(tree, wrenches ? d.applied.data() : nullptr, d.bias.data(), d);
  for (std::size_t i = 0; i < d.tau.size(); ++i) d.tau[i] = d.tau_act[i] - d.bias[i];
  DofForces::forces(in, d);
}

// The transpose of smooth_forces' sums, given lambda, the cotangent of tau = RNEA(q, v, a). Minus lambda and
// its virtual velocities are in d.minus_lambda and d.w. external: something has been added to d.wrench and
// its like.
template <class S>
void smooth_forces_vjp(const ForceInput<S>& in, const ForceBar<S>& bar, const S* a, bool external,
                       Data<S>& d) {
  const Tree& tree = in.tree;
  const StateIn<S>& x = in.x;
  const StateBar<S>& to = bar.to;
  DofForces::forces_vjp(in, bar, d);
  BodyForces::forces_vjp(in, bar, d);
  tendon_lengths_vjp<S>(tree, in.p, x.q, bar.wanted, to.q, to.p, d);
  rnea_vjp<S>(tree, in.p, x.q, x.v, a, d.minus_lambda.data(), external, bar.wanted,
              {to.q, to.v, nullptr, to.p, bar.wanted(tree.p.gravity) ? to.p + tree.p.gravity : nullptr}, d);
}

// Contacts are forces like any other.
inline bool springy(const Constraints& cons) { return parts_of(cons.contact).springs && !cons.pairs.empty(); }

// d.qacc, with the factor of M + h B in d.M and d.inverse_D, and the acceleration of the constrained problem
// in c.a, before noslip iterations. Needs smooth_forces.
template <class S>
void solve_acceleration(const Tree& tree, const Constraints& cons, Implicit implicit, const S* p,
                        const StateIn<S>& in, Data<S>& d, ConstraintData<S>& c) {
  if (springy(cons))
    penalty_forces(tree, cons, p, in.q, in.v, static_cast<const Data<S>&>(d), c, d.tau.data());
  crba(tree, p, d);
  keep_in_step();
  if (cons.rows > 0) {
    make_rows(tree, cons, p, in.q, in.v, d, c);
    if (c.in_play) std::copy(d.M.begin(), d.M.end(), c.mass.begin());
  }
  keep_in_step();
  add_implicit(tree, implicit, p, in, d);
  factor(tree.dofs, d.M.data(), d.inverse_D.data());
  std::copy(d.tau.begin(), d.tau.end(), d.qacc.begin());
  solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), d.qacc.data());
  add_gyroscopic<S>(tree, p, in.v, d, d.qacc.data());
  if (cons.rows == 0) return;
  keep_in_step();
  std::copy(d.qacc.begin(), d.qacc.end(), c.a.begin());
  if (!c.in_play) return;
  solve_constraints<S>(tree, cons, d.tau.data(), d.M.data(), d.inverse_D.data(), c);
  // A world of its own keeps its bits: where nothing is in play, nothing has been solved.
  for (std::size_t i = 0; i < c.a.size(); ++i) c.a[i] = select(c.worlds, c.a[i], d.qacc[i]);
  if (cons.noslip > 0) noslip(tree, cons, false, c);
  const std::vector<S>& a = cons.noslip > 0 ? c.noslip.a : c.a;
  if (implicit == Implicit::none) {
    std::copy(a.begin(), a.end(), d.qacc.begin());
    return;
  }
  multiply_mass(tree, c.mass.data(), a.data(), c.Ma.data());  // tau + J' f, without the forces' rounding
  solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), c.Ma.data());
  add_gyroscopic<S>(tree, p, in.v, d, c.Ma.data());
  for (std::size_t i = 0; i < c.a.size(); ++i) d.qacc[i] = select(c.worlds, c.Ma[i], d.qacc[i]);
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
  if (cons.noslip > 0) noslip(tree, cons, true, c);
}

// c.Ma, the cotangent of the accelerations, through the rows that the sweeps started from: y = J a - aref.
template <class S>
void add_noslip_pull(const Constraints& cons, ConstraintData<S>& c) {
  if (!c.noslip.transposed) return;
  std::copy(c.noslip.m.begin(), c.noslip.m.end(), c.Jd.begin());
  multiply_slopes(cons, c, c.Jd.data());
  for (std::size_t i = 0; i < c.Jd.size(); ++i) c.Jd[i] += c.noslip.pull[i];
  add_transposed(cons, c, static_cast<const S*>(c.Jd.data()), S(-1), c.Ma.data());
}

// nu in c.nu and mu in d.lambda, given a'_bar there. Needs factor_at_solution.
template <class S>
void solve_adjoint(const Tree& tree, const Constraints& cons, Implicit implicit, Data<S>& d,
                   ConstraintData<S>& c) {
  if (implicit == Implicit::none) std::copy(d.lambda.begin(), d.lambda.end(), c.Ma.begin());
  solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), d.lambda.data());
  if (implicit != Implicit::none) multiply_mass(tree, c.mass.data(), d.lambda.data(), c.Ma.data());
  if (cons.noslip > 0) {
    noslip_vjp(tree, cons, static_cast<const S*>(d.lambda.data()), c);
    add_noslip_pull(cons, c);
  }
  solve_newton_refined(tree, cons, c);
  for (std::size_t i = 0; i < c.nu.size(); ++i) c.nu[i] = select(c.worlds, c.nu[i], d.lambda[i]);
}

// M = RNEA's mass matrix + the armatures on its diagonal.
template <class S>
void armature_vjp(const Tree& tree, const S* lambda, const S* a, const Wanted& wanted, S* p_bar) {
  for (const TreeJoint& joint : tree.joints) {
    if (!wanted(joint.p.armature)) continue;
    for (int i = joint.dof; i < joint.dof + dof_size(joint.type); ++i)
      p_bar[joint.p.armature] -= lambda[i] * a[i];
  }
}

// -<mu, M x>, x in d.difference: what the second equation of motion adds, with x = a' - a.
template <class S>
void mass_vjp(const Tree& tree, const S* p, const S* q, const S* mu, const Wanted& wanted, S* q_bar, S* p_bar,
              Data<S>& d) {
  for (std::size_t i = 0; i < d.qacc.size(); ++i) d.minus_lambda[i] = -mu[i];
  armature_vjp(tree, mu, static_cast<const S*>(d.difference.data()), wanted, p_bar);
  rnea_forward<S>(tree, Vec3<S>::zero(), d.zeros.data(), d.difference.data(), d);
  virtual_velocities<S>(tree, d.minus_lambda.data(), d);
  rnea_vjp<S>(tree, p, q, d.zeros.data(), d.difference.data(), d.minus_lambda.data(), false, wanted,
              {q_bar, d.unused.data(), nullptr, p_bar, nullptr}, d);
}

template <class S>
void implicit_mass_vjp(const Tree& tree, const S* p, const S* q, const S* mu, const Wanted& wanted, S* q_bar,
                       S* p_bar, Data<S>& d, const ConstraintData<S>& c) {
  for (std::size_t i = 0; i < d.qacc.size(); ++i) d.difference[i] = d.qacc[i] - c.a[i];
  mass_vjp(tree, p, q, mu, wanted, q_bar, p_bar, d);
}

// -1/2 <W_k, M X_k> of each row of friction.
template <class S>
void noslip_mass_vjp(const Tree& tree, const S* p, const S* q, const Wanted& wanted, S* q_bar, S* p_bar,
                     Data<S>& d, const ConstraintData<S>& c) {
  const S half(value_t<S>(0.5));
  for (int k = 0; k < c.noslip.rows(); ++k) {
    const S *W = c.noslip.W.data() + k * tree.nv, *X = c.noslip.X.data() + k * tree.nv;
    bool none = true;
    for (int i = 0; i < tree.nv; ++i) {
      d.difference[i] = half * X[i];
      none &= !any(X[i] != S(0));
    }
    if (!none || is_dual<S>) mass_vjp(tree, p, q, W, wanted, q_bar, p_bar, d);
  }
}

// What the transpose needs of the state, whatever the cotangents: poses, rows, and the factor of the Newton
// matrix. Needs the accelerations in c.a, leaves the factor in d.M alone. poses: as kinematics left them, or
// null.
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

// Where wrenches and cotangents of bodies and joints are added before rnea_vjp.
template <class S>
void clear_body_cotangents(Data<S>& d) {
  for (auto* bar : {&d.wrench, &d.axis_bar, &d.v_bar, &d.a_bar, &d.w_bar})
    std::fill(bar->begin(), bar->end(), Force<S>::zero());
}

// Cotangents of the state, given those of qacc (in d.lambda, overwritten) and act_dot. Needs the factor in
// d.M and d.inverse_D, the accelerations in d.qacc and c.a, and prepare_acceleration_vjp.
template <class S>
void prepared_acceleration_vjp(const Tree& tree, const Constraints& cons, Implicit implicit, const S* p,
                               const StateIn<S>& x, const S* act_dot_bar, const Wanted& wanted,
                               const StateBar<S>& bar, Data<S>& d, ConstraintData<S>& c) {
  const bool constrained = cons.rows > 0 && c.in_play;
  const ForceInput<S> in{tree, p, x};
  add_gyroscopic_transposed<S>(tree, p, x.v, d, d.lambda.data());
  const S *lambda = d.lambda.data(),
          *a = d.qacc.data();  // cotangent of tau; acceleration of the equation it belongs to
  if (constrained) {
    solve_adjoint(tree, cons, implicit, d, c);
    lambda = c.nu.data();
    a = c.a.data();
  } else {
    solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), d.lambda.data());
  }
  keep_in_step();
  rnea_forward<S>(tree, vec3_at(p + tree.p.gravity), x.v, a, d);
  for (int i = 0; i < tree.nv; ++i) d.minus_lambda[i] = -lambda[i];
  virtual_velocities<S>(tree, d.minus_lambda.data(), d);

  const bool external = BodyForces::on_bodies(tree) || tree.spatial_tendons || constrained || springy(cons);
  if (external) clear_body_cotangents(d);
  clear_tendon_cotangents(d);
  armature_vjp(tree, lambda, a, wanted, bar.p);
  ActuatorForces::recall_unlimited(in, d);
  // The implicit part belongs to mu and a', which are lambda and a where nothing constrains.
  add_implicit_vjp(tree, implicit, p, x, static_cast<const S*>(d.lambda.data()), wanted, bar.p, d);
  gyroscopic_vjp<S>(tree, p, x.v, d.lambda.data(), d.qacc.data(), wanted, bar.q, bar.v, bar.p, d);
  if (constrained) constraint_vjp<S>(tree, cons, p, x.q, x.v, a, wanted, {bar.q, bar.v, bar.p}, d, c);
  if (springy(cons)) penalty_vjp<S>(tree, cons, p, x.q, x.v, lambda, wanted, {bar.q, bar.v, bar.p}, d, c);
  keep_in_step();
  smooth_forces_vjp<S>(in, {lambda, act_dot_bar, d.slope_bar.data(), wanted, bar}, a, external, d);
  const bool second = implicit != Implicit::none || parts_of(cons.contact).impulses || cons.noslip > 0;
  if (constrained && second)
    implicit_mass_vjp(tree, p, x.q, static_cast<const S*>(d.lambda.data()), wanted, bar.q, bar.p, d, c);
  if (constrained && cons.noslip > 0) noslip_mass_vjp(tree, p, x.q, wanted, bar.q, bar.p, d, c);
}

// Both at once.
template <class S>
void acceleration_vjp(const Tree& tree, const Constraints& cons, Implicit implicit, const S* p,
                      const StateIn<S>& in, const S* poses, const S* act_dot_bar, const Wanted& wanted,
                      const StateBar<S>& bar, Data<S>& d, ConstraintData<S>& c) {
  prepare_acceleration_vjp(tree, cons, p, in, poses, wanted, d, c);
  keep_in_step();
  prepared_acceleration_vjp(tree, cons, implicit, p, in, act_dot_bar, wanted, bar, d, c);
}

}  // namespace costate::rigid
