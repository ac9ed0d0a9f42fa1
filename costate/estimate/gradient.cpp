#include "costate/estimate/gradient.h"

#include "costate/core/names.h"
#include "costate/core/text.h"
#include "costate/estimate/samples.h"
#include "costate/system/scored_system.h"

namespace costate::estimate {

const std::vector<std::string>& method_names() {
  static const std::vector<std::string> kNames = {"automatic",  "pathwise",    "forward",      "girsanov",
                                                  "reinforce",  "reweighting", "implicit",     "differences",
                                                  "continuous", "first_order", "zeroth_order", "mixed_order"};
  return kNames;
}
const std::string& to_string(Method method) { return method_names()[std::size_t(method)]; }
Method method_by_name(const std::string& name) {
  const auto& names = method_names();
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) {
    std::string list;
    for (const std::string& one : names) list += (list.empty() ? "" : ", ") + one;
    refuse("there is no estimator '" + name + "'", "there are: " + list);
  }
  return Method(at - names.begin());
}

Blocked blocked_error(std::vector<double> series) {
  Blocked out;
  if (series.size() < 4) return {.error = HUGE_VAL, .correlation_time = 0};
  const double first = mean_of(series).error;
  // The error of the longest blocks of which there are still enough, or of the first plateau.
  while (series.size() >= 128) {
    const double error = mean_of(series).error;
    out.error = std::max(out.error, error);
    std::vector<double> halved(series.size() / 2);
    for (std::size_t i = 0; i < halved.size(); ++i) halved[i] = 0.5 * (series[2 * i] + series[2 * i + 1]);
    series = std::move(halved);
  }
  out.error = std::max(out.error, first);
  out.correlation_time = first > 0 ? 0.5 * (out.error * out.error / (first * first)) : 0;
  return out;
}

std::string Sampled::to_text() const {
  std::string text = to_string(method) + ": " + label + "\n";
  if (!reason.empty()) text += "  chosen because " + reason + "\n";
  text += "  value " + number(value) + " +- " + number(value_error, 2) + ", " + counted(samples, "sample");
  if (effective_samples < double(samples)) text += ", " + number(effective_samples, 3) + " effective";
  if (correlation_time > 0) text += ", correlation time " + number(correlation_time, 3);
  text += "\n";
  for (std::size_t i = 0; i < names.size(); ++i)
    text += "  with respect to " + names[i] + ": " + number(gradient[i]) + " +- " +
            number(standard_error[i], 2) + "\n";
  for (const std::string& line : advice) text += "  " + line + "\n";
  return text;
}

namespace {

template <class Real>
Sampled by_method(const Question<Real>& q, Method method) {
  switch (method) {
    case Method::pathwise:
      return pathwise(q);
    case Method::forward:
      return forward_sensitivity(q);
    case Method::girsanov:
      return girsanov(q);
    case Method::reinforce:
    case Method::reweighting:
      return equilibrium(q);
    case Method::implicit:
      return fixed_point(q);
    case Method::continuous:
      return continuous(q);
    case Method::first_order:
    case Method::zeroth_order:
    case Method::mixed_order:
      return smoothed(q, method);
    default:
      return differences(q);
  }
}

double relative_error(const Sampled& s) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < s.gradient.size(); ++i) {
    error += s.standard_error[i] * s.standard_error[i];
    size += s.gradient[i] * s.gradient[i];
  }
  return size > 0 ? std::sqrt(error / size) : std::sqrt(error);
}

// Without a path score: pathwise, unless its derivatives say nothing.
template <class Real>
Sampled choose_without_score(const Question<Real>& q, const std::string& why) {
  Sampled out = pathwise(q);
  const bool zero = std::all_of(out.gradient.begin(), out.gradient.end(), [](double g) { return g == 0; });
  const double grown = out.growth_rate * double(q.options.steps);
  constexpr double kLost = 23;  // a factor of 1e10
  const bool one_start = std::int64_t(q.at.x0.size()) == q.system->signature().states();
  if (one_start && (zero || grown > kLost)) {
    out = smoothed(q, Method::mixed_order);
    out.reason = why + ", and " +
                 (zero ? "the derivative of every path is zero: the loss moves by jumps alone"
                       : "adjoints grow by a factor of 1e" + number(std::floor(grown / std::log(10.0))) +
                             " over the horizon: the derivative of a path carries no signal");
    return out;
  }
  out.reason = why;
  return out;
}

// Pathwise and girsanov on a few samples: where they disagree the loss jumps, or the adjoints have outgrown
// their signal; otherwise the smaller error wins.
template <class Real>
Sampled choose(const Question<Real>& q) {
  const auto answer = [&](Method method, const std::string& why) {
    Sampled s = by_method(q, method);
    s.reason = why;
    return s;
  };
  const auto* scored = dynamic_cast<const ScoredSystem<Real>*>(q.system.get());
  std::string without = scored ? scored->no_score("") : "its steps have no density";
  for (const std::size_t f : q.wanted.fields)
    if (scored && without.empty())
      without = scored->no_score(q.system->signature().fields(Role::parameter)[f].name);
  if (!without.empty()) return choose_without_score(q, "there is no path score (" + without + ")");
  Sampling few = q.sampling;
  few.samples = std::min<std::int64_t>(q.sampling.samples, 1024);
  few.initial_score.resize(std::min(few.initial_score.size(), std::size_t(few.samples) * q.wanted.size()));
  Arguments<Real> at = q.at;
  const auto n = std::size_t(q.system->signature().states());
  if (at.x0.size() != n) at.x0.resize(std::size_t(few.samples) * n);
  const Question<Real> trial{q.system, q.options, at, q.objective, few, q.wanted};
  if (!q.sampling.initial_score.empty())
    return answer(Method::girsanov, "the start depends on the parameters, which pathwise does not see");
  const Sampled a = pathwise(trial), b = girsanov(trial);
  double apart = 0;
  for (std::size_t i = 0; i < a.gradient.size(); ++i) {
    const double error = std::hypot(a.standard_error[i], b.standard_error[i]);
    if (error > 0) apart = std::max(apart, std::abs(a.gradient[i] - b.gradient[i]) / error);
  }
  if (std::all_of(a.gradient.begin(), a.gradient.end(), [](double g) { return g == 0; }))
    return answer(Method::girsanov, "the derivative of every path is zero: the loss moves by jumps alone");
  if (apart > 4)
    return answer(Method::girsanov, "on " + std::to_string(few.samples) + " samples pathwise is " +
                                        number(apart, 2) +
                                        " standard errors away from the path score: the loss jumps");
  const double ea = relative_error(a), eb = relative_error(b);
  const std::string errors = "on " + std::to_string(few.samples) + " samples its relative error is " +
                             number(std::min(ea, eb), 2) + ", the other's " + number(std::max(ea, eb), 2) +
                             " (adjoints grow by " + number(a.growth_rate, 2) + " per step)";
  return answer(ea <= eb ? Method::pathwise : Method::girsanov, errors);
}

}  // namespace

template <class Real>
Sampled gradient(std::shared_ptr<const System<Real>> system, RolloutOptions options,
                 const Arguments<Real>& at, const Objective<Real>& objective, const Sampling& sampling) {
  if (options.worlds != 1)
    refuse("an estimate is that of one world", "set worlds = 1; samples are worlds of their own");
  if (sampling.samples < 2 && sampling.method != Method::implicit)
    refuse("an estimate needs at least 2 samples");
  if (sampling.samples > kMostSamples)
    refuse(std::to_string(sampling.samples) + " samples do not fit into memory",
           "take at most " + std::to_string(kMostSamples) + ", several times with other seeds");
  if (!(sampling.difference > 0) || !std::isfinite(sampling.difference))
    refuse("the difference is " + number(sampling.difference),
           "give a positive step, relative to the numbers");
  if (sampling.every < 0) refuse("every is negative", "give a number of steps, or 0");
  objective.check(options.steps, sampling.samples);
  const Question<Real> question{system,    options,  at,
                                objective, sampling, Wanted(system->signature(), sampling.parameters)};
  Sampled out =
      sampling.method == Method::automatic ? choose(question) : by_method(question, sampling.method);
  if (const double error = relative_error(out); error > 0.5)
    out.advice.push_back("the standard error is " + number(error, 2) + " of the gradient: take more samples");
  return out;
}

template <class Real>
std::vector<std::string> answered_parameters(const System<Real>& system, Method method) {
  const auto* scored = dynamic_cast<const ScoredSystem<Real>*>(&system);
  const auto* density = dynamic_cast<const BoltzmannSystem<Real>*>(&system);
  const bool equilibrium = method == Method::reinforce || method == Method::reweighting;
  std::vector<std::string> names;
  for (const Field& field : system.signature().fields(Role::parameter)) {
    const bool refused = method == Method::girsanov ? scored && !scored->no_score(field.name).empty()
                         : equilibrium              ? density && !density->no_density(field.name).empty()
                                                    : false;
    if (!refused) names.push_back(field.name);
  }
  return names.empty() ? std::vector<std::string>{"**"} : names;
}

template std::vector<std::string> answered_parameters(const System<float>&, Method);
template std::vector<std::string> answered_parameters(const System<double>&, Method);
template Sampled gradient(std::shared_ptr<const System<float>>, RolloutOptions, const Arguments<float>&,
                          const Objective<float>&, const Sampling&);
template Sampled gradient(std::shared_ptr<const System<double>>, RolloutOptions, const Arguments<double>&,
                          const Objective<double>&, const Sampling&);

}  // namespace costate::estimate
