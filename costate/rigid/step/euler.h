// Semi-implicit Euler [1, "integrators"]: one evaluation, and the new velocity moves the position. h is the
// length of the step.
//
//   (M + h B) a = tau + J' f,   v+ = v + h a,   act+ = next(act, act'),   q+ = q (+) h v+     B: damping
//
// Hard contact (hard_contact.h) adds to a, and to the velocity that moves the position.
//
// Dense output, the state after the part s of the step, 0 <= s <= 1: positions lie on the straight line the
// step takes,
//
//   v(s) = v + s h a,   q(s) = q (+) s h v+
//
// Transpose, reach = s h:  v+_bar = (integrate_position_vjp of q_bar),  a_bar = s h v_bar + h v+_bar,  then
// acceleration.h.
// [1] MuJoCo documentation, Computation.
// Tests: tests/rigid/rigid_system_test.cpp, parity_test.cpp; the dense output:
// tests/rigid/contact/split_test.cpp.
#pragma once

#include "costate/rigid/step/activations.h"
#include "costate/rigid/step/evaluation.h"

namespace costate::rigid {

struct Euler {
  static constexpr int kEvaluations = 1;

  static void set_up(const Model& model, Stepper& stepper) {
    stepper.implicit = model.options.eulerdamp ? Implicit::damping : Implicit::none;
  }

  template <class S>
  static void step(const Stepper& stepper, StepWork<S>& w, bool with_tape) {
    const Tree& t = stepper.tree;
    const S* p = w.p.data();
    const StateIn<S> in = state_in(stepper, w.x.data(), w.u.data());
    evaluate(stepper, p, in, with_tape ? w.tape.data() : nullptr, w);
    if (stepper.hard())
      hard_contact(t, stepper.constraints, p, in.q, in.v, w.d, w.c, w.hard,
                   with_tape ? w.tape.data() + stepper.tape_per_evaluation() : nullptr);
    S *q = w.y.data(), *v = q + t.nq, *act = v + t.nv;
    const S h = p[t.p.dt];
    for (int i = 0; i < t.nv; ++i) v[i] = in.v[i] + h * w.d.qacc[i];
    next_activations(t, p, h, in.act, static_cast<const S*>(w.d.act_dot.data()), act);
    integrate_position(t, in.q, stepper.hard() ? static_cast<const S*>(w.hard.moved.data()) : v, h, q);
  }

  // The transpose of the end of the part s = w.part of a step, q(s) = q (+) s h v+, v(s) = v + s h a, v+ = v
  // + h a: adds to w.q_bar and w.v_bar, sets w.d.lambda, the cotangent of a. Returns that of h.
  template <class S>
  static S end_vjp(const Stepper& stepper, StepWork<S>& w) {
    const Tree& t = stepper.tree;
    const StateIn<S> in = state_in(stepper, w.x.data(), w.u.data());
    const S *q_next_bar = w.y_bar.data(), *v_next_bar = q_next_bar + t.nq;
    const S h = w.p[t.p.dt];
    const S reach = w.part * h;
    S *v_next = w.mean_v.data(), *v_next_from_q = w.mean_v_bar.data();
    for (int i = 0; i < t.nv; ++i) v_next[i] = in.v[i] + h * w.d.qacc[i];
    std::fill(w.mean_v_bar.begin(), w.mean_v_bar.end(), S(0));
    S reach_bar = integrate_position_vjp(t, in.q, v_next, reach, q_next_bar, w.q_bar.data(), v_next_from_q);
    S h_bar(0);
    for (int i = 0; i < t.nv; ++i) {
      reach_bar += w.d.qacc[i] * v_next_bar[i];
      h_bar += w.d.qacc[i] * v_next_from_q[i];
      w.d.lambda[i] = reach * v_next_bar[i] + h * v_next_from_q[i];
      w.v_bar[i] += v_next_from_q[i];
    }
    return h_bar + w.part * reach_bar;
  }

  // The same for a whole step whose contacts are hard: impulses change v+, and what moves the position
  // (hard_contact.h).
  template <class S>
  static S hard_end_vjp(const Stepper& stepper, const Wanted& wanted, StepWork<S>& w) {
    const Tree& t = stepper.tree;
    const S* p = w.p.data();
    const StateIn<S> in = state_in(stepper, w.x.data(), w.u.data());
    const S *q_next_bar = w.y_bar.data(), *v_next_bar = q_next_bar + t.nq;
    const S h = p[t.p.dt];
    recall_hard_contact(t, stepper.constraints, p, in.q, in.v,
                        static_cast<const S*>(w.tape.data() + stepper.tape_per_evaluation()), w.d, w.c,
                        w.hard);
    std::fill(w.hard.moved_bar.begin(), w.hard.moved_bar.end(), S(0));
    S h_bar = integrate_position_vjp(t, in.q, w.hard.moved.data(), h, q_next_bar, w.q_bar.data(),
                                     w.hard.moved_bar.data());
    S* V = w.mean_v_bar.data();
    for (int i = 0; i < t.nv; ++i) V[i] = v_next_bar[i] + w.hard.moved_bar[i];
    std::copy(V, V + t.nv, w.v_bar.begin());
    return h_bar + hard_impulses_vjp(t, stepper.constraints, p, static_cast<const S*>(V), wanted,
                                     w.v_bar.data(), w.p_bar.data(), w.d, w.c, w.hard);
  }

  template <class S>
  static void step_vjp(const Stepper& stepper, StepWork<S>& w, const Wanted& wanted) {
    const Tree& t = stepper.tree;
    const S* p = w.p.data();
    const StateIn<S> in = state_in(stepper, w.x.data(), w.u.data());
    const S *v_next_bar = w.y_bar.data() + t.nq, *act_next_bar = v_next_bar + t.nv;
    recall(stepper, w.tape.data(), w);
    std::fill(w.q_bar.begin(), w.q_bar.end(), S(0));
    std::copy(v_next_bar, v_next_bar + t.nv, w.v_bar.begin());
    std::fill(w.act_bar.begin(), w.act_bar.end(), S(0));
    std::fill(w.act_dot_bar.begin(), w.act_dot_bar.end(), S(0));

    S h_bar = stepper.hard() ? hard_end_vjp(stepper, wanted, w) : end_vjp(stepper, w);
    if (t.na > 0) {
      activation_rates(t, p, in.act, in.u, w.d.act_dot.data());
      h_bar += w.part * next_activations_vjp(t, p, w.part * p[t.p.dt], in.act,
                                             static_cast<const S*>(w.d.act_dot.data()), act_next_bar, wanted,
                                             w.act_bar.data(), w.act_dot_bar.data(), w.p_bar.data());
    }
    if (wanted(t.p.dt)) w.p_bar[t.p.dt] += h_bar;
    evaluate_vjp<S>(stepper, in, w.tape.data(), wanted, w.q_bar.data(), w.v_bar.data(), w.act_bar.data(), w);
    if (stepper.hard())
      hard_points_vjp<S>(
          t, stepper.constraints, stepper.implicit, p, in, wanted,
          {w.q_bar.data(), w.v_bar.data(), w.act_bar.data(), w.u_bar.data(), nullptr, w.p_bar.data()}, w.d,
          w.c, w.hard);
    store_state_cotangent(stepper, w);
  }

  // Right after a step: its dense output.
  template <class S>
  static void within(const Stepper& stepper, StepWork<S>& w, const S& s, S* out) {
    const Tree& t = stepper.tree;
    const S *x = w.x.data(), *y = w.y.data();
    const S reach = s * w.p[t.p.dt];
    integrate_position(t, x, y + t.nq, reach, out);
    for (int i = t.nq; i < t.nq + t.nv; ++i) out[i] = x[i] + s * (y[i] - x[i]);
    next_activations<S>(t, w.p.data(), reach, x + t.nq + t.nv, w.d.act_dot.data(), out + t.nq + t.nv);
  }

  template <class S>
  static S rate_within(const Stepper& stepper, StepWork<S>& w, const S* x_bar) {
    const Tree& t = stepper.tree;
    const S *x = w.x.data(), *a = w.tape.data(), *v_bar = x_bar + t.nq;
    const S h = w.p[t.p.dt], reach = w.part * h;
    for (int i = 0; i < t.nv; ++i) w.mean_v[i] = x[t.nq + i] + h * a[i];
    S reach_bar = integrate_position_vjp(t, x, static_cast<const S*>(w.mean_v.data()), reach, x_bar,
                                         w.q_bar.data(), w.mean_v_bar.data());
    for (int i = 0; i < t.nv; ++i) reach_bar += a[i] * v_bar[i];
    if (t.na > 0) {
      const S* act = x + t.nq + t.nv;
      activation_rates<S>(t, w.p.data(), act, w.u.data(), w.d.act_dot.data());
      reach_bar += next_activations_vjp<S>(t, w.p.data(), reach, act, w.d.act_dot.data(), v_bar + t.nv, {},
                                           w.act_bar.data(), w.act_dot_bar.data(), w.p_bar.data());
    }
    return h * reach_bar;
  }
};

}  // namespace costate::rigid
