// One evaluation of the accelerations of a state, and where it leaves what its transpose needs:
// accelerations, factor, poses and constrained accelerations, in this order on the tape
// (Stepper::tape_of_...).
#pragma once

#include "costate/rigid/step/in_step.h"
#include "costate/rigid/step/step.h"

namespace costate::rigid {

template <class S>
StateIn<S> state_in(const Stepper& stepper, const S* x, const S* u) {
  const Tree& t = stepper.tree;
  return {x, x + t.nq, x + t.nq + t.nv, u, stepper.applied_forces ? u + t.nu : nullptr};
}

// The accelerations and the factor lie on the tape, where they are written or read.
template <class S>
void lie_on(const Stepper& stepper, S* tape, Data<S>& d) {
  d.qacc.lie_at(tape);
  d.M.lie_at(tape + stepper.tape_of_factor());
  d.inverse_D.lie_at(tape + stepper.tape_of_inverse_D());
}
template <class S>
void leave_tape(Data<S>& d) {
  d.qacc.lie_here();
  d.M.lie_here();
  d.inverse_D.lie_here();
}
template <class S>
void recall(const Stepper& stepper, S* tape, StepWork<S>& w) {
  lie_on(stepper, tape, w.d);
  if (stepper.constraints.rows > 0) {
    const S* a = tape + stepper.tape_of_constrained();
    std::copy(a, a + stepper.tree.nv, w.c.a.begin());
  }
}

// d.qacc and d.act_dot of a state. With a tape, what its transpose needs is computed right there.
template <class S>
void evaluate(const Stepper& stepper, const S* p, const StateIn<S>& in, S* tape, StepWork<S>& w) {
  Data<S>& d = w.d;
  if (tape) lie_on(stepper, tape, d);
  smooth_forces(stepper.tree, p, in, d, tape ? tape + stepper.tape_of_poses() : nullptr);
  keep_in_step();
  solve_acceleration(stepper.tree, stepper.constraints, stepper.implicit, p, in, d, w.c);
  if (tape && stepper.constraints.rows > 0)
    std::copy(w.c.a.begin(), w.c.a.end(), tape + stepper.tape_of_constrained());
}

// Cotangents of a state, given those of its accelerations (w.d.lambda) and of act' (w.act_dot_bar), from its
// tape.
template <class S>
void evaluate_vjp(const Stepper& stepper, const StateIn<S>& in, const S* tape, const Wanted& wanted, S* q_bar,
                  S* v_bar, S* act_bar, StepWork<S>& w) {
  acceleration_vjp<S>(stepper.tree, stepper.constraints, stepper.implicit, w.p.data(), in,
                      tape + stepper.tape_of_poses(), w.act_dot_bar.data(), wanted,
                      {q_bar, v_bar, act_bar, w.u_bar.data(),
                       stepper.applied_forces ? w.u_bar.data() + stepper.tree.nu : nullptr, w.p_bar.data()},
                      w.d, w.c);
}

// w.x_bar from the cotangents of q (tangent space), v and act.
template <class S>
void store_state_cotangent(const Stepper& stepper, StepWork<S>& w) {
  const Tree& t = stepper.tree;
  S* x_bar = w.x_bar.data();
  ambient_cotangent(t, static_cast<const S*>(w.x.data()), w.q_bar.data(), x_bar);
  std::copy(w.v_bar.begin(), w.v_bar.end(), x_bar + t.nq);
  std::copy(w.act_bar.begin(), w.act_bar.end(), x_bar + t.nq + t.nv);
}

}  // namespace costate::rigid
