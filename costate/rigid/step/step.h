// One step of a rigid-body model, and its transpose.
//
//   euler          a from M + h B_damping;                      v+ = v + h a, act+ = next(act, act'), q+ = q (+) h v+
//   implicitfast   a from M + h B_damping - h d tau_act/d v;    the same
//   rk4            four accelerations, B = 0;                   classic weights; rotations as rotation vectors phi from q, whose
//                                                               rate is J^-1(phi) w (Munthe-Kaas [2]): fourth order for them too
//
// Hard contact (hard_contact.h) adds to a of euler and implicitfast, and to the velocity that moves the position.
// Semi-implicit: the new velocity moves the position [1, "integrators"]. What the transpose needs again goes to the tape, for each
// evaluation: the accelerations, the factor of the matrix they were solved with, and where the joints have taken the bodies.
//
// Dense output: the state after the part s of a step, 0 <= s <= 1, from the rates that the step has anyway. h is the length of the step.
//
//   euler, implicitfast   v(s) = v + s h a,   q(s) = q (+) s h v+: positions lie on the straight line that the step takes
//   rk4                   x(s) = x (+) s h sum c_i(s) k_i,   c = (1 - s + s^3/6,  s - 2 s^2/3,  2 s^2/3 - s^3/3,  s^3/6)
//
// These c are the ones for which x(s) is the rk4 step of length s h wherever rates are linear in the state, as in a stiff contact: with stages
// k_i = L (x + ...) the powers of h L must have the factors s, s^2/2, s^3/6, s^4/24, four equations for four weights. Where rates are not linear
// the error is of third order; the dense output that is of fourth order for those [3, II.6] is not for stiff ones, and the slope of its error over
// s / dt is what a gradient through an impact would see (split_step.h). A transpose is that of x(s), in all of x, u, p, s and h.
//
// [1] MuJoCo documentation, Computation.
// [2] Munthe-Kaas: High order Runge-Kutta methods on manifolds, Appl. Numer. Math. 29 (1999).
// [3] Hairer, Norsett, Wanner: Solving ordinary differential equations I, 2nd ed., 1993.
// Tests: tests/rigid/rigid_system_test.cpp, parity_test.cpp.
#pragma once

#include "costate/rigid/contact/hard_contact.h"

namespace costate::rigid {

inline constexpr int kMostEvents = 4;  // of a split step
inline constexpr int kTapesKept = 5;   // of the parts of one: all

struct Stepper {
  Tree tree;
  Constraints constraints;
  Integrator integrator = Integrator::euler;
  Implicit implicit = Implicit::damping;
  bool applied_forces = false;  // controls end with a force for each dof
  bool split = false;           // where contacts begin and end: split_step.h

  int evaluations() const { return integrator == Integrator::rk4 ? 4 : 1; }
  // The parts of the tape of an evaluation: accelerations, L and 1/D, poses, the constrained accelerations.
  int tape_of_factor() const { return tree.nv; }
  int tape_of_inverse_D() const { return tape_of_factor() + tree.entries; }
  int tape_of_poses() const { return tape_of_inverse_D() + tree.nv; }
  int tape_of_constrained() const { return tape_of_poses() + poses_size(tree); }
  int tape_per_evaluation() const { return tape_of_constrained() + (constraints.rows > 0 ? tree.nv : 0); }
  int tape_of_step() const { return evaluations() * tape_per_evaluation() + hard_tape_size(constraints); }
  // A split step has several, and its record: the modes it begins with, and (length, how much of it, event, state) of the
  // parts but the last.
  int record_per_event() const { return 3 + states(); }
  int record_size() const { return constraints.points + kMostEvents * record_per_event(); }
  int tape_size() const { return split ? kTapesKept * tape_of_step() + record_size() : tape_of_step(); }
  bool hard() const { return hard_contacts(constraints); }
  int states() const { return tree.nq + tree.nv + tree.na; }
  int controls() const { return tree.nu + (applied_forces ? tree.nv : 0); }
};

struct SystemOptions;

// A model's step, and its signature. Throws an Error for what the dynamics do not simulate. (make_stepper.cpp)
Stepper make_stepper(const Model& model, const SystemOptions& options, Signature& signature);

// Scratch of a step. All arrays of one pack of worlds.
template <class S>
struct StepWork {
  explicit StepWork(const Stepper& stepper)
      : p(static_cast<std::size_t>(stepper.tree.p.prepared_size)),
        p_bar(p.size()),
        x(static_cast<std::size_t>(stepper.states())),
        y(x.size()),
        u(static_cast<std::size_t>(stepper.controls())),
        u_bar(u.size()),
        x_bar(x.size()),
        y_bar(x.size()),
        tape(static_cast<std::size_t>(stepper.tape_size())),
        d(stepper.tree),
        c(stepper.constraints),
        hard(stepper.tree, stepper.constraints),
        stage(4 * x.size()),
        rates(4 * static_cast<std::size_t>(stepper.tree.nv)),
        act_dots(4 * static_cast<std::size_t>(stepper.tree.na)),
        mean_v(static_cast<std::size_t>(stepper.tree.nv)),
        mean_a(mean_v.size()),
        mean_act(static_cast<std::size_t>(stepper.tree.na)),
        q_bar(mean_v.size()),
        v_bar(mean_v.size()),
        act_bar(mean_act.size()),
        act_dot_bar(mean_act.size()),
        stage_q_bar(mean_v.size()),
        stage_v_bar(mean_v.size()),
        stage_act_bar(mean_act.size()),
        rate_bar(mean_v.size()),
        mean_v_bar(mean_v.size()),
        mean_act_bar(mean_act.size()),
        from_v(mean_v.size()),
        from_a(mean_v.size()),
        from_act(mean_act.size()),
        moved_q_bar(static_cast<std::size_t>(stepper.tree.nq)) {}

  // What goes in and out: prepared parameters, state, control, cotangents, tape.
  std::vector<S> p, p_bar, x, y, u, u_bar, x_bar, y_bar;
  Placed<S> tape;
  Data<S> d;
  ConstraintData<S> c;
  HardWork<S> hard;
  // The stages of rk4: their states, rates of positions and of activations; weighted means; cotangents.
  std::vector<S> stage, rates, act_dots, mean_v, mean_a, mean_act;
  std::vector<S> q_bar, v_bar, act_bar, act_dot_bar, stage_q_bar, stage_v_bar, stage_act_bar;
  std::vector<S> rate_bar, mean_v_bar, mean_act_bar, from_v, from_a, from_act, moved_q_bar;
  S part = S(1);  // of the step: what the transpose is of
};

// w.y = step(w.x, w.u, w.p); with_tape: w.tape too.
template <class S>
void step(const Stepper& stepper, StepWork<S>& w, bool with_tape);

// Right after `step`: the state after the part s of it.
template <class S>
void state_within(const Stepper& stepper, StepWork<S>& w, const S& s, S* out);

// d<x_bar, x(s)>/ds at s = w.part. Reads w.tape.
template <class S>
S rate_within(const Stepper& stepper, StepWork<S>& w, const S* x_bar);

// w.x_bar from w.y_bar, the cotangent of the state after w.part of the step; adds to w.u_bar and, where wanted, w.p_bar. Reads w.tape.
template <class S>
void step_vjp(const Stepper& stepper, StepWork<S>& w, const Wanted& wanted);

}  // namespace costate::rigid
