#include "costate/system/gradient_report.h"

#include <algorithm>
#include <cmath>

#include "costate/core/names.h"
#include "costate/core/text.h"

namespace costate {
namespace {

// A gradient that shrinks by more than this from the end to the start says nothing about the start.
constexpr double kVanishing = 1e-12;

// What a run has found apart from the growth of its gradient.
void advise(GradientReport& r, double epsilon) {
  if (!r.mode_switches.empty()) {
    r.advice.push_back(std::to_string(r.mode_switches.size()) +
                       " steps changed their contact or branch pattern (first: step " +
                       std::to_string(r.mode_switches.front()) +
                       "): the gradient is that of this pattern; compare dt with dt/2");
  }
  if (r.adjoint_residual > 1e-8) {
    r.advice.push_back(
        "an adjoint solve ended with residual " + number(r.adjoint_residual, 3) +
        ": tighten the solver's tolerance; where that does not help, a constraint is too stiff for "
        "its bodies: soften it (solref, solimp, invweight)");
  }
  // Beyond half of the digits, what was solved for is not known well enough for its derivative to be exact.
  if (r.adjoint_residual > std::sqrt(epsilon) && r.label.starts_with("exact"))
    r.label = "exact up to a residual of " + number(r.adjoint_residual, 2);
  if (r.spot_check && *r.spot_check > 1e-4) {
    r.advice.push_back("a finite difference along a random direction disagrees by " +
                       number(*r.spot_check, 3) +
                       ": the loss is rough at this scale (contact, chaos), or the physics has a wrong "
                       "derivative; run the checks");
  }
  if (r.discretisation_dominated()) {
    r.label = "discretisation-dominated";
    r.advice.push_back(
        "from dt to dt/2 the gradient changes by " + number(*r.gradient_by_time_step, 3) +
        " of itself and the loss by " + number(*r.loss_by_time_step, 3) +
        ": it is the gradient of the time grid, not of the physics; split steps at contact onset "
        "(onset = split), reduce dt, or smooth over the phase of the impact");
  }
  if (!r.masked_worlds.empty()) {
    r.advice.push_back(std::to_string(r.masked_worlds.size()) +
                       " worlds diverged and were left out of value and gradient (first: world " +
                       std::to_string(r.masked_worlds.front()) + ")");
  }
}

}  // namespace

bool GradientReport::discretisation_dominated() const {
  constexpr double kMost = 0.05;
  return gradient_by_time_step && *gradient_by_time_step > kMost &&
         loss_by_time_step.value_or(0) < 0.5 * *gradient_by_time_step;
}

void GradientReport::conclude(double epsilon) {
  signal_horizon = steps;
  // A running loss has no cotangent at the very end.
  std::size_t n = adjoint_norm.size();
  while (n > 0 && adjoint_norm[n - 1] == 0) --n;
  if (n >= 2 && adjoint_norm[n - 1] > 0 && adjoint_norm.front() > 0) {
    const double end_norm = adjoint_norm[n - 1];
    const auto rate = [&](std::size_t i, std::size_t j) {
      return std::log(adjoint_norm[i] / adjoint_norm[j]) / double(sampled_steps[j] - sampled_steps[i]);
    };
    growth_rate = rate(0, n - 1);
    // Windows of an eighth of the samples, long enough to look past the oscillation of a single mode, about a
    // hundred of them.
    const std::size_t window = std::max<std::size_t>(1, (n - 1) / 8),
                      stride = std::max<std::size_t>(1, n / 128);
    largest_growth = growth_rate;
    for (std::size_t i = 0; i + window < n; i += stride) {
      if (adjoint_norm[i] > 0 && adjoint_norm[i + window] > 0)
        largest_growth = std::max(largest_growth, rate(i, i + window));
    }
    const char* const contacts =
        mode_switches.size() < 10 ? "" : "; with contacts that begin this often, compare onset = none";
    // Where the growth since the end first exceeds 1 / epsilon.
    for (std::size_t i = n; i-- > 0;) {
      if (epsilon * adjoint_norm[i] <= end_norm) continue;
      signal_horizon = steps - sampled_steps[i];
      advice.push_back("the gradient grows " + growth_text(4) + "; what comes from before step " +
                       std::to_string(sampled_steps[i]) + " carries no signal: " +
                       (growth_per_time
                            ? "shorten the span"
                            : "shorten the rollout, use truncated(" +
                                  std::to_string(std::max<std::int64_t>(1, signal_horizon / 2)) +
                                  "), or smooth the loss over random inputs (estimate::smoothed_gradient)") +
                       contacts);
      break;
    }
    if (signal_horizon == steps && adjoint_norm.front() > 1e6 * end_norm) {
      advice.push_back("the gradient has grown " + number(adjoint_norm.front() / end_norm, 3) +
                       "-fold from the end to the start: expect very unequal step sizes; a shorter horizon "
                       "trains better" +
                       contacts);
    }
    if (adjoint_norm.front() < kVanishing * end_norm) {
      advice.push_back(
          "the gradient has shrunk " + number(end_norm / adjoint_norm.front(), 3) +
          "-fold: the early states hardly matter to this loss; add running terms, or shorten the "
          "horizon");
    }
  }
  if (n == 0 && !adjoint_norm.empty()) {
    advice.push_back(
        "the gradient of the state is zero at every sampled step: the loss does not depend on the state "
        "along this trajectory");
  }
  advise(*this, epsilon);
}

std::string GradientReport::growth_text(int digits) const {
  return growth_per_time ? number(std::exp(*growth_per_time), digits) + "x per unit of time"
                         : number(std::exp(growth_rate), digits) + "x per step";
}

std::string GradientReport::to_text() const {
  std::string text = "gradient: " + estimator + ", " + label + "; " + counted(steps, "step") + " x " +
                     counted(worlds, "world") + ", " + schedule + ", " + counted(advances, "extra step") +
                     ", " + number(double(memory_bytes_per_world) / 1024, 3) + " KiB a world\n";
  if (!adjoint_norm.empty()) {
    text += "adjoint:  |lambda| " + number(adjoint_norm.back(), 3) + " at the end, " +
            number(adjoint_norm.front(), 3) + " at the start; " + growth_text(6) +
            (growth_per_time ? "\n" : " (worst window " + number(std::exp(largest_growth), 6) + "x)\n");
  }
  if (energy_drift) text += "energy:   drift " + number(*energy_drift, 3) + "\n";
  if (spot_check) text += "check:    directional difference agrees to " + number(*spot_check, 3) + "\n";
  if (gradient_by_time_step) {
    text += "time step: from dt to dt/2 the gradient changes by " + number(*gradient_by_time_step, 3) +
            ", the loss by " + number(loss_by_time_step.value_or(0), 3) + "\n";
  }
  if (reconstruction_error)
    text += "solver:   the start, computed backwards, is off by " + number(*reconstruction_error, 3) + "\n";
  if (adjoint_residual > 0) text += "solver:   adjoint residual " + number(adjoint_residual, 3) + "\n";
  for (const std::string& line : advice) text += "advice:   " + line + "\n";
  return text;
}

}  // namespace costate
