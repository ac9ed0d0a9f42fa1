// Activations of actuators over a step of length h:  act+ = next(act, act', h)  (actuation.h:
// next_activation), and the transpose.
#pragma once

#include "costate/rigid/dynamics/actuation_adjoint.h"

namespace costate::rigid {

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

}  // namespace costate::rigid
