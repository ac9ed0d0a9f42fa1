// plan: the control of every single step of a study, instead of a few points of a path by an optimiser with
// gradients:
//
//   ilqr, ddp      differential dynamic programming (control/plan/ddp.h), with feedback gains
//   collocation    one sparse nonlinear program, by Ipopt (control/plan/collocation.h)
//
// The controls that [optimize] lists as variables are planned, from where their paths are and between their
// bounds; the others stay as the file has them. [plan] may say where the motion ends and between which bounds
// its states stay (Setup::planning). What comes out is the study with the planned controls, to be run, shown
// and differentiated like any other.
// Tests: tests/study/plan_test.cpp.
#pragma once

#include <memory>

#include "costate/control/problem.h"
#include "costate/study/study.h"

namespace costate::study {

struct PlanOptions {
  std::string method = "";  // empty: what the file says, or ilqr
  int iterations = 0;       // 0: what the file says, or 200
  control::PlanCallback callback = {};
};

struct Planned {
  std::string method;
  control::Plan plan;  // of collocation: without gains
  double start_value = 0;
  std::vector<std::string> controls;  // names of the columns of plan.u
  std::unique_ptr<Study> study;       // with these controls
};

std::vector<std::string> plan_methods();

// Error for a study that is not a simulation of steps in double precision, that has no control among its
// variables, and for prices on paths, which are not costs of single steps.
Planned plan(Study& study, const PlanOptions& options = {});

}  // namespace costate::study
