// GradientReport: what a gradient is worth. It comes with every gradient, and says in words what follows from
// the numbers.
//
//   adjoint_norm    |lambda_k| at sampled steps, all worlds together
//   growth_rate     log(|lambda_0| / |lambda_T|) / T: the finite-time Lyapunov exponent per step, seen
//                   backwards. T is the last sampled step at which the loss depends on the state
//   largest_growth  the largest such rate over a window of the samples
//
// An error of one rounding in a state of scale 1 grows like lambda: once eps |lambda_k| / |lambda_T| exceeds
// 1, the part of the gradient from steps before k carries no signal.
// Tests: tests/system/gradient_report_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace costate {

struct GradientReport {
  std::string estimator = "pathwise";  // how the gradient was made
  // exact | exact for the steps taken | exact up to ... | discretisation-dominated | grazing | biased: ...
  std::string label = "exact";
  std::string schedule;  // checkpoint schedule
  std::int64_t steps = 0, worlds = 0;
  std::int64_t advances = 0;      // steps taken again or before the tape, all worlds of a block counted once
  std::int64_t memory_bytes = 0;  // states, tapes and snapshots held at once
  std::int64_t memory_bytes_per_world = 0;  // that, shared out among the worlds of a block

  std::vector<std::int64_t> sampled_steps;  // increasing
  std::vector<double> adjoint_norm;         // at those steps
  double growth_rate = 0;                   // per step
  std::optional<double> growth_per_time;    // the same per unit of time, where steps differ in length
  double largest_growth = 0;                // per step, over the worst window
  std::int64_t signal_horizon = 0;          // steps from the end that carry signal (= steps: all)

  std::vector<std::int64_t> mode_switches;     // steps where a contact or branch pattern changed
  double adjoint_residual = 0;                 // of implicit solves
  std::optional<double> reconstruction_error;  // relative, of a start that was computed backwards in time
  std::optional<double> energy_drift;  // |E_T - E_0| / |E_0|, worst world, where the physics has an energy
  std::optional<double> spot_check;    // relative error of one directional difference, where asked for
  // Relative change of gradient and loss from dt to dt/2, where asked for.
  std::optional<double> gradient_by_time_step, loss_by_time_step;
  std::vector<std::int64_t> masked_worlds;  // diverged and left out

  std::vector<std::string> advice;

  // The gradient is that of the time grid: it changes with dt and the loss does not (both are known).
  bool discretisation_dominated() const;

  // From the norms: the rates, the horizon and the advice. epsilon is that of the number type.
  void conclude(double epsilon);
  std::string to_text() const;

 private:
  std::string growth_text(int digits) const;  // "1.09x per step"
};

}  // namespace costate
