#include "costate/study/equations.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "costate/core/error.h"
#include "costate/core/names.h"
#include "costate/core/text.h"
#include "costate/ode/adjoints/continuous_adjoint.h"
#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/adjoints/forward_sensitivity.h"
#include "costate/ode/fields/consistent_state.h"
#include "costate/ode/sundials/sundials_backend.h"
#include "costate/study/losses/samples.h"

namespace costate::study {
namespace {

void refuse(bool condition, const std::string& adjoint, const std::string& why) {
  if (condition) throw Error({"the adjoint '" + adjoint + "' " + why, "", "use --adjoint discrete"});
}

// The adjoint equation is as stiff as the equations.
ode::AdjointOptions adjoint_options(const Equations& equations) {
  const ode::Options& o = equations.options;
  const double atol = *std::min_element(o.atol.begin(), o.atol.end());
  return {.method = is_implicit(equations) ? "radau5"
                    : o.dt > 0             ? "dopri5"
                                           : o.method,
          .rtol = o.rtol > 0 ? o.rtol : atol,
          .atol = atol,
          .max_steps = o.max_steps};
}

ode::Gradient cvodes_gradient(const Equations& equations, const ode::Solution& solution) {
  const char* const name = "cvodes";
  refuse(!equations.controls.empty(), name, "knows no controls");
  refuse(!ode::sundials::available(), name, "needs SUNDIALS, which this build does not have");
  refuse(!equations.options.events.empty(), name, "knows no events");
  const ode::Options o = options_of(equations);
  const ode::Loss terms = loss_of(equations);
  refuse(terms.samples != nullptr, name, "knows no samples");
  const double atol = *std::min_element(o.atol.begin(), o.atol.end());
  // CVODES works from a relative tolerance that rounding allows.
  const double rtol = std::max(o.rtol, 1e-13);
  const ode::Function *final = terms.final.get(), *running = o.running.get();
  const int n = equations.field->states(), m = equations.field->parameters();
  std::vector<double> scratch(
      std::max(final ? final->scratch_size() : 0, running ? running->scratch_size() : 0));
  std::vector<double> p_bar(std::size_t(m), 0.0);
  double end_time_bar = 0;
  const double one = 1;

  ode::sundials::Loss loss;
  if (final) {
    loss.final = [&](const double* x, double* x_bar) {
      double value = 0;
      final->value(equations.t1, x, equations.inputs.p.data(), &value, scratch.data());
      std::fill_n(x_bar, n, 0.0);
      std::fill(p_bar.begin(), p_bar.end(), 0.0);
      end_time_bar = 0;
      final->vjp(equations.t1, x, equations.inputs.p.data(), &one, &end_time_bar, x_bar, p_bar.data(),
                 scratch.data());
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
  const ode::sundials::AdjointGradient g = ode::sundials::gradient(
      *equations.field, equations.t0, equations.t1, equations.inputs.x0, equations.inputs.p, loss,
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
  std::vector<double> f(std::size_t(n), 0.0), x_bar(std::size_t(n), 0.0),
      work(equations.field->scratch_size());
  const std::vector<double> end = solution.final_state();
  const auto rate = [&](double t, const std::vector<double>& x, const std::vector<double>& lambda) {
    equations.field->value(t, x.data(), equations.inputs.p.data(), f.data(), work.data());
    double sum = running ? loss.running(t, x.data(), equations.inputs.p.data()) : 0.0;
    for (int i = 0; i < n; ++i) sum += lambda[i] * f[i];
    return sum;
  };
  if (final) loss.final(end.data(), x_bar.data());
  result.t1 = end_time_bar + rate(equations.t1, end, x_bar);
  result.t0 = -rate(equations.t0, equations.inputs.x0, g.x0);
  result.report.label = "exact up to rtol " + number(rtol);
  result.report.steps = g.steps;
  return result;
}

// p and, where there are controls, their first values: what the equations see at the start.
std::vector<double> start_parameters(const Equations& equations) {
  std::vector<double> p = equations.inputs.p;
  for (const Path& path : equations.inputs.paths) p.push_back(path.points.front());
  return p;
}

// A right-hand side that starts out infinite or NaN is a mistake of the equations, not of the step size.
void check_start(const Equations& equations, const std::vector<double>& y0) {
  std::vector<double> f(y0.size()), scratch(equations.field->scratch_size());
  equations.field->value(equations.t0, y0.data(), start_parameters(equations).data(), f.data(),
                         scratch.data());
  for (const Named& v : equations.states) {
    for (int i = 0; i < v.size; ++i) {
      if (std::isfinite(f[v.offset + i])) continue;
      throw Error({"the equation of '" + v.element(i) + "' has no finite value at the start", equations.file,
                   "check it at the initial state: " + equations.equations[v.offset + i].substr(0, 200)},
                  Error::Kind::numerics);
    }
  }
}

}  // namespace

bool is_implicit(const Equations& equations) {
  return equations.options.method == "rodas5p" || equations.options.method == "radau5";
}

void tighten(Equations& equations) {
  // Implicit methods meet the rounding of their linear solves sooner.
  const bool implicit = is_implicit(equations);
  ode::Options& o = equations.options;
  o.rtol = std::min(o.rtol, implicit ? 1e-9 : 1e-11);
  for (double& a : o.atol) a = std::min(a, implicit ? 1e-10 : 1e-12);
  o.max_steps *= 10;
}

ode::Loss loss_of(const Equations& equations) {
  std::vector<std::shared_ptr<const ode::Function>> finals;
  std::vector<std::shared_ptr<const ode::SampleCost>> samples;
  for (const EquationTerm& term : equations.terms) {
    if (term.final) finals.push_back(term.final);
    if (term.samples) samples.push_back(term.samples);
  }
  return {.final = sum_of(finals), .samples = sum_of(samples, equations.t1 > equations.t0)};
}

ode::Options options_of(const Equations& equations) {
  ode::Options o = equations.options;
  std::vector<std::shared_ptr<const ode::Function>> running;
  for (const EquationTerm& term : equations.terms)
    if (term.running) running.push_back(term.running);
  o.running = sum_of(running);
  o.control_integral = o.running && o.dt == 0;
  const std::vector<Path>& paths = equations.inputs.paths;
  if (paths.empty()) return o;
  o.controls.interpolation = paths[0].shape == Path::Shape::linear ? ode::Controls::Interpolation::linear
                                                                   : ode::Controls::Interpolation::hold;
  for (std::size_t k = 0; k < paths[0].points.size(); ++k)
    for (const Path& path : paths) o.controls.values.push_back(path.points[k]);
  return o;
}

Inputs cotangent_of(const Equations& equations, const ode::Gradient& gradient) {
  Inputs bar = equations.inputs.zeros();
  bar.x0 = gradient.x0;
  const std::span<const double> by_parameters = gradient.parameters["p"];
  bar.p.assign(by_parameters.begin(), by_parameters.end());
  for (std::size_t c = 0; c < bar.paths.size(); ++c)
    for (std::size_t k = 0; k < bar.paths[c].points.size(); ++k)
      bar.paths[c].points[k] = gradient.controls[k * bar.paths.size() + c];
  return bar;
}

std::vector<double> initial_state(const Equations& equations) {
  std::vector<double> y0 = equations.inputs.x0;
  if (!equations.algebraic.empty())
    ode::ConsistentState(*equations.field)
        .make_consistent(equations.t0, y0.data(), start_parameters(equations).data());
  return y0;
}

ode::InputTangent initial_tangent(const Equations& equations, ode::InputTangent d) {
  if (equations.algebraic.empty()) return d;
  const std::vector<double> y0 = initial_state(equations), p = start_parameters(equations);
  std::vector<double> y0_dot(y0.size()), p_dot(p.size(), 0.0);
  std::copy(d.p.begin(), d.p.end(), p_dot.begin());
  if (!d.controls.empty())
    std::copy_n(d.controls.begin(), equations.controls.size(),
                p_dot.begin() + std::ptrdiff_t(equations.inputs.p.size()));
  ode::ConsistentState(*equations.field)
      .make_consistent_jvp(equations.t0, y0.data(), p.data(), d.t0, d.y0.empty() ? nullptr : d.y0.data(),
                           p_dot.data(), y0_dot.data());
  d.y0 = y0_dot;
  return d;
}

ode::Solution solve(const Equations& equations, const std::vector<double>& times) {
  const std::vector<double> y0 = initial_state(equations);
  check_start(equations, y0);
  ode::Options options = options_of(equations);
  options.t_eval = times;
  ode::Solution solution =
      ode::solve(*equations.field, {equations.t0, equations.t1}, y0, equations.inputs.p, options);
  for (std::size_t i = 0; i < options.events.size(); ++i) {
    const bool happened = std::any_of(solution.events.begin(), solution.events.end(),
                                      [&](const ode::EventRecord& e) { return e.event == int(i); });
    if (!happened) solution.notes.push_back("event \"" + options.events[i].name + "\" never happened");
  }
  return solution;
}

std::vector<std::string> adjoint_names() {
  return {"discrete", "interpolating", "backsolve", "forward", "cvodes"};
}

ode::Gradient gradient(const Equations& equations, const ode::Solution& solution,
                       const std::string& adjoint) {
  const ode::Loss loss = loss_of(equations);
  const bool algebraic = !equations.algebraic.empty();
  ode::Gradient g;
  if (adjoint == "discrete") {
    g = ode::gradient(solution, loss);
  } else if (adjoint == "forward") {
    g = ode::forward_gradient(solution, loss);
  } else if (adjoint == "interpolating" || adjoint == "backsolve") {
    refuse(algebraic, adjoint, "knows no algebraic equations");
    g = adjoint == "backsolve" ? ode::backsolve_adjoint(solution, loss, adjoint_options(equations))
                               : ode::interpolating_adjoint(solution, loss, adjoint_options(equations));
  } else if (adjoint == "cvodes") {
    refuse(algebraic, adjoint, "knows no algebraic equations");
    g = cvodes_gradient(equations, solution);
  } else {
    throw Error({"there is no adjoint '" + adjoint + "'", "",
                 "did you mean '" + nearest_names(adjoint, adjoint_names()).front() + "'?"});
  }
  if (algebraic) {
    const std::vector<double> p = start_parameters(equations);
    std::vector<double> y0_bar(g.x0.size(), 0.0), p_bar(p.size(), 0.0);
    ode::ConsistentState(*equations.field)
        .make_consistent_vjp(equations.t0, initial_state(equations).data(), p.data(), g.x0.data(), &g.t0,
                             y0_bar.data(), p_bar.data());
    g.x0 = y0_bar;
    const std::span<double> by_parameters = g.parameters["p"];
    const std::size_t count = by_parameters.size();
    for (std::size_t i = 0; i < p.size(); ++i)
      (i < count ? by_parameters[i] : g.controls[i - count]) += p_bar[i];
  }
  return g;
}

}  // namespace costate::study
