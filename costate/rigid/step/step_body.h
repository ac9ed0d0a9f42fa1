// Bodies of step.h, compiled once for each scalar in step_*.cpp.
#pragma once

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
  solve_acceleration(stepper.tree, stepper.constraints, stepper.implicit, p, in, d, w.c);
  if (tape && stepper.constraints.rows > 0)
    std::copy(w.c.a.begin(), w.c.a.end(), tape + stepper.tape_of_constrained());
}

// --- activations ------------------------------------------------------------------------------------------------------

template <class S>
void next_activations(const Tree& tree, const S* p, const S& h, const S* act, const S* act_dot, S* out) {
  for (const TreeActuator& actuator : tree.actuators) {
    const int a = actuator.activation;
    if (a >= 0) out[a] = next_activation(actuator, p, h, act[a], act_dot[a]);
  }
}
// Returns h_bar.
template <class S>
S next_activations_vjp(const Tree& tree, const S* p, const S& h, const S* act, const S* act_dot,
                       const S* out_bar, const Wanted& wanted, S* act_bar, S* act_dot_bar, S* p_bar) {
  S h_bar(0);
  for (const TreeActuator& actuator : tree.actuators) {
    const int a = actuator.activation;
    if (a < 0) continue;
    h_bar += next_activation_vjp(actuator, p, h, act[a], act_dot[a], out_bar[a], wanted, act_bar[a],
                                 act_dot_bar[a], p_bar);
  }
  return h_bar;
}
// act' is cheap: computed again.
template <class S>
void activation_rates(const Tree& t, const S* p, const S* act, const S* u, S* act_dot) {
  for (std::size_t i = 0; t.na > 0 && i < t.actuators.size(); ++i) {
    const TreeActuator& actuator = t.actuators[i];
    if (actuator.activation >= 0) act_dot[actuator.activation] = activation_rate(actuator, int(i), p, act, u);
  }
}

// --- one evaluation ---------------------------------------------------------------------------------------------------

template <class S>
void euler_step(const Stepper& stepper, StepWork<S>& w, bool with_tape) {
  const Tree& t = stepper.tree;
  const S* p = w.p.data();
  const StateIn<S> in = state_in(stepper, w.x.data(), w.u.data());
  evaluate(stepper, p, in, with_tape ? w.tape.data() : nullptr, w);
  if (stepper.hard())
    hard_contact(t, stepper.constraints, p, in.q, in.v, w.d, w.c, w.hard,
                 with_tape ? w.tape.data() + stepper.tape_per_evaluation() : nullptr);
  S *q = w.y.data(), *v = q + t.nq, *act = v + t.nv;
  const S h = p[t.p.dt];
  for (int i = 0; i < t.nv; ++i) v[i] = in.v[i] + h * w.d.qacc[static_cast<std::size_t>(i)];
  next_activations(t, p, h, in.act, static_cast<const S*>(w.d.act_dot.data()), act);
  integrate_position(t, in.q, stepper.hard() ? static_cast<const S*>(w.hard.moved.data()) : v, h, q);
}

template <class S>
void euler_step_vjp(const Stepper& stepper, StepWork<S>& w, const Wanted& wanted) {
  const Tree& t = stepper.tree;
  const S* p = w.p.data();
  const StateIn<S> in = state_in(stepper, w.x.data(), w.u.data());
  const S *q_next_bar = w.y_bar.data(), *v_next_bar = q_next_bar + t.nq, *act_next_bar = v_next_bar + t.nv;
  recall(stepper, w.tape.data(), w);
  const S h = p[t.p.dt];

  std::fill(w.q_bar.begin(), w.q_bar.end(), S(0));
  std::copy(v_next_bar, v_next_bar + t.nv, w.v_bar.begin());
  std::fill(w.act_bar.begin(), w.act_bar.end(), S(0));
  std::fill(w.act_dot_bar.begin(), w.act_dot_bar.end(), S(0));

  S h_bar;
  if (stepper.hard()) {
    recall_hard_contact(t, stepper.constraints, p, in.q, in.v,
                        static_cast<const S*>(w.tape.data() + stepper.tape_per_evaluation()), w.d, w.c,
                        w.hard);
    std::fill(w.hard.moved_bar.begin(), w.hard.moved_bar.end(), S(0));
    h_bar = integrate_position_vjp(t, in.q, w.hard.moved.data(), h, q_next_bar, w.q_bar.data(),
                                   w.hard.moved_bar.data());
    S* V = w.mean_v_bar.data();
    for (int i = 0; i < t.nv; ++i) V[i] = v_next_bar[i] + w.hard.moved_bar[static_cast<std::size_t>(i)];
    std::copy(V, V + t.nv, w.v_bar.begin());
    h_bar += hard_impulses_vjp(t, stepper.constraints, p, static_cast<const S*>(V), wanted, w.v_bar.data(),
                               w.p_bar.data(), w.d, w.c, w.hard);
  } else {
    // q(s) = q (+) s h v+, v(s) = v + s h a, v+ = v + h a
    const S reach = w.part * h;
    S *v_next = w.mean_v.data(), *v_next_from_q = w.mean_v_bar.data();
    for (int i = 0; i < t.nv; ++i) v_next[i] = in.v[i] + h * w.d.qacc[static_cast<std::size_t>(i)];
    std::fill(w.mean_v_bar.begin(), w.mean_v_bar.end(), S(0));
    S reach_bar = integrate_position_vjp(t, in.q, v_next, reach, q_next_bar, w.q_bar.data(), v_next_from_q);
    h_bar = S(0);
    for (int i = 0; i < t.nv; ++i) {
      const auto at = static_cast<std::size_t>(i);
      reach_bar += w.d.qacc[at] * v_next_bar[i];
      h_bar += w.d.qacc[at] * v_next_from_q[i];
      w.d.lambda[at] = reach * v_next_bar[i] + h * v_next_from_q[i];
      w.v_bar[at] += v_next_from_q[i];
    }
    h_bar += w.part * reach_bar;
  }
  if (t.na > 0) {
    activation_rates(t, p, in.act, in.u, w.d.act_dot.data());
    h_bar += w.part * next_activations_vjp(t, p, w.part * h, in.act,
                                           static_cast<const S*>(w.d.act_dot.data()), act_next_bar, wanted,
                                           w.act_bar.data(), w.act_dot_bar.data(), w.p_bar.data());
  }
  if (wanted(t.p.dt)) w.p_bar[static_cast<std::size_t>(t.p.dt)] += h_bar;
  acceleration_vjp<S>(t, stepper.constraints, stepper.implicit, p, in,
                      w.tape.data() + stepper.tape_of_poses(), w.act_dot_bar.data(), wanted,
                      {w.q_bar.data(), w.v_bar.data(), w.act_bar.data(), w.u_bar.data(),
                       stepper.applied_forces ? w.u_bar.data() + t.nu : nullptr, w.p_bar.data()},
                      w.d, w.c);
  if (stepper.hard())
    hard_points_vjp<S>(
        t, stepper.constraints, stepper.implicit, p, in, wanted,
        {w.q_bar.data(), w.v_bar.data(), w.act_bar.data(), w.u_bar.data(), nullptr, w.p_bar.data()}, w.d, w.c,
        w.hard);
  S* x_bar = w.x_bar.data();
  ambient_cotangent(t, in.q, w.q_bar.data(), x_bar);
  std::copy(w.v_bar.begin(), w.v_bar.end(), x_bar + t.nq);
  std::copy(w.act_bar.begin(), w.act_bar.end(), x_bar + t.nq + t.nv);
}

template <class S>
void euler_within(const Stepper& stepper, StepWork<S>& w, const S& s, S* out) {
  const Tree& t = stepper.tree;
  const S *x = w.x.data(), *y = w.y.data();
  const S reach = s * w.p[static_cast<std::size_t>(t.p.dt)];
  integrate_position(t, x, y + t.nq, reach, out);
  for (int i = t.nq; i < t.nq + t.nv; ++i) out[i] = x[i] + s * (y[i] - x[i]);
  next_activations<S>(t, w.p.data(), reach, x + t.nq + t.nv, w.d.act_dot.data(), out + t.nq + t.nv);
}

template <class S>
S euler_rate_within(const Stepper& stepper, StepWork<S>& w, const S* x_bar) {
  const Tree& t = stepper.tree;
  const S *x = w.x.data(), *a = w.tape.data(), *v_bar = x_bar + t.nq;
  const S h = w.p[static_cast<std::size_t>(t.p.dt)], reach = w.part * h;
  for (int i = 0; i < t.nv; ++i) w.mean_v[static_cast<std::size_t>(i)] = x[t.nq + i] + h * a[i];
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

// --- four evaluations -------------------------------------------------------------------------------------------------

inline constexpr double kRk4Node[4] = {0, 0.5, 0.5, 1}, kRk4Weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};

// c_i(s) of the dense output and dc_i/ds.
template <class S>
struct Rk4Weights {
  S c[4], slope[4];
  explicit Rk4Weights(const S& s) {
    using T = value_t<S>;
    const S square = s * s, third(T(1.0 / 3)), half(T(0.5)), sixth(T(1.0 / 6));
    const S within[4] = {S(1) - s + sixth * s * square, s - S(2) * third * square,
                         third * square * (S(2) - s), sixth * s * square};
    for (int i = 0; i < 4; ++i) c[i] = select(s == S(1), S(T(kRk4Weight[i])), within[i]);
    slope[0] = half * square - S(1);
    slope[1] = S(1) - S(4) * third * s;
    slope[2] = S(4) * third * s - square;
    slope[3] = half * square;
  }
};

// The rate at which the rotation vector phi of a stage moves, q = q0 (+) phi: J^-1(phi) w for rotations, v for the rest.
template <class S>
void lie_rates(const Tree& t, const S& h, const S* rate_before, const S* v, S* rate) {
  std::copy(v, v + t.nv, rate);
  if (!rate_before) return;
  for (const TreeJoint& joint : t.joints) {
    if (joint.type != JointType::free && joint.type != JointType::ball) continue;
    const int dof = joint.type == JointType::free ? joint.dof + 3 : joint.dof;
    const Vec3<S> r = log_jacobian(h * vec3_at(rate_before + dof), vec3_at(v + dof));
    for (int k = 0; k < 3; ++k) rate[dof + k] = r[k];
  }
}
// Adds to the cotangents of v and of the rates before; returns h_bar.
template <class S>
S lie_rates_vjp(const Tree& t, const S& h, const S* rate_before, const S* v, const S* rate_bar,
                S* rate_before_bar, S* v_bar) {
  S h_bar(0);
  int next = 0;
  const auto copy_until = [&](int end) {
    for (; next < end; ++next) v_bar[next] += rate_bar[next];
  };
  for (const TreeJoint& joint : t.joints) {
    if (!rate_before || (joint.type != JointType::free && joint.type != JointType::ball)) continue;
    const int dof = joint.type == JointType::free ? joint.dof + 3 : joint.dof;
    copy_until(dof);
    next = dof + 3;
    Vec3<S> phi_bar, w_bar;
    const Vec3<S> before = vec3_at(rate_before + dof);
    log_jacobian_vjp(h * before, vec3_at(v + dof), vec3_at(rate_bar + dof), phi_bar, w_bar);
    add_to(v_bar + dof, w_bar);
    add_to(rate_before_bar + dof, h * phi_bar);
    h_bar += dot(before, phi_bar);
  }
  copy_until(t.nv);
  return h_bar;
}

// The rates of stage s: of positions (lie_rates), velocities and activations.
template <class S>
struct StageRates {
  const S *position, *velocity, *activation;
};
template <class S>
StageRates<S> rates_of(const Stepper& stepper, const StepWork<S>& w, int s) {
  const Tree& t = stepper.tree;
  return {w.rates.data() + s * t.nv, w.tape.data() + s * stepper.tape_per_evaluation(),
          w.act_dots.data() + s * t.na};
}

// The state of stage s, and the rate of its positions, from the rates of the stage before.
template <class S>
void rk4_stage(const Stepper& stepper, StepWork<S>& w, int s) {
  const Tree& t = stepper.tree;
  const S* x = w.x.data();
  S *out = w.stage.data() + s * stepper.states(), *rate = w.rates.data() + s * t.nv;
  if (s == 0) {
    std::copy(x, x + stepper.states(), out);
    lie_rates<S>(t, S(0), nullptr, out + t.nq, rate);
    return;
  }
  const StageRates<S> before = rates_of(stepper, w, s - 1);
  const S h = value_t<S>(kRk4Node[s]) * w.p[static_cast<std::size_t>(t.p.dt)];
  integrate_position(t, x, before.position, h, out);
  for (int i = 0; i < t.nv; ++i) out[t.nq + i] = x[t.nq + i] + h * before.velocity[i];
  for (int i = 0; i < t.na; ++i) out[t.nq + t.nv + i] = x[t.nq + t.nv + i] + h * before.activation[i];
  lie_rates(t, h, before.position, out + t.nq, rate);
}

// Weighted means of the stages' rates.
template <class S>
void rk4_means(const Stepper& stepper, const Rk4Weights<S>& weights, StepWork<S>& w) {
  const Tree& t = stepper.tree;
  std::fill(w.mean_v.begin(), w.mean_v.end(), S(0));
  std::fill(w.mean_a.begin(), w.mean_a.end(), S(0));
  std::fill(w.mean_act.begin(), w.mean_act.end(), S(0));
  for (int s = 0; s < 4; ++s) {
    const S weight = weights.c[s];
    const StageRates<S> rates = rates_of(stepper, w, s);
    for (int i = 0; i < t.nv; ++i) {
      w.mean_v[static_cast<std::size_t>(i)] += weight * rates.position[i];
      w.mean_a[static_cast<std::size_t>(i)] += weight * rates.velocity[i];
    }
    for (int i = 0; i < t.na; ++i) w.mean_act[static_cast<std::size_t>(i)] += weight * rates.activation[i];
  }
}

template <class S>
void rk4_within(const Stepper& stepper, StepWork<S>& w, const S& s, S* out) {
  const Tree& t = stepper.tree;
  rk4_means(stepper, Rk4Weights<S>(s), w);
  const S reach = s * w.p[static_cast<std::size_t>(t.p.dt)];
  integrate_position<S>(t, w.x.data(), w.mean_v.data(), reach, out);
  for (int i = 0; i < t.nv; ++i)
    out[t.nq + i] = w.x[static_cast<std::size_t>(t.nq + i)] + reach * w.mean_a[static_cast<std::size_t>(i)];
  next_activations<S>(t, w.p.data(), reach, w.x.data() + t.nq + t.nv, w.mean_act.data(), out + t.nq + t.nv);
}

template <class S>
void rk4_step(const Stepper& stepper, StepWork<S>& w) {
  const Tree& t = stepper.tree;
  const S* p = w.p.data();
  for (int s = 0; s < 4; ++s) {
    rk4_stage(stepper, w, s);
    evaluate(stepper, p, state_in(stepper, w.stage.data() + s * stepper.states(), w.u.data()),
             w.tape.data() + s * stepper.tape_per_evaluation(), w);
    std::copy(w.d.act_dot.begin(), w.d.act_dot.end(), w.act_dots.data() + s * t.na);
  }
  rk4_within(stepper, w, S(1), w.y.data());
}

// The stages again, from the tape.
template <class S>
void recall_stages(const Stepper& stepper, StepWork<S>& w) {
  const Tree& t = stepper.tree;
  for (int s = 0; s < 4; ++s) {
    rk4_stage(stepper, w, s);
    activation_rates<S>(t, w.p.data(), w.stage.data() + s * stepper.states() + t.nq + t.nv, w.u.data(),
                        w.act_dots.data() + s * t.na);
  }
}

// The end of the part w.part of a step, given the stages: fills the cotangents of the state and of the means. Returns that of the length of the part.
template <class S>
S rk4_end_vjp(const Stepper& stepper, const Rk4Weights<S>& weights, const S* y_bar, const Wanted& wanted,
              StepWork<S>& w) {
  const Tree& t = stepper.tree;
  const S *q_next_bar = y_bar, *v_next_bar = q_next_bar + t.nq, *act_next_bar = v_next_bar + t.nv;
  const S reach = w.part * w.p[static_cast<std::size_t>(t.p.dt)];
  rk4_means(stepper, weights, w);
  std::fill(w.q_bar.begin(), w.q_bar.end(), S(0));
  std::copy(v_next_bar, v_next_bar + t.nv, w.v_bar.begin());
  std::fill(w.act_bar.begin(), w.act_bar.end(), S(0));
  std::fill(w.mean_v_bar.begin(), w.mean_v_bar.end(), S(0));
  std::fill(w.mean_act_bar.begin(), w.mean_act_bar.end(), S(0));
  S reach_bar = integrate_position_vjp(t, w.x.data(), w.mean_v.data(), reach, q_next_bar, w.q_bar.data(),
                                       w.mean_v_bar.data());
  for (int i = 0; i < t.nv; ++i) reach_bar += w.mean_a[static_cast<std::size_t>(i)] * v_next_bar[i];
  return reach_bar + next_activations_vjp<S>(t, w.p.data(), reach, w.x.data() + t.nq + t.nv,
                                             w.mean_act.data(), act_next_bar, wanted, w.act_bar.data(),
                                             w.mean_act_bar.data(), w.p_bar.data());
}

template <class S>
S rk4_rate_within(const Stepper& stepper, StepWork<S>& w, const S* x_bar) {
  const Tree& t = stepper.tree;
  const Rk4Weights<S> weights(w.part);
  recall_stages(stepper, w);
  const S h = w.p[static_cast<std::size_t>(t.p.dt)], reach = w.part * h;
  S rate = h * rk4_end_vjp(stepper, weights, x_bar, {}, w);
  for (int s = 0; s < 4; ++s) {
    const StageRates<S> rates = rates_of(stepper, w, s);
    S sum(0);
    for (int i = 0; i < t.nv; ++i)
      sum += w.mean_v_bar[static_cast<std::size_t>(i)] * rates.position[i] +
             reach * x_bar[t.nq + i] * rates.velocity[i];
    for (int i = 0; i < t.na; ++i) sum += w.mean_act_bar[static_cast<std::size_t>(i)] * rates.activation[i];
    rate += weights.slope[s] * sum;
  }
  return rate;
}

template <class S>
void rk4_step_vjp(const Stepper& stepper, StepWork<S>& w, const Wanted& wanted) {
  const Tree& t = stepper.tree;
  const S* p = w.p.data();
  const S h = p[t.p.dt], reach = w.part * h;
  const S* v_next_bar = w.y_bar.data() + t.nq;
  const Rk4Weights<S> weights(w.part);
  recall_stages(stepper, w);
  S h_bar = w.part * rk4_end_vjp(stepper, weights, static_cast<const S*>(w.y_bar.data()), wanted, w);

  // From the last stage to the first. from_*: what the stage after hands to this one's rates.
  std::fill(w.from_v.begin(), w.from_v.end(), S(0));
  std::fill(w.from_a.begin(), w.from_a.end(), S(0));
  std::fill(w.from_act.begin(), w.from_act.end(), S(0));
  for (int s = 3; s >= 0; --s) {
    const S* stage = w.stage.data() + s * stepper.states();
    const S weight = weights.c[s], node = S(value_t<S>(kRk4Node[s])), hs = node * h;
    const StageRates<S> before = s > 0 ? rates_of(stepper, w, s - 1) : StageRates<S>{};
    S* tape = w.tape.data() + s * stepper.tape_per_evaluation();
    recall(stepper, tape, w);
    for (int i = 0; i < t.nv; ++i) {
      const auto at = static_cast<std::size_t>(i);
      w.rate_bar[at] = weight * w.mean_v_bar[at] + w.from_v[at];
      w.d.lambda[at] = weight * reach * v_next_bar[i] + w.from_a[at];
      w.stage_q_bar[at] = w.stage_v_bar[at] = w.from_v[at] = S(0);
    }
    for (int i = 0; i < t.na; ++i) {
      const auto at = static_cast<std::size_t>(i);
      w.stage_act_bar[at] = S(0);
      w.act_dot_bar[at] = weight * w.mean_act_bar[at] + w.from_act[at];
    }
    S hs_bar = lie_rates_vjp(t, hs, before.position, stage + t.nq, w.rate_bar.data(), w.from_v.data(),
                             w.stage_v_bar.data());
    acceleration_vjp<S>(t, stepper.constraints, stepper.implicit, p, state_in(stepper, stage, w.u.data()),
                        tape + stepper.tape_of_poses(), w.act_dot_bar.data(), wanted,
                        {w.stage_q_bar.data(), w.stage_v_bar.data(), w.stage_act_bar.data(), w.u_bar.data(),
                         stepper.applied_forces ? w.u_bar.data() + t.nu : nullptr, w.p_bar.data()},
                        w.d, w.c);
    if (s == 0) {
      for (int i = 0; i < t.nv; ++i)
        w.q_bar[static_cast<std::size_t>(i)] += w.stage_q_bar[static_cast<std::size_t>(i)];
    } else {
      ambient_cotangent(t, stage, w.stage_q_bar.data(), w.moved_q_bar.data());
      hs_bar += integrate_position_vjp(t, w.x.data(), before.position, hs, w.moved_q_bar.data(),
                                       w.q_bar.data(), w.from_v.data());
      for (int i = 0; i < t.nv; ++i) {
        const auto at = static_cast<std::size_t>(i);
        w.from_a[at] = hs * w.stage_v_bar[at];
        hs_bar += before.velocity[i] * w.stage_v_bar[at];
      }
      for (int i = 0; i < t.na; ++i) {
        const auto at = static_cast<std::size_t>(i);
        w.from_act[at] = hs * w.stage_act_bar[at];
        hs_bar += before.activation[i] * w.stage_act_bar[at];
      }
      h_bar += node * hs_bar;
    }
    for (int i = 0; i < t.nv; ++i)
      w.v_bar[static_cast<std::size_t>(i)] += w.stage_v_bar[static_cast<std::size_t>(i)];
    for (int i = 0; i < t.na; ++i)
      w.act_bar[static_cast<std::size_t>(i)] += w.stage_act_bar[static_cast<std::size_t>(i)];
  }
  if (wanted(t.p.dt)) w.p_bar[static_cast<std::size_t>(t.p.dt)] += h_bar;
  S* x_bar = w.x_bar.data();
  ambient_cotangent(t, w.x.data(), w.q_bar.data(), x_bar);
  std::copy(w.v_bar.begin(), w.v_bar.end(), x_bar + t.nq);
  std::copy(w.act_bar.begin(), w.act_bar.end(), x_bar + t.nq + t.nv);
}

template <class S>
void step(const Stepper& stepper, StepWork<S>& w, bool with_tape) {
  if (stepper.integrator == Integrator::rk4)
    rk4_step(stepper, w);
  else
    euler_step(stepper, w, with_tape);
  leave_tape(w.d);
}

template <class S>
void state_within(const Stepper& stepper, StepWork<S>& w, const S& s, S* out) {
  if (stepper.integrator == Integrator::rk4)
    rk4_within(stepper, w, s, out);
  else
    euler_within(stepper, w, s, out);
}

template <class S>
S rate_within(const Stepper& stepper, StepWork<S>& w, const S* x_bar) {
  return stepper.integrator == Integrator::rk4 ? rk4_rate_within(stepper, w, x_bar)
                                               : euler_rate_within(stepper, w, x_bar);
}

template <class S>
void step_vjp(const Stepper& stepper, StepWork<S>& w, const Wanted& wanted) {
  if (stepper.integrator == Integrator::rk4)
    rk4_step_vjp(stepper, w, wanted);
  else
    euler_step_vjp(stepper, w, wanted);
  leave_tape(w.d);
}

}  // namespace costate::rigid
