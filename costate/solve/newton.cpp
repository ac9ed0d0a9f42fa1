#include "costate/solve/newton.h"

#include <algorithm>
#include <cmath>

#include "costate/core/text.h"

namespace costate::solve {
namespace {

double norm(const std::vector<double>& v) {
  double sum = 0;
  for (double e : v) sum += e * e;
  return std::sqrt(sum);
}

double max_norm(const std::vector<double>& v) {
  double m = 0;
  for (double e : v) m = std::max(m, std::abs(e));
  return m;
}

bool finite(const std::vector<double>& v) {
  return std::all_of(v.begin(), v.end(), [](double e) { return std::isfinite(e); });
}

}  // namespace

Newton::Newton(int unknowns, NewtonOptions options)
    : options_(options),
      linear_(unknowns),
      g_(unknowns),
      step_(unknowns),
      trial_(unknowns),
      g_trial_(unknowns),
      jacobian_(std::size_t(unknowns) * unknowns) {}

NewtonResult Newton::solve(NonlinearSystem& system, const double* p, double* z) {
  const int n = int(g_.size());
  NewtonResult result;
  system.value(z, p, g_.data());
  if (!finite(g_)) {
    result.reason = "the residual is not finite at the start";
    return result;
  }
  for (result.iterations = 0;; ++result.iterations) {
    result.residual = max_norm(g_);
    if (result.residual <= options_.residual_tolerance) {
      result.converged = true;
      result.reason = in_words("residual %.2g not above %.2g", result.residual, options_.residual_tolerance);
      return result;
    }
    if (result.iterations == options_.max_iterations) {
      result.reason = in_words("no convergence in %.0f iterations, residual %.2g", options_.max_iterations,
                               result.residual);
      return result;
    }
    system.jacobian(z, p, jacobian_.data());
    if (!finite(jacobian_) || !linear_.try_factorise(jacobian_.data())) {
      result.reason = in_words("the Jacobian is singular at iteration %.0f, residual %.2g", result.iterations,
                               result.residual);
      return result;
    }
    for (double& e : g_) e = -e;
    linear_.solve(g_.data(), step_.data());
    if (!finite(step_)) {
      result.reason = in_words("the Newton step is not finite at iteration %.0f, residual %.2g",
                               result.iterations, result.residual);
      return result;
    }

    double relative_update = 0;
    for (int i = 0; i < n; ++i) {
      relative_update = std::max(relative_update, std::abs(step_[i]) / (std::abs(z[i]) + options_.floor));
    }
    const double before = norm(g_);
    double s = 1;
    int halvings = 0;
    for (;; ++halvings, s /= 2) {
      for (int i = 0; i < n; ++i) trial_[i] = z[i] + s * step_[i];
      system.value(trial_.data(), p, g_trial_.data());
      if (finite(g_trial_) && norm(g_trial_) <= (1 - 1e-4 * s) * before) break;
      if (relative_update <= options_.tolerance) {  // at the floor of the arithmetic: z stays
        result.converged = true;
        result.reason = in_words("update %.2g below %.2g", relative_update, options_.tolerance);
        return result;
      }
      if (halvings == options_.max_halvings) {
        result.reason = in_words("the residual %.2g does not fall along the Newton direction (update %.2g)",
                                 result.residual, relative_update);
        return result;
      }
    }
    std::copy(trial_.begin(), trial_.end(), z);
    std::swap(g_, g_trial_);
    if (relative_update <= options_.tolerance) {
      result.residual = max_norm(g_);
      result.converged = true;
      result.reason = in_words("update %.2g below %.2g", relative_update, options_.tolerance);
      ++result.iterations;
      return result;
    }
  }
}

}  // namespace costate::solve
