#include "costate/study/plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "costate/control/plan/collocation.h"
#include "costate/control/plan/ddp.h"
#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/study/rollout_study.h"
#include "costate/system/program/program_objective.h"

namespace costate::study {
namespace {

using Simulation = RolloutStudy<double>;

Simulation& simulation(Study& study) {
  auto* found = dynamic_cast<Simulation*>(&study);
  if (!found)
    throw Error({"a plan needs a simulation in steps of equal length, in double precision", study.file,
                 "of equations use costate optimize; of particles set run.precision = \"double\""});
  const Setup& setup = found->setup();
  if (!setup.prices.empty())
    throw Error({"jerk and overshoot are prices on whole paths, not costs of single steps", study.file,
                 "leave them out, or use costate optimize"});
  if (!setup.motions.empty())
    throw Error({"motions of colliders cannot be planned", study.file, "use costate optimize"});
  if (!study.has_loss()) throw Error({"there is no [[loss]] to plan for", study.file, {}});
  return *found;
}

// Bounds of all controls. What is not planned has no room to move.
void set_bounds(const Simulation& study, const Arguments<double>& at, control::Problem& problem) {
  const Setup& setup = study.setup();
  const auto m = std::size_t(setup.signature.controls());
  problem.lower.assign(at.controls.begin(), at.controls.begin() + std::ptrdiff_t(m)),
      problem.upper = problem.lower;
  std::vector<bool> planned(m);
  for (const Drive& drive : setup.drives) {
    for (const Variable& v : study.variables()) {
      if (v.where != Variable::Where::path || v.path != drive.path) continue;
      planned[drive.control] = true;
      problem.lower[drive.control] = v.lower, problem.upper[drive.control] = v.upper;
    }
  }
  if (std::none_of(planned.begin(), planned.end(), [](bool b) { return b; }))
    throw Error({"no control is among the variables", study.file,
                 "list it: [optimize] variables = [\"controls.NAME\"]"});
  for (std::size_t i = 0; i < at.controls.size(); ++i)
    if (!planned[i % m] && at.controls[i] != at.controls[i % m])
      throw Error({"the control " + setup.signature.describe(Role::control, std::int64_t(i % m)) +
                       " changes over time and is not among the variables",
                   study.file, "list it among them, or make it constant"});
}

// What [plan] asks of the states, as constraints; collocation has bounds of its own.
void add_constraints(const Setup& setup, control::Problem& problem) {
  const Planning& asked = setup.planning;
  std::vector<std::int64_t> after_the_first(std::size_t(setup.steps));
  std::iota(after_the_first.begin(), after_the_first.end(), std::int64_t(1));
  const auto add = [&](std::size_t i, const std::string& sign, double number, bool equality,
                       const loss::When& when) {
    const std::string state = setup.signature.describe(Role::state, std::int64_t(i)),
                      formula = sign + "(" + state + " - (" + exact_number(number) + "))";
    problem.constraints.push_back(
        {loss::expression<double>(setup.signature, formula, when), equality, formula});
  };
  for (std::size_t i = 0; i < asked.end.size(); ++i)
    if (!std::isnan(asked.end[i])) add(i, "", asked.end[i], true, loss::at_end());
  for (const auto& [bounds, sign] : {std::pair(&asked.lower, "-"), {&asked.upper, ""}})
    for (std::size_t i = 0; i < bounds->size(); ++i)
      if (std::isfinite((*bounds)[i])) add(i, sign, (*bounds)[i], false, loss::at_steps(after_the_first));
}

control::Plan by_ddp(control::Problem& problem, const Simulation& study, const std::vector<double>& controls,
                     const PlanOptions& options, control::Method method) {
  add_constraints(study.setup(), problem);
  return control::plan(problem, controls,
                       {.method = method, .iterations = options.iterations, .callback = options.callback});
}

control::Plan by_collocation(const control::Problem& problem, const Simulation& study,
                             const std::vector<double>& controls, const PlanOptions& options) {
  const Planning& asked = study.setup().planning;
  const auto open = [](std::vector<double> bounds, double to) {
    for (double& b : bounds)
      if (std::isnan(b)) b = to;
    return bounds;
  };
  control::Collocated found = control::collocate(problem, controls,
                                                 {.iterations = options.iterations,
                                                  .x_lower = open(asked.lower, -HUGE_VAL),
                                                  .x_upper = open(asked.upper, HUGE_VAL),
                                                  .x_last = asked.end,
                                                  .callback = options.callback});
  return {.u = std::move(found.u),
          .x = std::move(found.x),
          .K = {},
          .value = found.value,
          .violation = found.violation,
          .iterations = found.iterations,
          .outcome = found.outcome,
          .reason = std::move(found.reason)};
}

}  // namespace

std::vector<std::string> plan_methods() { return {"ilqr", "ddp", "collocation"}; }

Planned plan(Study& any, const PlanOptions& given) {
  Simulation& study = simulation(any);
  const Setup& setup = study.setup();
  PlanOptions options = given;
  if (options.method.empty()) options.method = setup.planning.method;
  if (options.iterations <= 0) options.iterations = setup.planning.iterations;
  const std::vector<std::string> known = plan_methods();
  if (std::find(known.begin(), known.end(), options.method) == known.end())
    throw Error(
        {"no method of planning is called " + options.method, study.file, "use ilqr, ddp or collocation"});
  const std::vector<double> z = study.start();
  const Arguments<double> at = study.arguments(z);
  control::Problem problem;
  problem.system = setup.system.make<double>();
  problem.objective = study.objective();
  problem.steps = setup.steps;
  problem.x0 = at.x0, problem.parameters = at.parameters;
  set_bounds(study, at, problem);
  Planned result{.method = options.method, .plan = {}, .controls = {}, .study = {}};
  result.start_value = study.value(z);
  result.plan = options.method == "collocation"
                    ? by_collocation(problem, study, at.controls, options)
                    : by_ddp(problem, study, at.controls, options,
                             options.method == "ddp" ? control::Method::ddp : control::Method::ilqr);
  const auto m = setup.signature.controls();
  for (std::int64_t i = 0; i < m; ++i) result.controls.push_back(setup.signature.describe(Role::control, i));
  Setup after = setup;
  after.optimize.reset();
  for (const Drive& drive : after.drives) {
    Path& path = after.inputs.paths[drive.path];
    path.shape = Path::Shape::steps;
    path.points.clear();
    for (std::int64_t k = 0; k < setup.steps; ++k)
      path.points.push_back(result.plan.u[std::size_t(k * m) + drive.control]);
  }
  result.study = rollout_study(std::move(after));
  return result;
}

}  // namespace costate::study
