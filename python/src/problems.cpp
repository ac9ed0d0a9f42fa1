// Initial value problems from TOML files.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "costate/io/check.h"
#include "costate/io/optimize.h"
#include "costate/io/run.h"
#include "module.h"
#include "progress.h"
#include "settings.h"
#include "without_gil.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using Numbers = std::vector<double>;
using ProblemPtr = std::shared_ptr<const io::Problem>;

// {"h": 1.0, "u": array}: a role's numbers by the names of the file.
nb::dict named(const std::vector<io::Variable>& variables, const double* values) {
  nb::dict result;
  for (const io::Variable& v : variables) {
    if (v.array)
      result[v.name.c_str()] = to_numpy(Numbers(values + v.offset, values + v.offset + v.size));
    else
      result[v.name.c_str()] = values[v.offset];
  }
  return result;
}
nb::dict named_controls(const io::Problem& problem, const Numbers& values) {
  nb::dict result;
  for (const io::Variable& v : problem.controls) {
    Numbers series;
    for (int i = 0; i < v.size; ++i) series.push_back(values[problem.control_index(v, i)]);
    result[v.name.c_str()] = to_numpy(std::move(series));
  }
  return result;
}

struct ProblemSolution {
  ProblemPtr problem;
  std::shared_ptr<const ode::Solution> solution;
};

struct ProblemGradient {
  double value, t0, t1;
  nb::dict state, parameters, controls;
  GradientReport report;
};

ProblemSolution solve(const ProblemPtr& problem) {
  return {problem, without_gil([&] { return std::make_shared<const ode::Solution>(io::solve(*problem)); })};
}

ProblemGradient gradient(const ProblemPtr& problem, const std::string& adjoint) {
  const ode::Gradient g = without_gil([&] { return io::gradient(*problem, io::solve(*problem), adjoint); });
  return {g.value,
          g.t0,
          g.t1,
          named(problem->states, g.x0.data()),
          named(problem->parameters, g.parameters["p"].data()),
          named_controls(*problem, g.controls),
          g.report};
}

Array column(const ProblemSolution& s, const std::string& name) {
  const std::size_t rows = s.solution->t.size(), width = static_cast<std::size_t>(s.solution->states());
  for (const io::Variable& v : s.problem->states) {
    if (v.name != name) continue;
    Numbers values;
    for (std::size_t k = 0; k < rows; ++k) {
      const double* row = s.solution->y.data() + k * width + v.offset;
      values.insert(values.end(), row, row + v.size);
    }
    return to_numpy(std::move(values), v.array ? Shape{rows, static_cast<std::size_t>(v.size)} : Shape{rows});
  }
  throw Error("the problem has no state named '" + name + "'");
}

nb::list events(const ProblemSolution& s) {
  nb::list list;
  for (const auto& e : s.solution->events)
    list.append(nb::make_tuple(s.problem->options.events[static_cast<std::size_t>(e.event)].name, e.t));
  return list;
}

nb::dict optimum(const io::Optimum& o) {
  nb::dict variables, start, deviation, result;
  for (std::size_t i = 0; i < o.variables.size(); ++i) {
    variables[o.variables[i].name.c_str()] = o.best[i];
    start[o.variables[i].name.c_str()] = o.start[i];
    if (!o.standard_deviation.empty()) deviation[o.variables[i].name.c_str()] = o.standard_deviation[i];
  }
  result["loss"] = o.result.value;
  result["start_loss"] = o.start_value;
  result["variables"] = variables;
  result["start"] = start;
  if (!o.standard_deviation.empty()) result["standard_deviation"] = deviation;
  result["method"] = o.method;
  result["iterations"] = o.result.iterations;
  result["converged"] = o.result.converged();
  result["reason"] = o.result.reason;
  return result;
}

nb::dict optimize(const ProblemPtr& problem, const nb::object& callback) {
  const ProgressBar bar(callback.is_none());
  return optimum(without_gil([&] {
    return io::optimize(*problem, [&](const optim::Progress& p) {
      const nb::gil_scoped_acquire lock;
      bar.show(p.iteration, p.value);
      if (callback.is_none()) return true;
      const nb::object answer = callback(nb::cast(p));
      return answer.is_none() || nb::cast<bool>(answer);
    });
  }));
}

}  // namespace

void bind_problems(nb::module_& m) {
  nb::class_<io::CheckResult>(m, "ProblemCheck", "One check of a gradient; true if it passed.")
      .def_ro("name", &io::CheckResult::name)
      .def_ro("error", &io::CheckResult::error)
      .def_ro("gate", &io::CheckResult::gate)
      .def_ro("detail", &io::CheckResult::detail)
      .def_ro("skipped", &io::CheckResult::skipped)
      .def("__bool__", &io::CheckResult::passed)
      .def("__repr__", [](const io::CheckResult& c) {
        return std::string(c.skipped ? "skip  " : c.passed() ? "pass  " : "FAIL  ") + c.name + " " + c.detail;
      });
  nb::class_<ProblemSolution>(m, "ProblemSolution", "solution['h'] is the state h over time.")
      .def_prop_ro(
          "t", [](const ProblemSolution& s) { return to_numpy(Numbers(s.solution->t)); }, "(times,)")
      .def_prop_ro(
          "y",
          [](const ProblemSolution& s) {
            return to_numpy(Numbers(s.solution->y),
                            {s.solution->t.size(), static_cast<std::size_t>(s.solution->states())});
          },
          "(times, states)")
      .def_prop_ro("events", &events, "[(name, time), ...]")
      .def_prop_ro(
          "integral", [](const ProblemSolution& s) { return s.solution->integral; }, "Of the running cost.")
      .def_prop_ro("notes", [](const ProblemSolution& s) { return s.solution->notes; })
      .def_prop_ro("message", [](const ProblemSolution& s) { return s.solution->message; })
      .def("__getitem__", &column, "name"_a)
      .def("__repr__", [](const ProblemSolution& s) {
        return "Solution: " + std::to_string(s.solution->t.size()) + " times, " + s.solution->message;
      });
  nb::class_<ProblemGradient>(m, "ProblemGradient", "Derivatives of the loss, by the names of the file.")
      .def_ro("value", &ProblemGradient::value, "Of the loss.")
      .def_ro("state", &ProblemGradient::state, "By the initial state.")
      .def_ro("parameters", &ProblemGradient::parameters)
      .def_ro("controls", &ProblemGradient::controls)
      .def_ro("t0", &ProblemGradient::t0)
      .def_ro("t1", &ProblemGradient::t1)
      .def_ro("report", &ProblemGradient::report)
      .def("__repr__", [](const ProblemGradient& g) {
        return "Gradient of a loss of " + std::to_string(g.value) + ": state " + nb::repr(g.state).c_str() +
               ", parameters " + nb::repr(g.parameters).c_str();
      });
  nb::class_<io::Problem>(m, "Problem", "An initial value problem with a loss, from a TOML file.")
      .def("solve", &solve)
      .def("gradient", &gradient, "adjoint"_a = "discrete",
           "Of the loss. adjoint: 'discrete', 'forward', 'interpolating', 'backsolve' or 'cvodes'.")
      .def(
          "check",
          [](const ProblemPtr& p, std::uint64_t seed) {
            return without_gil([&] { return io::check(*p, seed); });
          },
          "seed"_a = 1, "Is the gradient right? A list of checks.")
      .def("optimize", &optimize, "callback"_a = nb::none(),
           "Changes the variables of [optimize] or [fit]: a dict with loss, variables, reason, ...")
      .def_prop_ro(
          "state", [](const io::Problem& p) { return named(p.states, p.y0.data()); }, "Initial, by name.")
      .def_prop_ro("parameters", [](const io::Problem& p) { return named(p.parameters, p.p.data()); })
      .def_ro("equations", &io::Problem::equations)
      .def_prop_ro("t_span", [](const io::Problem& p) { return nb::make_tuple(p.t0, p.t1); })
      .def("__repr__", [](const io::Problem& p) {
        std::string text = "Problem '" + p.file + "'";
        for (const auto& e : p.equations) text += "\n  " + e;
        return text;
      });
  m.def(
      "load_problem",
      [](const std::string& path, nb::handle settings) {
        return std::make_shared<io::Problem>(io::load_problem(path, settings_of(settings)));
      },
      "path"_a, "settings"_a = nb::none());
  m.def(
      "parse_problem",
      [](const std::string& text, const std::string& name, nb::handle settings) {
        return std::make_shared<io::Problem>(io::parse_problem(text, name, settings_of(settings)));
      },
      "text"_a, "name"_a = "text", "settings"_a = nb::none());
}

}  // namespace costate::python
