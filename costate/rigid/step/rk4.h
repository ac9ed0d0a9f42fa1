// The classic Runge-Kutta method of fourth order: four evaluations, B = 0, rotations as rotation vectors
// (lie_rates.h).
//
//   k_1 = f(x),  k_2 = f(x (+) h/2 k_1),  k_3 = f(x (+) h/2 k_2),  k_4 = f(x (+) h k_3)
//   x+ = x (+) h/6 (k_1 + 2 k_2 + 2 k_3 + k_4)
//
// Dense output, the state after the part s of the step from the rates that the step has anyway:
//
//   x(s) = x (+) s h sum c_i(s) k_i,   c = (1 - s + s^3/6,  s - 2 s^2/3,  2 s^2/3 - s^3/3,  s^3/6)
//
// These c are the ones for which x(s) is the rk4 step of length s h wherever rates are linear, as in a stiff
// contact. With f(x) = L x and z = h L the stages are k_1 = L x, k_2 = L (1 + z/2) x, k_3 = L (1 + z/2 +
// z^2/4) x, k_4 = L (1 + z + z^2/2 + z^3/4) x, and x(s) must be (1 + s z + (s z)^2/2 + (s z)^3/6 + (s
// z)^4/24) x. Power by power:
//
//   z^4:  c_4/4 = s^3/24    z^3:  c_3/4 + c_4/2 = s^2/6    z^2:  (c_2 + c_3)/2 + c_4 = s/2    z:  sum c_i = 1
//
// Where rates are not linear the error is of third order. The dense output that is of fourth order there [1,
// II.6] is not for stiff rates, and the slope of its error over s / dt is what a gradient through an impact
// would see (split_step.h). The transpose is that of x(s), with respect to x, u, p, s and h: the stages in
// reverse.
//
// Error estimate, for integrator = adaptive (part_errors.h). The rates at the end, k_5 = f(x+), and k_4
// differ by O(h^3), so that weights (1/6, 1/3, 1/3, 1/15, 1/10) on k_1 to k_5 give a second solution, of
// third order:
//
//   e = h/10 (k_4 - k_5) = O(h^4)
//
// [1] Hairer, Norsett, Wanner: Solving ordinary differential equations I, 2nd ed., 1993.
// Tests: tests/rigid/rigid_system_test.cpp, parity_test.cpp; the dense output:
// tests/rigid/contact/split_test.cpp.
#pragma once

#include "costate/core/error.h"
#include "costate/core/runge_kutta.h"
#include "costate/rigid/step/activations.h"
#include "costate/rigid/step/evaluation.h"
#include "costate/rigid/step/lie_rates.h"

namespace costate::rigid {

// c_i(s) of the dense output and dc_i/ds; at s = 1 the classic weights, to the last bit.
template <class S>
struct Rk4Weights {
  S c[4], slope[4];
  explicit Rk4Weights(const S& s) {
    using T = value_t<S>;
    const S square = s * s, third(T(1.0 / 3)), half(T(0.5)), sixth(T(1.0 / 6));
    const S within[4] = {S(1) - s + sixth * s * square, s - S(2) * third * square,
                         third * square * (S(2) - s), sixth * s * square};
    for (int i = 0; i < 4; ++i) c[i] = select(s == S(1), S(T(runge_kutta::Rk4::b[i])), within[i]);
    slope[0] = half * square - S(1);
    slope[1] = S(1) - S(4) * third * s;
    slope[2] = S(4) * third * s - square;
    slope[3] = half * square;
  }
};

// The rates of stage s: of positions (lie_rates), velocities and activations.
template <class S>
struct StageRates {
  const S *position, *velocity, *activation;
};

struct Rk4 {
  static constexpr int kEvaluations = 4;

  static void set_up(const Model&, Stepper& stepper) {
    stepper.implicit = Implicit::none;
    if (stepper.hard())
      throw Error({"hard contact steps velocities once a step; RK4 takes four evaluations",
                   {},
                   "use Euler or implicitfast"});
  }

  template <class S>
  static StageRates<S> rates_of(const Stepper& stepper, const StepWork<S>& w, int s) {
    const Tree& t = stepper.tree;
    return {w.rates.data() + s * t.nv, w.tape.data() + s * stepper.tape_per_evaluation(),
            w.act_dots.data() + s * t.na};
  }

  // The state of stage s, and the rate of its positions, from the rates of the stage before.
  template <class S>
  static void stage(const Stepper& stepper, StepWork<S>& w, int s) {
    const Tree& t = stepper.tree;
    const S* x = w.x.data();
    S *out = w.stage.data() + s * stepper.states(), *rate = w.rates.data() + s * t.nv;
    if (s == 0) {
      std::copy(x, x + stepper.states(), out);
      lie_rates<S>(t, S(0), nullptr, out + t.nq, rate);
      return;
    }
    const StageRates<S> before = rates_of(stepper, w, s - 1);
    const S h = value_t<S>(runge_kutta::Rk4::c[s]) * w.p[t.p.dt];
    integrate_position(t, x, before.position, h, out);
    for (int i = 0; i < t.nv; ++i) out[t.nq + i] = x[t.nq + i] + h * before.velocity[i];
    for (int i = 0; i < t.na; ++i) out[t.nq + t.nv + i] = x[t.nq + t.nv + i] + h * before.activation[i];
    lie_rates(t, h, before.position, out + t.nq, rate);
  }

  // Weighted means of the stages' rates.
  template <class S>
  static void means(const Stepper& stepper, const Rk4Weights<S>& weights, StepWork<S>& w) {
    const Tree& t = stepper.tree;
    std::fill(w.mean_v.begin(), w.mean_v.end(), S(0));
    std::fill(w.mean_a.begin(), w.mean_a.end(), S(0));
    std::fill(w.mean_act.begin(), w.mean_act.end(), S(0));
    for (int s = 0; s < 4; ++s) {
      const S weight = weights.c[s];
      const StageRates<S> rates = rates_of(stepper, w, s);
      for (int i = 0; i < t.nv; ++i) {
        w.mean_v[i] += weight * rates.position[i];
        w.mean_a[i] += weight * rates.velocity[i];
      }
      for (int i = 0; i < t.na; ++i) w.mean_act[i] += weight * rates.activation[i];
    }
  }

  // Right after a step: its dense output.
  template <class S>
  static void within(const Stepper& stepper, StepWork<S>& w, const S& s, S* out) {
    const Tree& t = stepper.tree;
    means(stepper, Rk4Weights<S>(s), w);
    const S reach = s * w.p[t.p.dt];
    integrate_position<S>(t, w.x.data(), w.mean_v.data(), reach, out);
    for (int i = 0; i < t.nv; ++i) out[t.nq + i] = w.x[t.nq + i] + reach * w.mean_a[i];
    next_activations<S>(t, w.p.data(), reach, w.x.data() + t.nq + t.nv, w.mean_act.data(), out + t.nq + t.nv);
  }

  // The stages always leave a tape: the dense output reads their rates there.
  template <class S>
  static void take_stage(const Stepper& stepper, StepWork<S>& w, int s) {
    stage(stepper, w, s);
    evaluate<S>(stepper, w.p.data(), state_in<S>(stepper, w.stage.data() + s * stepper.states(), w.u.data()),
                w.tape.data() + s * stepper.tape_per_evaluation(), w);
    std::copy(w.d.act_dot.begin(), w.d.act_dot.end(), w.act_dots.data() + s * stepper.tree.na);
  }
  template <class S>
  static void other_stages(const Stepper& stepper, StepWork<S>& w) {
    for (int s = 1; s < 4; ++s) take_stage(stepper, w, s);
    within(stepper, w, S(1), w.y.data());
  }
  template <class S>
  static void step(const Stepper& stepper, StepWork<S>& w, bool) {
    take_stage(stepper, w, 0);
    other_stages(stepper, w);
  }

  // The error of a step that has just been taken, relative to what is allowed: the largest of
  //   |e| / (atol + rtol)            of positions, in m and rad
  //   |e| / (atol + rtol |v|)        of velocities, and of activations
  template <class S>
  static S error(const Stepper& stepper, StepWork<S>& w) {
    using T = value_t<S>;
    const Tree& t = stepper.tree;
    const S *v = w.y.data() + t.nq, *act = v + t.nv;
    const StageRates<S> last = rates_of(stepper, w, 3);
    const S h = w.p[t.p.dt];
    evaluate<S>(stepper, w.p.data(), state_in<S>(stepper, w.y.data(), w.u.data()), nullptr, w);
    lie_rates(t, h, static_cast<const S*>(w.mean_v.data()), v, w.from_v.data());
    S worst(0);
    const auto look = [&](const S& k4, const S& k5, const S& size) {
      const S allowed = S(T(stepper.atol)) + S(T(stepper.rtol)) * abs(size);
      worst = max(worst, abs(k4 - k5) / allowed);
    };
    for (int i = 0; i < t.nv; ++i) {
      look(last.position[i], w.from_v[i], S(1));
      look(last.velocity[i], w.d.qacc[i], v[i]);
    }
    for (int i = 0; i < t.na; ++i) look(last.activation[i], w.d.act_dot[i], act[i]);
    return S(T(0.1)) * h * worst;
  }

  // The stages again, from the tape.
  template <class S>
  static void recall_stages(const Stepper& stepper, StepWork<S>& w) {
    const Tree& t = stepper.tree;
    for (int s = 0; s < 4; ++s) {
      stage(stepper, w, s);
      activation_rates<S>(t, w.p.data(), w.stage.data() + s * stepper.states() + t.nq + t.nv, w.u.data(),
                          w.act_dots.data() + s * t.na);
    }
  }

  // The end of the part w.part of a step, given the stages: fills the cotangents of the state and of the
  // means. Returns the cotangent of the length of the part.
  template <class S>
  static S end_vjp(const Stepper& stepper, const Rk4Weights<S>& weights, const S* y_bar, const Wanted& wanted,
                   StepWork<S>& w) {
    const Tree& t = stepper.tree;
    const S *q_next_bar = y_bar, *v_next_bar = q_next_bar + t.nq, *act_next_bar = v_next_bar + t.nv;
    const S reach = w.part * w.p[t.p.dt];
    means(stepper, weights, w);
    std::fill(w.q_bar.begin(), w.q_bar.end(), S(0));
    std::copy(v_next_bar, v_next_bar + t.nv, w.v_bar.begin());
    std::fill(w.act_bar.begin(), w.act_bar.end(), S(0));
    std::fill(w.mean_v_bar.begin(), w.mean_v_bar.end(), S(0));
    std::fill(w.mean_act_bar.begin(), w.mean_act_bar.end(), S(0));
    S reach_bar = integrate_position_vjp(t, w.x.data(), w.mean_v.data(), reach, q_next_bar, w.q_bar.data(),
                                         w.mean_v_bar.data());
    for (int i = 0; i < t.nv; ++i) reach_bar += w.mean_a[i] * v_next_bar[i];
    return reach_bar + next_activations_vjp<S>(t, w.p.data(), reach, w.x.data() + t.nq + t.nv,
                                               w.mean_act.data(), act_next_bar, wanted, w.act_bar.data(),
                                               w.mean_act_bar.data(), w.p_bar.data());
  }

  template <class S>
  static S rate_within(const Stepper& stepper, StepWork<S>& w, const S* x_bar) {
    const Tree& t = stepper.tree;
    const Rk4Weights<S> weights(w.part);
    recall_stages(stepper, w);
    const S h = w.p[t.p.dt], reach = w.part * h;
    S rate = h * end_vjp(stepper, weights, x_bar, {}, w);
    for (int s = 0; s < 4; ++s) {
      const StageRates<S> rates = rates_of(stepper, w, s);
      S sum(0);
      for (int i = 0; i < t.nv; ++i)
        sum += w.mean_v_bar[i] * rates.position[i] + reach * x_bar[t.nq + i] * rates.velocity[i];
      for (int i = 0; i < t.na; ++i) sum += w.mean_act_bar[i] * rates.activation[i];
      rate += weights.slope[s] * sum;
    }
    return rate;
  }

  // Through stage s: from the cotangents of its rates, w.rate_bar of positions, w.d.lambda of velocities and
  // w.act_dot_bar, to those of the stage's state in w.stage_*_bar. Returns the cotangent of the stage's node
  // times h, as far as its rates depend on it.
  template <class S>
  static S stage_rates_vjp(const Stepper& stepper, int s, const S& hs, const Wanted& wanted, StepWork<S>& w) {
    const Tree& t = stepper.tree;
    const S* stage = w.stage.data() + s * stepper.states();
    S* tape = w.tape.data() + s * stepper.tape_per_evaluation();
    const S* rate_before = s > 0 ? rates_of(stepper, w, s - 1).position : nullptr;
    const S hs_bar = lie_rates_vjp<S>(t, hs, rate_before, stage + t.nq, w.rate_bar.data(), w.from_v.data(),
                                      w.stage_v_bar.data());
    evaluate_vjp<S>(stepper, state_in(stepper, stage, static_cast<const S*>(w.u.data())), tape, wanted,
                    w.stage_q_bar.data(), w.stage_v_bar.data(), w.stage_act_bar.data(), w);
    return hs_bar;
  }

  // The state of stage s > 0, x (+) hs times the rates of the stage before: adds to the cotangents of x and
  // sets those of these rates, w.from_*. Returns the cotangent of hs.
  template <class S>
  static S stage_state_vjp(const Stepper& stepper, int s, const S& hs, S hs_bar, StepWork<S>& w) {
    const Tree& t = stepper.tree;
    const StageRates<S> before = rates_of(stepper, w, s - 1);
    ambient_cotangent<S>(t, w.stage.data() + s * stepper.states(), w.stage_q_bar.data(),
                         w.moved_q_bar.data());
    hs_bar += integrate_position_vjp<S>(t, w.x.data(), before.position, hs, w.moved_q_bar.data(),
                                        w.q_bar.data(), w.from_v.data());
    for (int i = 0; i < t.nv; ++i) {
      w.from_a[i] = hs * w.stage_v_bar[i];
      hs_bar += before.velocity[i] * w.stage_v_bar[i];
    }
    for (int i = 0; i < t.na; ++i) {
      w.from_act[i] = hs * w.stage_act_bar[i];
      hs_bar += before.activation[i] * w.stage_act_bar[i];
    }
    return hs_bar;
  }

  template <class S>
  static void step_vjp(const Stepper& stepper, StepWork<S>& w, const Wanted& wanted) {
    const Tree& t = stepper.tree;
    const S h = w.p[t.p.dt], reach = w.part * h;
    const S* v_next_bar = w.y_bar.data() + t.nq;
    const Rk4Weights<S> weights(w.part);
    recall_stages(stepper, w);
    S h_bar = w.part * end_vjp(stepper, weights, static_cast<const S*>(w.y_bar.data()), wanted, w);

    // From the last stage to the first. from_*: what the stage after hands to this one's rates.
    for (auto* from : {&w.from_v, &w.from_a, &w.from_act}) std::fill(from->begin(), from->end(), S(0));
    for (int s = 3; s >= 0; --s) {
      const S weight = weights.c[s], node = S(value_t<S>(runge_kutta::Rk4::c[s])), hs = node * h;
      recall(stepper, w.tape.data() + s * stepper.tape_per_evaluation(), w);
      for (std::size_t i = 0; i < w.rate_bar.size(); ++i) {
        w.rate_bar[i] = weight * w.mean_v_bar[i] + w.from_v[i];
        w.d.lambda[i] = weight * reach * v_next_bar[i] + w.from_a[i];
        w.stage_q_bar[i] = w.stage_v_bar[i] = w.from_v[i] = S(0);
      }
      for (std::size_t i = 0; i < w.act_dot_bar.size(); ++i) {
        w.stage_act_bar[i] = S(0);
        w.act_dot_bar[i] = weight * w.mean_act_bar[i] + w.from_act[i];
      }
      const S rates_bar = stage_rates_vjp(stepper, s, hs, wanted, w);
      if (s == 0) {
        for (std::size_t i = 0; i < w.q_bar.size(); ++i) w.q_bar[i] += w.stage_q_bar[i];
      } else {
        h_bar += node * stage_state_vjp(stepper, s, hs, rates_bar, w);
      }
      for (std::size_t i = 0; i < w.v_bar.size(); ++i) w.v_bar[i] += w.stage_v_bar[i];
      for (std::size_t i = 0; i < w.act_bar.size(); ++i) w.act_bar[i] += w.stage_act_bar[i];
    }
    if (wanted(t.p.dt)) w.p_bar[t.p.dt] += h_bar;
    store_state_cotangent(stepper, w);
  }
};

}  // namespace costate::rigid
