#include "costate/control/plan/ddp.h"

#include <chrono>
#include <cmath>

#include "costate/control/plan/constrained.h"
#include "costate/control/plan/ddp_solver.h"
#include "costate/core/error.h"

namespace costate::control {
namespace {

void expect_numbers(const char* name, std::size_t have, std::size_t want) {
  if (have != want)
    throw Error(std::string(name) + " has " + std::to_string(have) + " numbers instead of " +
                std::to_string(want));
}

void check_bounds(const Problem& p) {
  const auto m = std::size_t(p.system->signature().controls());
  if (!p.lower.empty()) expect_numbers("lower", p.lower.size(), m);
  if (!p.upper.empty()) expect_numbers("upper", p.upper.size(), m);
  for (std::size_t i = 0; i < m && !p.lower.empty() && !p.upper.empty(); ++i)
    if (!(p.lower[i] <= p.upper[i]))
      throw Error("the bounds of " + p.system->signature().describe(Role::control, std::int64_t(i)) +
                  " contradict each other: no control lies between " + std::to_string(p.lower[i]) + " and " +
                  std::to_string(p.upper[i]));
}

}  // namespace

void check(const Problem& p) {
  if (!p.system || !p.objective) throw Error("a problem needs a system and an objective");
  if (p.steps < 1) throw Error("a plan needs at least one step");
  if (p.system->signature().controls() == 0)
    throw Error("there is nothing to plan: the system has no controls");
  expect_numbers("x0", p.x0.size(), std::size_t(p.system->signature().states()));
  for (const double number : p.x0)
    if (!std::isfinite(number)) throw Error("x0 is not finite");
  check_bounds(p);
  p.objective->check(p.steps, 1);
  for (const Constraint& c : p.constraints) c.of->check(p.steps, 1);
}

void check(const DdpOptions& options) {
  if (options.iterations < 0) throw Error("a plan cannot have a negative number of iterations");
  if (!(options.budget_s >= 0)) throw Error({"the budget is negative", {}, "give seconds, or 0 for none"});
}

std::function<bool()> deadline(double budget_s) {
  using Clock = std::chrono::steady_clock;
  return [budget_s, begin = Clock::now(), last = Clock::now(), longest = 0.0]() mutable {
    const auto now = Clock::now();
    longest = std::max(longest, std::chrono::duration<double>(now - last).count());
    last = now;
    return std::chrono::duration<double>(now - begin).count() + longest > budget_s;
  };
}

Plan plan(const Problem& problem, const std::vector<double>& controls, const DdpOptions& options) {
  check(problem);
  check(options);
  const auto m = std::size_t(problem.system->signature().controls()), N = std::size_t(problem.steps);
  if (controls.size() != m) expect_numbers("the controls to start from", controls.size(), N * m);
  if (!options.states.empty())
    expect_numbers("the states to start from", options.states.size(), (N + 1) * problem.x0.size());
  if (options.method == Method::ddp && !problem.system->capabilities().second_order)
    throw Error({"the system has no second derivatives, which DDP needs", {}, "use Method::ilqr"});
  DdpSolver solver(problem, options);
  if (options.budget_s > 0) solver.out_of_time = deadline(options.budget_s);
  solver.start(problem.x0, controls, options.states);
  if (problem.constraints.empty())
    solver.descend(options.gradient_tolerance, options.value_tolerance);
  else
    solve_constrained(solver);
  solver.finish_gains();
  return solver.result();
}

}  // namespace costate::control
