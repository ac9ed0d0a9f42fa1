#include "costate/system/run/report_collector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace costate {

template <class Real>
void ReportCollector<Real>::take(const BlockResults<Real>& block) {
  const std::lock_guard lock(mutex_);
  report_.advances = std::max(report_.advances, block.advances);
  report_.memory_bytes = std::max(report_.memory_bytes, block.memory_bytes);
  if (block.energy_drift)
    report_.energy_drift = std::max(report_.energy_drift.value_or(0), *block.energy_drift);
  for (int l = 0; l < block.live_lanes; ++l) {
    if (block.diverged[l]) masked_.push_back(block.first_world + l);
  }
  if (!block.diagnostics) return;
  const Diagnostics& noticed = *block.diagnostics;
  report_.adjoint_residual = std::max(report_.adjoint_residual, noticed.adjoint_residual);
  report_.mode_switches.insert(report_.mode_switches.end(), noticed.mode_switches.begin(),
                               noticed.mode_switches.end());
  for (const Finding& f : noticed.findings.all()) findings_.add(f);
}

template <class Real>
void ReportCollector<Real>::finish(const RolloutShape<Real>& rollout, int lanes, const double* norm2,
                                   Gradient<Real>& out) {
  finish_values(out);
  auto& switches = report_.mode_switches;
  std::sort(switches.begin(), switches.end());
  switches.erase(std::unique(switches.begin(), switches.end()), switches.end());
  for (const Finding& f : findings_.all()) report_.advice.push_back(f.text);
  std::sort(report_.advice.begin(), report_.advice.end());
  report_.memory_bytes_per_world = report_.memory_bytes / lanes;
  const std::int64_t steps = rollout.options.steps;
  report_.steps = steps;
  report_.worlds = rollout.options.worlds;
  report_.schedule = rollout.options.checkpoints.name();
  finish_label(rollout.options.checkpoints);
  const std::int64_t samples = adjoint_samples(steps), spacing = adjoint_sample_spacing(steps);
  for (std::int64_t i = 0; i < samples; ++i) {
    report_.sampled_steps.push_back(i == samples - 1 ? steps : i * spacing);
    report_.adjoint_norm.push_back(std::sqrt(norm2[i]));
  }
}

template <class Real>
void ReportCollector<Real>::finish_values(Gradient<Real>& out) {
  std::sort(masked_.begin(), masked_.end());
  std::vector<char> masked(out.values.size(), 0);
  for (const std::int64_t w : masked_) {
    masked[w] = 1;
    out.values[w] = std::numeric_limits<double>::quiet_NaN();
  }
  out.value = sum_of_live(out.values, masked);
  report_.masked_worlds = std::move(masked_);
}

template <class Real>
void ReportCollector<Real>::finish_label(const Checkpoints& checkpoints) {
  if (checkpoints.window > 0)
    report_.label = "biased: the cotangent is dropped every " + std::to_string(checkpoints.window) + " steps";
  else if (!checkpoints.exact())
    report_.label = "exact up to rounding of the reconstructed states";
  // What is exact up to something is not, once anything else is the matter.
  std::set<std::string> labels;
  for (const Finding& f : findings_.all())
    if (!f.label.empty()) labels.insert(f.label);
  std::string found;
  for (const std::string& label : labels) found += (found.empty() ? "" : "; ") + label;
  if (!found.empty())
    report_.label = report_.label.starts_with("exact") ? found : report_.label + "; " + found;
}

template class ReportCollector<float>;
template class ReportCollector<double>;

}  // namespace costate
