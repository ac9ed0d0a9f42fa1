// Trajectory: what a solution keeps so that its derivatives can replay it, and Replay, which walks it.
//
// Step k starts at (t_k, x_k) and has length h_k. Start states are kept for every m-th step (m = keep_every)
// and after every event; the others are recomputed from the one before by the same code, so gradients have
// the same bits for every m.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "costate/ode/controls.h"
#include "costate/ode/events.h"
#include "costate/ode/fields/consistent_state.h"
#include "costate/ode/fields/vector_field.h"
#include "costate/ode/methods/method.h"

namespace costate::ode {

struct StepRecord {
  double t, h;
  int event;    // index into Trajectory::events of the event that ends the step, or -1
  int row = 0;  // of Trajectory::parameters
};

struct Trajectory {
  std::shared_ptr<const VectorField> controlled;  // the field as one of a row of parameters, or null
  std::shared_ptr<const VectorField> quadrature;  // the field with the running cost, or null
  const VectorField* field = nullptr;  // what was integrated: the user's field, *controlled or *quadrature
  std::string method;
  MethodTolerance tolerance;
  std::vector<Event> guards;
  int user_states = 0;
  int memory = 0;         // numbers that follow the states (stepper.h)
  double t0 = 0, t1 = 0;  // t1: where the solution ended
  double dt = 0;          // fixed steps of this length; 0: adaptive

  ParameterRows parameters;
  std::vector<StepRecord> steps;
  std::vector<EventRecord> events;
  int keep_every = 1;
  std::vector<double> kept;  // start states of steps 0, m, 2m, ...
  // Stages of the first steps, as many as fit in the memory allowed: stage_size numbers each.
  std::size_t stage_size = 0;
  std::vector<double> stages;
  std::vector<double> final;  // state at t1, after a terminal event's jump

  int states() const { return field->states(); }
  int width() const { return states() + memory; }  // of a start state
  long size() const { return static_cast<long>(steps.size()); }
  const double* p(long step) const { return parameters.row(steps[step].row); }
  int last_row() const { return steps.empty() ? 0 : steps.back().row; }
};

// Steps of one segment: from the start, an event or a knot of the controls to the next of them or the end.
struct Segment {
  long first, last;  // inclusive
  double from, to;
  bool starts_at_event, ends_in_event;
  int row;
  // Where it does not end in an event: to = t0 + fraction (t1 - t0), with the t1 that was asked for.
  double fraction;
};
std::vector<Segment> segments_of(const Trajectory& trajectory);

// A step of zero length separates two events at one instant, or is all of an empty span. It is an Euler step,
// which every method is in that limit: methods that divide by h need not know.
class Replay {
 public:
  explicit Replay(const Trajectory& trajectory);

  const double* start(long k);  // x_k; valid until the next call
  StepInput input(long k);      // and hands the stepper the stages that were kept
  const double* end(long k);    // state at the end of step k, before any jump

  void step(const StepInput& in, double* y);
  // The state inside a step.
  void interpolate(const StepInput& in, double theta, double* x);
  void step_jvp(const StepInput& in, const StepTangent& in_dot, double* y_dot);
  void step_vjp(const StepInput& in, const double* y_bar, const StepCotangent& in_bar);
  void step_vjp_jvp(const StepInput& in, const StepTangent& in_dot, const double* y_bar,
                    const double* y_bar_dot, const StepCotangent& in_bar_dot);
  Stepper& stepper() { return *stepper_; }
  // The step that contains time t: the one that ends there, where two meet.
  long step_at(double t) const;

 private:
  void recompute_block(long block);

  const Trajectory& trajectory_;
  const std::vector<StepRecord>& steps_;
  std::unique_ptr<Stepper> stepper_;
  ConsistentState motion_;  // x' of a step of zero length
  int n_;                   // width of a start state
  long block_ = -1;
  std::vector<double> states_, end_, f_;
};

}  // namespace costate::ode
