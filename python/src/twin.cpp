// costate.control.Twin: a model that tunes itself from a stream of measurements.
#include "costate/control/filter/twin.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <cmath>

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

struct PyTwin {
  std::vector<std::string> names;
  std::size_t measured;
  std::unique_ptr<Twin> twin;

  void step(const ArrayLike& u, const ArrayLike& y) {
    const Numbers control = u.is_none() ? Numbers{} : to_vector<double>(u, "u"),
                  seen = y.is_none() ? Numbers{} : to_vector<double>(y, "y");
    without_gil([&] { return twin->step(control, seen), 0; });
  }
  nb::dict by_name(const Numbers& values) const {
    nb::dict to;
    for (std::size_t i = 0; i < names.size(); ++i) to[names[i].c_str()] = values[i];
    return to;
  }
};

Tuned tuned_of(const std::string& name, nb::handle given) {
  Tuned tuned{.name = name};
  nb::dict settings;
  if (!nb::try_cast(given, settings)) throw Error("'" + name + "' is not tuned by a dict(deviation=...)");
  for (const auto& [key, value] : settings) {
    const std::string word = nb::cast<std::string>(key);
    double* to = word == "deviation" ? &tuned.deviation
                 : word == "drift"   ? &tuned.drift
                 : word == "lower"   ? &tuned.lower
                 : word == "upper"   ? &tuned.upper
                                     : nullptr;
    if (to)
      *to = nb::cast<double>(value);
    else if (word == "index")
      tuned.index = nb::cast<std::int64_t>(value);
    else
      throw Error(
          {"what is tuned has no '" + word + "'", {}, "it has deviation, drift, lower, upper and index"});
  }
  return tuned;
}

std::unique_ptr<PyTwin> make(const AnySystem& system, const nb::list& measured, const ArrayLike& x0,
                             const ArrayLike& P0, const ArrayLike& process_noise,
                             const ArrayLike& measurement_noise, const nb::dict& tuned, const Values& p,
                             std::int64_t window, int iterations) {
  TwinProblem problem;
  problem.system = system.make<double>(8);
  const Signature& s = problem.system->signature();
  for (const nb::handle one : measured) problem.measured.push_back(loss_of(one)->bind<double>(system));
  problem.parameters = one_world(system, 1, nb::none(), nb::none(), p).parameters;
  problem.x0 = to_vector<double>(x0, "x0"), problem.P0 = to_vector<double>(P0, "P0");
  problem.process_noise = to_vector<double>(process_noise, "process_noise");
  problem.measurement_noise = to_vector<double>(measurement_noise, "measurement_noise");
  problem.window = window, problem.iterations = iterations;
  if (system.model()) {
    StateSpace space = space_of(*system.model());
    if (space.states() == s.states()) problem.space = std::move(space);
  }
  auto made = std::make_unique<PyTwin>();
  for (const auto& [name, given] : tuned) {
    problem.tuned.push_back(tuned_of(nb::cast<std::string>(name), given));
    made->names.push_back(problem.tuned.back().name);
  }
  made->measured = problem.measured.size();
  made->twin = std::make_unique<Twin>(std::move(problem));
  return made;
}

}  // namespace

void bind_twin(nb::module_& m) {
  nb::class_<PyTwin>(m, "Twin",
                     "State and parameters of a system from a stream of measurements, with error bars.")
      .def(nb::new_(&make), "system"_a, "measured"_a, "x0"_a, "P0"_a, "process_noise"_a,
           "measurement_noise"_a, "tuned"_a, "p"_a = nb::none(), nb::kw_only(), "window"_a = 0,
           "iterations"_a = 1,
           "measured            losses of the final state, one per measured number: "
           "[costate.loss.expression('angle')]\n"
           "x0, P0              mean and covariance of the state before the first measurement\n"
           "process_noise       covariance that a step adds\n"
           "measurement_noise   variance of each measured number\n"
           "tuned               {parameter: dict(deviation=, drift=, lower=, upper=)}: how far off its first "
           "value may be,\n"
           "                    and by how much it may change per step\n"
           "window              steps that are estimated again after each measurement (moving horizon); 0: "
           "a Kalman filter")
      .def(
          "measure", [](PyTwin& t, const ArrayLike& y) { t.twin->measure(to_vector<double>(y, "y")); }, "y"_a,
          "What was measured before the first step; NaN: that number was not.")
      .def("step", &PyTwin::step, "u"_a = nb::none(), "y"_a = nb::none(),
           "A step with the control u, and what was measured after it.")
      .def_prop_ro("x", [](const PyTwin& t) { return to_numpy(Numbers(t.twin->x())); })
      .def_prop_ro(
          "values", [](const PyTwin& t) { return t.by_name(t.twin->values()); },
          "{name: number}; as the argument p of a rollout or a plan.")
      .def_prop_ro(
          "deviations", [](const PyTwin& t) { return t.by_name(t.twin->deviations()); },
          "{name: standard deviation}")
      .def_prop_ro(
          "covariance",
          [](const PyTwin& t) {
            Numbers P = t.twin->covariance();
            const auto side = std::size_t(std::lround(std::sqrt(double(P.size()))));
            return to_numpy(std::move(P), {side, side});
          },
          "Of (tangents of x, tuned).")
      .def_prop_ro(
          "surprise", [](const PyTwin& t) { return t.twin->surprise(); },
          "Of the latest measurement: about 1 where the model and its noise are right.")
      .def("__repr__", [](const PyTwin& t) {
        std::string text = "Twin";
        const Numbers values = t.twin->values(), deviations = t.twin->deviations();
        for (std::size_t i = 0; i < t.names.size(); ++i)
          text += (i == 0 ? ": " : ", ") + t.names[i] + " = " + number(values[i]) + " +- " +
                  number(deviations[i], 2);
        return text;
      });
}

}  // namespace costate::python
