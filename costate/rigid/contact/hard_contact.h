// Rigid contact by complementarity time stepping [1, 2]: at the end of a step the velocities obey Signorini's
// and Coulomb's laws.
//
//   v* = v + h a'                     a': everything but contact, of constraint rows too (acceleration.h)
//   v+ = v* + M^-1 J' lambda          M: the matrix of that acceleration, with the integrator's implicit part
//   lambda from b = J v* - target and A = J M^-1 J' for all points at once, by hard_law.h
//
// with a normal target of, r the gap and w = J v,
//
//   rest     -r / h          the gap is closed at the end of the step, not opened; at most recovery_speed
//                            where bodies overlap
//   bounce   w*_0 - (1 + e) u   Newton's restitution, where e |w_0| > rest_speed and the gap closes within
//                               the step: r + h w_0 < 0. u = w_0 + theta (w*_0 - w_0) is the velocity at the
//                               moment theta = -r / (h w_0) of the impact. What is as fast but not there yet
//                               does not take part.
//
// Positions move with v+, but an impulse that throws back acts from that moment on only:
//
//   q+ = q (+) h (v+ - s),                s = M^-1 sum_bounces theta J' lambda
//
// so that the time of an impact has its derivatives: a ball and an elastic wall give exactly -1 at any time
// step.
//
// Transpose. V the cotangent of v+ (through q+ too), y that of v+ - s, nu_s = -M^-1 y. With lambda_bar = J
// M^-1 V + theta J nu_s and Y from hard_law.h
//
//   a'_bar = h (V + J' (Y + D)),   mu = M^-1 a'_bar     by acceleration.h, whose residual M (v+ - v)/h - ...
//                                                       holds J' lambda / h as a force
//   J_bar = (lambda / h) mu' + Y v+' + w_bar v' + theta lambda nu_s' + lambda nu_D' + D v*',
//       v_bar = V + J' (Y + D + w_bar)
//   M_bar = -nu_s s' - nu_D (v+ - v*)'                  the rest of it is acceleration.h's
//   rest     r_bar = Y_0 / h
//   bounce   D_0 = ((1 + e) theta - 1) Y_0, nu_D = -M^-1 J' D,
//            theta_bar = <nu_s, J' lambda> + (1 + e) (w*_0 - w_0) Y_0,
//            w_bar = (1 + e) (1 - theta) Y_0 - theta_bar theta / w_0,
//            e_bar = u Y_0,    r_bar = -theta_bar / (h w_0)
//
// Forward mode. Duals take the impulses, the case of every point and all choices of geometry from the same
// step with plain numbers: PlainStep. They compute the tangents of the impulses there, and nothing that
// rounding could decide otherwise. So both modes are derivatives of the same piece.
//
// Aware [3]: at rest Y_0 > 0 says that the loss falls if the sides part. Such points count as open, with the
// impulse they have, and Y is solved again. That is no derivative of the step (forward mode has that), but a
// direction in which the contact can be left.
//
// Limits, equalities and dry friction of joints answer to v with their own softness, not to lambda within the
// step.
//
// [1] Stewart, Trinkle: An implicit time-stepping scheme for rigid body dynamics with inelastic collisions
//     and Coulomb friction, IJNME 39 (1996).
// [2] Anitescu, Potra: Formulating dynamic multi-rigid-body contact problems with friction as solvable linear
//     complementarity problems, Nonlin. Dyn. 14 (1997).
// [3] Werling, Omens, Lee, Exarchos, Liu: Fast and feature-complete differentiable physics for articulated
//     rigid bodies with contact, RSS 2021.
// Compiled once for each scalar in hard_contact.cpp. Tests: tests/rigid/contact/hard_test.cpp.
#pragma once

#include <memory>

#include "costate/rigid/step/acceleration.h"

namespace costate::rigid {

// Has contacts that obey this law.
inline bool hard_contacts(const Constraints& cons) {
  return parts_of(cons.contact).impulses && !cons.pairs.empty();
}
// What a step leaves for its transpose: impulses, the case of each point, the slack of each pair.
inline int hard_tape_size(const Constraints& cons) {
  return hard_contacts(cons) ? cons.rows + cons.points + int(cons.pairs.size()) : 0;
}

// A step of plain numbers that was taken with a tape: what duals of the same step start from.
template <class S>
struct PlainStep {
  const S* tape = nullptr;
  const geometry::Shape<S>* shapes = nullptr;
};

// Scratch. Holds nothing for models without such contacts.
template <class S>
class HardWork {
 public:
  HardWork(const Tree& tree, const Constraints& cons);
  ~HardWork();

  std::vector<S> moved, moved_bar;  // v+ - s, the velocity of the positions, and its cotangent y
  bool contradicts = false;         // in a world of the step recalled last no impulses obey the laws
  int tied = -1;                    // a pair of that step whose mode rounding has decided; -1: there is none
  PlainStep<plain_t<S>> plain;      // of duals only; set before every step

  struct Lists;  // hard_lists.h
  std::unique_ptr<Lists> lists;
};

// Adds to d.qacc what contacts do within the step, and fills w.moved. Needs the factor of solve_acceleration.
// tape: may be null. Duals need w.plain.
template <class S>
void hard_contact(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v, Data<S>& d,
                  ConstraintData<S>& c, HardWork<S>& w, S* tape);

// w.moved again, and all that the transpose needs. d.qacc, and the factor in d.M, are those of the step.
template <class S>
void recall_hard_contact(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v,
                         const S* tape, Data<S>& d, ConstraintData<S>& c, HardWork<S>& w);

// From V and w.moved_bar: a'_bar in d.lambda; adds J' Y to v_bar; returns h_bar without that of positions.
template <class S>
S hard_impulses_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* V, const Wanted& wanted,
                    S* v_bar, S* p_bar, Data<S>& d, ConstraintData<S>& c, HardWork<S>& w);

// After acceleration_vjp, which left mu in d.lambda: what positions, velocities and parameters get through J,
// gaps and the shift.
template <class S>
void hard_points_vjp(const Tree& tree, const Constraints& cons, Implicit implicit, const S* p,
                     const StateIn<S>& in, const Wanted& wanted, const StateBar<S>& bar, Data<S>& d,
                     ConstraintData<S>& c, HardWork<S>& w);

}  // namespace costate::rigid
