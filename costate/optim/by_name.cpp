#include "costate/optim/by_name.h"

#include "costate/core/error.h"

namespace costate::optim {
namespace {

template <class Options>
Options with_common(const Settings& s, Options options) {
  options.stopping = s.stopping;
  options.bounds = s.bounds;
  options.callback = s.callback;
  return options;
}

}  // namespace

std::vector<std::string> method_names() { return {"lbfgs", "adam", "gradient_descent", "cma_es"}; }

const DescentState& common(const AnyState& state) {
  return std::visit([](const auto& s) -> const DescentState& { return s; }, state);
}

AnyState fresh_state(const std::string& method) {
  if (method == "lbfgs") return LbfgsState{};
  if (method == "adam") return AdamState{};
  if (method == "gradient_descent") return GradientDescentState{};
  if (method == "cma_es") return CmaEsState{};
  if (method == "levenberg_marquardt") return LevenbergMarquardtState{};
  throw Error({"method = '" + method + "'", {}, "use 'lbfgs', 'adam', 'gradient_descent' or 'cma_es'"});
}

Result minimize(const Objective& objective, const ValuesOfPoints& values, const std::vector<double>& x0,
                const Settings& s, AnyState& state) {
  if (s.method == "lbfgs") {
    auto o = with_common(s, LbfgsOptions{});
    o.memory = s.memory;
    o.first_step = s.rate.value_or(o.first_step);
    return minimize(objective, x0, o, &std::get<LbfgsState>(state));
  }
  if (s.method == "adam") {
    auto o = with_common(s, AdamOptions{});
    o.rate = s.rate.value_or(o.rate);
    o.decay = s.decay;
    return minimize(objective, x0, o, &std::get<AdamState>(state));
  }
  if (s.method == "gradient_descent") {
    auto o = with_common(s, GradientDescentOptions{});
    o.rate = s.rate.value_or(o.rate);
    o.momentum = s.momentum;
    return minimize(objective, x0, o, &std::get<GradientDescentState>(state));
  }
  if (s.method == "cma_es") {
    auto o = with_common(s, CmaEsOptions{});
    o.sigma = s.rate.value_or(o.sigma);
    o.scale = s.scale;
    o.population = s.population;
    o.seed = s.seed;
    return minimize(values, x0, o, &std::get<CmaEsState>(state));
  }
  fresh_state(s.method);  // says what there is
  throw Error("levenberg_marquardt minimises residuals: levenberg_marquardt.h");
}

}  // namespace costate::optim
