#include "costate/optim/adam.h"

#include <cmath>

#include "costate/optim/adam_step.h"
#include "costate/optim/descent.h"

namespace costate::optim {

constexpr int kMaxHalvings = 40;

void adam_moments(const AdamOptions& options, std::span<const double> gradient, std::span<double> m,
                  std::span<double> v) {
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double g = gradient[i];
    m[i] = options.beta1 * m[i] + (1 - options.beta1) * g;
    v[i] = options.beta2 * v[i] + (1 - options.beta2) * g * g;
  }
}

void adam_step(const AdamOptions& options, double k, double rate, std::span<const double> m,
               std::span<const double> v, std::span<const double> from, std::span<double> to) {
  const double correction1 = 1 - std::pow(options.beta1, k), correction2 = 1 - std::pow(options.beta2, k);
  for (std::size_t i = 0; i < from.size(); ++i)
    to[i] = from[i] - rate * (m[i] / correction1) / (std::sqrt(v[i] / correction2) + options.epsilon);
}

Result minimize(const Objective& objective, const std::vector<double>& x0, const AdamOptions& options,
                AdamState* given) {
  AdamState own;
  AdamState& state = given ? *given : own;
  if (state.m.empty()) {
    state.m.assign(x0.size(), 0.0);
    state.v.assign(x0.size(), 0.0);
  }
  const std::size_t n = state.m.size();
  std::vector<double> trial(n), gradient(n);

  const auto advance = [&](DescentState&, const Evaluator& evaluate) -> Advance {
    const double k = state.iteration + 1;
    adam_moments(options, state.gradient, state.m, state.v);
    double rate = options.rate * std::pow(options.decay, k - 1);
    for (int halvings = 0; halvings <= kMaxHalvings; ++halvings, rate /= 2) {
      adam_step(options, k, rate, state.m, state.v, state.x, trial);
      evaluate.project(trial);
      double value;
      if (evaluate(state, trial, value, gradient)) {
        state.value = value;
        state.x = trial;
        state.gradient = gradient;
        return {};
      }
    }
    return {Stop::not_finite,
            in_words("the value is not finite along the step of iteration %.0f, even after %.0f halvings",
                     state.iteration + 1, kMaxHalvings)};
  };
  return descend(objective, x0, options.bounds, options.stopping, options.callback, state, advance);
}

}  // namespace costate::optim
