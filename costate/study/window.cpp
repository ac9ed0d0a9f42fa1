#include "costate/study/window.h"

#include <algorithm>

namespace costate::study {

std::int64_t signal_window(const GradientReport& report) {
  const std::vector<double>& norm = report.adjoint_norm;
  const std::size_t n = norm.size();
  for (std::size_t gap = n; gap-- > 1;) {
    std::size_t kept = 0, seen = 0;
    for (std::size_t i = 0; i + gap < n; ++i) {
      if (!(norm[i + gap] > 0)) continue;  // nothing depends on the state there yet
      ++seen;
      kept += norm[i] <= kSignalGrowth * norm[i + gap] ? 1 : 0;
    }
    if (2 * kept < seen || seen == 0) continue;
    if (gap == n - 1) return report.steps;
    return std::max<std::int64_t>(1, report.sampled_steps[gap] - report.sampled_steps[0]);
  }
  return n < 2 ? report.steps : std::max<std::int64_t>(1, report.sampled_steps[1] - report.sampled_steps[0]);
}

std::int64_t blind_steps(const std::vector<std::int64_t>& losses, std::int64_t window, std::int64_t steps) {
  std::int64_t felt = 0;
  for (std::int64_t end = steps; end > 0; end -= window) {
    const std::int64_t begin = std::max<std::int64_t>(0, end - window);
    std::int64_t last = begin;
    for (const std::int64_t k : losses)
      if (k <= end) last = std::max(last, k);
    felt += last - begin;
  }
  return steps - felt;
}

}  // namespace costate::study
