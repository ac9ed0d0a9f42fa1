// The transpose of actuation.h.
//
// tau_bar is the cotangent of the dofs' forces. A site's wrench Phi f on its body has <lambda, tau> = f <w,
// Phi> with w the virtual velocity of the body (rnea_adjoint.h keeps -w, since it runs on the residual); it
// adds f Phi to the cotangent of w there, and since Phi is carried along by the body, nothing more is needed
// for the pose.
#pragma once

#include "costate/rigid/dynamics/actuation.h"

namespace costate::rigid {

template <class S>
struct ActuationBar {
  S *q, *v, *act, *u, *p;  // u, p may be null
};

// Cotangents of act and act_dot of the next activation; adds to p_bar. Returns dt_bar.
template <class S>
S next_activation_vjp(const TreeActuator& actuator, const S* p, const S& dt, const S& act, const S& act_dot,
                      S bar, const Wanted& wanted, S& act_bar, S& act_dot_bar, S* p_bar) {
  const bool exact = actuator.dynamics == DynType::filterexact;
  const S tau = exact ? p[actuator.p.time_constant] : S(1);
  const S decay = exact ? exp(-(dt / tau)) : S(0);
  const S weight = exact ? tau * (S(1) - decay) : dt;
  if (actuator.p.activation_range >= 0) {
    S* range_bar = wanted(actuator.p.activation_range) ? p_bar + actuator.p.activation_range : nullptr;
    bar = clamp_vjp(p + actuator.p.activation_range, act + weight * act_dot, bar, range_bar);
  }
  act_bar += bar;
  act_dot_bar += weight * bar;
  const S weight_bar = act_dot * bar;
  if (exact && wanted(actuator.p.time_constant)) {
    p_bar[actuator.p.time_constant] += (S(1) - decay - decay * dt / tau) * weight_bar;
  }
  return exact ? decay * weight_bar : weight_bar;
}

// Cotangents through a site's wrench, given those of the wrench times w and v: adds to gear and the site's
// frame.
template <class S>
void site_wrench_vjp(const Tree& tree, const TreeActuator& actuator, const S* p, const Motion<S>& wrench_bar,
                     const Force<S>& wrench, const Wanted& wanted, S* p_bar, const Data<S>& d) {
  const TreeSite& site = tree.sites[actuator.target];
  const std::size_t body = site.body;
  if (!wanted(actuator.p.gear) && !wanted(site.p.pos) && !wanted(site.p.quat)) return;
  // wrench = (x x f + n, f), f = R Q g, n = R Q t
  const Mat3<S>& R = d.R[body];
  const Quat<S> frame = quat_at(p + site.p.quat);
  const Vec3<S> x = d.x[body] + R * vec3_at(p + site.p.pos), f = wrench.f;
  const Vec3<S> f_bar = transpose_times(R, wrench_bar.v + cross(wrench_bar.w, x)),
                n_bar = transpose_times(R, wrench_bar.w);
  if (wanted(site.p.pos)) add_to(p_bar + site.p.pos, transpose_times(R, cross(f, wrench_bar.w)));
  const Vec3<S> g_bar = rotate_back(frame, f_bar), t_bar = rotate_back(frame, n_bar);
  if (wanted(actuator.p.gear)) {
    add_to(p_bar + actuator.p.gear, g_bar);
    add_to(p_bar + actuator.p.gear + 3, t_bar);
  }
  if (wanted(site.p.quat)) {
    const Vec3<S> theta_bar =
        cross(vec3_at(p + actuator.p.gear), g_bar) + cross(vec3_at(p + actuator.p.gear + 3), t_bar);
    add_to(p_bar + site.p.quat, quat_cotangent(frame, p[site.p.inverse_quat_norm], theta_bar));
  }
}

// One actuator on its way back: the state of its forward pass, and the cotangents between the stages.
template <class S>
struct ActuatorVjp {
  const Tree& tree;
  const TreeActuator& actuator;
  std::size_t index;
  const S *p, *q, *v, *act, *u;
  const Wanted& wanted;
  const ActuationBar<S>& bar;
  Data<S>& d;
  ActuatorState<S> s;
  S force_bar = S(0), input_bar = S(0), length_bar = S(0), velocity_bar = S(0);

  const S* gear() const { return p + actuator.p.gear; }
  std::size_t site_body() const { return tree.sites[actuator.target].body; }

  // tau = m f
  COSTATE_INLINE void dofs_vjp(const S* tau_bar) {
    switch (actuator.kind) {
      case TreeActuator::Kind::scalar_joint:
      case TreeActuator::Kind::ball:
      case TreeActuator::Kind::free:
        for (int k = 0; k < actuator.p.gear_size; ++k) {
          force_bar += gear()[k] * tau_bar[actuator.dof + k];
          if (wanted(actuator.p.gear)) bar.p[actuator.p.gear + k] += s.force * tau_bar[actuator.dof + k];
        }
        break;
      case TreeActuator::Kind::tendon: {
        const TreeTendon& tendon = tree.tendons[actuator.target];
        const S pull = tendon_velocity<S>(tendon, d, tau_bar);
        force_bar = gear()[0] * pull;
        if (wanted(actuator.p.gear)) bar.p[actuator.p.gear] += s.force * pull;
        break;
      }
      case TreeActuator::Kind::site:
        force_bar = -dot(d.w[site_body()], s.wrench);
        break;
    }
  }

  // f = clamp(gain s + bias), and its slope d f / d velocity = b2 + g2 s where the force is free
  COSTATE_INLINE void force_vjp(const S* slope_bar) {
    S raw_bar = force_bar;
    mask_t<S> free_force(true);
    if (actuator.p.force_range >= 0) {
      S* range_bar = wanted(actuator.p.force_range) ? bar.p + actuator.p.force_range : nullptr;
      raw_bar = clamp_vjp(p + actuator.p.force_range, s.raw, force_bar, range_bar);
      const S* range = p + actuator.p.force_range;
      free_force = (s.raw > range[0]) & (s.raw < range[1]);
    }
    const S gain_bar = s.input * raw_bar;
    input_bar = s.gain * raw_bar;
    if (actuator.affine_bias) {
      const S* b = p + actuator.p.bias;
      length_bar += b[1] * raw_bar;
      velocity_bar += b[2] * raw_bar;
      if (wanted(actuator.p.bias)) {
        bar.p[actuator.p.bias] += raw_bar;
        bar.p[actuator.p.bias + 1] += s.length * raw_bar;
        bar.p[actuator.p.bias + 2] += s.velocity * raw_bar;
      }
    }
    if (slope_bar) {
      const S slope = select(free_force, slope_bar[index], S(0));
      if (actuator.affine_bias && wanted(actuator.p.bias)) bar.p[actuator.p.bias + 2] += slope;
      if (actuator.affine_gain) {
        input_bar += p[actuator.p.gain + 2] * slope;
        if (wanted(actuator.p.gain)) bar.p[actuator.p.gain + 2] += s.input * slope;
      }
    }
    S* const length_range_bar = wanted(actuator.p.length_range) ? bar.p + actuator.p.length_range : nullptr;
    if (actuator.muscle_bias)
      muscle_bias_vjp(p + actuator.p.bias, p + actuator.p.length_range, s.length, raw_bar, length_bar,
                      wanted(actuator.p.bias) ? bar.p + actuator.p.bias : nullptr, length_range_bar);
    if (actuator.muscle_gain) {
      muscle_gain_vjp(p + actuator.p.gain, p + actuator.p.length_range, s.length, s.velocity, gain_bar,
                      length_bar, velocity_bar, wanted(actuator.p.gain) ? bar.p + actuator.p.gain : nullptr,
                      length_range_bar);
      return;
    }
    if (wanted(actuator.p.gain)) bar.p[actuator.p.gain] += gain_bar;
    if (actuator.affine_gain) {
      const S* g = p + actuator.p.gain;
      length_bar += g[1] * gain_bar;
      velocity_bar += g[2] * gain_bar;
      if (wanted(actuator.p.gain)) {
        bar.p[actuator.p.gain + 1] += s.length * gain_bar;
        bar.p[actuator.p.gain + 2] += s.velocity * gain_bar;
      }
    }
  }

  // Input s: the activation, or the control within its range. act_dot_bar_in: of the activations' rates
  // (null: none).
  COSTATE_INLINE void input_vjp(const S* act_dot_bar_in) {
    S control_bar = actuator.activation < 0 ? input_bar : S(0);
    if (actuator.activation >= 0) {
      S& act_bar = bar.act[actuator.activation];
      S act_dot_bar = act_dot_bar_in ? act_dot_bar_in[actuator.activation] : S(0);
      if (actuator.act_early) {
        const S dt_bar = next_activation_vjp(actuator, p, p[tree.p.dt], act[actuator.activation], s.act_dot,
                                             input_bar, wanted, act_bar, act_dot_bar, bar.p);
        if (wanted(tree.p.dt)) bar.p[tree.p.dt] += dt_bar;
      } else {
        act_bar += input_bar;
      }
      if (actuator.dynamics == DynType::integrator) {
        control_bar += act_dot_bar;
      } else if (actuator.dynamics == DynType::muscle) {
        const MuscleRate<S> rate =
            muscle_rate(p + actuator.p.time_constant, s.control, act[actuator.activation]);
        control_bar += rate.control * act_dot_bar;
        act_bar += rate.act * act_dot_bar;
        if (wanted(actuator.p.time_constant))
          for (int k = 0; k < 3; ++k) bar.p[actuator.p.time_constant + k] += rate.time[k] * act_dot_bar;
      } else {
        const S inverse = S(1) / p[actuator.p.time_constant];
        control_bar += inverse * act_dot_bar;
        act_bar -= inverse * act_dot_bar;
        if (wanted(actuator.p.time_constant))
          bar.p[actuator.p.time_constant] -= inverse * s.act_dot * act_dot_bar;
      }
    }
    if (actuator.p.control_range >= 0) {
      S* range_bar = wanted(actuator.p.control_range) ? bar.p + actuator.p.control_range : nullptr;
      control_bar = clamp_vjp(p + actuator.p.control_range, u[index], control_bar, range_bar);
    }
    if (bar.u) bar.u[index] += control_bar;
  }

  // Length and its rate; of a tendon and a site also what tau = m f says of m.
  COSTATE_INLINE void transmission_vjp(const S* tau_bar) {
    switch (actuator.kind) {
      case TreeActuator::Kind::scalar_joint:
        bar.q[actuator.dof] += gear()[0] * length_bar;
        bar.v[actuator.dof] += gear()[0] * velocity_bar;
        if (wanted(actuator.p.gear))
          bar.p[actuator.p.gear] += q[actuator.q] * length_bar + v[actuator.dof] * velocity_bar;
        break;
      case TreeActuator::Kind::ball: {
        S inverse;
        const Vec3<S> phi = log_map(unit_quat(q + actuator.q, inverse)), g = vec3_at(gear());
        add_to(bar.q + actuator.dof, log_jacobian_transpose(phi, length_bar * g));
        add_to(bar.v + actuator.dof, velocity_bar * g);
        if (wanted(actuator.p.gear))
          add_to(bar.p + actuator.p.gear, length_bar * phi + velocity_bar * vec3_at(v + actuator.dof));
        break;
      }
      case TreeActuator::Kind::free:
        for (int k = 0; k < 6; ++k) {
          bar.v[actuator.dof + k] += gear()[k] * velocity_bar;
          if (wanted(actuator.p.gear)) bar.p[actuator.p.gear + k] += v[actuator.dof + k] * velocity_bar;
        }
        break;
      case TreeActuator::Kind::tendon: {
        const std::size_t t = actuator.target;
        if (wanted(actuator.p.gear)) {
          bar.p[actuator.p.gear] +=
              d.tendon_length[t] * length_bar + tendon_velocity<S>(tree.tendons[t], d, v) * velocity_bar;
        }
        tendon_vjp<S>(tree, t, v, gear()[0] * s.force, tau_bar, gear()[0] * length_bar,
                      gear()[0] * velocity_bar, bar.v, d);
        break;
      }
      case TreeActuator::Kind::site: {
        const std::size_t body = site_body();
        const Motion<S> wrench_bar = velocity_bar * d.v[body] - s.force * d.w[body];
        d.v_bar[body] += velocity_bar * s.wrench;
        d.w_bar[body] -= s.force * s.wrench;
        site_wrench_vjp(tree, actuator, p, wrench_bar, s.wrench, wanted, bar.p, d);
        break;
      }
    }
  }
};

// tau_bar: cotangents of the dofs' forces; act_dot_bar: of the activations' rates (null: none); slope_bar: of
// d force / d velocity of each actuator, which implicit integrators use (null: none). Minus the virtual
// velocities must be in d.w, as rnea_vjp wants them.
template <class S>
void actuation_vjp(const Tree& tree, const S* p, const S* q, const S* v, const S* act, const S* u,
                   const S* tau_bar, const S* act_dot_bar, const S* slope_bar, const Wanted& wanted,
                   const ActuationBar<S>& bar, Data<S>& d) {
  for (std::size_t i = 0; i < tree.actuators.size(); ++i) {
    const TreeActuator& actuator = tree.actuators[i];
    ActuatorVjp<S> one{tree, actuator, i,      p,   q, v,
                       act,  u,        wanted, bar, d, actuate(tree, actuator, int(i), p, q, v, act, u, d)};
    one.dofs_vjp(tau_bar);
    one.force_vjp(slope_bar);
    one.input_vjp(act_dot_bar);
    one.transmission_vjp(tau_bar);
  }
}

}  // namespace costate::rigid
