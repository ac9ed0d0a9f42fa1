// Model predictive control: the same problem from the latest state, again and again.
//
//   Mpc        in the caller's thread: shift the plan by the steps that have passed, start from it, iterate
//              until converged, until `iterations`, or until the budget is spent
//   AsyncMpc   in a thread of its own: it takes the latest state when it is ready, and the caller acts on the
//              latest plan, corrected by its feedback:  u = u_k + K_k (x (-) x_k), inside the bounds
//
// The objective's steps count from the start of the horizon. A plan that ends after its budget is used all
// the same, and counted (`late`). A plan is plain data: start() from one that was saved.
// Tests: tests/control/mpc_test.cpp.
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "costate/control/plan/ddp.h"

namespace costate::control {

struct MpcOptions {
  DdpOptions ddp = {.iterations = 5};  // per update; states are not read
};

class DdpSolver;

class Mpc {
 public:
  // problem.x0 is not read.
  Mpc(Problem problem, const std::vector<double>& controls, MpcOptions options = {});
  ~Mpc();
  Mpc(Mpc&&) noexcept;

  // From where the system is now, `shift` steps after the last update.
  const Plan& update(const std::vector<double>& x, std::int64_t shift = 1);
  const Plan& latest() const { return plan_; }
  // Plans from here on are for a system with these parameters: what a Twin has found out since, such as a
  // load or a drift of a sensor (offset-free control). A problem that has `jacobians` needs new ones, which
  // know the parameters too. Error where they do not fit; the old ones are kept then.
  void set_parameters(const Parameters<double>& parameters, Jacobians jacobians = {});
  // Goes on from a saved plan. Error where it is one of another problem.
  void start(const Plan& plan);
  int late() const { return late_; }

  // What the latest plan says `ahead` steps after its start, for a system that is at x.
  std::vector<double> control(const std::vector<double>& x, std::int64_t ahead = 0) const;

  const Problem& problem() const;
  const StateSpace& space() const;

 private:
  std::unique_ptr<DdpSolver> solver_;
  MpcOptions options_;
  Plan plan_;
  bool fresh_ = true;
  int late_ = 0;
};

class AsyncMpc {
 public:
  // Plans begin with the first observe().
  explicit AsyncMpc(Mpc mpc);
  ~AsyncMpc();

  // The state at the beginning of step k, which grows.
  void observe(const std::vector<double>& x, std::int64_t k);
  // Plans that begin after this are for these parameters.
  void set_parameters(const Parameters<double>& parameters, Jacobians jacobians = {});
  // The control of step k. Waits for the first plan. Errors of the planner are thrown here.
  std::vector<double> control(const std::vector<double>& x, std::int64_t k);
  // Waits until the planner has used the latest state.
  void settle();
  int plans() const;
  int late() const;

 private:
  void run();

  Mpc mpc_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<double> seen_;
  std::optional<std::pair<Parameters<double>, Jacobians>> news_;
  std::int64_t seen_at_ = -1, taken_at_ = -1, finished_at_ = -1;  // steps whose state was given, taken, used
  std::int64_t planned_at_ = -1;                                  // where plan_ begins
  Plan plan_;
  int plans_ = 0, late_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace costate::control
