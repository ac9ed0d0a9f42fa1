// What a gradient is worth, and checks of it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "costate/system/check/checks.h"
#include "costate/system/check/trust.h"
#include "costate/system/gradient_report.h"
#include "module.h"
#include "pickles.h"

namespace costate::python {
namespace {

std::string escaped(const std::string& text) {
  std::string html;
  for (const char c : text)
    html += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return html;
}

}  // namespace

void bind_reports(nb::module_& m) {
  nb::class_<GradientReport> report(m, "GradientReport", "What a gradient is worth: print it to read it.");
  using R = GradientReport;
  pickle_members(report, &R::estimator, &R::label, &R::schedule, &R::steps, &R::worlds, &R::advances,
                 &R::memory_bytes, &R::memory_bytes_per_world, &R::sampled_steps, &R::adjoint_norm,
                 &R::growth_rate, &R::growth_per_time, &R::largest_growth, &R::signal_horizon,
                 &R::mode_switches, &R::adjoint_residual, &R::reconstruction_error, &R::energy_drift,
                 &R::spot_check, &R::gradient_by_time_step, &R::loss_by_time_step, &R::masked_worlds,
                 &R::advice);
  report.def_ro("estimator", &GradientReport::estimator, "How the gradient was made.")
      .def_ro("label", &GradientReport::label,
              "'exact', 'exact up to rounding ...', 'time grid', 'tie', 'grazing', 'biased: ...' or some of "
              "these.")
      .def_ro("schedule", &GradientReport::schedule, "Checkpoint schedule.")
      .def_ro("steps", &GradientReport::steps)
      .def_ro("worlds", &GradientReport::worlds)
      .def_ro("advances", &GradientReport::advances, "Steps taken again.")
      .def_ro("memory_bytes", &GradientReport::memory_bytes)
      .def_ro("sampled_steps", &GradientReport::sampled_steps)
      .def_ro("adjoint_norm", &GradientReport::adjoint_norm, "|lambda| at the sampled steps.")
      .def_ro("growth_rate", &GradientReport::growth_rate, "Of |lambda|, per step, backwards in time.")
      .def_ro("growth_per_time", &GradientReport::growth_per_time,
              "The same per unit of time, of solutions whose steps differ in length.")
      .def_ro("largest_growth", &GradientReport::largest_growth)
      .def_ro("signal_horizon", &GradientReport::signal_horizon, "Steps from the end that carry signal.")
      .def_ro("mode_switches", &GradientReport::mode_switches, "Steps where a contact pattern changed.")
      .def_ro("adjoint_residual", &GradientReport::adjoint_residual)
      .def_ro("reconstruction_error", &GradientReport::reconstruction_error,
              "Relative, of a start that was computed backwards in time.")
      .def_ro("energy_drift", &GradientReport::energy_drift)
      .def_ro("spot_check", &GradientReport::spot_check, "Relative error of one directional difference.")
      .def_ro("masked_worlds", &GradientReport::masked_worlds, "Worlds that diverged and were left out.")
      .def_ro("advice", &GradientReport::advice)
      .def("__repr__", &GradientReport::to_text)
      .def("_repr_html_", [](const GradientReport& r) { return "<pre>" + escaped(r.to_text()) + "</pre>"; });

  nb::class_<check::Result> check(m, "Check", "One check of a gradient; true if it passed.");
  using C = check::Result;
  pickle_members(check, &C::name, &C::error, &C::gate, &C::detail, &C::skipped);
  check.def_ro("name", &check::Result::name)
      .def_ro("error", &check::Result::error, "Relative.")
      .def_ro("gate", &check::Result::gate, "Passes up to this.")
      .def_ro("detail", &check::Result::detail)
      .def_ro("skipped", &check::Result::skipped, "There was nothing to measure.")
      .def_prop_ro("passed", &check::Result::passed)
      .def("__bool__", &check::Result::passed)
      .def("__repr__", &check::Result::to_text);
  nb::class_<check::Trust> trust(m, "Trust", "How far the gradient of one group of inputs can be followed.");
  using T = check::Trust;
  pickle_members(trust, &T::inputs, &T::along_gradient, &T::random, &T::longest);
  trust.def_ro("inputs", &T::inputs, "'initial state', 'controls', 'parameters' or 'variables'.")
      .def_ro("along_gradient", &T::along_gradient,
              "The radius downhill; 0: over no change that can be told from rounding.")
      .def_ro("random", &T::random, "The smallest radius over the random directions.")
      .def_ro("longest", &T::longest, "That was tried: a radius that is as large may be larger.")
      .def("__repr__", &T::to_text);
}

}  // namespace costate::python
