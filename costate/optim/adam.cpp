#include "costate/optim/adam.h"

#include <cmath>

#include "costate/optim/descent.h"

namespace costate::optim {

constexpr int kMaxHalvings = 40;

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
    const double correction1 = 1 - std::pow(options.beta1, k), correction2 = 1 - std::pow(options.beta2, k);
    for (std::size_t i = 0; i < n; ++i) {
      const double g = state.gradient[i];
      state.m[i] = options.beta1 * state.m[i] + (1 - options.beta1) * g;
      state.v[i] = options.beta2 * state.v[i] + (1 - options.beta2) * g * g;
    }
    double rate = options.rate * std::pow(options.decay, k - 1);
    for (int halvings = 0; halvings <= kMaxHalvings; ++halvings, rate /= 2) {
      for (std::size_t i = 0; i < n; ++i) {
        trial[i] = state.x[i] - rate * (state.m[i] / correction1) /
                                    (std::sqrt(state.v[i] / correction2) + options.epsilon);
      }
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
