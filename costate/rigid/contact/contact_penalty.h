// Contact by springs: a force at each point from its depth and velocity alone.
//
//   f_n = k x (1 + c x')_+,                          x = -r the depth, x' = -w_n its rate                 [1]
//   f_t = -mu f_n w_t / sqrt(|w_t|^2 + s^2)          Coulomb, smoothed over the slip speed s
//
// k "contact/stiffness" (N/m), c "contact/damping" (s/m), s "contact/slip_speed" (m/s); mu as in the other
// models. f_n is continuous where contact begins, and never pulls. Spin and rolling (condim 4, 6) have w_t of
// their own: f_i = -mu_i f_n w_i / sqrt(w_i^2 + s^2), s taken in rad/s there. J' f joins the smooth forces.
// Inside a part of a split step a point that is on keeps its law for r > 0 too: all stages of rk4 see one
// smooth function.
//
// Transpose, with nu the cotangent of the generalised forces and m = J nu: f_bar = m, so that with G = <m, f>
//
//   r_bar = dG/dr,      w_bar = dG/dw,      k_bar, c_bar, s_bar, mu_bar likewise,
//                       J_bar = f nu' + w_bar v'       (contact_adjoint.h)
//
// [1] Hunt, Crossley: Coefficient of restitution interpreted as damping in vibroimpact, J. Appl. Mech. 42
//     (1975), with exponent 1.
// Compiled once for each scalar in contact_penalty.cpp. Tests: tests/rigid/contact/penalty_test.cpp.
#pragma once

#include "costate/rigid/contact/contact_adjoint.h"

namespace costate::rigid {

// tau += J' f. Needs kinematics. Lists the pairs that touch in c.contact.touching, and which points do in
// c.zone.
template <class S>
void penalty_forces(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v,
                    const Data<S>& d, ConstraintData<S>& c, S* tau);

// Given nu. Needs kinematics, d.v the motions under v and d.w those under -nu. Adds to d.axis_bar and
// d.wrench.
template <class S>
void penalty_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v, const S* nu,
                 const Wanted& wanted, const ConstraintBar<S>& bar, Data<S>& d, ConstraintData<S>& c);

}  // namespace costate::rigid
