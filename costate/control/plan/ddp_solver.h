// What ddp.h does, one stage at a time, with everything kept between calls: for plan(), for the outer loop of
// constraints, and for MPC, which solves the same problem again and again.
#pragma once

#include <limits>

#include "costate/control/plan/ddp.h"
#include "costate/control/plan/expansion.h"
#include "costate/control/quadratic/riccati.h"

namespace costate::control {

class DdpSolver {
 public:
  DdpSolver(Problem problem, DdpOptions options);

  // Controls to start from, and the states that they lead to, or those of multiple shooting.
  void start(const std::vector<double>& x0, const std::vector<double>& controls,
             const std::vector<double>& states);

  // The same from a trajectory that the controls lead to.
  void resume(std::vector<double> states, std::vector<double> controls);

  // Iterates until the gradient is below the tolerance. What stopped it is outcome().
  void descend(double gradient_tolerance, double value_tolerance);
  // One iteration: expand, backward, forward. False: there is nothing more to gain.
  bool iterate(double gradient_tolerance, double value_tolerance);

  Plan result() const;
  double violation() const;
  // Gains about the trajectory as it is, where they are asked for and there is time; else those of the last
  // iteration, where there was one.
  void finish_gains();
  // The problem has changed: its multipliers, or the trajectory.
  void forget_expansion() { expanded_ = false; }

  Problem problem;
  DdpOptions options;
  Multipliers multipliers;
  Expansion expansion;
  std::vector<double> x, u, gaps;
  int iterations = 0;
  int iteration_limit = std::numeric_limits<int>::max();  // of an inner loop
  Outcome outcome = Outcome::iterations;
  std::string reason;
  std::function<bool()> out_of_time = {};

  // Of the trajectory: the objective, and with constraints the augmented Lagrangian.
  void evaluate();
  double objective = 0, merit = 0;

 private:
  struct Search;
  void begin();
  void expand();
  bool backward();
  bool backward_pass();
  void promise_with_gaps();
  bool forward();
  void candidates(std::int64_t first, Search& search) const;
  void lane_controls(std::int64_t k, std::int64_t first, Plant::Block& block) const;
  void lane_costs(std::int64_t k, std::int64_t first, int count, Plant::Block& block, Search& search) const;
  void keep_lane(std::int64_t k, std::int64_t i, int lane, Plant::Block& block, Search& search) const;
  double gap_sum() const;
  void raise_price();
  void lower_price();
  bool stop(Outcome why, std::string words);

  RiccatiStage stage_;
  std::vector<StageGains> gains_;
  std::vector<char> held_;
  std::vector<double> P_, p_;            // the cost to go
  double promised_ = 0, curvature_ = 0;  // J changes by promised a + curvature a^2 along a step of length a
  double price_ = 0, growth_ = 1, gap_price_ = 0, gradient_norm_ = 0, length_ = 0, gained_ = 0;
  bool expanded_ = false;  // about the trajectory as it is
  bool passed_ = false;    // there are gains of this problem
  double share_ = 0;       // of the curvature of the steps that is in it
  bool gap_open_ = false;
};

}  // namespace costate::control
