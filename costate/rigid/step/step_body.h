// Bodies of step.h, compiled once for each scalar in step_*.cpp.
#pragma once

#include "costate/rigid/step/integrators.h"

namespace costate::rigid {

template <class S>
void step(const Stepper& stepper, StepWork<S>& w, bool with_tape) {
  with_integrator(stepper.integrator, [&](auto method) { method.step(stepper, w, with_tape); });
  leave_tape(w.d);
}

template <class S>
void first_stage(const Stepper& stepper, StepWork<S>& w) {
  Rk4::take_stage(stepper, w, 0);
  leave_tape(w.d);
}
template <class S>
void other_stages(const Stepper& stepper, StepWork<S>& w) {
  Rk4::other_stages(stepper, w);
  leave_tape(w.d);
}

template <class S>
S step_error(const Stepper& stepper, StepWork<S>& w) {
  return Rk4::error(stepper, w);
}

template <class S>
void state_within(const Stepper& stepper, StepWork<S>& w, const S& s, S* out) {
  with_integrator(stepper.integrator, [&](auto method) { method.within(stepper, w, s, out); });
}

template <class S>
S rate_within(const Stepper& stepper, StepWork<S>& w, const S* x_bar) {
  return with_integrator(stepper.integrator,
                         [&](auto method) { return method.rate_within(stepper, w, x_bar); });
}

template <class S>
void step_vjp(const Stepper& stepper, StepWork<S>& w, const Wanted& wanted) {
  with_integrator(stepper.integrator, [&](auto method) { method.step_vjp(stepper, w, wanted); });
  leave_tape(w.d);
}

}  // namespace costate::rigid
