// Equations: an initial value problem with a loss, and what one does with it: solve it, and differentiate its
// loss by any of the methods of the ode layer. Algebraic states start where the algebraic equations put them,
// and derivatives follow them there.
//
//   const ode::Solution s = study::solve(ball);
//   const ode::Gradient g = study::gradient(ball, s, "discrete");
//
// As a function of variables, with checks and optimisers, it is an EquationStudy (equation_study.h).
// Tests: tests/io/scene/reference_equations_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "costate/ode/adjoints/forward_sensitivity.h"
#include "costate/ode/gradient.h"
#include "costate/ode/loss.h"
#include "costate/ode/solution.h"
#include "costate/ode/solve.h"
#include "costate/study/study.h"

namespace costate::study {

// A named number or array.
struct Named {
  std::string name;
  int offset = 0, size = 1;  // its elements in x0 or p; of a control: which path, and how many points
  bool array = false;        // written in brackets

  // "h", or "u[2]" for an element of an array.
  std::string element(int i) const { return array ? name + "[" + std::to_string(i) + "]" : name; }
};

// One part of the loss. Exactly one of the three is set.
struct EquationTerm {
  std::string name, text;                                  // as written
  std::shared_ptr<const ode::Function> final = nullptr;    // at the end
  std::shared_ptr<const ode::Function> running = nullptr;  // integrated over time
  std::shared_ptr<const ode::SampleCost> samples = nullptr;
  std::shared_ptr<const void> keep = nullptr;  // what the above refers to
};

// Measurements of one quantity.
struct Series {
  std::shared_ptr<const ode::Function> value;  // one output
  std::vector<double> t, measured;
  double sigma = 1;  // standard deviation of a measurement
};

struct Equations {
  std::string file, title;
  std::vector<Named> states, parameters, controls;
  Inputs inputs;                       // paths: one per control, all of one shape and length
  std::vector<std::string> equations;  // as written, one per element of the state
  std::vector<std::string> guards;     // as written, one per event
  std::vector<int> algebraic;          // elements of the state whose equation is 0 = ...

  std::shared_ptr<const ode::VectorField> field;
  double t0 = 0, t1 = 0;
  ode::Options options;  // without controls and running cost
  std::vector<EquationTerm> terms;
  std::vector<Series> data;  // of [fit]
  std::optional<Optimize> optimize;
};

// The sum of the terms, as the ode layer takes it; the running ones are in options_of().
ode::Loss loss_of(const Equations& equations);
ode::Options options_of(const Equations& equations);
// Solved so tightly that differences of losses show the gradient.
void tighten(Equations& equations);
bool is_implicit(const Equations& equations);

// The initial state, made consistent with the algebraic equations if there are any.
std::vector<double> initial_state(const Equations& equations);
// A direction of the inputs as one of the solution's: the algebraic states move along.
ode::InputTangent initial_tangent(const Equations& equations, ode::InputTangent direction);

// Solution::notes also names the events that never happened.
ode::Solution solve(const Equations& equations, const std::vector<double>& times = {});

//   discrete        transpose of the steps taken: exact for the numbers solve() returned
//   forward         tangents of the steps taken: the same derivative, one pass per input
//   interpolating   the adjoint differential equation, along the dense output
//   backsolve       the same, with the state integrated backwards: unstable, says how much
//   cvodes          SUNDIALS: an independent solution and adjoint
std::vector<std::string> adjoint_names();

// Unknown name, or a method that does not apply (cvodes knows no events): Error.
ode::Gradient gradient(const Equations& equations, const ode::Solution& solution,
                       const std::string& adjoint = "discrete");
// A gradient of the ode layer as a cotangent of the inputs.
Inputs cotangent_of(const Equations& equations, const ode::Gradient& gradient);

}  // namespace costate::study
