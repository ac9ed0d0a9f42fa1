// Initial value problems of recorded functions; python/costate/ivp.py gives them SciPy's shape.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <span>

#include "arrays.h"
#include "called_field.h"
#include "costate/ode/adjoints/continuous_adjoint.h"
#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/adjoints/forward_sensitivity.h"
#include "costate/ode/fields/layered_field.h"
#include "costate/ode/fields/program_field.h"
#include "costate/ode/methods/method.h"
#include "costate/ode/solve.h"
#include "module.h"
#include "without_gil.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using Numbers = std::vector<double>;

// A right-hand side with its derivatives, made once. A network with a large layer stays a network.
struct Equations {
  explicit Equations(const ad::LayeredProgram& program) {
    const bool large = std::any_of(program.products.begin(), program.products.end(),
                                   [](const ad::DenseProduct& d) { return d.rows * d.columns >= kLarge; });
    if (large)
      field = std::make_shared<const ode::LayeredField>(program);
    else
      field = std::make_shared<const ode::ProgramField>(ad::expand(program));
  }
  // A function that runs in Python, or (inner) a recorded one with the Jacobian that a user gives for Newton.
  Equations(const Equations* inner, nb::object source, int states, int parameters)
      : field(called_field(inner ? inner->field : nullptr, std::move(source), states, parameters)),
        called(inner == nullptr) {}
  static constexpr int kLarge = 256;  // weights: below, straight code is as fast
  std::shared_ptr<const ode::VectorField> field;
  bool called = false;
};

struct PySolution {
  std::shared_ptr<const ode::VectorField> field;  // must outlive the solution
  ode::Solution solution;
  bool called = false;  // some function ran in Python: its derivatives are those of the path it took
  std::size_t states() const { return static_cast<std::size_t>(solution.states()); }
};

struct PyEvent {
  std::shared_ptr<const ode::Function> guard;
  int direction;
  int terminal;
  bool called = false;
};

PySolution solve(const Equations& equations, double t0, double t1, nb::handle y0, nb::handle p,
                 const std::string& method, nb::handle rtol, nb::handle atol, double dt, double first_step,
                 double max_step, long max_steps, nb::handle t_eval, const std::vector<PyEvent>& events,
                 bool carry_newton) {
  ode::Options options;
  options.method = method;
  const Numbers tolerances = to_vector<double>(rtol, "rtol");
  options.rtol = *std::min_element(tolerances.begin(), tolerances.end());
  if (tolerances.size() > 1) options.rtol_per_state = tolerances;
  options.carry_newton = carry_newton;
  options.atol = to_vector<double>(atol, "atol");
  options.dt = dt;
  options.first_step = first_step;
  options.max_step = max_step;
  options.max_steps = max_steps;
  if (!t_eval.is_none()) options.t_eval = to_vector<double>(t_eval, "t_eval");
  for (const PyEvent& e : events) {
    ode::Event event;
    event.name = "event " + std::to_string(options.events.size());
    event.guard = e.guard;
    event.direction = e.direction;
    event.terminal = e.terminal;
    options.events.push_back(event);
  }
  const Numbers start = to_vector<double>(y0, "y0"), parameters = to_vector<double>(p, "args");
  const bool called = equations.called ||
                      std::any_of(events.begin(), events.end(), [](const PyEvent& e) { return e.called; });
  return {equations.field, without_gil([&] {
            return ode::solve(*equations.field, {t0, t1}, start, parameters, options);
          }),
          called};
}

// Dense output at times t: (times, states).
Array at(const PySolution& s, nb::handle times) {
  const Numbers t = to_vector<double>(times, "t");
  return to_numpy(without_gil([&] { return s.solution.at(t); }), {t.size(), s.states()});
}

// (x0_bar, p_bar, t0_bar, t1_bar, report)
nb::tuple gradient(const PySolution& s, nb::handle final_bar, nb::handle sample_times, nb::handle samples_bar,
                   double end_time_bar, nb::handle event_times_bar, const std::string& adjoint, double rtol,
                   double atol) {
  ode::OutputCotangents bar;
  if (!final_bar.is_none()) bar.final = to_vector<double>(final_bar, "final");
  if (!sample_times.is_none()) {
    bar.sample_times = to_vector<double>(sample_times, "sample times");
    bar.samples = to_vector<double>(samples_bar, "cotangents of samples");
  }
  if (!event_times_bar.is_none())
    bar.event_times = to_vector<double>(event_times_bar, "cotangents of event times");
  bar.end_time = end_time_bar;
  ode::Gradient g = without_gil([&] {
    const ode::AdjointOptions options{.rtol = rtol, .atol = atol};
    if (adjoint == "discrete") return ode::gradient(s.solution, bar);
    if (adjoint == "interpolating") return ode::interpolating_adjoint(s.solution, bar, options);
    if (adjoint == "backsolve") return ode::backsolve_adjoint(s.solution, bar, options);
    throw Error({"adjoint = '" + adjoint + "'", {}, "use 'discrete', 'interpolating' or 'backsolve'"});
  });
  if (s.called && g.report.label.starts_with("exact")) {
    g.report.label = "piecewise: " + g.report.label;
    g.report.advice.push_back(
        "a function ran in Python, since its path depends on its inputs: the gradient is exact on the path "
        "taken, and blind to "
        "jumps between paths. A discontinuity belongs in an event; costate.where instead of `if` is "
        "recorded, and faster");
  }
  const std::span<const double> p_bar = g.parameters["p"];
  return nb::make_tuple(to_numpy(std::move(g.x0)), to_numpy(Numbers(p_bar.begin(), p_bar.end())), g.t0, g.t1,
                        nb::cast(g.report));
}

// Tangents of (samples, final, event times, end time) along each direction (y0, p, t0, t1), one after the
// other: (directions, times, states), (directions, states), (directions, events), (directions,).
nb::tuple sensitivities(const PySolution& s, nb::handle sample_times,
                        const std::vector<nb::object>& directions) {
  const Numbers times = to_vector<double>(sample_times, "sample times");
  std::vector<ode::InputTangent> inputs;
  for (const nb::object& given : directions) {
    const Numbers d = to_vector<double>(given, "a direction");
    const std::size_t n = s.states();
    if (d.size() < n + 2)
      throw Error("a direction has one number per state and argument, and two for t_span");
    ode::InputTangent in;
    in.y0.assign(d.begin(), d.begin() + static_cast<std::ptrdiff_t>(n));
    in.p.assign(d.begin() + static_cast<std::ptrdiff_t>(n), d.end() - 2);
    in.t0 = d[d.size() - 2];
    in.t1 = d[d.size() - 1];
    inputs.push_back(std::move(in));
  }
  const std::vector<ode::OutputTangent> out =
      without_gil([&] { return ode::sensitivities(s.solution, inputs, times); });
  Numbers samples, final, events, end;
  for (const ode::OutputTangent& o : out) {
    samples.insert(samples.end(), o.samples.begin(), o.samples.end());
    final.insert(final.end(), o.final.begin(), o.final.end());
    events.insert(events.end(), o.event_times.begin(), o.event_times.end());
    end.push_back(o.end_time);
  }
  const std::size_t count = out.size();
  return nb::make_tuple(to_numpy(std::move(samples), {count, times.size(), s.states()}),
                        to_numpy(std::move(final), {count, s.states()}),
                        to_numpy(std::move(events), {count, s.solution.events.size()}),
                        to_numpy(std::move(end)));
}

nb::tuple event_table(const PySolution& s, int event) {
  Numbers times, states;
  for (const auto& e : s.solution.events) {
    if (e.event != event) continue;
    times.push_back(e.t);
    states.insert(states.end(), e.before.begin(), e.before.begin() + static_cast<std::ptrdiff_t>(s.states()));
  }
  const std::size_t count = times.size();
  return nb::make_tuple(to_numpy(std::move(times)), to_numpy(std::move(states), {count, s.states()}));
}

}  // namespace

const ode::VectorField& field_of(nb::handle equations) {
  return *nb::cast<const Equations&>(equations).field;
}

void bind_ode(nb::module_& m) {
  nb::class_<Equations>(m, "Equations", "The right-hand side of an initial value problem, with derivatives.")
      .def(nb::init<const ad::LayeredProgram&>(), "program"_a)
      .def(nb::init<const Equations*, nb::object, int, int>(), "recorded"_a.none(), "source"_a, "states"_a,
           "parameters"_a)
      .def(
          "jacobian",
          [](const Equations& e, double t, nb::handle x, nb::handle p) {
            const Numbers at = to_vector<double>(x, "x"), parameters = to_vector<double>(p, "p");
            const std::size_t n = static_cast<std::size_t>(e.field->states());
            if (at.size() != n || parameters.size() != static_cast<std::size_t>(e.field->parameters()))
              throw Error("x and p do not fit the equations");
            Numbers matrix(n * n), scratch(e.field->scratch_size());
            e.field->jacobian(t, at.data(), parameters.data(), matrix.data(), scratch.data());
            return to_numpy(std::move(matrix), {n, n});
          },
          "t"_a, "x"_a, "p"_a, "Derivatives of the right-hand side with respect to x, (states, states).");
  nb::class_<PyEvent>(m, "Event")
      .def(
          "__init__",
          [](PyEvent* self, const ad::Program& guard, int direction, int terminal) {
            new (self) PyEvent{std::make_shared<const ode::ProgramFunction>(guard), direction, terminal};
          },
          "guard"_a, "direction"_a, "terminal"_a)
      .def(
          "__init__",
          [](PyEvent* self, nb::object source, int states, int parameters, int direction, int terminal) {
            new (self)
                PyEvent{called_function(std::move(source), states, parameters), direction, terminal, true};
          },
          "source"_a, "states"_a, "parameters"_a, "direction"_a, "terminal"_a);
  nb::class_<PySolution>(m, "Solution")
      .def_prop_ro("t", [](const PySolution& s) { return to_numpy(Numbers(s.solution.t)); })
      .def_prop_ro("y",
                   [](const PySolution& s) {
                     return to_numpy(Numbers(s.solution.y), {s.solution.t.size(), s.states()});
                   })
      .def_prop_ro("end_time", [](const PySolution& s) { return s.solution.end_time(); })
      .def_prop_ro("final_state", [](const PySolution& s) { return to_numpy(s.solution.final_state()); })
      .def_prop_ro("terminated",
                   [](const PySolution& s) { return s.solution.status == ode::Status::terminated; })
      .def_prop_ro("message", [](const PySolution& s) { return s.solution.message; })
      .def_prop_ro("notes", [](const PySolution& s) { return s.solution.notes; })
      .def_prop_ro("accepted", [](const PySolution& s) { return s.solution.counts.accepted; })
      .def_prop_ro("nfev", [](const PySolution& s) { return s.solution.counts.rhs; })
      .def_prop_ro("njev", [](const PySolution& s) { return s.solution.counts.jacobians; })
      .def_prop_ro("nlu", [](const PySolution& s) { return s.solution.counts.factorisations; })
      .def("events", &event_table, "event"_a)
      .def_prop_ro("event_order",
                   [](const PySolution& s) {
                     std::vector<int> order;
                     for (const auto& e : s.solution.events) order.push_back(e.event);
                     return order;
                   })
      .def_prop_ro("called", [](const PySolution& s) { return s.called; })
      .def("sensitivities", &sensitivities, "sample_times"_a, "directions"_a)
      .def("at", &at, "t"_a)
      .def("gradient", &gradient, "final"_a.none(), "sample_times"_a.none(), "samples"_a.none(), "end_time"_a,
           "event_times"_a.none(), "adjoint"_a, "rtol"_a, "atol"_a);
  m.def("solve", &solve, "equations"_a, "t0"_a, "t1"_a, "y0"_a, "p"_a, "method"_a, "rtol"_a, "atol"_a, "dt"_a,
        "first_step"_a, "max_step"_a, "max_steps"_a, "t_eval"_a.none(), "events"_a, "carry_newton"_a = false);
  m.def("method_names", &ode::method_names);
}

}  // namespace costate::python
