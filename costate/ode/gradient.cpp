#include "costate/ode/gradient.h"

#include <string>

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

}  // namespace costate::ode
