#include "costate/optim/lbfgs.h"

#include <algorithm>
#include <cmath>

#include "costate/optim/descent.h"

namespace costate::optim {
namespace {

constexpr double kSufficientDecrease = 1e-4;
constexpr double kCurvature = 0.9;
constexpr double kActiveMargin = 1e-8;

double dot(const std::vector<double>& a, const std::vector<double>& b, const std::vector<char>& free) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (free[i]) sum += a[i] * b[i];
  }
  return sum;
}

class Lbfgs {
 public:
  Lbfgs(const LbfgsOptions& options, LbfgsState& state, std::size_t n)
      : options_(options), state_(state), free_(n), all_(n, 1), direction_(n), trial_(n), gradient_(n) {}

  Advance advance(const Evaluator& evaluate) {
    find_free(evaluate);
    quasi_newton_direction();
    Advance result = search(evaluate);
    if (!result.failure.empty() && !state_.s.empty()) {  // the memory misled: once more along the gradient
      state_.s.clear();
      state_.y.clear();
      quasi_newton_direction();
      result = search(evaluate);
    }
    return result;
  }

 private:
  void find_free(const Evaluator& evaluate) {
    const double margin = std::min(kActiveMargin, evaluate.gradient_norm(state_));
    for (std::size_t i = 0; i < free_.size(); ++i) {
      const double g = state_.gradient[i],
                   room = g > 0 ? state_.x[i] - evaluate.lower(int(i)) : evaluate.upper(int(i)) - state_.x[i];
      free_[i] = g == 0 || room > margin;
    }
  }

  // Two-loop recursion on the free variables; pairs without positive curvature there are passed over.
  void quasi_newton_direction() {
    const std::size_t n = free_.size();
    for (std::size_t i = 0; i < n; ++i) direction_[i] = -state_.gradient[i];
    const std::size_t pairs = state_.s.size();
    alpha_.assign(pairs, 0.0);
    rho_.assign(pairs, 0.0);
    double scale = 0;
    for (std::size_t k = pairs; k-- > 0;) {
      const double sy = dot(state_.s[k], state_.y[k], free_), yy = dot(state_.y[k], state_.y[k], free_);
      if (!(sy > 1e-14 * yy)) continue;
      rho_[k] = 1 / sy;
      if (scale == 0) scale = sy / yy;
      alpha_[k] = rho_[k] * dot(state_.s[k], direction_, free_);
      for (std::size_t i = 0; i < n; ++i) {
        if (free_[i]) direction_[i] -= alpha_[k] * state_.y[k][i];
      }
    }
    if (scale == 0) {
      double largest = 0, size = 0;
      for (std::size_t i = 0; i < n; ++i) {
        largest = std::max(largest, std::abs(state_.gradient[i]));
        size = std::max(size, std::abs(state_.x[i]));
      }
      scale = std::min(1.0, options_.first_step / largest);
      // A first step that is lost in the digits of x tells nothing.
      if (state_.iteration == 0 && scale * largest < 1e-12 * size) scale = 1e-3 * size / largest;
    }
    for (std::size_t i = 0; i < n; ++i) direction_[i] *= scale;
    for (std::size_t k = 0; k < pairs; ++k) {
      if (rho_[k] == 0) continue;
      const double beta = rho_[k] * dot(state_.y[k], direction_, free_);
      for (std::size_t i = 0; i < n; ++i) {
        if (free_[i]) direction_[i] += (alpha_[k] - beta) * state_.s[k][i];
      }
    }
  }

  Advance search(const Evaluator& evaluate) {
    const std::size_t n = free_.size();
    double a = 1, last_a = 0, last_value = 0;
    bool any_finite = false;
    Accuracy accuracy;
    const double slope = dot(state_.gradient, direction_, all_);
    for (int k = 0; k < options_.max_line_search; ++k) {
      for (std::size_t i = 0; i < n; ++i) trial_[i] = state_.x[i] + a * direction_[i];
      evaluate.project(trial_);
      double predicted = 0;
      bool moved = false;
      for (std::size_t i = 0; i < n; ++i) {
        predicted += state_.gradient[i] * (trial_[i] - state_.x[i]);
        moved |= trial_[i] != state_.x[i];
      }
      if (!moved) break;
      double value;
      const bool finite = evaluate(state_, trial_, value, gradient_);
      any_finite |= finite;
      if (finite && predicted < 0 &&
          (value <= state_.value + kSufficientDecrease * predicted || slope_says_enough(value, predicted))) {
        const double surprise = std::abs(value - state_.value - predicted);
        // No smooth function falls by that much more, or less, than its slope says: is this only noise?
        if (surprise > -predicted && -predicted <= noise(evaluate, predicted)) {
          accuracy.note(-predicted, surprise);
          return accuracy.explain(evaluate.gradient_norm(state_), "");
        }
        remember(value);
        return {};
      }
      if (finite) accuracy.note(-predicted, std::abs(value - state_.value - predicted));
      a = finite && predicted < 0 ? shorter_step(a, value, last_a, last_value, slope) : a / 4;
    }
    if (!any_finite) {
      return {Stop::not_finite,
              in_words("the value is not finite along the step of iteration %.0f, down to %.2g of it",
                       state_.iteration + 1, a)};
    }
    return accuracy.explain(evaluate.gradient_norm(state_),
                            "the value no longer falls along the descent direction, and the gradient is not "
                            "that of the value: check it, or try adam where contacts begin and end nearby");
  }

  // How far the values just ahead of x are off the slope: a smooth function is off by the square of the way.
  double noise(const Evaluator& evaluate, double predicted) {
    double worst = 0, value;
    std::vector<double> near(trial_.size()), unused(trial_.size());
    for (const double part : {1.0 / 64, 1.0 / 256, 1.0 / 1024}) {
      for (std::size_t i = 0; i < near.size(); ++i) near[i] = state_.x[i] + part * (trial_[i] - state_.x[i]);
      if (evaluate(state_, near, value, unused))
        worst = std::max(worst, std::abs(value - state_.value - part * predicted));
    }
    return worst;
  }

  // The same test by the slope at the trial point, for when the values agree to round-off.
  bool slope_says_enough(double value, double predicted) const {
    if (!equal_to_round_off(value, state_.value)) return false;
    double slope_there = 0;
    for (std::size_t i = 0; i < free_.size(); ++i) slope_there += gradient_[i] * (trial_[i] - state_.x[i]);
    return slope_there <= (2 * kSufficientDecrease - 1) * predicted && slope_there >= kCurvature * predicted;
  }

  // Minimum of the parabola (first) or cubic through the values so far [1, eqs. 3.57 to 3.59], held within
  // [a/10, a/2].
  static double interpolate(double a, double value, double last_a, double last_value, double f0,
                            double slope) {
    const double e = value - f0 - slope * a;
    if (last_a == 0) return e > 0 ? -slope * a * a / (2 * e) : a / 2;
    const double e_last = last_value - f0 - slope * last_a;
    const double d = 1 / (a * a * last_a * last_a * (a - last_a));
    const double c3 = d * (last_a * last_a * e - a * a * e_last);
    const double c2 = d * (a * a * a * e_last - last_a * last_a * last_a * e);
    const double under = c2 * c2 - 3 * c3 * slope;
    if (c3 == 0 || under < 0) return a / 2;
    return (-c2 + std::sqrt(under)) / (3 * c3);
  }
  double shorter_step(double a, double value, double& last_a, double& last_value, double slope) const {
    const double next = interpolate(a, value, last_a, last_value, state_.value, slope);
    last_a = a;
    last_value = value;
    return std::min(std::max(next, 0.1 * a), 0.5 * a);
  }

  void remember(double value) {
    const std::size_t n = free_.size();
    std::vector<double> s(n), y(n);
    for (std::size_t i = 0; i < n; ++i) {
      s[i] = trial_[i] - state_.x[i];
      y[i] = gradient_[i] - state_.gradient[i];
    }
    state_.value = value;
    state_.x = trial_;
    state_.gradient = gradient_;
    if (dot(s, y, all_) > 1e-12 * std::sqrt(dot(s, s, all_) * dot(y, y, all_))) {
      state_.s.push_back(std::move(s));
      state_.y.push_back(std::move(y));
      if (int(state_.s.size()) > options_.memory) {
        state_.s.erase(state_.s.begin());
        state_.y.erase(state_.y.begin());
      }
    }
  }

  const LbfgsOptions& options_;
  LbfgsState& state_;
  std::vector<char> free_, all_;
  std::vector<double> direction_, trial_, gradient_, alpha_, rho_;
};

}  // namespace

Result minimize(const Objective& objective, const std::vector<double>& x0, const LbfgsOptions& options,
                LbfgsState* given) {
  LbfgsState own;
  LbfgsState& state = given ? *given : own;
  Lbfgs method(options, state, state.x.empty() ? x0.size() : state.x.size());
  return descend(objective, x0, options.bounds, options.stopping, options.callback, state,
                 [&](DescentState&, const Evaluator& evaluate) { return method.advance(evaluate); });
}

}  // namespace costate::optim
