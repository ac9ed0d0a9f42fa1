// What calls return.
#pragma once

#include <memory>

#include "any_system.h"
#include "arrays.h"
#include "costate/system/gradient_report.h"

namespace costate::python {

struct Simulation {
  std::string name;  // of the system
  std::shared_ptr<const Signature> signature;
  Array final_state;  // (*batch, states)
  Array states;       // (kept, *batch, states), or None
  Array steps;        // (kept,), or None
  Array t;            // (kept,), or (kept, *batch) where dt differs; None where there is no dt
  Array diverged;     // worlds
};

struct PyGradient {
  double value = 0;
  Array values;  // (*batch,)
  Array x0, controls;
  nb::dict parameters;
  GradientReport report;
};

}  // namespace costate::python
