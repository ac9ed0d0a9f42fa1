// costate.estimate: gradients of averages over noise, differences of free energy, first passages.
#include "averages.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <variant>

#include "costate/estimate/free_energy.h"
#include "costate/estimate/gradient.h"
#include "loss_like.h"
#include "one_world.h"
#include "without_gil.h"

namespace costate::python {
namespace {

using namespace nb::literals;

using Globs = std::variant<std::string, std::vector<std::string>>;

estimate::Sampling sampling_of(std::int64_t samples, const Globs& parameters, const std::string& baseline) {
  estimate::Sampling sampling{.samples = samples, .parameters = {}};
  if (const auto* one = std::get_if<std::string>(&parameters))
    sampling.parameters = {*one};
  else
    sampling.parameters = std::get<std::vector<std::string>>(parameters);
  if (baseline == "none")
    sampling.baseline = estimate::Baseline::none;
  else if (baseline == "optimal")
    sampling.baseline = estimate::Baseline::optimal;
  else if (baseline != "mean")
    throw Error({"baseline = '" + baseline + "'", {}, "use one of: none, mean, optimal"});
  return sampling;
}

nb::dict to_dict(const estimate::Sampled& s) {
  nb::dict slopes, errors, out;
  for (std::size_t i = 0; i < s.names.size(); ++i) {
    slopes[s.names[i].c_str()] = s.gradient[i];
    errors[s.names[i].c_str()] = s.standard_error[i];
  }
  out["method"] = estimate::to_string(s.method);
  out["label"] = s.label;
  out["reason"] = s.reason;
  out["value"] = s.value;
  out["value_error"] = s.value_error;
  out["gradient"] = slopes;
  out["standard_error"] = errors;
  out["samples"] = s.samples;
  out["effective_samples"] = s.effective_samples;
  out["correlation_time"] = s.correlation_time;
  out["growth_rate"] = s.growth_rate;
  out["memory_bytes"] = s.memory_bytes;
  out["advice"] = s.advice;
  return out;
}

nb::dict gradient(const AnySystem& physics, const LossLike& loss, std::int64_t steps,
                  const std::string& method, std::int64_t samples, const Globs& parameters,
                  std::uint64_t seed, const FieldsLike& x0, const FieldsLike& u, const Values& p,
                  const std::string& baseline, std::int64_t every, double difference, double sigma,
                  const std::vector<std::pair<std::string, std::vector<double>>>& reference,
                  nb::handle checkpoints) {
  const RolloutOptions options{.steps = steps, .checkpoints = checkpoints_of(checkpoints), .seed = seed};
  const Arguments<double> at = one_world(physics, steps, x0, u, p);
  const auto typed = physics.make<double>(1);
  const auto objective = loss_of(loss)->bind<double>(physics);
  estimate::Sampling sampling = sampling_of(samples, parameters, baseline);
  sampling.method = estimate::method_by_name(method);
  sampling.every = every, sampling.difference = difference, sampling.reference = reference;
  sampling.sigma = sigma;
  const estimate::Sampled s =
      without_gil([&] { return estimate::gradient<double>(typed, options, at, *objective, sampling); });
  return to_dict(s);
}

nb::dict free_energy(const AnySystem& physics, const estimate::FreeEnergy::Numbers& from,
                     const estimate::FreeEnergy::Numbers& to, std::int64_t steps, const std::string& method,
                     std::int64_t samples, std::int64_t every, int points,
                     const std::vector<std::string>& parameters, std::uint64_t seed, const FieldsLike& x0,
                     const Values& p) {
  const Arguments<double> at = one_world(physics, steps, x0, nb::none(), p);
  const auto typed = physics.make<double>(1);
  const estimate::FreeEnergy question{.from = from,
                                      .to = to,
                                      .method = estimate::free_energy_method(method),
                                      .samples = samples,
                                      .every = every,
                                      .points = points,
                                      .parameters = parameters};
  const estimate::FreeEnergyDifference f = without_gil(
      [&] { return estimate::free_energy<double>(typed, {.steps = steps, .seed = seed}, at, question); });
  nb::dict out, slopes, errors, first, second;
  for (std::size_t i = 0; i < f.names.size(); ++i) {
    slopes[f.names[i].c_str()] = f.gradient[i];
    errors[f.names[i].c_str()] = f.standard_error[i];
    first[f.names[i].c_str()] = f.at_from[i];
    second[f.names[i].c_str()] = f.at_to[i];
  }
  out["value"] = f.value;
  out["error"] = f.error;
  out["gradient"] = slopes;
  out["standard_error"] = errors;
  out["at_from"] = first;
  out["at_to"] = second;
  out["overlap"] = f.overlap;
  return out;
}

nb::dict first_passage(const AnySystem& physics, std::int64_t steps, double level,
                       std::optional<double> before, const std::string& field, std::int64_t index,
                       bool upwards, std::int64_t samples, const Globs& parameters, std::uint64_t seed,
                       const FieldsLike& x0, const Values& p) {
  const Arguments<double> at = one_world(physics, steps, x0, nb::none(), p);
  const auto typed = physics.make<double>(1);
  if (!typed->signature().find_if(Role::parameter, "dt"))
    throw Error("'" + physics.name() + "' has no parameter dt: how long is a step?");
  const double dt = at.parameters["dt"][0];
  const estimate::FirstPassage event{field, index, level, upwards, before};
  const estimate::Sampling sampling = sampling_of(samples, parameters, "mean");
  return to_dict(without_gil([&] {
    return estimate::first_passage<double>(typed, {.steps = steps, .seed = seed}, at, event, dt, sampling);
  }));
}

}  // namespace

void bind_averages(nb::module_& m) {
  const auto none = [] { return nb::none(); };
  auto e = m.def_submodule("estimate", "Gradients of averages over noise.");
  e.def("gradient", &gradient, "system"_a, "loss"_a, "steps"_a, nb::kw_only(), "method"_a = "automatic",
        "samples"_a = 4096, "parameters"_a = "**", "seed"_a = 0, "x0"_a = none(), "u"_a = none(),
        "p"_a = none(), "baseline"_a = "mean", "every"_a = 0, "difference"_a = 1e-3, "sigma"_a = 0.01,
        "reference"_a = std::vector<std::pair<std::string, std::vector<double>>>{}, "checkpoints"_a = none(),
        "The derivative of the average loss of one world with respect to its parameters "
        "(docs/estimators.md).\n\n"
        "method      automatic, pathwise, forward, girsanov, reinforce, reweighting, implicit, differences, "
        "continuous, first_order, zeroth_order, mixed_order\n"
        "samples     worlds, each with noise of its own\n"
        "parameters  with respect to which: a glob, or a list of globs\n"
        "baseline    of girsanov: none, mean or optimal\n"
        "every       of reinforce and reweighting: also states every so many steps of the second half\n"
        "difference  of differences: the step, relative to the numbers\n"
        "sigma       of the last three methods: how far the parameters are smoothed, relative to their size\n"
        "reference   of reweighting: [('double_well/b', [0.1])], where the samples are drawn\n"
        "checkpoints of pathwise: costate.store_all(), binomial(slots), reversible(), ...\n"
        "Returns a dictionary: value, gradient and the standard errors of both, method, label, reason,\n"
        "growth_rate (of adjoints per step), memory_bytes (that grow with the steps), ...");
  e.def("free_energy", &free_energy, "system"_a, "from_parameters"_a, "to_parameters"_a, "steps"_a,
        nb::kw_only(), "method"_a = "acceptance", "samples"_a = 4096, "every"_a = 0, "points"_a = 5,
        "parameters"_a = std::vector<std::string>{}, "seed"_a = 0, "x0"_a = none(), "p"_a = none(),
        "The difference of free energy between two sets of parameters, with its gradient "
        "(docs/estimators.md).\n\n"
        "from_parameters, to_parameters  [('double_well/b', [0.4])]: the numbers that differ\n"
        "method      integration, perturbation, acceptance (Bennett)\n"
        "samples     worlds at every point; every: also states on the way\n"
        "Returns a dictionary: value, error, gradient, standard_error, at_from, at_to, overlap.");
  e.def(
      "first_passage", &first_passage, "system"_a, "steps"_a, nb::kw_only(), "level"_a = 0.0,
      "before"_a = none(), "field"_a = "x", "index"_a = 0, "upwards"_a = true, "samples"_a = 4096,
      "parameters"_a, "seed"_a = 0, "x0"_a = none(), "p"_a = none(),
      "The mean time until number `index` of the state `field` first reaches `level`, with its derivative by "
      "the path score (docs/estimators.md).\n\n"
      "before      then instead the committor: the chance to reach `level` before this other level\n"
      "upwards     from which side\n"
      "steps       enough of them for nearly all samples to arrive; the advice says where they were not\n"
      "Returns a dictionary as gradient does.");
}

}  // namespace costate::python
