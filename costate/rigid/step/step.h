// One step of a rigid-body model, and its transpose.
//
// integrators.h lists the integrators, each a file with its equations: euler.h, implicitfast.h, rk4.h. What
// the transpose needs again goes to the tape, for each evaluation: the accelerations, the factor of the
// matrix they were solved with, and where the joints have taken the bodies (evaluation.h).
//
// Dense output: x(s), the state after the part s of a step, 0 <= s <= 1, from the rates that the step has
// anyway. Steps that are cut where contacts begin and end (split_step.h) use it.
// Tests: tests/rigid/rigid_system_test.cpp, parity_test.cpp.
#pragma once

#include <memory>

#include "costate/rigid/contact/hard_contact.h"

namespace costate::rigid {

// Of a split step: contacts that begin or end, parts that are not its last, and parts whose tapes are kept;
// the others are taken again.
inline constexpr int kMostEvents = 8, kMostParts = 48, kTapesKept = 2;
inline constexpr double kSlowImpact = 0.01;  // m/s, of hinges rad/s: hardly moves anything

struct Stepper {
  Tree tree;
  Constraints constraints;
  Integrator integrator = Integrator::euler;
  Implicit implicit = Implicit::damping;
  int evaluations = 1;          // of the accelerations in a step
  bool applied_forces = false;  // controls end with a force for each dof
  bool split = false;           // where contacts begin and end: split_step.h
  bool adaptive = false;        // parts are as short as these tolerances ask: part_errors.h
  double rtol = 0, atol = 0;
  // The same model with rk4, for the parts of a split step in which something moves (part_method.h); null:
  // this is it, or all parts are the integrator's own.
  std::shared_ptr<const Stepper> by_rk4 = {};
  // How fast dampers slow what they act on, at the reference configuration: of each dof and tendon, which
  // numbers of `p` to multiply by which weights.
  struct Damper {
    int number = kAbsent;
    double weight = 0;
  };
  std::vector<std::vector<Damper>> dampers = {};

  // The parts of the tape of an evaluation: accelerations, L and 1/D, poses, the constrained accelerations.
  int tape_of_factor() const { return tree.nv; }
  int tape_of_inverse_D() const { return tape_of_factor() + tree.entries; }
  int tape_of_poses() const { return tape_of_inverse_D() + tree.nv; }
  int tape_of_constrained() const { return tape_of_poses() + poses_size(tree); }
  int tape_per_evaluation() const { return tape_of_constrained() + (constraints.rows > 0 ? tree.nv : 0); }
  int tape_of_step() const { return evaluations * tape_per_evaluation() + hard_tape_size(constraints); }
  // A split step has several, and its record: the modes it begins with, how many parts but the last, how many
  // events, how many slow impacts and how many leaps that were not cut, and of these parts kPartNumbers
  // numbers and the state at their end (split_step_worlds.h).
  static constexpr int kPartNumbers = 5;
  int record_head() const { return constraints.events() + 4; }
  int record_per_part() const { return kPartNumbers + states(); }
  int record_used(int parts) const { return record_head() + parts * record_per_part() + kPartNumbers; }
  int record_size() const { return record_used(kMostParts); }
  // Lengths of parts follow the forces of contact.
  bool graded() const { return split && constraints.contact == ContactModel::convex; }
  int tape_size() const { return split ? kTapesKept * tape_of_step() + record_size() : tape_of_step(); }
  bool hard() const { return hard_contacts(constraints); }
  int states() const { return tree.nq + tree.nv + tree.na; }
  int controls() const { return tree.nu + (applied_forces ? tree.nv : 0); }
};

struct SystemOptions;

// A model's step, and its signature. Throws an Error for what the dynamics do not simulate.
// (make_stepper.cpp)
Stepper make_stepper(const Model& model, const SystemOptions& options, Signature& signature);

// Scratch of a step. All arrays of one pack of worlds.
template <class S>
struct StepWork {
  explicit StepWork(const Stepper& stepper)
      : p(stepper.tree.p.prepared_size),
        p_bar(p.size()),
        x(stepper.states()),
        y(x.size()),
        u(stepper.controls()),
        u_bar(u.size()),
        x_bar(x.size()),
        y_bar(x.size()),
        tape(stepper.tape_size()),
        d(stepper.tree),
        c(stepper.constraints),
        hard(stepper.tree, stepper.constraints),
        stage(4 * x.size()),
        rates(4 * static_cast<std::size_t>(stepper.tree.nv)),
        act_dots(4 * static_cast<std::size_t>(stepper.tree.na)),
        mean_v(stepper.tree.nv),
        mean_a(mean_v.size()),
        mean_act(stepper.tree.na),
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
        moved_q_bar(stepper.tree.nq) {}

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

// The same with rk4 in two: the evaluation where the step begins, for which its length need not be known, and
// the others.
template <class S>
void first_stage(const Stepper& stepper, StepWork<S>& w);
template <class S>
void other_stages(const Stepper& stepper, StepWork<S>& w);

// Right after a step of rk4: its estimated error relative to Stepper::rtol and atol (part_errors.h).
template <class S>
S step_error(const Stepper& stepper, StepWork<S>& w);

// Right after `step`: the state after the part s of it.
template <class S>
void state_within(const Stepper& stepper, StepWork<S>& w, const S& s, S* out);

// d<x_bar, x(s)>/ds at s = w.part. Reads w.tape.
template <class S>
S rate_within(const Stepper& stepper, StepWork<S>& w, const S* x_bar);

// w.x_bar from w.y_bar, the cotangent of the state after w.part of the step; adds to w.u_bar and, where
// wanted, w.p_bar. Reads w.tape.
template <class S>
void step_vjp(const Stepper& stepper, StepWork<S>& w, const Wanted& wanted);

}  // namespace costate::rigid
