// The integrators. Each is a file with a struct of static functions:
//
//   set_up(model, stepper)           what it treats implicitly; an Error for what it does not support
//   kEvaluations                     of the accelerations in a step
//   step, step_vjp                   a step and its transpose
//   within, rate_within              its dense output x(s), and d<x_bar, x(s)>/ds
//
// and one line here. Names for files: kIntegrators in model.h.
#pragma once

#include "costate/rigid/step/euler.h"
#include "costate/rigid/step/implicitfast.h"
#include "costate/rigid/step/rk4.h"

namespace costate::rigid {

template <class F>
decltype(auto) with_integrator(Integrator integrator, const F& f) {
  switch (integrator) {
    case Integrator::euler:
      return f(Euler{});
    case Integrator::implicitfast:
      return f(ImplicitFast{});
    case Integrator::rk4:
    case Integrator::adaptive:  // parts of split steps
      return f(Rk4{});
    case Integrator::implicit:
      break;
  }
  throw Error({"the integrator `implicit` is not supported", {}, "use implicitfast, Euler or RK4"});
}

}  // namespace costate::rigid
