#include "costate/optim/gradient_descent.h"

#include "costate/optim/descent.h"

namespace costate::optim {

constexpr int kMaxHalvings = 40;

Result minimize(const Objective& objective, const std::vector<double>& x0,
                const GradientDescentOptions& options, GradientDescentState* given) {
  GradientDescentState own;
  GradientDescentState& state = given ? *given : own;
  if (state.velocity.empty()) state.velocity.assign(x0.size(), 0.0);
  std::vector<double> trial(state.velocity.size()), gradient(state.velocity.size());

  const auto advance = [&](DescentState&, const Evaluator& evaluate) -> Advance {
    for (std::size_t i = 0; i < trial.size(); ++i) {
      state.velocity[i] = options.momentum * state.velocity[i] - options.rate * state.gradient[i];
    }
    for (int halvings = 0; halvings <= kMaxHalvings; ++halvings) {
      for (std::size_t i = 0; i < trial.size(); ++i) trial[i] = state.x[i] + state.velocity[i];
      evaluate.project(trial);
      double value;
      if (evaluate(state, trial, value, gradient)) {
        state.value = value;
        state.x = trial;
        state.gradient = gradient;
        return {};
      }
      for (double& v : state.velocity) v /= 2;
    }
    return {Stop::not_finite,
            in_words("the value is not finite along the step of iteration %.0f, even after %.0f halvings",
                     state.iteration + 1, kMaxHalvings)};
  };
  return descend(objective, x0, options.bounds, options.stopping, options.callback, state, advance);
}

}  // namespace costate::optim
