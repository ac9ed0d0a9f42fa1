// Solution: what solve() returns, in the shape of SciPy's solve_ivp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "costate/ode/adjoints/trajectory.h"

namespace costate::ode {

enum class Status {
  finished,    // reached t1
  terminated,  // ended by a terminal event
  zeno,        // ended where events accumulate (Options::stop_at_zeno)
};

class Solution {
 public:
  // At Options::t_eval or, without it, at the start, the accepted steps that were kept, and the end.
  std::vector<double> t;
  std::vector<double> y;  // row-major: one row of states per time
  double integral = 0;    // of Options::running

  std::vector<EventRecord> events;
  Status status = Status::finished;
  std::string message;             // how it ended, in words
  std::vector<std::string> notes;  // what a careful user should know: grazing events, guards nearly touched

  struct Counts {
    long accepted = 0, rejected = 0, rhs = 0, jacobians = 0, factorisations = 0, newton_iterations = 0;
  };
  Counts counts;

  int states() const { return trajectory_->user_states; }
  const double* row(std::size_t k) const { return y.data() + k * states(); }
  double end_time() const { return trajectory_->t1; }
  std::vector<double> final_state() const;

  // Dense output anywhere in [t0, t1] (at an event: before the jump). Each call replays one step.
  std::vector<double> operator()(double time) const;
  // One row per time, all in one pass; beyond the ends of the span the interpolants there go on.
  std::vector<double> at(const std::vector<double>& times) const;

  // What derivatives replay: see discrete_adjoint.h, forward_sensitivity.h, continuous_adjoint.h, hessian.h.
  const Trajectory& trajectory() const { return *trajectory_; }

 private:
  friend class Integration;
  std::shared_ptr<const Trajectory> trajectory_;
};

}  // namespace costate::ode
