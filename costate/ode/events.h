// Events: instants at which a guard g(t, x, p) crosses zero, and what happens there.
//
// At an event time t_e the state jumps, x+ = R(t_e, x-, p), or the solution ends, or the time is only
// recorded. The step that contains the event is retaken with the length h_e at which g(t + h_e, step(t, h_e,
// x, p), p) = 0 to rounding, so that event times and states after an event are differentiable functions of
// all inputs: discrete_adjoint.h has the saltation terms.
// Tests: tests/ode/events_test.cpp.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "costate/ode/fields/consistent_state.h"
#include "costate/ode/fields/function.h"
#include "costate/ode/methods/stepper.h"

namespace costate::ode {

struct Event {
  std::string name = {};
  std::shared_ptr<const Function> guard = nullptr;  // one output
  int direction = 0;  // +1: only where g rises along the solution, -1: only where it falls
  std::shared_ptr<const Function> jump = nullptr;  // one output per state; none: the state goes on unchanged
  int terminal = 0;  // > 0: ends the solution when it happens for the n-th time, after the jump
};

// One event that happened.
struct EventRecord {
  int event = 0;  // index into Options::events
  double t = 0;
  std::vector<double> before, after;  // states (with the integral of the running cost, if any)
  double guard_rate = 0;              // dg/dt at the event, along the step
  bool grazing = false;  // the guard was crossed almost tangentially: derivatives are of size 1 / guard_rate
  long step = 0;         // accepted step that ends here
};

// Watches the guards of one solution.
class EventMonitor {
 public:
  EventMonitor(const std::vector<Event>& events, const VectorField& field, int states, const double* p);

  // The parameters change at (t, x). A guard that they carry over zero has not crossed it: it is on another
  // side now.
  void change_parameters(const double* p, double t, const double* x);

  bool empty() const { return events_.empty(); }
  // Sides on which the guards are at the start; forward says which way time runs.
  void start(double t, const double* x, bool forward);

  // Looks for the first crossing in the step taken last by `stepper`, which ended in y. Returns the event's
  // index, or -1. On a hit the step has been retaken: h is the length to the event, y the state there before
  // the jump.
  int find(Stepper& stepper, const StepInput& in, double* h, double* y);
  // After find: rate and grazing of the crossing found.
  double guard_rate() const { return rate_; }
  bool grazing() const { return grazing_; }
  // Guards that came near zero in the step without crossing it.
  bool near_miss() const { return near_miss_; }

  // The state after event `fired`. Guards that stand at zero count as on the side to which they move.
  // Returns another event that crosses at this very instant, or -1.
  int after_event(int fired, double t, const double* x);

 private:
  double guard(int i, double t, const double* x) const;
  double guard_rate_at(int i, double t, const double* x) const;  // in time, whichever way the solution runs
  bool crosses(int i, double from, double to) const;
  // Whether a step ends within rounding of the event that guard i has just had: nothing can be told of it
  // there.
  bool still_at_its_event(int i, const StepInput& in) const;
  bool scan(int i, const Stepper& stepper, const StepInput& in, const double* y, double* low, double* high);
  double refine(int i, const Stepper& stepper, const StepInput& in, double low, double high, double low_side);
  void locate(int i, Stepper& stepper, const StepInput& in, double guess, double* h, double* y);

  const std::vector<Event>& events_;
  const VectorField& field_;
  const ConsistentState motion_;  // x' where a mass matrix makes it another than f
  const double* p_;
  int forward_ = 1;
  std::vector<int> side_;      // sign of each guard at the start of the step
  std::vector<double> rates_;  // of the guards just before the event
  std::vector<char> fired_;    // at the current instant
  double instant_ = std::numeric_limits<double>::quiet_NaN();
  double rate_ = 0, scale_ = 0;
  double residual_ = 0;  // of the guard found, at the event
  bool grazing_ = false, near_miss_ = false;
  mutable std::vector<double> scratch_, f_;
  std::vector<double> x_;
};

}  // namespace costate::ode
