#include "costate/control/identify/experiment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "costate/control/dense.h"
#include "costate/core/error.h"

namespace costate::control {
namespace {

constexpr double kUnseen = std::numeric_limits<double>::infinity();

double scale_of(const Identification& problem, const Unknown& unknown, std::size_t index) {
  if (unknown.scale > 0) return unknown.scale;
  const double own = std::abs(problem.parameters[unknown.name][index]);
  return own > 0 ? own : 1.0;
}

// Scales of the numbers that are searched, in the order of Identified::names.
std::vector<double> scales(const Identification& problem) {
  std::vector<double> all;
  for (const Unknown& unknown : problem.unknowns) {
    const std::size_t size = problem.parameters[unknown.name].size();
    for (std::size_t i = 0; i < size; ++i)
      if (unknown.index < 0 || std::size_t(unknown.index) == i) all.push_back(scale_of(problem, unknown, i));
  }
  return all;
}

// log det of a covariance, in units of the scales.
double log_volume(const std::vector<double>& covariance, const std::vector<double>& scale) {
  const auto n = Eigen::Index(scale.size());
  Matrix C = MatrixIn(covariance.data(), n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < n; ++j) C(i, j) /= scale[std::size_t(i)] * scale[std::size_t(j)];
  const Eigen::LLT<Matrix> factor(C);
  if (factor.info() != Eigen::Success) return kUnseen;
  double sum = 0;
  for (Eigen::Index i = 0; i < n; ++i) sum += 2 * std::log(factor.matrixLLT()(i, i));
  return sum;
}

}  // namespace

Foretold foretell(const Identification& problem_in) {
  Identification problem = problem_in;
  problem.robust = Robust::none;  // an outlier that is still to come has no weight
  const Identified at = identify(problem, {.iterations = 0});
  Foretold to{at.names, at.deviations, at.covariance, at.unseen};
  if (!to.unseen.empty()) {
    to.volume = to.mean = kUnseen;
    return to;
  }
  const std::vector<double> scale = scales(problem);
  for (std::size_t i = 0; i < scale.size(); ++i)
    to.mean += (to.deviations[i] / scale[i]) * (to.deviations[i] / scale[i]);
  to.volume = log_volume(to.covariance, scale);
  return to;
}

std::vector<std::size_t> choose_experiments(const Identification& problem,
                                            const std::vector<Measurements>& candidates, std::size_t count,
                                            Criterion criterion) {
  if (count > candidates.size())
    throw Error("to choose " + std::to_string(count) + " of " + std::to_string(candidates.size()) +
                " experiments");
  Identification now = problem;
  std::vector<std::size_t> chosen;
  while (chosen.size() < count) {
    std::size_t best = 0;
    std::pair<std::size_t, double> best_rank{std::numeric_limits<std::size_t>::max(), kUnseen};
    bool any = false;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (std::find(chosen.begin(), chosen.end(), i) != chosen.end()) continue;
      now.recordings.push_back(candidates[i]);
      const Foretold with = foretell(now);
      now.recordings.pop_back();
      const std::pair<std::size_t, double> rank{with.unseen.size(), with.by(criterion)};
      if (!any || rank < best_rank) best = i, best_rank = rank, any = true;
    }
    chosen.push_back(best);
    now.recordings.push_back(candidates[best]);
  }
  return chosen;
}

}  // namespace costate::control
