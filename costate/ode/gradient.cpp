#include "costate/ode/gradient.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "costate/core/error.h"

namespace costate::ode {

Gradient zero_gradient(const Trajectory& tr, std::string estimator) {
  Gradient out;
  out.x0.assign(tr.user_states, 0.0);
  out.controls.assign(tr.parameters.control_values(), 0.0);
  const auto count = static_cast<std::int64_t>(tr.parameters.parameters());
  out.parameters = Parameters<double>(Signature().parameter_field("p", count, 0.0));
  GradientReport& report = out.report;
  report.estimator = std::move(estimator);
  // Adaptive steps keep their lengths while the inputs move.
  report.label = tr.dt > 0 ? "exact" : "exact for the steps taken";
  if (tr.memory > 0 || tr.tolerance.carry) report.label += ", to what Newton's iterations left";
  report.schedule =
      tr.keep_every == 1 ? "all states kept" : "1 state in " + std::to_string(tr.keep_every) + " kept";
  report.steps = tr.size();
  report.worlds = 1;
  report.memory_bytes = static_cast<std::int64_t>(sizeof(double) * (tr.kept.size() + tr.stages.size()));
  report.memory_bytes_per_world = report.memory_bytes;
  return out;
}

void add_rows(const Trajectory& tr, const std::vector<double>& rows_bar, Gradient& g) {
  tr.parameters.transpose(rows_bar, g.parameters.values(0).data(), g.controls.data(), g.t0, g.t1);
}

Gradient finite(Gradient g) {
  const auto look = [](std::span<const double> numbers, const std::string& what, const char* advice) {
    if (std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); })) return;
    throw Error({what + " is not finite although the solution is", {}, advice}, Error::Kind::numerics);
  };
  look({&g.value, 1}, "the loss", "look for a width, weight or distance that is absurd");
  const auto look_at = [&](std::span<const double> bar, const char* input) {
    look(bar, std::string("the gradient with respect to ") + input,
         "sensitivities grow until they overflow, or a slope on the way is infinite, as that of a root at "
         "zero: shorten the time, or begin a little beside it");
  };
  look_at(g.x0, "the initial state");
  look_at(g.parameters.values(0), "the parameters");
  look_at(g.controls, "the controls");
  look_at({&g.t0, 1}, "t0");
  look_at({&g.t1, 1}, "t1");
  return g;
}

}  // namespace costate::ode
