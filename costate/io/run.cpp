#include "costate/io/run.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/ode/adjoints/continuous_adjoint.h"
#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/adjoints/forward_sensitivity.h"
#include "costate/ode/fields/consistent_state.h"
#include "costate/ode/sundials/sundials_backend.h"

namespace costate::io {
namespace {

bool implicit(const std::string& method) { return method == "rodas5p" || method == "radau5"; }

void refuse(bool condition, const std::string& adjoint, const std::string& why) {
  if (condition) throw Error({"the adjoint '" + adjoint + "' " + why, "", "use --adjoint discrete"});
}

// The adjoint equation is as stiff as the problem.
ode::AdjointOptions adjoint_options(const Problem& problem) {
  const ode::Options& o = problem.options;
  const double atol = *std::min_element(o.atol.begin(), o.atol.end());
  return {.method = implicit(o.method) ? "radau5"
                    : o.dt > 0         ? "dopri5"
                                       : o.method,
          .rtol = o.rtol > 0 ? o.rtol : atol,
          .atol = atol,
          .max_steps = o.max_steps};
}

ode::Gradient cvodes_gradient(const Problem& problem, const ode::Solution& solution) {
  const char* const name = "cvodes";
  refuse(!problem.controls.empty(), name, "knows no controls");
  refuse(!ode::sundials::available(), name, "needs SUNDIALS, which this build does not have");
  refuse(!problem.options.events.empty(), name, "knows no events");
  refuse(problem.loss.samples != nullptr, name, "knows no samples");
  const ode::Options& o = problem.options;
  const double atol = *std::min_element(o.atol.begin(), o.atol.end());
  // CVODES works from a relative tolerance that rounding allows.
  const double rtol = std::max(o.rtol, 1e-13);
  const ode::Function *final = problem.loss.final.get(), *running = o.running.get();
  const int n = problem.field->states(), m = problem.field->parameters();
  std::vector<double> scratch(
      std::max(final ? final->scratch_size() : 0, running ? running->scratch_size() : 0));
  std::vector<double> p_bar(std::size_t(m), 0.0);
  double end_time_bar = 0;
  const double one = 1;

  ode::sundials::Loss loss;
  if (final) {
    loss.final = [&](const double* x, double* x_bar) {
      double value = 0;
      final->value(problem.t1, x, problem.p.data(), &value, scratch.data());
      std::fill_n(x_bar, n, 0.0);
      std::fill(p_bar.begin(), p_bar.end(), 0.0);
      end_time_bar = 0;
      final->vjp(problem.t1, x, problem.p.data(), &one, &end_time_bar, x_bar, p_bar.data(), scratch.data());
      return value;
    };
  }
  if (running) {
    loss.running = [&](double t, const double* x, const double* p) {
      double value = 0;
      running->value(t, x, p, &value, scratch.data());
      return value;
    };
    loss.running_gradient = [&](double t, const double* x, const double* p, double* x_bar, double* q_bar) {
      double t_bar = 0;
      running->vjp(t, x, p, &one, &t_bar, x_bar, q_bar, scratch.data());
    };
  }
  const ode::sundials::AdjointGradient g =
      ode::sundials::gradient(*problem.field, problem.t0, problem.t1, problem.y0, problem.p, loss,
                              {.rtol = rtol,
                               .atol = o.atol,
                               .adjoint_rtol = rtol,
                               .adjoint_atol = atol,
                               .integral_atol = atol,
                               .max_steps = o.max_steps});

  ode::Gradient result = ode::zero_gradient(solution.trajectory(), "adjoint of CVODES (BDF)");
  result.value = g.value;
  result.x0 = g.x0;
  const std::span<double> by_parameters = result.parameters["p"];
  for (std::size_t i = 0; i < by_parameters.size(); ++i) by_parameters[i] = g.p[i] + p_bar[i];
  // dL/dt1 = phi_t + <phi_x, f> + l at t1, dL/dt0 = -<lambda, f> - l at t0.
  std::vector<double> f(std::size_t(n), 0.0), x_bar(std::size_t(n), 0.0), work(problem.field->scratch_size());
  const std::vector<double> end = solution.final_state();
  const auto rate = [&](double t, const std::vector<double>& x, const std::vector<double>& lambda) {
    problem.field->value(t, x.data(), problem.p.data(), f.data(), work.data());
    double sum = running ? loss.running(t, x.data(), problem.p.data()) : 0.0;
    for (int i = 0; i < n; ++i) sum += lambda[std::size_t(i)] * f[std::size_t(i)];
    return sum;
  };
  if (final) loss.final(end.data(), x_bar.data());
  result.t1 = end_time_bar + rate(problem.t1, end, x_bar);
  result.t0 = -rate(problem.t0, problem.y0, g.x0);
  result.report.label = "exact up to rtol " + number(rtol);
  result.report.steps = g.steps;
  return result;
}

// p and, where there are controls, their first values: what the equations see at the start.
std::vector<double> start_parameters(const Problem& problem) {
  std::vector<double> p = problem.p;
  const std::vector<double>& u = problem.options.controls.values;
  p.insert(p.end(), u.begin(), u.begin() + std::ptrdiff_t(problem.controls.size()));
  return p;
}

// A right-hand side that starts out infinite or NaN is a mistake of the equations, not of the step size.
void check_start(const Problem& problem, const std::vector<double>& y0) {
  std::vector<double> f(y0.size()), scratch(problem.field->scratch_size());
  problem.field->value(problem.t0, y0.data(), start_parameters(problem).data(), f.data(), scratch.data());
  for (const Variable& v : problem.states) {
    for (int i = 0; i < v.size; ++i) {
      if (std::isfinite(f[std::size_t(v.offset + i)])) continue;
      throw Error(
          {"the equation of '" + v.element(i) + "' has no finite value at the start", problem.file,
           "check it at the initial state: " + problem.equations[std::size_t(v.offset + i)].substr(0, 200)},
          Error::Kind::numerics);
    }
  }
}

}  // namespace

std::vector<double> initial_state(const Problem& problem) {
  std::vector<double> y0 = problem.y0;
  if (!problem.algebraic.empty())
    ode::ConsistentState(*problem.field)
        .make_consistent(problem.t0, y0.data(), start_parameters(problem).data());
  return y0;
}

ode::InputTangent initial_tangent(const Problem& problem, ode::InputTangent d) {
  if (problem.algebraic.empty()) return d;
  const std::vector<double> y0 = initial_state(problem), p = start_parameters(problem);
  std::vector<double> y0_dot(y0.size()), p_dot(p.size(), 0.0);
  std::copy(d.p.begin(), d.p.end(), p_dot.begin());
  if (!d.controls.empty())
    std::copy_n(d.controls.begin(), problem.controls.size(),
                p_dot.begin() + std::ptrdiff_t(problem.p.size()));
  ode::ConsistentState(*problem.field)
      .make_consistent_jvp(problem.t0, y0.data(), p.data(), d.t0, d.y0.empty() ? nullptr : d.y0.data(),
                           p_dot.data(), y0_dot.data());
  d.y0 = y0_dot;
  return d;
}

ode::Solution solve(const Problem& problem) {
  const std::vector<double> y0 = initial_state(problem);
  check_start(problem, y0);
  ode::Solution solution =
      ode::solve(*problem.field, {problem.t0, problem.t1}, y0, problem.p, problem.options);
  for (std::size_t i = 0; i < problem.options.events.size(); ++i) {
    const bool happened = std::any_of(solution.events.begin(), solution.events.end(),
                                      [&](const ode::EventRecord& e) { return e.event == int(i); });
    if (!happened)
      solution.notes.push_back("event \"" + problem.options.events[i].name + "\" never happened");
  }
  return solution;
}

std::vector<std::string> adjoint_names() {
  return {"discrete", "interpolating", "backsolve", "forward", "cvodes"};
}

ode::Gradient gradient(const Problem& problem, const ode::Solution& solution, const std::string& adjoint) {
  if (!problem.has_loss())
    throw Error({"there is no [loss], so there is nothing to differentiate", problem.file,
                 "add for instance: [loss] final = \"" + problem.states.front().element(0) + "\""});
  const bool algebraic = !problem.algebraic.empty();
  ode::Gradient g;
  if (adjoint == "discrete") {
    g = ode::gradient(solution, problem.loss);
  } else if (adjoint == "forward") {
    g = ode::forward_gradient(solution, problem.loss);
  } else if (adjoint == "interpolating" || adjoint == "backsolve") {
    refuse(algebraic, adjoint, "knows no algebraic equations");
    g = adjoint == "backsolve" ? ode::backsolve_adjoint(solution, problem.loss, adjoint_options(problem))
                               : ode::interpolating_adjoint(solution, problem.loss, adjoint_options(problem));
  } else if (adjoint == "cvodes") {
    refuse(algebraic, adjoint, "knows no algebraic equations");
    g = cvodes_gradient(problem, solution);
  } else {
    throw Error({"there is no adjoint '" + adjoint + "'", "", suggestion(adjoint, adjoint_names())});
  }
  if (algebraic) {
    const std::vector<double> p = start_parameters(problem);
    std::vector<double> y0_bar(g.x0.size(), 0.0), p_bar(p.size(), 0.0);
    ode::ConsistentState(*problem.field)
        .make_consistent_vjp(problem.t0, initial_state(problem).data(), p.data(), g.x0.data(), &g.t0,
                             y0_bar.data(), p_bar.data());
    g.x0 = y0_bar;
    const std::span<double> by_parameters = g.parameters["p"];
    const std::size_t count = by_parameters.size();
    for (std::size_t i = 0; i < p.size(); ++i)
      (i < count ? by_parameters[i] : g.controls[i - count]) += p_bar[i];
  }
  return g;
}

}  // namespace costate::io
