#include "costate/study/equation_study.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/names.h"
#include "costate/core/philox.h"
#include "costate/core/text.h"
#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/adjoints/hessian.h"

namespace costate::study {
namespace {

constexpr int kDirections = 3;
constexpr double kExactGate = 1e-10;      // two ways to the same derivative
constexpr double kContinuousGate = 1e-6;  // another discretisation, to its tolerance

double inner(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The larger of two errors. NaN is the largest: std::max would lose it.
void take_worse(double& worst, double error) {
  if (!(error <= worst)) worst = error;
}

// Largest difference, relative to the largest entry.
double difference_of(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0, size = 1e-300;
  for (std::size_t i = 0; i < a.size(); ++i) {
    take_worse(most, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(a[i]));
  }
  return most / size;
}

// A direction of the inputs, as the ode layer takes it.
ode::InputTangent tangent_of(const Inputs& d) {
  ode::InputTangent tangent{.y0 = d.x0, .p = d.p};
  for (std::size_t k = 0; !d.paths.empty() && k < d.paths[0].points.size(); ++k)
    for (const Path& path : d.paths) tangent.controls.push_back(path.points[k]);
  return tangent;
}

// Of all series, each once.
std::vector<double> times_of(const Equations& e) {
  std::vector<double> times;
  for (const Series& series : e.data) times.insert(times.end(), series.t.begin(), series.t.end());
  const bool forward = e.t1 > e.t0;
  std::sort(times.begin(), times.end(), [&](double a, double b) { return forward ? a < b : a > b; });
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

// sum_k weight_k y(t_k) / sigma of all series: what a fit measures, weighed.
class WeighedSeries final : public ode::SampleCost {
 public:
  WeighedSeries(const std::vector<Series>& data, std::vector<double> times,
                const std::vector<double>& weights)
      : times_(std::move(times)), of_time_(times_.size()) {
    std::size_t row = 0;
    for (const Series& series : data)
      for (const double t : series.t)
        of_time_[std::size_t(std::find(times_.begin(), times_.end(), t) - times_.begin())].push_back(
            {series.value, weights[row++] / series.sigma});
  }
  const std::vector<double>& times() const override { return times_; }
  double value(std::size_t k, const double* x, const double* p) const override {
    double sum = 0;
    for (const Part& part : of_time_[k]) {
      std::vector<double> scratch(part.of->scratch_size());
      double y = 0;
      part.of->value(times_[k], x, p, &y, scratch.data());
      sum += part.weight * y;
    }
    return sum;
  }
  void gradient(std::size_t k, const double* x, const double* p, double* x_bar,
                double* p_bar) const override {
    double t_bar = 0;  // the times are given
    for (const Part& part : of_time_[k]) {
      std::vector<double> scratch(part.of->scratch_size());
      part.of->vjp(times_[k], x, p, &part.weight, &t_bar, x_bar, p_bar, scratch.data());
    }
  }
  void gradient_jvp(std::size_t k, const double* x, const double* p, const double* x_dot, const double* p_dot,
                    double* x_bar_dot, double* p_bar_dot) const override {
    double t_bar_dot = 0;
    const double still = 0;
    for (const Part& part : of_time_[k]) {
      std::vector<double> scratch(part.of->scratch_size());
      part.of->vjp_jvp(times_[k], x, p, &part.weight, 0.0, x_dot, p_dot, &still, &t_bar_dot, x_bar_dot,
                       p_bar_dot, scratch.data());
    }
  }

 private:
  struct Part {
    std::shared_ptr<const ode::Function> of;
    double weight;
  };
  std::vector<double> times_;
  std::vector<std::vector<Part>> of_time_;
};

}  // namespace

EquationStudy::EquationStudy(Equations equations) : equations_(std::move(equations)) {
  file = equations_.file;
  title = equations_.title;
  set_optimize(equations_.optimize);
}

std::vector<Variable> EquationStudy::inputs(bool scaled) const {
  std::vector<Variable> list;
  const auto add = [&](const std::string& prefix, const Named& v, int i, Variable::Where where) {
    Variable variable{.name = prefix + v.element(i), .where = where};
    variable.index = std::size_t(where == Variable::Where::path ? i : v.offset + i);
    variable.path = where == Variable::Where::path ? std::size_t(v.offset) : 0;
    variable.start = number_of(equations_.inputs, variable);
    if (scaled && variable.start != 0) variable.scale = std::abs(variable.start);
    list.push_back(variable);
  };
  for (const Named& v : equations_.states)
    for (int i = 0; i < v.size; ++i) add("start.", v, i, Variable::Where::state);
  for (const Named& v : equations_.parameters)
    for (int i = 0; i < v.size; ++i) add("parameters.", v, i, Variable::Where::parameter);
  for (const Named& v : equations_.controls)
    for (int i = 0; i < v.size; ++i) add("controls.", v, i, Variable::Where::path);
  return list;
}

NamedTexts EquationStudy::facts() const {
  const Equations& e = equations_;
  NamedTexts rows;
  for (const Named& v : e.states) {
    for (int i = 0; i < v.size; ++i) {
      const int at = v.offset + i;
      const bool algebraic = std::find(e.algebraic.begin(), e.algebraic.end(), at) != e.algebraic.end();
      rows.emplace_back("equation", (algebraic ? "0 = " : v.element(i) + "' = ") + e.equations[at]);
      rows.emplace_back("start", v.element(i) + " = " + number(e.inputs.x0[at]));
    }
  }
  for (const Named& v : e.parameters)
    for (int i = 0; i < v.size; ++i)
      rows.emplace_back("parameter", v.element(i) + " = " + number(e.inputs.p[v.offset + i]));
  for (const Named& v : e.controls)
    rows.emplace_back("control", v.name + ": " + std::to_string(v.size) + " values, " +
                                     (e.inputs.paths[0].shape == Path::Shape::linear ? "linear" : "held"));
  for (std::size_t i = 0; i < e.guards.size(); ++i) {
    const ode::Event& event = e.options.events[i];
    rows.emplace_back("event", e.guards[i] + " = 0, " +
                                   (event.direction < 0   ? "falling"
                                    : event.direction > 0 ? "rising"
                                                          : "either way") +
                                   (event.jump ? ", sets the state" : "") +
                                   (event.terminal ? ", ends the solution" : ""));
  }
  rows.emplace_back("time", "from " + number(e.t0) + " to " + number(e.t1));
  std::string atol;
  for (const double a : e.options.atol) atol += (atol.empty() ? "" : ", ") + number(a);
  rows.emplace_back("solver", e.options.method +
                                  (e.options.dt > 0 ? ", dt " + number(e.options.dt)
                                                    : ", rtol " + number(e.options.rtol) + ", atol " + atol));
  for (const EquationTerm& term : e.terms)
    rows.emplace_back("loss", term.final ? term.text + "  at the end"
                              : term.running
                                  ? "integral of  " + term.text
                                  : "mean of  " + term.text + "  at " +
                                        counted(std::int64_t(term.samples->times().size()), "time"));
  if (!e.data.empty()) rows.emplace_back("fit", "to " + counted(residuals(), "measurement"));
  if (optimize()) rows.emplace_back("variables", std::to_string(optimize()->variables.size()));
  return rows;
}

std::string EquationStudy::headline() const {
  return counted(std::int64_t(equations_.inputs.x0.size()), "state") + ", from t = " + number(equations_.t0) +
         " to " + number(equations_.t1) + " by " + equations_.options.method;
}

std::string EquationStudy::identity() const {
  std::string text = equations_.options.method + " " + std::to_string(equations_.t1);
  for (const std::string& e : equations_.equations) text += " " + e;
  return text;
}

Equations EquationStudy::at(const std::vector<double>& z) const {
  Equations moved = equations_;
  moved.inputs = with_values(equations_.inputs, variables(), z);
  return moved;
}

void EquationStudy::require_loss() const {
  if (has_loss()) return;
  throw Error({"there is no [[loss]], so there is nothing to differentiate", file,
               "add for instance: [[loss]] formula = \"" + equations_.states.front().element(0) + "\""});
}

void EquationStudy::use_adjoint(const std::string& name) {
  const std::vector<std::string> names = adjoint_names();
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw Error({"there is no adjoint '" + name + "'", "",
                 "choose one of: discrete, interpolating, backsolve, "
                 "forward, cvodes"});
  adjoint_ = name;
}

double EquationStudy::value(const std::vector<double>& z) {
  require_loss();
  const Equations e = at(z);
  return ode::evaluate(study::solve(e), loss_of(e)).value;
}

double EquationStudy::value_and_gradient(const std::vector<double>& z, double* gradient) {
  require_loss();
  const Equations e = at(z);
  const ode::Solution solution = study::solve(e);
  const ode::Gradient g = study::gradient(e, solution, adjoint_);
  report_ = g.report;
  report_.advice.insert(report_.advice.begin(), solution.notes.begin(), solution.notes.end());
  pull_back(cotangent_of(e, g), variables(), gradient);
  further_ = {{"t0", e.t0, g.t0}, {"t1", e.t1, g.t1}};
  if (g.dt) further_.push_back({"dt", e.options.dt, *g.dt});
  return g.value;
}

Run EquationStudy::run(const std::vector<double>& z, const RunOptions& options) {
  const Equations e = at(z);
  std::vector<double> times;
  for (int k = 0; k < options.dense; ++k)
    times.push_back(k == options.dense - 1 ? e.t1 : e.t0 + double(k) / (options.dense - 1) * (e.t1 - e.t0));
  const ode::Solution s = study::solve(e, times);
  Run run;
  run.columns = {"t"};
  for (const Named& v : e.states)
    for (int i = 0; i < v.size; ++i) run.columns.push_back(v.element(i));
  for (const Named& v : e.controls) run.columns.push_back(v.name);
  for (std::size_t k = 0; k < s.t.size(); ++k) {
    std::vector<double> row = {s.t[k]};
    row.insert(row.end(), s.row(k), s.row(k) + s.states());
    if (!e.controls.empty()) {
      const std::vector<double> p = ode::parameters_at(s, s.t[k]);
      row.insert(row.end(), p.end() - std::ptrdiff_t(e.controls.size()), p.end());
    }
    run.rows.push_back(std::move(row));
  }
  std::string running;
  for (const EquationTerm& term : e.terms) {
    if (term.final)
      run.terms.emplace_back(term.name, ode::evaluate(s, {.final = term.final, .integral_weight = 0}).value);
    if (term.samples)
      run.terms.emplace_back(term.name,
                             ode::evaluate(s, {.integral_weight = 0, .samples = term.samples}).value);
    if (term.running) running += (running.empty() ? "" : " + ") + term.name;
  }
  if (!running.empty()) run.terms.emplace_back(running, s.integral);
  for (const auto& [name, value] : run.terms) run.loss += value;
  for (const ode::EventRecord& event : s.events)
    run.events.push_back({e.options.events[event.event].name, event.t, event.before, event.after});
  run.message = s.message + ": " + counted(s.counts.accepted, "step") + ", " +
                std::to_string(s.counts.rejected) + " rejected, " + counted(s.counts.rhs, "evaluation");
  run.notes = s.notes;
  return run;
}

int EquationStudy::residuals() const {
  std::size_t count = 0;
  for (const Series& series : equations_.data) count += series.t.size();
  return int(count);
}

// All residuals, series after series, and their Jacobian by forward sensitivities.
void EquationStudy::residuals(const std::vector<double>& z, double* residual, double* jacobian) {
  const Equations e = at(z);
  const std::vector<double> times = times_of(e);
  const ode::Solution solution = study::solve(e, times);
  if (solution.t.size() != times.size())
    throw Error(
        {"the solution ends at t = " + std::to_string(solution.end_time()) + ", before the last measurement",
         file, ""},
        Error::Kind::numerics);
  std::vector<ode::InputTangent> directions;
  std::vector<ode::OutputTangent> tangents;
  if (jacobian) {
    for (const Variable& v : variables()) {
      Inputs d = e.inputs.zeros();
      number_of(d, v) = v.scale;
      directions.push_back(initial_tangent(e, tangent_of(d)));
    }
    tangents = ode::sensitivities(solution, directions, times);
  }
  std::size_t row = 0;
  for (const Series& series : e.data) {
    std::vector<double> scratch(series.value->scratch_size());
    for (std::size_t k = 0; k < series.t.size(); ++k, ++row) {
      const double t = series.t[k];
      const std::size_t at = std::find(times.begin(), times.end(), t) - times.begin();
      const double* x = solution.row(at);
      double y = 0;
      const std::vector<double> p = ode::parameters_at(solution, t);
      series.value->value(t, x, p.data(), &y, scratch.data());
      residual[row] = (y - series.measured[k]) / series.sigma;
      for (std::size_t j = 0; j < directions.size(); ++j) {
        const double* x_dot = tangents[j].samples.data() + at * e.inputs.x0.size();
        double y_dot = 0;
        const std::vector<double> p_dot = ode::parameter_tangent_at(solution, directions[j], t);
        series.value->jvp(t, x, p.data(), 0.0, x_dot, p_dot.empty() ? nullptr : p_dot.data(), &y_dot,
                          scratch.data());
        jacobian[row * directions.size() + j] = y_dot / series.sigma;
      }
    }
  }
}

// A column per variable.
void EquationStudy::curvature(const std::vector<double>& z, const std::vector<double>& weights,
                              double* hessian) {
  const Equations e = at(z);
  if (!e.field->has_second_order() || !e.algebraic.empty()) Study::curvature(z, weights, hessian);
  const std::vector<double> times = times_of(e);
  const ode::Solution solution = study::solve(e, times);
  const ode::Loss loss{.integral_weight = 0,
                       .samples = std::make_shared<WeighedSeries>(e.data, times, weights)};
  const std::size_t n = variables().size();
  for (std::size_t j = 0; j < n; ++j) {
    Inputs d = e.inputs.zeros();
    number_of(d, variables()[j]) = variables()[j].scale;
    const ode::Gradient product = ode::hessian_vector(solution, loss, tangent_of(d));
    std::vector<double> column(n);
    pull_back(cotangent_of(e, product), variables(), column.data());
    for (std::size_t i = 0; i < n; ++i) hessian[i * n + j] = column[i];
  }
}

check::Result EquationStudy::dot_product(std::uint64_t seed) {
  check::Result result{"dot product", 0, 1e-12, "forward against reverse, random directions"};
  const Equations& e = equations_;
  const ode::Solution solution = study::solve(e);
  std::uint64_t count = 0;
  const auto random = [&] {  // uniform in (-1, 1)
    const auto draw = philox4x32<std::uint64_t>({{count++, 0, 0, 0}}, seed);
    return 2 * (double(draw.word[0]) + 0.5) / 4294967296.0 - 1;
  };
  for (int k = 0; k < kDirections; ++k) {
    Inputs d = e.inputs;
    const auto randomise = [&](std::vector<double>& v) {
      for (double& x : v) x = random() * (x == 0 ? 1.0 : std::abs(x));
    };
    randomise(d.x0);
    randomise(d.p);
    for (Path& path : d.paths) randomise(path.points);
    for (const int i : e.algebraic) d.x0[i] = 0;  // they follow from the others
    ode::InputTangent v = tangent_of(d);
    v.t0 = random();
    v.t1 = random();
    ode::OutputCotangents w;
    w.final.resize(e.inputs.x0.size());
    for (double& x : w.final) x = random();
    const bool integral = options_of(e).running != nullptr;
    w.integral = integral ? random() : 0.0;
    for (std::size_t i = 0; i < solution.events.size(); ++i) w.event_times.push_back(random());
    const ode::OutputTangent jv = ode::sensitivities(solution, {v})[0];
    const ode::Gradient jw = ode::gradient(solution, w);
    const Inputs bar = cotangent_of(e, jw);
    double right = inner(bar.x0, d.x0) + inner(bar.p, d.p) + jw.t0 * v.t0 + jw.t1 * v.t1;
    for (std::size_t c = 0; c < d.paths.size(); ++c) right += inner(bar.paths[c].points, d.paths[c].points);
    const double left =
        inner(jv.final, w.final) + jv.integral * w.integral + inner(jv.event_times, w.event_times);
    const double size = std::sqrt(
        (inner(jv.final, jv.final) + jv.integral * jv.integral + inner(jv.event_times, jv.event_times)) *
        (inner(w.final, w.final) + w.integral * w.integral + inner(w.event_times, w.event_times)));
    take_worse(result.error, std::abs(left - right) / std::max(size, 1e-300));
  }
  return result;
}

Stencil EquationStudy::stencil() const {
  // Implicit methods are less smooth in their inputs, and are solved less tightly (tighten()).
  const bool implicit = is_implicit(equations_);
  return {.step = 1e-3, .gate = implicit ? 1e-6 : 1e-8, .noise = implicit ? 1e-9 : 1e-10};
}

std::vector<check::Result> EquationStudy::comparisons() {
  const Equations& e = equations_;
  const ode::Solution solution = study::solve(e);
  const Inputs ours = cotangent_of(e, study::gradient(e, solution));
  const auto against = [&](const std::string& adjoint, double gate) {
    check::Result result{"discrete against " + adjoint, 0, gate, ""};
    try {
      const ode::Gradient g = study::gradient(e, solution, adjoint);
      const Inputs other = cotangent_of(e, g);
      take_worse(result.error, difference_of(ours.x0, other.x0));
      take_worse(result.error, difference_of(ours.p, other.p));
      take_worse(result.error, difference_of(tangent_of(ours).controls, tangent_of(other).controls));
      result.detail = g.report.estimator;
    } catch (const Error& error) {
      result.skipped = true;
      result.detail = "does not apply: " + error.message().what;
    }
    return result;
  };
  return {against("forward", kExactGate), against("interpolating", kContinuousGate),
          against("cvodes", kContinuousGate)};
}

}  // namespace costate::study
