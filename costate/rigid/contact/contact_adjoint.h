// The transpose of contact points: cotangents of poses, velocities and parameters.
//
// At the solution, with nu the cotangent of J' f, m = J nu, g = S m (constraint_adjoint.h), a contact hands
// on
//
//   aref_bar = g,      D_bar = <m, f> / D,      mu_bar = d<m, f>/dmu,      J_bar = f nu' - g a' + h v'
//
// h the cotangents of the rows' velocities. J is a frame times the motions of the dofs at the contact point,
// and all three terms of J_bar are a row's number times a dof's. So no dof is visited for a contact: with the
// wrench Phi_f = (x x F + N, F), F = sum f_i (n, t1, t2)_i the cotangent of a motion S_k is Phi_f
// nu_k - Phi_g a_k + Phi_h v_k, summed over the contacts of all bodies behind k in one sweep, and frame and
// point have cotangents from the relative motions of the two bodies under nu, a and v:
//
//   e_i_bar = f_i V(nu) - g_i V(a) + h_i V(v),     x_bar = F x W(nu) - G x W(a) + H x W(v)
//
// Then the transposes of the frame and of the shapes' distance (costate/geometry), and the wrench of each
// shape on its body.
//
// Compiled once for each scalar in contact_adjoint.cpp. Tests: tests/rigid/contact/gradient_test.cpp.
#pragma once

#include "costate/rigid/constraints/constraint_rows.h"
#include "costate/rigid/dynamics/rnea_adjoint.h"

namespace costate::rigid {

// The half that any law of contact shares: from the rows of the points of the pairs in c.touching,
// c.rows_bar, to positions, v and parameters. Needs kinematics, frames of the points, d.v the motions under v
// and d.w those under -nu. Adds to d.axis_bar and d.wrench.
template <class S>
void contact_points_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v,
                        const S* a, const S* nu, const Wanted& wanted, const ConstraintBar<S>& bar,
                        Data<S>& d, ContactData<S>& c);

// Given c.nu and c.Jd = J nu, the rows evaluated at a, contact_rows, and d.w the motions under -nu. Adds to
// d.axis_bar, d.wrench and dt_bar.
template <class S>
void contact_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v, const S* a,
                 const Wanted& wanted, const ConstraintBar<S>& bar, Data<S>& d, ConstraintData<S>& c,
                 S& dt_bar);

// Adds to d.wrench and the cotangents of parameters, given those of contact_gaps at the same state. Needs
// kinematics.
template <class S>
void contact_gaps_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* gap_bar,
                      const Wanted& wanted, S* p_bar, Data<S>& d, ContactData<S>& c);

}  // namespace costate::rigid
