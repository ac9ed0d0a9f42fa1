// What calls return.
#pragma once

#include <memory>

#include "any_system.h"
#include "arrays.h"
#include "costate/system/gradient_report.h"

namespace costate::python {

struct Simulation {
  std::shared_ptr<const AnySystem> system;
  nb::object final_state;  // (*batch, states)
  nb::object states;       // (kept, *batch, states), or None
  nb::object steps;        // (kept,), or None
  nb::object diverged;     // worlds
};

struct PyGradient {
  double value = 0;
  nb::object values;  // (*batch,)
  nb::object x0, controls;
  nb::dict parameters;
  GradientReport report;
};

}  // namespace costate::python
