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
  nb::class_<optim::Result>(m, "Optimum", "What an optimiser found.")
      .def_prop_ro(
          "x", [](const optim::Result& r) { return to_numpy(Numbers(r.x)); }, "The best point seen.")
      .def_ro("value", &optim::Result::value, "There.")
      .def_ro("gradient_norm", &optim::Result::gradient_norm)
      .def_ro("iterations", &optim::Result::iterations)
      .def_ro("evaluations", &optim::Result::evaluations)
      .def_ro("reason", &optim::Result::reason, "Why it stopped, in words.")
      .def_prop_ro("converged", &optim::Result::converged)
      .def("__repr__", [](const optim::Result& r) {
        return "Optimum: value " + number(r.value) + " after " + std::to_string(r.iterations) +
               " iterations (" + r.reason + ")";
      });
  m.def(
      "minimize", &minimize, "fun"_a, "x0"_a, "method"_a = "lbfgs", nb::kw_only(), "lower"_a = nb::none(),
      "upper"_a = nb::none(), "iterations"_a = 1000, "tolerance"_a = 1e-8, "value_tolerance"_a = 0.0,
      "target"_a = nb::none(), "rate"_a = nb::none(), "decay"_a = 1.0, "momentum"_a = 0.0, "memory"_a = 10,
      "sigma"_a = nb::none(), "scale"_a = nb::none(), "population"_a = 0, "seed"_a = 1, "batched"_a = false,
      "callback"_a = nb::none(),
      "The minimum of a function that returns (value, gradient), or, for 'cma_es', the value alone.\n\n"
      "method     'lbfgs', 'adam' or 'gradient_descent'; 'cma_es' needs no gradient\n"
      "lower, upper   bounds of x, (n,); None: none\n"
      "tolerance  of the largest component of the gradient; target: a value that is good enough\n"
      "rate       step (adam, gradient_descent: 0.01), first step (lbfgs: 1); decay (adam), momentum\n"
      "           (gradient_descent), memory (lbfgs)\n"
      "sigma      (cma_es: 0.3) first width of the cloud of points, about a third of how far the minimum may "
      "lie, "
      "in "
      "units of `scale`, (n,)\n"
      "population (cma_es) points of a generation, which is an iteration; 0: 4 + 3 log n\n"
      "batched    (cma_es) the function takes a generation, (points, n), and returns its values, (points,): "
      "as Rollout.values does\n"
      "callback   called with a Progress after each iteration; False stops\n"
      "Ctrl-C stops too and returns the best point so far.");
  m.def("least_squares", &least_squares, "fun"_a, "x0"_a, nb::kw_only(), "lower"_a = nb::none(),
        "upper"_a = nb::none(), "iterations"_a = 100, "tolerance"_a = 1e-10, "callback"_a = nb::none(),
        "The least 1/2 |r|^2 of a function that returns (residuals, jacobian), by Levenberg-Marquardt.");
}

}  // namespace costate::python
