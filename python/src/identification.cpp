// costate.control.identify: parameters from recordings, with error bars.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "costate/control/identify/identify.h"
#include "costate/core/text.h"
#include "loss_like.h"
#include "module.h"
#include "one_world.h"
#include "without_gil.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using namespace control;
using Numbers = std::vector<double>;

Measurements recording_of(const AnySystem& system, const nb::dict& given, std::size_t measured,
                          const Values& p, Parameters<double>& parameters) {
  for (const auto& [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    if (name != "y" && name != "x0" && name != "u" && name != "x0_free")
      throw Error({"a recording has no '" + name + "'", {}, "it has y, x0, u and x0_free"});
  }
  if (!given.contains("y")) throw Error("a recording needs y, its measurements");
  const auto get = [&](const char* name) -> nb::object {
    return given.contains(name) ? nb::object(given[name]) : nb::none();
  };
  const auto y = as_array<double>(given["y"], "y");
  const Shape shape = shape_of(y);
  const bool row = shape.size() == 1 && measured == 1;
  if (!row && (shape.size() != 2 || shape[1] != measured))
    wrong_shape("y", shape, "(steps + 1, " + std::to_string(measured) + ")");
  const Arguments<double> at = one_world(system, std::int64_t(shape[0]) - 1, get("x0"), get("u"), p);
  parameters = at.parameters;
  return {.y = Numbers(y.data(), y.data() + y.size()),
          .controls = at.controls,
          .x0 = at.x0,
          .x0_free = given.contains("x0_free") && nb::cast<bool>(given["x0_free"])};
}

Unknown unknown_of(const std::string& name, nb::handle given) {
  Unknown unknown{.name = name};
  if (given.is_none()) return unknown;
  nb::dict settings;
  if (!nb::try_cast(given, settings))
    throw Error("the unknown '" + name + "' is neither None nor a dict(lower=..., upper=...)");
  for (const auto& [key, value] : settings) {
    const std::string word = nb::cast<std::string>(key);
    double* to = word == "lower"       ? &unknown.lower
                 : word == "upper"     ? &unknown.upper
                 : word == "scale"     ? &unknown.scale
                 : word == "mean"      ? &unknown.mean
                 : word == "deviation" ? &unknown.deviation
                                       : nullptr;
    if (!to)
      throw Error({"an unknown has no '" + word + "'", {}, "it has lower, upper, scale, mean and deviation"});
    *to = nb::cast<double>(value);
  }
  return unknown;
}

Identified identified(const AnySystem& system, const nb::list& recordings, const nb::list& measured,
                      const ArrayLike& sigma, const nb::dict& unknowns, const Values& p, std::int64_t segment,
                      double gap_sigma, const std::string& robust, double robust_width, int iterations,
                      double tolerance, bool laplace) {
  Identification problem;
  problem.system = system.make<double>(8);
  for (const nb::handle one : measured) problem.measured.push_back(loss_of(one)->bind<double>(system));
  problem.sigma = to_vector<double>(sigma, "sigma");
  if (problem.sigma.size() == 1) problem.sigma.resize(problem.measured.size(), problem.sigma[0]);
  for (const nb::handle one : recordings) {
    nb::dict recording;
    if (!nb::try_cast(one, recording)) throw Error("a recording is not a dict(y=..., x0=..., u=...)");
    problem.recordings.push_back(
        recording_of(system, recording, problem.measured.size(), p, problem.parameters));
  }
  for (const auto& [name, given] : unknowns)
    problem.unknowns.push_back(unknown_of(nb::cast<std::string>(name), given));
  problem.segment = segment, problem.gap_sigma = gap_sigma, problem.robust_width = robust_width;
  if (robust != "none" && robust != "huber" && robust != "cauchy")
    throw Error({"robust = '" + robust + "'", {}, "use one of: none, huber, cauchy"});
  problem.robust = robust == "huber" ? Robust::huber : robust == "cauchy" ? Robust::cauchy : Robust::none;
  const IdentifyOptions options{.iterations = iterations, .tolerance = tolerance, .laplace = laplace};
  return without_gil([&] { return identify(problem, options); });
}

Array square(const Numbers& values, std::size_t side) { return to_numpy(Numbers(values), {side, side}); }

nb::dict by_name(const Identified& i, const Numbers& values) {
  nb::dict to;
  for (std::size_t k = 0; k < i.names.size(); ++k) to[i.names[k].c_str()] = values[k];
  return to;
}

std::string in_words(const Identified& i) {
  std::string text;
  for (std::size_t k = 0; k < i.names.size(); ++k)
    text += i.names[k] + " = " + number(i.values[k]) + " +- " + number(i.deviations[k]) + "\n";
  text += "residuals: " + number(i.residual_rms) + " standard deviations; " + i.reason;
  for (const std::string& words : i.unseen) text += "\n" + words;
  return text;
}

}  // namespace

void bind_identification(nb::module_& m) {
  nb::class_<Identified>(m, "Identified", "Parameters from recordings. Print it for values with error bars.")
      .def_prop_ro(
          "values", [](const Identified& i) { return by_name(i, i.values); }, "{name: number}")
      .def_prop_ro(
          "deviations", [](const Identified& i) { return by_name(i, i.deviations); },
          "{name: standard deviation}; infinite where the data do not determine it.")
      .def_prop_ro(
          "covariance", [](const Identified& i) { return square(i.covariance, i.names.size()); },
          "In the order of values.")
      .def_prop_ro(
          "laplace_covariance",
          [](const Identified& i) {
            return i.laplace.minimum && i.laplace.covariance.empty()
                       ? nb::object(nb::none())
                       : nb::cast(square(i.laplace.minimum
                                             ? i.laplace.covariance
                                             : Numbers(i.names.size() * i.names.size(), HUGE_VAL),
                                         i.names.size()));
          },
          "With laplace=True: the inverse of the whole Hessian, where `covariance` is that of J'J. Infinite "
          "where x is not a minimum.")
      .def_prop_ro(
          "x0",
          [](const Identified& i) {
            nb::list starts;
            for (const Numbers& x : i.x0) starts.append(to_numpy(Numbers(x)));
            return starts;
          },
          "Where each recording began.")
      .def_ro("value", &Identified::value, "Of the loss.")
      .def_ro("residual_rms", &Identified::residual_rms,
              "Of the measurements, in standard deviations: about 1 where sigma is right.")
      .def_ro("unseen", &Identified::unseen, "What the data cannot see, in words.")
      .def_ro("iterations", &Identified::iterations)
      .def_ro("converged", &Identified::converged)
      .def_ro("reason", &Identified::reason, "Why it stopped, in words.")
      .def("__repr__", &in_words);
  m.def("identify", &identified, "system"_a, "recordings"_a, "measured"_a, "sigma"_a, "unknowns"_a,
        "p"_a = nb::none(), nb::kw_only(), "segment"_a = 0, "gap_sigma"_a = 1e-3, "robust"_a = "none",
        "robust_width"_a = 2.0, "iterations"_a = 100, "tolerance"_a = 1e-8, "laplace"_a = false,
        "Parameters of a system from recordings, by Gauss-Newton with exact Jacobians.\n\n"
        "recordings   dicts with y (steps + 1, measured), NaN where nothing was measured; x0; u; and "
        "x0_free=True\n"
        "             where x0 is a guess\n"
        "measured     losses of the final state, one per measured number: "
        "[costate.loss.expression('angle')]\n"
        "sigma        standard deviation of each measured number, or one for all\n"
        "unknowns     {parameter: None or dict(lower=, upper=, scale=, mean=, deviation=)}; the last two are "
        "a prior\n"
        "p            the other parameters, and where the search begins\n"
        "segment      steps of a piece (multiple shooting): from far away begin with short ones; 0: none\n"
        "robust       'huber' or 'cauchy': what is more than robust_width deviations off counts less\n"
        "laplace      True: laplace_covariance as well, by exact second derivatives of the steps");
}

}  // namespace costate::python
