// costate.control.collocate: plans as one sparse nonlinear program, by Ipopt.
#include "costate/control/plan/collocation.h"

#include <nanobind/stl/string.h>

#include "costate/core/text.h"
#include "module.h"
#include "plan_problem.h"
#include "without_gil.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using namespace control;

struct PyCollocated {
  Collocated found;
  std::size_t states = 0, controls = 0;
};

PyCollocated collocated(const AnySystem& system, const LossLike& loss, std::int64_t steps,
                        const FieldsLike& x0, const FieldsLike& u, const Values& p, const std::string& scheme,
                        double h, const ArrayLike& lower, const ArrayLike& upper, const ArrayLike& x_lower,
                        const ArrayLike& x_upper, const ArrayLike& x_last, const nb::list& zero,
                        const nb::list& below, const ArrayLike& states, int iterations, double tolerance) {
  std::vector<double> controls;
  const Problem problem = problem_of(system, loss, steps, x0, u, p, lower, upper,
                                     nb::borrow<ArrayLike>(nb::none()), zero, below, controls);
  const CollocationOptions options{.scheme = choose<Scheme>("scheme", scheme,
                                                            {{"steps", Scheme::steps},
                                                             {"trapezoidal", Scheme::trapezoidal},
                                                             {"hermite_simpson", Scheme::hermite_simpson}}),
                                   .h = h,
                                   .iterations = iterations,
                                   .tolerance = tolerance,
                                   .x_lower = numbers(x_lower, "x_lower"),
                                   .x_upper = numbers(x_upper, "x_upper"),
                                   .x_last = numbers(x_last, "x_last"),
                                   .states = numbers(states, "states")};
  const Signature& s = problem.system->signature();
  return {without_gil([&] { return collocate(problem, controls, options); }), std::size_t(s.states()),
          std::size_t(s.controls())};
}

}  // namespace

void bind_collocation(nb::module_& m) {
  nb::class_<PyCollocated>(m, "Collocated", "States and controls at the knots, and between them.")
      .def_prop_ro(
          "x", [](const PyCollocated& c) { return rows(c.found.x, c.states); }, "(steps + 1, states)")
      .def_prop_ro(
          "u", [](const PyCollocated& c) { return rows(c.found.u, c.controls); },
          "(steps, controls); of a rule (steps + 1, controls)")
      .def_prop_ro(
          "x_mid", [](const PyCollocated& c) { return rows(c.found.x_mid, c.states); },
          "(steps, states), of hermite_simpson")
      .def_prop_ro(
          "u_mid", [](const PyCollocated& c) { return rows(c.found.u_mid, c.controls); },
          "(steps, controls), of hermite_simpson")
      .def_prop_ro(
          "value", [](const PyCollocated& c) { return c.found.value; }, "Of the loss.")
      .def_prop_ro(
          "violation", [](const PyCollocated& c) { return c.found.violation; },
          "Of the equations and constraints, the largest.")
      .def_prop_ro("iterations", [](const PyCollocated& c) { return c.found.iterations; })
      .def_prop_ro("converged", [](const PyCollocated& c) { return c.found.converged(); })
      .def_prop_ro(
          "reason", [](const PyCollocated& c) { return c.found.reason; }, "Why it stopped, in words.")
      .def("__repr__", [](const PyCollocated& c) {
        return "Collocated: value " + number(c.found.value) + " after " + std::to_string(c.found.iterations) +
               " iterations (" + c.found.reason + ")";
      });
  const auto none = [] { return nb::none(); };
  m.def("has_ipopt", &has_ipopt, "Whether costate was built with Ipopt, which collocate needs.");
  m.def(
      "collocate", &collocated, "system"_a, "loss"_a, "steps"_a, "x0"_a = none(), "u"_a = none(),
      "p"_a = none(), nb::kw_only(), "scheme"_a = "steps", "h"_a = 0.0, "lower"_a = none(),
      "upper"_a = none(), "x_lower"_a = none(), "x_upper"_a = none(), "x_last"_a = none(),
      "zero"_a = nb::list(), "below"_a = nb::list(), "states"_a = none(), "iterations"_a = 1000,
      "tolerance"_a = 1e-10,
      "The motion that makes a loss least, as one nonlinear program in states and controls, by Ipopt.\n\n"
      "scheme   'steps': the steps of any system are the equations. 'trapezoidal', 'hermite_simpson': rules "
      "for a field, a system whose step is x + f(x, u): equations with method='euler', dt=1\n"
      "h        of a rule: the time between knots; terms of the loss at steps are then rates\n"
      "lower, upper, x_lower, x_upper   of controls and of states after the first\n"
      "x_last   values that the last state must have; NaN: free\n"
      "zero, below   losses that must be zero, or not positive, at the knots\n"
      "states   (steps + 1, states) to start from");
}

}  // namespace costate::python
