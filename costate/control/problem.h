// An optimal control problem: which controls of N steps make an objective least?
//
//   minimise  J = sum_{k<N} l_k(x_k, u_k) + l_N(x_N)      x_{k+1} = step(x_k, u_k, p),  x_0 given
//   lower <= u_k <= upper,    c_j(x_k, u_k) <= 0 or = 0 at chosen steps
//
// l and c are Objectives, so whatever can be a loss of a rollout can be a cost or a constraint here.
// ddp.h solves it by derivatives, sampling.h without; mpc.h solves it again and again.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "costate/control/plant.h"

namespace costate::control {

// One number per step at which the objective has a term.
struct Constraint {
  ObjectivePtr<double> of;
  bool equality = false;  // = 0 instead of <= 0
  std::string name = {};  // for messages
};

struct Problem {
  std::shared_ptr<const System<double>> system;
  ObjectivePtr<double> objective;
  std::int64_t steps = 0;
  std::vector<double> x0;
  Parameters<double> parameters;               // of one world
  std::vector<double> lower = {}, upper = {};  // of each control; empty: none
  std::vector<Constraint> constraints = {};
  StateSpace space = StateSpace();  // of no states: every state is a plain number
  Jacobians jacobians = {};         // empty: by tangents of the system
  std::uint64_t seed = 0;
};

// x_N = target: one constraint per tangent.
std::vector<Constraint> reach(const Signature& signature, const StateSpace& space,
                              const std::vector<double>& target);

enum class Outcome {
  converged,   // the gradient is small, and the constraints are met
  iterations,  // the limit was reached
  budget,      // the time is over
  stuck,       // no step makes the objective smaller
  infeasible,  // the constraints contradict each other, or the controls
  callback,
};

// What a planner tells after each iteration.
struct PlanProgress {
  int iteration;
  double value, gradient_norm, violation;
  double length;  // of the step that was taken
  double price;   // what the planner holds steps back with: mu of ddp.h, of the barrier in Ipopt
};
using PlanCallback = std::function<bool(const PlanProgress&)>;  // false stops

// What a planner found: controls, states, and the feedback that keeps to them.
struct Plan {
  std::vector<double> u;     // steps x controls
  std::vector<double> x;     // (steps + 1) x states
  std::vector<double> K;     // steps x controls x tangents: u_k + K_k (x (-) x_k)
  double value = 0;          // of the objective
  double gradient_norm = 0;  // largest component with respect to a control that could still move
  double violation = 0;      // of the constraints, the largest
  int iterations = 0;
  Outcome outcome = Outcome::iterations;
  std::string reason;
  bool converged() const { return outcome == Outcome::converged; }
};

}  // namespace costate::control
