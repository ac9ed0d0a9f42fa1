#include "costate/optim/levenberg_marquardt.h"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/optim/descent.h"

namespace costate::optim {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr int kMaxBadSteps = 60;

// r, J and the value and gradient made of them at the point evaluated last.
struct Model {
  const Residuals& residuals;
  Eigen::VectorXd r;
  Matrix jacobian;
  double operator()(const double* x, double* gradient) {
    residuals.evaluate(x, r.data(), jacobian.data());
    if (!r.allFinite() || !jacobian.allFinite()) return std::numeric_limits<double>::infinity();
    Eigen::Map<Eigen::VectorXd>(gradient, jacobian.cols()) = jacobian.transpose() * r;
    return 0.5 * r.squaredNorm();
  }
};

// Variables that are not held at a bound.
std::vector<int> free_variables(const Evaluator& evaluate, const LevenbergMarquardtState& state) {
  std::vector<int> free;
  for (int i = 0; i < int(state.x.size()); ++i) {
    const double g = state.gradient[i],
                 room = g > 0 ? state.x[i] - evaluate.lower(i) : evaluate.upper(i) - state.x[i];
    if (g == 0 || room > 0) free.push_back(i);
  }
  return free;
}

// argmin |J d + r|^2 + damping |D d|^2 over the free variables: the least squares of both, stacked.
Eigen::VectorXd damped_step(const Matrix& jacobian, const Eigen::VectorXd& r, const std::vector<int>& free,
                            const LevenbergMarquardtState& state) {
  const int m = int(r.size()), nf = int(free.size());
  Eigen::MatrixXd stacked = Eigen::MatrixXd::Zero(m + nf, nf);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(m + nf);
  right.head(m) = -r;
  for (int k = 0; k < nf; ++k) {
    stacked.col(k).head(m) = jacobian.col(free[k]);
    const double scale = state.scale[free[k]];
    stacked(m + k, k) = std::sqrt(state.damping) * (scale > 0 ? scale : 1.0);
  }
  return stacked.colPivHouseholderQr().solve(right);
}

}  // namespace

Result minimize(const Residuals& residuals, const std::vector<double>& x0,
                const LevenbergMarquardtOptions& options, LevenbergMarquardtState* given) {
  LevenbergMarquardtState own;
  LevenbergMarquardtState& state = given ? *given : own;
  const int n = int(state.x.empty() ? x0.size() : state.x.size()), m = residuals.count;
  if (m <= 0) throw Error("least squares without residuals");
  Model trial_model{residuals, Eigen::VectorXd(m), Matrix(m, n)};
  Eigen::VectorXd r(m);  // at state.x
  Matrix jacobian(m, n);
  if (state.damping < 0) {
    state.damping = options.initial_damping;
    state.scale.assign(n, 0.0);
  }
  const bool resumed = !state.x.empty();
  bool known = false;  // r and jacobian belong to state.x

  std::vector<double> trial(n), gradient(n);
  const auto look = [&] {
    if (!known) {
      if (resumed) {
        residuals.evaluate(state.x.data(), r.data(), jacobian.data());
      } else {  // the model still holds the start
        r = trial_model.r, jacobian = trial_model.jacobian;
      }
      known = true;
    }
    if (state.first_value < 0) state.first_value = state.value;
    for (int i = 0; i < n; ++i) state.scale[i] = std::max(state.scale[i], jacobian.col(i).norm());
  };
  const auto scale = [&](const DescentState&) {
    look();
    Scale s{std::vector<double>(n, 1.0), 2 * state.first_value};
    for (int i = 0; i < n; ++i)
      if (state.scale[i] > 0) s.x[i] = std::sqrt(s.value) / state.scale[i];
    return s;
  };
  const auto advance = [&](DescentState&, const Evaluator& evaluate) -> Advance {
    look();
    const std::vector<int> free = free_variables(evaluate, state);
    bool any_finite = false;
    Accuracy accuracy;
    for (int bad = 0; bad < kMaxBadSteps; ++bad) {
      const Eigen::VectorXd d = damped_step(jacobian, r, free, state);
      trial = state.x;
      for (std::size_t k = 0; k < free.size(); ++k) trial[free[k]] += d[k];
      evaluate.project(trial);
      Eigen::VectorXd moved(n);
      for (int i = 0; i < n; ++i) moved[i] = trial[i] - state.x[i];
      const double promised = state.value - 0.5 * (r + jacobian * moved).squaredNorm();
      double value;
      const bool finite = evaluate(state, trial, value, gradient);
      any_finite |= finite;
      const double fall = state.value - value;
      const bool falls = finite && fall > 0 && fall >= 1e-4 * promised;
      const bool flattens = finite && equal_to_round_off(value, state.value) &&
                            evaluate.gradient_norm(trial, gradient) < 0.5 * evaluate.gradient_norm(state);
      if (falls || flattens) {
        const double quality = falls && promised > 0 ? std::min(1.0, fall / promised) : 0.5;
        state.damping *= std::max(1.0 / 9, 1 - std::pow(2 * quality - 1, 3));
        state.growth = 2;
        state.value = value;
        state.x = trial;
        state.gradient = gradient;
        r = trial_model.r;
        jacobian = trial_model.jacobian;
        return {};
      }
      if (finite) accuracy.note(promised, std::abs(fall - promised));
      if (moved.lpNorm<Eigen::Infinity>() == 0) break;
      state.damping = state.damping == 0 ? 1e-8 : state.damping * state.growth;
      state.growth *= 2;
    }
    if (!any_finite) {
      return {
          Stop::not_finite,
          in_words("the residuals are not finite along the step of iteration %.0f, even with damping %.2g",
                   state.iteration + 1, state.damping)};
    }
    return accuracy.explain(
        evaluate.gradient_norm(state),
        "the sum of squares no longer falls, and the Jacobian is not that of the residuals: check it");
  };
  return descend([&](const double* x, double* g) { return trial_model(x, g); }, x0, options.bounds,
                 options.stopping, options.callback, state, advance, scale);
}

}  // namespace costate::optim
