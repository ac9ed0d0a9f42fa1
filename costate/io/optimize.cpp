#include "costate/io/optimize.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/io/run.h"
#include "costate/ode/adjoints/forward_sensitivity.h"
#include "costate/optim/adam.h"
#include "costate/optim/cma_es.h"
#include "costate/optim/gradient_descent.h"
#include "costate/optim/lbfgs.h"
#include "costate/optim/levenberg_marquardt.h"
#include "costate/solve/dense_lu.h"

namespace costate::io {
namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> values_of(const Problem& problem, const std::vector<Input>& variables) {
  std::vector<double> values;
  for (const Input& v : variables) values.push_back(value_of(problem, v));
  return values;
}

optim::Bounds bounds_of(const std::vector<Input>& variables) {
  optim::Bounds bounds;
  for (const Input& v : variables) {
    bounds.lower.push_back(v.lower);
    bounds.upper.push_back(v.upper);
  }
  return bounds;
}

// A solution cut short by numerics is no solution; a mistake in the input still is one.
template <class Evaluate>
bool solvable(const Evaluate& evaluate) {
  try {
    evaluate();
    return true;
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::numerics) throw;
    return false;
  }
}

double loss_and_gradient(const Problem& problem, const std::vector<Input>& variables, double* gradient) {
  const ode::Gradient g = io::gradient(problem, solve(problem), "discrete");
  for (std::size_t i = 0; i < variables.size(); ++i) gradient[i] = derivative_of(g, variables[i]);
  return g.value;
}

// All residuals of a fit, series after series, and their Jacobian by the variables.
class FitResiduals {
 public:
  explicit FitResiduals(const Problem& problem) : problem_(problem), fit_(*problem.fit) {
    for (const Series& series : fit_.data) {
      times_.insert(times_.end(), series.t.begin(), series.t.end());
      count_ += int(series.t.size());
    }
    const bool forward = problem.t1 > problem.t0;
    std::sort(times_.begin(), times_.end(), [&](double a, double b) { return forward ? a < b : a > b; });
    times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
  }
  int count() const { return count_; }

  void evaluate(const double* values, double* residual, double* jacobian) const {
    Problem moved = with_values(problem_, fit_.variables, values);
    moved.options.t_eval = times_;
    const ode::Solution solution = solve(moved);
    if (solution.t.size() != times_.size())
      throw Error({"the solution ends at t = " + std::to_string(solution.end_time()) +
                       ", before the last measurement",
                   problem_.file, ""},
                  Error::Kind::numerics);
    std::vector<ode::OutputTangent> tangents;
    std::vector<ode::InputTangent> directions;
    if (jacobian) {
      for (const Input& v : fit_.variables) directions.push_back(initial_tangent(moved, direction(v)));
      tangents = ode::sensitivities(solution, directions, times_);
    }
    int row = 0;
    for (const Series& series : fit_.data) {
      std::vector<double> scratch(series.value->scratch_size());
      for (std::size_t k = 0; k < series.t.size(); ++k, ++row) {
        const double t = series.t[k];
        const std::size_t at = std::size_t(std::find(times_.begin(), times_.end(), t) - times_.begin());
        const double* x = solution.row(at);
        double y = 0;
        const std::vector<double> p = ode::parameters_at(solution, t);
        series.value->value(t, x, p.data(), &y, scratch.data());
        residual[row] = (y - series.measured[k]) / series.sigma;
        for (std::size_t j = 0; j < directions.size(); ++j) {
          const double* x_dot = tangents[j].samples.data() + at * moved.y0.size();
          double y_dot = 0;
          const std::vector<double> p_dot = ode::parameter_tangent_at(solution, directions[j], t);
          series.value->jvp(t, x, p.data(), 0.0, x_dot, p_dot.empty() ? nullptr : p_dot.data(), &y_dot,
                            scratch.data());
          jacobian[std::size_t(row) * directions.size() + j] = y_dot / series.sigma;
        }
      }
    }
  }

 private:
  ode::InputTangent direction(const Input& v) const {
    ode::InputTangent d;
    const bool state = v.of == Input::Of::state, parameter = v.of == Input::Of::parameter;
    std::vector<double>& moving = state ? d.y0 : parameter ? d.p : d.controls;
    moving.assign((state       ? problem_.y0
                   : parameter ? problem_.p
                               : problem_.options.controls.values)
                      .size(),
                  0.0);
    moving[std::size_t(v.index)] = 1;
    return d;
  }

  const Problem& problem_;
  const Fit& fit_;
  std::vector<double> times_;  // of all series, each once
  int count_ = 0;
};

// sqrt(diag((J'J)^-1) 2 f / (residuals - variables)): the usual estimate. Empty where the data do not determine it.
std::vector<double> deviations(const FitResiduals& fit, const std::vector<double>& best) {
  const int n = int(best.size()), m = fit.count();
  if (m <= n) return {};
  std::vector<double> residual(std::size_t(m), 0.0), jacobian(std::size_t(m * n), 0.0),
      normal(std::size_t(n * n), 0.0);
  fit.evaluate(best.data(), residual.data(), jacobian.data());
  double squares = 0;
  for (const double r : residual) squares += r * r;
  for (int k = 0; k < m; ++k) {
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j)
        normal[std::size_t(i * n + j)] += jacobian[std::size_t(k * n + i)] * jacobian[std::size_t(k * n + j)];
    }
  }
  solve::DenseLu<double> lu(n);
  std::copy(normal.begin(), normal.end(), lu.matrix());
  if (!lu.factorise()) return {};
  std::vector<double> result;
  for (int i = 0; i < n; ++i) {
    std::vector<double> column(std::size_t(n), 0.0);
    column[std::size_t(i)] = 1;
    lu.solve(column.data(), column.data());
    const double variance = column[std::size_t(i)] * squares / (m - n);
    if (!(variance >= 0) || !std::isfinite(variance)) return {};
    result.push_back(std::sqrt(variance));
  }
  return result;
}

Optimum fit(const Problem& problem, const optim::Callback& callback) {
  const Fit& f = *problem.fit;
  const FitResiduals residuals(problem);
  Optimum optimum{.variables = f.variables,
                  .start = values_of(problem, f.variables),
                  .residuals = residuals.count(),
                  .method = "Levenberg-Marquardt"};
  std::vector<double> first(std::size_t(residuals.count()), 0.0);
  residuals.evaluate(optimum.start.data(), first.data(), nullptr);
  for (const double r : first) optimum.start_value += 0.5 * r * r;
  const optim::Residuals function{residuals.count(), [&](const double* x, double* r, double* jacobian) {
                                    if (!solvable([&] { residuals.evaluate(x, r, jacobian); }))
                                      std::fill_n(r, residuals.count(), kNan);
                                  }};
  optimum.result =
      optim::minimize(function, optimum.start,
                      optim::LevenbergMarquardtOptions{.stopping = {.max_iterations = f.iterations,
                                                                    .gradient_tolerance = f.tolerance,
                                                                    .value_tolerance = 1e-14},
                                                       .bounds = bounds_of(f.variables),
                                                       .callback = callback});
  optimum.best = optimum.result.x;
  optimum.standard_deviation = deviations(residuals, optimum.best);
  return optimum;
}

}  // namespace

Problem with_values(const Problem& problem, const std::vector<Input>& variables, const double* values) {
  Problem moved = problem;
  for (std::size_t i = 0; i < variables.size(); ++i) value_of(moved, variables[i]) = values[i];
  return moved;
}

Optimum optimize(const Problem& problem, const optim::Callback& callback) {
  if (problem.fit) return fit(problem, callback);
  if (!problem.optimize)
    throw Error(
        {"there is nothing to optimise: the file has neither [optimize] nor [fit]", problem.file,
         "add for instance: [optimize] variables = [\"state." + problem.states.front().element(0) + "\"]"});
  const Optimize& o = *problem.optimize;
  Optimum optimum{.variables = o.variables, .start = values_of(problem, o.variables), .method = o.method};
  std::vector<double> first(o.variables.size());
  optimum.start_value = loss_and_gradient(problem, o.variables, first.data());
  const optim::Objective objective = [&](const double* x, double* gradient) {
    double value = kNan;
    if (!solvable(
            [&] { value = loss_and_gradient(with_values(problem, o.variables, x), o.variables, gradient); }))
      std::fill_n(gradient, o.variables.size(), kNan);
    return value;
  };
  const optim::Stopping stopping{.max_iterations = o.iterations, .gradient_tolerance = o.tolerance};
  const optim::Bounds bounds = bounds_of(o.variables);
  if (o.method == "adam") {
    optimum.result = optim::minimize(
        objective, optimum.start,
        optim::AdamOptions{.rate = o.rate, .stopping = stopping, .bounds = bounds, .callback = callback});
  } else if (o.method == "cma_es") {
    const std::function<double(const double*)> value = [&](const double* x) {
      std::vector<double> unused(o.variables.size());
      return objective(x, unused.data());
    };
    optimum.result = optim::minimize(
        value, optimum.start,
        optim::CmaEsOptions{.sigma = o.rate, .stopping = stopping, .bounds = bounds, .callback = callback});
  } else if (o.method == "gradient_descent") {
    optimum.result =
        optim::minimize(objective, optimum.start,
                        optim::GradientDescentOptions{
                            .rate = o.rate, .stopping = stopping, .bounds = bounds, .callback = callback});
  } else {
    optimum.result =
        optim::minimize(objective, optimum.start,
                        optim::LbfgsOptions{.stopping = stopping, .bounds = bounds, .callback = callback});
  }
  optimum.best = optimum.result.x;
  return optimum;
}

}  // namespace costate::io
