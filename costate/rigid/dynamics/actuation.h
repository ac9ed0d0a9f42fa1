// Actuators: from controls to forces of dofs [1, "actuation model"].
//
//   control      u, clamped to its range
//   activation   act' = u (integrator), (u - act)/T (filter, filterexact)
//   transmission length l, its rate l' = <m, v>, moment arms m = dl/dq times gear
//   force        f = gain(l, l') s + bias(l, l'), clamped to its range; s = act, or u where there is none
//                gain, bias constant or affine: c0 + c1 l + c2 l', or a muscle's (muscle.h)
//   dofs         tau += m f
//
// joint    slide, hinge: l = gear q.  ball: l = <gear, log q>, m = gear in body axes.  free: l = 0, m = gear
// site     l = 0; a wrench gear[0:6] = (force, torque) in the site's frame. Its moment arms are never formed:
//          the wrench is handed to the body (`wrench` below) and goes up the tree with all others.
//
// [1] MuJoCo documentation, Computation.
// Tests: tests/rigid/parity_test.cpp, rigid_system_test.cpp.
#pragma once

#include "costate/rigid/dynamics/muscle.h"
#include "costate/rigid/dynamics/passive.h"
#include "costate/rigid/dynamics/tendon.h"

namespace costate::rigid {

template <class S>
COSTATE_INLINE S clamp_to(const S* range, const S& x) {
  return select(x < range[0], range[0], select(x > range[1], range[1], x));
}
// Cotangent of x; adds those of the range.
template <class S>
COSTATE_INLINE S clamp_vjp(const S* range, const S& x, const S& bar, S* range_bar) {
  const mask_t<S> low = x<range[0], high = x> range[1];
  if (range_bar) {
    range_bar[0] += select(low, bar, S(0));
    range_bar[1] += select(low, S(0), select(high, bar, S(0)));
  }
  return select(low | high, S(0), bar);
}

// An actuator at work: what lies between its control and its force.
template <class S>
struct ActuatorState {
  S length, velocity;
  S control;  // clamped
  S input;    // what the gain multiplies
  S act_dot;
  S gain, raw, force;  // raw: before its limits
  Force<S> wrench;     // of a site, about the tree's origin, for a unit force
};

// The wrench of gear in the frame of a site.
template <class S>
COSTATE_INLINE Force<S> site_wrench(const Tree& tree, const TreeActuator& actuator, const S* p,
                                    const Data<S>& d) {
  const TreeSite& site = tree.sites[actuator.target];
  const std::size_t body = site.body;
  const Quat<S> frame = quat_at(p + site.p.quat);
  const Vec3<S> x = d.x[body] + d.R[body] * vec3_at(p + site.p.pos);
  const Vec3<S> f = d.R[body] * rotate(frame, vec3_at(p + actuator.p.gear));
  const Vec3<S> n = d.R[body] * rotate(frame, vec3_at(p + actuator.p.gear + 3));
  return {cross(x, f) + n, f};
}

template <class S>
S next_activation(const TreeActuator& actuator, const S* p, const S& dt, const S& act, const S& act_dot) {
  S next = act + dt * act_dot;
  if (actuator.dynamics == DynType::filterexact) {
    const S tau = p[actuator.p.time_constant];
    next = act + act_dot * tau * (S(1) - exp(-(dt / tau)));
  }
  return actuator.p.activation_range >= 0 ? clamp_to(p + actuator.p.activation_range, next) : next;
}

template <class S>
COSTATE_INLINE S clamped_control(const TreeActuator& actuator, int index, const S* p, const S* u) {
  return actuator.p.control_range >= 0 ? clamp_to(p + actuator.p.control_range, u[index]) : u[index];
}

// act' of an actuator that has an activation.
template <class S>
COSTATE_INLINE S activation_rate(const TreeActuator& actuator, int index, const S* p, const S* act,
                                 const S* u) {
  const S control = clamped_control(actuator, index, p, u);
  if (actuator.dynamics == DynType::integrator) return control;
  if (actuator.dynamics == DynType::muscle)
    return muscle_rate(p + actuator.p.time_constant, control, act[actuator.activation]).value;
  return (control - act[actuator.activation]) / p[actuator.p.time_constant];
}

template <class S>
ActuatorState<S> actuate(const Tree& tree, const TreeActuator& actuator, int index, const S* p, const S* q,
                         const S* v, const S* act, const S* u, const Data<S>& d) {
  ActuatorState<S> s;
  const S* gear = p + actuator.p.gear;
  s.length = s.velocity = S(0);
  switch (actuator.kind) {
    case TreeActuator::Kind::scalar_joint:
      s.length = gear[0] * q[actuator.q];
      s.velocity = gear[0] * v[actuator.dof];
      break;
    case TreeActuator::Kind::ball: {
      S inverse;
      s.length = dot(vec3_at(gear), log_map(unit_quat(q + actuator.q, inverse)));
      for (int k = 0; k < 3; ++k) s.velocity += gear[k] * v[actuator.dof + k];
      break;
    }
    case TreeActuator::Kind::free:
      for (int k = 0; k < 6; ++k) s.velocity += gear[k] * v[actuator.dof + k];
      break;
    case TreeActuator::Kind::tendon: {
      const std::size_t t = actuator.target;
      s.length = gear[0] * d.tendon_length[t];
      s.velocity = gear[0] * tendon_velocity(tree.tendons[t], d, v);
      break;
    }
    case TreeActuator::Kind::site:
      s.wrench = site_wrench(tree, actuator, p, d);
      if (actuator.affine_gain || actuator.affine_bias) {
        const std::size_t body = tree.sites[actuator.target].body;
        s.velocity = dot(d.v[body], s.wrench);
      }
      break;
  }
  s.control = clamped_control(actuator, index, p, u);
  s.input = s.control;
  s.act_dot = S(0);
  if (actuator.activation >= 0) {
    const S a = act[actuator.activation];
    s.act_dot = activation_rate(actuator, index, p, act, u);
    s.input = actuator.act_early ? next_activation(actuator, p, p[tree.p.dt], a, s.act_dot) : a;
  }
  const S* g = p + actuator.p.gain;
  s.gain = actuator.affine_gain   ? g[0] + g[1] * s.length + g[2] * s.velocity
           : actuator.muscle_gain ? muscle_gain(g, p + actuator.p.length_range, s.length, s.velocity)
                                  : g[0];
  s.raw = s.gain * s.input;
  if (actuator.affine_bias) {
    const S* b = p + actuator.p.bias;
    s.raw += b[0] + b[1] * s.length + b[2] * s.velocity;
  }
  if (actuator.muscle_bias) s.raw += muscle_bias(p + actuator.p.bias, p + actuator.p.length_range, s.length);
  s.force = actuator.p.force_range >= 0 ? clamp_to(p + actuator.p.force_range, s.raw) : s.raw;
  return s;
}

// Forces of all actuators: adds to tau_act (dofs) and to the wrenches on bodies, and sets act_dot.
template <class S>
void actuation(const Tree& tree, const S* p, const S* q, const S* v, const S* act, const S* u, S* tau_act,
               Data<S>& d) {
  for (std::size_t i = 0; i < tree.actuators.size(); ++i) {
    const TreeActuator& actuator = tree.actuators[i];
    const ActuatorState<S> s = actuate(tree, actuator, int(i), p, q, v, act, u, d);
    if (actuator.activation >= 0) d.act_dot[actuator.activation] = s.act_dot;
    const S* gear = p + actuator.p.gear;
    switch (actuator.kind) {
      case TreeActuator::Kind::scalar_joint:
        tau_act[actuator.dof] += gear[0] * s.force;
        break;
      case TreeActuator::Kind::ball:
      case TreeActuator::Kind::free:
        for (int k = 0; k < actuator.p.gear_size; ++k) tau_act[actuator.dof + k] += gear[k] * s.force;
        break;
      case TreeActuator::Kind::tendon:
        add_tendon_force<S>(tree.tendons[actuator.target], d, gear[0] * s.force, tau_act);
        break;
      case TreeActuator::Kind::site:
        d.applied[tree.sites[actuator.target].body] += s.force * s.wrench;
        break;
    }
  }
}

}  // namespace costate::rigid
