#include "costate/optim/descent.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"

namespace costate::optim {
namespace {

constexpr const char* kAtTheStart =
    " at the starting point; if that is no minimum, scale the variables and the value to about 1";

bool all_finite(const std::vector<double>& v) {
  return std::all_of(v.begin(), v.end(), [](double e) { return std::isfinite(e); });
}

}  // namespace

void Accuracy::note(double promised, double surprise) { trials_.push_back({promised, surprise}); }

Advance Accuracy::explain(double gradient_norm, const std::string& otherwise) const {
  constexpr double kHidden = 100;  // a promise of so many times the accuracy can still be missed
  double accuracy = 0, gain = 0;
  for (std::size_t i = trials_.size() > 3 ? trials_.size() - 3 : 0; i < trials_.size(); ++i)
    accuracy = std::max(accuracy, trials_[i].surprise);
  for (const Trial& t : trials_) {
    const bool curved = t.surprise > 4 * accuracy;
    gain = std::max(gain, curved ? t.promised * t.promised / (4 * t.surprise) : t.promised);
  }
  if (!trials_.empty() && gain <= kHidden * accuracy)
    return {Stop::value,
            in_words("converged to the accuracy of the function: another step promises a decrease of "
                     "%.2g, and the values are exact to %.2g",
                     gain, accuracy)};
  return {Stop::no_descent, otherwise + in_words(" (gradient norm %.2g)", gradient_norm)};
}

bool equal_to_round_off(double a, double b) {
  return std::abs(a - b) <= 16 * std::numeric_limits<double>::epsilon() * std::max(std::abs(a), std::abs(b));
}

Evaluator::Evaluator(const Objective& objective, const Bounds& bounds, int n)
    : objective_(objective), bounds_(bounds) {
  for (const auto* side : {&bounds.lower, &bounds.upper}) {
    if (!side->empty() && int(side->size()) != n) {
      throw Error("bounds have " + std::to_string(side->size()) + " components, the variables " +
                  std::to_string(n));
    }
  }
  for (int i = 0; i < n; ++i) {
    if (!(lower(i) <= upper(i)))
      throw Error("the lower bound of variable " + std::to_string(i) + " lies above its upper bound");
  }
}

bool Evaluator::operator()(DescentState& state, const std::vector<double>& x, double& value,
                           std::vector<double>& gradient) const {
  ++state.evaluations;
  std::fill(gradient.begin(), gradient.end(), 0.0);
  value = objective_(x.data(), gradient.data());
  return std::isfinite(value) && all_finite(gradient);
}

void Evaluator::project(std::vector<double>& x) const {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::min(std::max(x[i], lower(int(i))), upper(int(i)));
}

double Evaluator::gradient_norm(const std::vector<double>& x, const std::vector<double>& gradient) const {
  double norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double g = gradient[i];
    // How far -g may move the variable before its bound.
    const double room = g > 0 ? x[i] - lower(int(i)) : upper(int(i)) - x[i];
    norm = std::max(norm, std::min(std::abs(g), room));
  }
  return norm;
}

double Evaluator::gradient_norm(const DescentState& state, const Scale& scale) const {
  double norm = 0;
  for (std::size_t i = 0; i < state.x.size(); ++i) {
    const double g = state.gradient[i];
    const double room = g > 0 ? state.x[i] - lower(int(i)) : upper(int(i)) - state.x[i];
    if (g == 0 || room <= 0) continue;
    norm = std::max(norm, std::min(std::abs(g) * scale.x[i] / scale.value, room / scale.x[i]));
  }
  return norm;
}

Scale scale_of(const DescentState& state) {
  constexpr double kLarge = 1e4;  // what is smaller counts as of size 1, for which tolerances are meant
  Scale scale{state.x, std::max(1.0, std::abs(state.value))};
  for (double& x : scale.x) x = std::max(1.0, std::abs(x) / kLarge);
  return scale;
}

Result descend(const Objective& objective, const std::vector<double>& x0, const Bounds& bounds,
               const Stopping& stopping, const Callback& callback, DescentState& state,
               const AdvanceFunction& advance, const ScaleFunction& scale) {
  const bool resumed = !state.x.empty();
  if (x0.empty() && !resumed) throw Error("nothing to minimise: there are no variables");
  const Evaluator evaluate(objective, bounds, int(resumed ? state.x.size() : x0.size()));

  const auto finish = [&](Stop stop, std::string reason) {
    return Result{state.best_x,     state.best_value,  evaluate.gradient_norm(state),
                  state.iteration,  state.evaluations, stop,
                  std::move(reason)};
  };

  bool finite = all_finite(state.gradient);
  if (!resumed) {
    state.x = x0;
    state.gradient.assign(x0.size(), 0.0);
    evaluate.project(state.x);
    finite = evaluate(state, state.x, state.value, state.gradient);
    state.best_x = state.x;
    state.best_value = state.value;
  }
  if (!finite) {
    std::fill(state.gradient.begin(), state.gradient.end(), 0.0);
    Result result =
        finish(Stop::not_finite,
               in_words("the value (%g) or its gradient is not finite at the starting point", state.value));
    // So that a run resumed from here says the same, instead of taking the zeros for a minimum.
    std::fill(state.gradient.begin(), state.gradient.end(), std::numeric_limits<double>::quiet_NaN());
    return result;
  }

  std::vector<double> before;
  for (;;) {
    const double gradient_norm = evaluate.gradient_norm(state);
    if (gradient_norm <= stopping.gradient_tolerance &&
        evaluate.gradient_norm(state, scale(state)) <= stopping.gradient_tolerance) {
      return finish(Stop::gradient, in_words("gradient norm %.2g not above %.2g", gradient_norm,
                                             stopping.gradient_tolerance) +
                                        (state.iteration == 0 && gradient_norm > 0 ? kAtTheStart : ""));
    }
    if (state.value <= stopping.target) {
      return finish(Stop::target,
                    in_words("value %.6g not above the target %.6g", state.value, stopping.target));
    }
    if (state.iteration >= stopping.max_iterations) {
      return finish(Stop::iterations,
                    in_words("%.0f iterations done, gradient norm %.2g", state.iteration, gradient_norm));
    }

    before = state.x;
    const double value_before = state.value;
    const Advance advanced = advance(state, evaluate);
    if (!advanced.failure.empty()) return finish(advanced.stop, advanced.failure);
    ++state.iteration;
    if (state.value < state.best_value || equal_to_round_off(state.value, state.best_value)) {
      state.best_value = state.value;
      state.best_x = state.x;
    }

    double step = 0;
    for (std::size_t i = 0; i < before.size(); ++i) step = std::max(step, std::abs(state.x[i] - before[i]));
    if (callback &&
        !callback({state.iteration, state.value, evaluate.gradient_norm(state), step, state.evaluations})) {
      return finish(Stop::callback,
                    in_words("stopped by the callback after %.0f iterations", state.iteration));
    }
    const double decrease = value_before - state.value;
    if (stopping.value_tolerance > 0 && decrease >= 0 &&
        decrease <= stopping.value_tolerance * std::max(std::abs(value_before), std::abs(state.value))) {
      return finish(
          Stop::value,
          in_words("converged: the value fell by %.2g in one iteration, and the relative tolerance is %.2g",
                   decrease, stopping.value_tolerance));
    }
  }
}

}  // namespace costate::optim
