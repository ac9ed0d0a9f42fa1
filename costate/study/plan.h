// plan: the control of every single step of a study, by iLQR or DDP (control/ddp.h), instead of a few points
// of a path by an optimiser with gradients.
//
// The controls that [optimize] lists as variables are planned, from where their paths are and between their
// bounds; the others stay as the file has them. What comes out is the study with the planned controls, to be
// run, shown and differentiated like any other.
// Tests: tests/study/plan_test.cpp.
#pragma once

#include <memory>

#include "costate/control/plan/ddp.h"
#include "costate/study/study.h"

namespace costate::study {

struct Planned {
  control::Plan plan;
  double start_value = 0;
  std::vector<std::string> controls;  // names of the columns of plan.u
  std::unique_ptr<Study> study;       // with these controls
};

// Error for a study that is not a simulation of steps in double precision, that has no control among its
// variables, and for prices on paths, which are not costs of single steps.
Planned plan(Study& study, const control::DdpOptions& options);

}  // namespace costate::study
