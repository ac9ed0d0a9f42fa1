// Initial value problems of recorded functions; python/costate/ivp.py gives them SciPy's shape.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <span>

#include "arrays.h"
#include "costate/ode/adjoints/continuous_adjoint.h"
#include "costate/ode/adjoints/discrete_adjoint.h"
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
  static constexpr int kLarge = 256;  // weights: below, straight code is as fast
  std::shared_ptr<const ode::VectorField> field;
};

struct PySolution {
  std::shared_ptr<const ode::VectorField> field;  // must outlive the solution
  ode::Solution solution;
  std::size_t states() const { return static_cast<std::size_t>(solution.states()); }
};

struct PyEvent {
  std::shared_ptr<const ode::Function> guard;
  int direction;
  bool terminal;
};

PySolution solve(const Equations& equations, double t0, double t1, nb::handle y0, nb::handle p,
                 const std::string& method, double rtol, nb::handle atol, double dt, double first_step,
                 double max_step, long max_steps, nb::handle t_eval, const std::vector<PyEvent>& events) {
  ode::Options options;
  options.method = method;
  options.rtol = rtol;
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
  return {equations.field, without_gil([&] {
            return ode::solve(*equations.field, {t0, t1}, start, parameters, options);
          })};
}

// Dense output at times t: (times, states).
Array at(const PySolution& s, nb::handle times) {
  const Numbers t = to_vector<double>(times, "t");
  Numbers values;
  values.reserve(t.size() * s.states());
  for (const double time : t) {
    const Numbers x = s.solution(time);
    values.insert(values.end(), x.begin(), x.end());
  }
  return to_numpy(std::move(values), {t.size(), s.states()});
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
  const std::span<const double> p_bar = g.parameters["p"];
  return nb::make_tuple(to_numpy(std::move(g.x0)), to_numpy(Numbers(p_bar.begin(), p_bar.end())), g.t0, g.t1,
                        nb::cast(g.report));
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

void bind_ode(nb::module_& m) {
  nb::class_<Equations>(m, "Equations", "The right-hand side of an initial value problem, with derivatives.")
      .def(nb::init<const ad::LayeredProgram&>(), "program"_a);
  nb::class_<PyEvent>(m, "Event")
      .def(
          "__init__",
          [](PyEvent* self, const ad::Program& guard, int direction, bool terminal) {
            new (self) PyEvent{std::make_shared<const ode::ProgramFunction>(guard), direction, terminal};
          },
          "guard"_a, "direction"_a, "terminal"_a);
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
      .def("at", &at, "t"_a)
      .def("gradient", &gradient, "final"_a.none(), "sample_times"_a.none(), "samples"_a.none(), "end_time"_a,
           "event_times"_a.none(), "adjoint"_a, "rtol"_a, "atol"_a);
  m.def("solve", &solve, "equations"_a, "t0"_a, "t1"_a, "y0"_a, "p"_a, "method"_a, "rtol"_a, "atol"_a, "dt"_a,
        "first_step"_a, "max_step"_a, "max_steps"_a, "t_eval"_a.none(), "events"_a);
  m.def("method_names", &ode::method_names);
}

}  // namespace costate::python
