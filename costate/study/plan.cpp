#include "costate/study/plan.h"

#include <algorithm>

#include "costate/core/error.h"
#include "costate/study/rollout_study.h"

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

}  // namespace

Planned plan(Study& any, const control::DdpOptions& options) {
  Simulation& study = simulation(any);
  const Setup& setup = study.setup();
  const std::vector<double> z = study.start();
  const Arguments<double> at = study.arguments(z);
  control::Problem problem;
  problem.system = setup.system.make<double>();
  problem.objective = study.objective();
  problem.steps = setup.steps;
  problem.x0 = at.x0, problem.parameters = at.parameters;
  set_bounds(study, at, problem);
  Planned result;
  result.start_value = study.value(z);
  result.plan = control::plan(problem, at.controls, options);
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
