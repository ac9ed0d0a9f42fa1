// Minimisation of Python functions.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "costate/core/text.h"
#include "costate/optim/by_name.h"
#include "module.h"
#include "progress.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using Numbers = std::vector<double>;

Numbers numbers(nb::handle object, const char* what) {
  return object.is_none() ? Numbers{} : to_vector<double>(object, what);
}

// value, gradient = fun(x)
optim::Objective objective_of(const nb::object& fun, std::size_t n) {
  return [fun, n](const double* x, double* gradient) {
    const nb::object result = fun(to_numpy(Numbers(x, x + n)));
    nb::tuple pair;
    if (!nb::try_cast(result, pair) || pair.size() != 2)
      throw Error("the function returns (value, gradient)");
    const auto g = as_array<double>(pair[1], "the gradient");
    if (g.size() != n)
      throw Error("the gradient has " + std::to_string(g.size()) + " numbers, x has " + std::to_string(n));
    std::copy_n(g.data(), n, gradient);
    return nb::cast<double>(nb::float_(pair[0]));
  };
}

// value = fun(x), or values = fun(points) for a whole generation. A function made for the other methods may
// be given, too: of (value, gradient) the value is taken.
optim::ValuesOfPoints values_of(const nb::object& fun, std::size_t n, bool batched) {
  const auto value_of = [](const nb::object& result) {
    nb::tuple pair;
    return nb::try_cast(result, pair) && pair.size() == 2 ? nb::object(pair[0]) : result;
  };
  if (!batched) {
    return [fun, n, value_of](const double* points, int count, double* values) {
      for (int i = 0; i < count; ++i, points += n)
        values[i] = nb::cast<double>(nb::float_(value_of(fun(to_numpy(Numbers(points, points + n))))));
    };
  }
  return [fun, n, value_of](const double* points, int count, double* values) {
    const auto rows = static_cast<std::size_t>(count);
    const nb::object result = value_of(fun(to_numpy(Numbers(points, points + rows * n), {rows, n})));
    const auto given = as_array<double>(result, "the values of a generation");
    if (given.size() != rows)
      throw Error("the function is batched: of (" + std::to_string(rows) + ", " + std::to_string(n) +
                  ") points it returns " + std::to_string(given.size()) + " values instead of " +
                  std::to_string(rows));
    std::copy_n(given.data(), rows, values);
  };
}

optim::Callback callback_of(const nb::object& callback, const ProgressBar& bar) {
  return [callback, &bar](const optim::Progress& p) {
    bar.show(p.iteration, p.value);
    if (callback.is_none()) return true;
    const nb::object answer = callback(nb::cast(p));
    return answer.is_none() || nb::cast<bool>(answer);
  };
}

// Runs a method; on Ctrl-C, the best point so far.
template <class Run>
optim::Result interruptible(optim::AnyState& state, const Run& run) {
  try {
    return run();
  } catch (nb::python_error& error) {
    const optim::DescentState& so_far = optim::common(state);
    if (!error.matches(PyExc_KeyboardInterrupt) || so_far.best_x.empty()) throw;
    optim::Result result;
    result.x = so_far.best_x;
    result.value = so_far.best_value;
    result.iterations = so_far.iteration;
    result.evaluations = so_far.evaluations;
    result.stop = optim::Stop::callback;
    result.reason = "interrupted; this is the best point so far";
    return result;
  }
}

optim::Result minimize(const nb::object& fun, const ArrayLike& x0, const std::string& method,
                       const ArrayLike& lower, const ArrayLike& upper, int iterations, double tolerance,
                       double value_tolerance, std::optional<double> target, std::optional<double> rate,
                       double decay, double momentum, int memory, std::optional<double> sigma,
                       const ArrayLike& scale, int population, std::uint64_t seed, bool batched,
                       const nb::object& callback) {
  const Numbers start = to_vector<double>(x0, "x0");
  if (batched && method != "cma_es")
    throw Error(
        {"batched = True with method = '" + method + "'", {}, "only 'cma_es' asks for many points at once"});
  const ProgressBar bar(callback.is_none(), iterations);
  optim::Settings settings{.method = method,
                           .rate = method == "cma_es" ? sigma : rate,
                           .decay = decay,
                           .momentum = momentum,
                           .memory = memory,
                           .scale = numbers(scale, "scale"),
                           .population = population,
                           .seed = seed,
                           .stopping = {.max_iterations = iterations,
                                        .gradient_tolerance = tolerance,
                                        .value_tolerance = value_tolerance},
                           .bounds = {numbers(lower, "the lower bounds"), numbers(upper, "the upper bounds")},
                           .callback = callback_of(callback, bar)};
  if (target) settings.stopping.target = *target;
  optim::AnyState state = optim::fresh_state(method);
  return interruptible(state, [&] {
    return optim::minimize(objective_of(fun, start.size()), values_of(fun, start.size(), batched), start,
                           settings, state);
  });
}

// residuals, jacobian = fun(x)
optim::Result least_squares(const nb::object& fun, const ArrayLike& x0, const ArrayLike& lower,
                            const ArrayLike& upper, int iterations, double tolerance,
                            const nb::object& callback) {
  const Numbers start = to_vector<double>(x0, "x0");
  const std::size_t n = start.size();
  const auto at = [&](const double* x) {
    nb::tuple pair;
    if (!nb::try_cast(nb::object(fun(to_numpy(Numbers(x, x + n)))), pair) || pair.size() != 2)
      throw Error("the function returns (residuals, jacobian)");
    return pair;
  };
  optim::Residuals residuals;
  residuals.count = static_cast<int>(as_array<double>(at(start.data())[0], "the residuals").size());
  residuals.evaluate = [&, count = static_cast<std::size_t>(residuals.count)](const double* x, double* r,
                                                                              double* jacobian) {
    const nb::tuple pair = at(x);
    const auto values = as_array<double>(pair[0], "the residuals");
    const auto rows = as_array<double>(pair[1], "the Jacobian");
    const Shape wanted = {count, n};
    if (values.size() != count)
      wrong_shape("the array of residuals", shape_of(values), text_of(Shape{count}));
    if (shape_of(rows) != wanted && !(n == 1 && shape_of(rows) == Shape{count}))
      wrong_shape("the Jacobian", shape_of(rows), text_of(wanted));
    std::copy_n(values.data(), count, r);
    if (jacobian != nullptr) std::copy_n(rows.data(), count * n, jacobian);
  };
  const ProgressBar bar(callback.is_none(), iterations);
  optim::LevenbergMarquardtOptions options;
  options.stopping.max_iterations = iterations;
  options.stopping.gradient_tolerance = tolerance;
  options.bounds = {numbers(lower, "the lower bounds"), numbers(upper, "the upper bounds")};
  options.callback = callback_of(callback, bar);
  optim::AnyState state = optim::fresh_state("levenberg_marquardt");
  return interruptible(state, [&] {
    return optim::minimize(residuals, start, options, &std::get<optim::LevenbergMarquardtState>(state));
  });
}

}  // namespace

void bind_optimisers(nb::module_& m) {
  nb::class_<optim::Progress>(m, "Progress", "How far an optimisation has come.")
      .def_ro("iteration", &optim::Progress::iteration)
      .def_ro("value", &optim::Progress::value)
      .def_ro("gradient_norm", &optim::Progress::gradient_norm)
      .def_ro("step", &optim::Progress::step, "Largest change of a variable.")
      .def_ro("evaluations", &optim::Progress::evaluations);
  nb::class_<optim::Result>(m, "_Optimum")
      .def_prop_ro("x", [](const optim::Result& r) { return to_numpy(Numbers(r.x)); })
      .def_ro("value", &optim::Result::value)
      .def_ro("gradient_norm", &optim::Result::gradient_norm)
      .def_ro("iterations", &optim::Result::iterations)
      .def_ro("evaluations", &optim::Result::evaluations)
      .def_ro("reason", &optim::Result::reason)
      .def_prop_ro("converged", &optim::Result::converged);
  // python/costate/optimise.py says what they do.
  m.def("_minimize", &minimize, "fun"_a, "x0"_a, "method"_a, nb::kw_only(), "lower"_a.none(),
        "upper"_a.none(), "iterations"_a, "tolerance"_a, "value_tolerance"_a, "target"_a.none(),
        "rate"_a.none(), "decay"_a, "momentum"_a, "memory"_a, "sigma"_a.none(), "scale"_a.none(),
        "population"_a, "seed"_a, "batched"_a, "callback"_a.none());
  m.def("_least_squares", &least_squares, "fun"_a, "x0"_a, nb::kw_only(), "lower"_a.none(), "upper"_a.none(),
        "iterations"_a, "tolerance"_a, "callback"_a.none());
}

}  // namespace costate::python
