// costate.control: Kalman filters and smoothers, and the gradient of the likelihood.
#include "costate/control/filter/estimation.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

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

struct PyEstimate {
  Estimate estimate;
  std::size_t states, tangents, measured;
};

Array rows(const Numbers& values, Shape row) {
  row.insert(row.begin(), values.size() / product(row));
  return to_numpy(Numbers(values), row);
}

Estimation estimation_of(const AnySystem& system, const ArrayLike& y, const nb::list& measured,
                         const ArrayLike& process_noise, const ArrayLike& measurement_noise,
                         const ArrayLike& x0, const ArrayLike& P0, const FieldsLike& u, const Values& p,
                         const std::string& method) {
  Estimation e;
  e.system = system.make<double>(8);
  const Signature& s = e.system->signature();
  const auto given = as_array<double>(y, "y");
  const Shape shape = shape_of(given);
  if (!(shape.size() == 1 && measured.size() == 1) && (shape.size() != 2 || shape[1] != measured.size()))
    wrong_shape("y", shape, "(steps + 1, " + std::to_string(measured.size()) + ")");
  const std::int64_t steps =
      std::max<std::int64_t>(1, std::int64_t(given.ndim() > 0 ? given.shape(0) : 1) - 1);
  const Arguments<double> at = one_world(system, steps, nb::none(), u, p);
  e.parameters = at.parameters;
  if (!u.is_none()) e.controls = at.controls;
  for (const nb::handle one : measured) e.measured.push_back(loss_of(one)->bind<double>(system));
  e.process_noise = to_vector<double>(process_noise, "process_noise");
  e.measurement_noise = to_vector<double>(measurement_noise, "measurement_noise");
  e.x0 = to_vector<double>(x0, "x0"), e.P0 = to_vector<double>(P0, "P0");
  if (system.model()) {
    StateSpace space = space_of(*system.model());
    if (space.states() == s.states()) e.space = std::move(space);
  }
  if (method != "extended" && method != "unscented")
    throw Error({"method = '" + method + "'", {}, "use one of: extended, unscented"});
  e.filter = method == "extended" ? Filter::extended : Filter::unscented;
  return e;
}

template <class Run>
PyEstimate estimate(const Estimation& e, const ArrayLike& y, const Run& run) {
  const Numbers measured = to_vector<double>(y, "y");
  const auto n = std::size_t(e.system->signature().states());
  return {without_gil([&] { return run(e, measured); }), n, n - e.space.quaternions().size(),
          e.measured.size()};
}

std::pair<double, nb::dict> likelihood(const Estimation& e, const ArrayLike& y) {
  const Numbers measured = to_vector<double>(y, "y");
  const LikelihoodGradient g = without_gil([&] { return likelihood_gradient(e, measured); });
  nb::dict parameters, all;
  const auto& fields = e.system->signature().fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const auto values = g.parameters.values(f);
    parameters[fields[f].name.c_str()] = to_numpy(Numbers(values.begin(), values.end()));
  }
  all["parameters"] = parameters;
  const std::size_t n = g.x0.size(), m = e.measured.size();
  all["process_noise"] = rows(g.process_noise, {n}),
  all["measurement_noise"] = rows(g.measurement_noise, {m});
  all["x0"] = to_numpy(Numbers(g.x0)), all["P0"] = rows(g.P0, {n});
  return {g.value, all};
}

// Defines a function of all that describes a filter.
template <class F>
void define(nb::module_& m, const char* name, const F& f, const char* text) {
  m.def(
      name,
      [f](const AnySystem& system, const ArrayLike& y, const nb::list& measured, const ArrayLike& W,
          const ArrayLike& V, const ArrayLike& x0, const ArrayLike& P0, const FieldsLike& u, const Values& p,
          const std::string& method) {
        return f(estimation_of(system, y, measured, W, V, x0, P0, u, p, method), y);
      },
      "system"_a, "y"_a, "measured"_a, "process_noise"_a, "measurement_noise"_a, "x0"_a, "P0"_a,
      "u"_a = nb::none(), "p"_a = nb::none(), nb::kw_only(), "method"_a = "extended", text);
}

}  // namespace

void bind_estimation(nb::module_& core) {
  nb::module_ m = nb::borrow<nb::module_>(core.attr("control"));
  bind_identification(m), bind_twin(m);
  nb::class_<PyEstimate>(m, "Estimate",
                         "States and their covariances; row k is after the measurement of step k.")
      .def_prop_ro(
          "x", [](const PyEstimate& e) { return rows(e.estimate.x, {e.states}); }, "(steps + 1, states)")
      .def_prop_ro(
          "P",
          [](const PyEstimate& e) {
            return rows(e.estimate.P, {e.tangents, e.tangents});
          },
          "(steps + 1, tangents, tangents)")
      .def_prop_ro(
          "innovation", [](const PyEstimate& e) { return rows(e.estimate.innovation, {e.measured}); },
          "What was measured less what was expected, (steps + 1, measured).")
      .def_prop_ro(
          "surprise", [](const PyEstimate& e) { return to_numpy(Numbers(e.estimate.surprise)); },
          "(steps + 1,): about the number of measured numbers where the model is right.")
      .def_prop_ro("log_likelihood", [](const PyEstimate& e) { return e.estimate.log_likelihood; })
      .def("__repr__", [](const PyEstimate& e) {
        return "Estimate: x (" + std::to_string(e.estimate.surprise.size()) + ", " +
               std::to_string(e.states) + "), log-likelihood " + number(e.estimate.log_likelihood);
      });
  define(
      m, "filter", [](const Estimation& e, const ArrayLike& y) { return estimate(e, y, filter); },
      "A Kalman filter over the measurements y (steps + 1, measured); a row of NaN was not measured.\n\n"
      "measured            losses of the final state, one per measured number: "
      "[costate.loss.expression('angle')]\n"
      "process_noise       covariance that a step adds; measurement_noise: of a measurement\n"
      "x0, P0              mean and covariance before the first measurement\n"
      "method              'extended' or 'unscented'");
  define(
      m, "smooth", [](const Estimation& e, const ArrayLike& y) { return estimate(e, y, smooth); },
      "The same from all measurements, also those that come later.");
  define(m, "likelihood", likelihood,
         "The logarithm of the likelihood of y, and its gradient: a dict of parameters (by name), "
         "process_noise, "
         "measurement_noise, x0 and P0.");
}

}  // namespace costate::python
