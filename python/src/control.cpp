// costate.control: regulators, linear-quadratic problems, plans and model predictive control.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "costate/control/plan/ddp.h"
#include "costate/control/plan/mpc.h"
#include "costate/control/plan/sampling.h"
#include "costate/control/quadratic/lqr.h"
#include "costate/core/text.h"
#include "module.h"
#include "plan_problem.h"
#include "without_gil.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using namespace control;
using Numbers = std::vector<double>;

int last_axis(nb::handle object, const char* what) {
  const auto array = as_array<double>(object, what);
  if (array.ndim() == 0) throw Error(std::string(what) + " is a number, not an array");
  return int(array.shape(array.ndim() - 1));
}

// --- regulators --------------------------------------------------------------------------------------------

struct PyRegulator {
  Regulator problem;
  RegulatorSolution solution;

  nb::dict vjp(const ArrayLike& P, const ArrayLike& K) const {
    const Regulator bar =
        solve_vjp(problem, solution, numbers(P, "the cotangent of P"), numbers(K, "the cotangent of K"));
    const auto n = std::size_t(problem.states), m = std::size_t(problem.controls);
    nb::dict result;
    result["A"] = rows(bar.A, n), result["B"] = rows(bar.B, m), result["Q"] = rows(bar.Q, n);
    result["R"] = rows(bar.R, m), result["S"] = rows(bar.S, n);
    return result;
  }
};

PyRegulator regulator(const ArrayLike& A, const ArrayLike& B, const ArrayLike& Q, const ArrayLike& R,
                      const ArrayLike& S) {
  const auto expect = [](nb::handle given, const char* what, std::size_t rows, std::size_t columns) {
    const Shape shape = shape_of(as_array<double>(given, what));
    if (shape != Shape{rows, columns}) wrong_shape(what, shape, text_of(Shape{rows, columns}));
  };
  const auto n = std::size_t(last_axis(A, "A")), m = std::size_t(last_axis(B, "B"));
  expect(A, "A", n, n), expect(B, "B", n, m), expect(Q, "Q", n, n), expect(R, "R", m, m);
  if (!S.is_none()) expect(S, "S", m, n);
  Regulator r{last_axis(A, "A"), last_axis(B, "B"), numbers(A, "A"), numbers(B, "B"),
              numbers(Q, "Q"),   numbers(R, "R"),   numbers(S, "S")};
  RegulatorSolution solution = solve(r);
  return {std::move(r), std::move(solution)};
}

void bind_linear(nb::module_& m) {
  nb::class_<PyRegulator>(m, "Regulator", "A linear-quadratic regulator: u = -K x.")
      .def_prop_ro(
          "K", [](const PyRegulator& r) { return rows(r.solution.K, std::size_t(r.problem.states)); },
          "(controls, states)")
      .def_prop_ro(
          "P", [](const PyRegulator& r) { return rows(r.solution.P, std::size_t(r.problem.states)); },
          "(states, states): the cost to go is x'Px / 2.")
      .def_prop_ro(
          "radius", [](const PyRegulator& r) { return r.solution.radius; },
          "By which factor the slowest mode shrinks per step.")
      .def("vjp", &PyRegulator::vjp, "P"_a = nb::none(), "K"_a = nb::none(),
           "Cotangents of A, B, Q, R and S from those of P and K, as a dict.")
      .def("__repr__", [](const PyRegulator& r) {
        return "Regulator: K (" + std::to_string(r.problem.controls) + ", " +
               std::to_string(r.problem.states) + "), the slowest mode shrinks by " +
               number(r.solution.radius) + " per step";
      });
  m.def("lqr", &regulator, "A"_a, "B"_a, "Q"_a, "R"_a, "S"_a = nb::none(),
        "The regulator of x+ = A x + B u with the least sum of (x'Qx + 2 u'Sx + u'Ru) / 2.");
  bind_linear_quadratic(m);
}

// --- plans -------------------------------------------------------------------------------------------------

struct PyPlan {
  Plan plan;
  std::size_t states = 0, controls = 0, tangents = 0;
};

}  // namespace

Problem problem_of(const AnySystem& system, const LossLike& loss, std::int64_t steps, const FieldsLike& x0,
                   const FieldsLike& u, const Values& p, const ArrayLike& lower, const ArrayLike& upper,
                   const ArrayLike& goal, const nb::list& zero, const nb::list& below, Numbers& controls) {
  Problem problem;
  problem.system = system.make<double>(8);
  const Signature& s = problem.system->signature();
  const Arguments<double> at = one_world(system, steps, x0, u, p);
  problem.steps = steps, problem.x0 = at.x0, problem.parameters = at.parameters;
  controls = at.controls;
  problem.objective = loss_of(loss)->bind<double>(system);
  problem.lower = numbers(lower, "lower"), problem.upper = numbers(upper, "upper");
  for (Numbers* bound : {&problem.lower, &problem.upper})
    if (bound->size() == 1 && s.controls() > 1) bound->assign(std::size_t(s.controls()), (*bound)[0]);
  if (system.model()) {
    StateSpace space = space_of(*system.model());
    if (space.states() == s.states()) problem.space = std::move(space);
  }
  if (!goal.is_none()) problem.constraints = reach(s, problem.space, numbers(goal, "goal"));
  for (const nb::handle one : zero) problem.constraints.push_back({loss_of(one)->bind<double>(system), true});
  for (const nb::handle one : below)
    problem.constraints.push_back({loss_of(one)->bind<double>(system), false});
  return problem;
}

namespace {

PyPlan finished(Plan plan, const Problem& problem) {
  const auto n = std::size_t(problem.system->signature().states());
  const std::size_t turns = problem.space.quaternions().size();
  return {std::move(plan), n, std::size_t(problem.system->signature().controls()), n - turns};
}

PyPlan plan_of(const AnySystem& system, const LossLike& loss, std::int64_t steps, const FieldsLike& x0,
               const FieldsLike& u, const Values& p, const std::string& method, const ArrayLike& lower,
               const ArrayLike& upper, const ArrayLike& goal, const nb::list& zero, const nb::list& below,
               const ArrayLike& states, int iterations, double tolerance, double constraint_tolerance,
               double budget, std::int64_t samples, const ArrayLike& sigma, double temperature, double elites,
               std::int64_t hold, std::uint64_t seed) {
  Numbers controls;
  const Problem problem =
      problem_of(system, loss, steps, x0, u, p, lower, upper, goal, zero, below, controls);
  enum Kind { ilqr, ddp, mppi, predictive, cem };
  const Kind kind =
      choose<Kind>("method", method,
                   {{"ilqr", ilqr}, {"ddp", ddp}, {"mppi", mppi}, {"predictive", predictive}, {"cem", cem}});
  if (kind == ilqr || kind == ddp) {
    const DdpOptions options{.method = kind == ddp ? Method::ddp : Method::ilqr,
                             .iterations = iterations,
                             .gradient_tolerance = tolerance,
                             .constraint_tolerance = constraint_tolerance,
                             .budget_s = budget,
                             .states = numbers(states, "states")};
    return finished(without_gil([&] { return plan(problem, controls, options); }), problem);
  }
  const SamplingOptions options{.method = kind == mppi         ? Sampling::mppi
                                          : kind == predictive ? Sampling::predictive
                                                               : Sampling::cem,
                                .samples = samples,
                                .iterations = iterations,
                                .sigma = numbers(sigma, "sigma"),
                                .temperature = temperature,
                                .elites = elites,
                                .hold = hold,
                                .seed = seed,
                                .budget_s = budget};
  return finished(without_gil([&] { return plan(problem, controls, options); }), problem);
}

struct PyMpc {
  std::shared_ptr<Mpc> mpc;
  PyPlan update(const ArrayLike& x, std::int64_t shift) {
    const Numbers at = to_vector<double>(x, "x");
    return finished(without_gil([&] { return mpc->update(at, shift); }), mpc->problem());
  }
  Array control(const ArrayLike& x, std::int64_t ahead) const {
    return to_numpy(mpc->control(to_vector<double>(x, "x"), ahead));
  }
  void set_parameters(const nb::dict& p) const {
    Parameters<double> all(mpc->problem().system->signature());
    for (const auto& [name, value] : p) {
      const std::string what = nb::cast<std::string>(nb::str(name));
      all.set(what, to_vector<double>(value, what.c_str()));
    }
    mpc->set_parameters(all);
  }
};

PyMpc mpc_of(const AnySystem& system, const LossLike& loss, std::int64_t steps, const FieldsLike& u,
             const Values& p, const std::string& method, const ArrayLike& lower, const ArrayLike& upper,
             int iterations, double tolerance, double budget) {
  Numbers controls;
  const Problem problem = problem_of(system, loss, steps, nb::borrow<FieldsLike>(nb::none()), u, p, lower,
                                     upper, nb::borrow<ArrayLike>(nb::none()), {}, {}, controls);
  const Method kind = choose<Method>("method", method, {{"ilqr", Method::ilqr}, {"ddp", Method::ddp}});
  return {std::make_shared<Mpc>(problem, controls,
                                MpcOptions{.ddp = {.method = kind,
                                                   .iterations = iterations,
                                                   .gradient_tolerance = tolerance,
                                                   .budget_s = budget}})};
}

void bind_plans(nb::module_& m) {
  nb::class_<PyPlan>(m, "Plan", "Controls, the states they lead to, and the feedback that keeps to them.")
      .def_prop_ro(
          "u", [](const PyPlan& p) { return rows(p.plan.u, p.controls); }, "(steps, controls)")
      .def_prop_ro(
          "x", [](const PyPlan& p) { return rows(p.plan.x, p.states); }, "(steps + 1, states)")
      .def_prop_ro(
          "K",
          [](const PyPlan& p) {
            const std::size_t size = p.controls * p.tangents;
            return to_numpy(Numbers(p.plan.K), {p.plan.K.size() / size, p.controls, p.tangents});
          },
          "(steps, controls, tangents): u moves by K times what the state moves. None of sampling: no rows.")
      .def_prop_ro(
          "value", [](const PyPlan& p) { return p.plan.value; }, "Of the loss.")
      .def_prop_ro(
          "gradient_norm", [](const PyPlan& p) { return p.plan.gradient_norm; },
          "Largest component with respect to a control that could still move.")
      .def_prop_ro(
          "violation", [](const PyPlan& p) { return p.plan.violation; }, "Of the constraints, the largest.")
      .def_prop_ro("iterations", [](const PyPlan& p) { return p.plan.iterations; })
      .def_prop_ro("converged", [](const PyPlan& p) { return p.plan.converged(); })
      .def_prop_ro(
          "reason", [](const PyPlan& p) { return p.plan.reason; }, "Why it stopped, in words.")
      .def("__repr__", [](const PyPlan& p) {
        return "Plan: value " + number(p.plan.value) + " after " + std::to_string(p.plan.iterations) +
               " iterations (" + p.plan.reason + ")";
      });
  const auto none = [] { return nb::none(); };
  m.def(
      "plan", &plan_of, "system"_a, "loss"_a, "steps"_a, "x0"_a = none(), "u"_a = none(), "p"_a = none(),
      nb::kw_only(), "method"_a = "ilqr", "lower"_a = none(), "upper"_a = none(), "goal"_a = none(),
      "zero"_a = nb::list(), "below"_a = nb::list(), "states"_a = none(), "iterations"_a = 200,
      "tolerance"_a = 1e-8, "constraint_tolerance"_a = 1e-8, "budget"_a = 0.0, "samples"_a = 256,
      "sigma"_a = 1.0, "temperature"_a = 1.0, "elites"_a = 0.1, "hold"_a = 1, "seed"_a = 0,
      "The controls of `steps` steps that make a loss least, from x0 and from the controls u (steps, "
      "controls).\n\n"
      "method   'ilqr', 'ddp' (needs second derivatives); 'mppi', 'predictive', 'cem' (without derivatives)\n"
      "lower, upper   of the controls, (controls,) or one number\n"
      "goal     the final state, which must be met; zero, below: losses that must be zero, or not positive\n"
      "states   (steps + 1, states) to start from: multiple shooting\n"
      "budget   seconds; 0: none\n"
      "samples, sigma, temperature (mppi), elites (cem), hold, seed: of the methods without derivatives");
  nb::class_<PyMpc>(m, "Mpc", "Model predictive control: plans again from the latest state.")
      .def("update", &PyMpc::update, "x"_a, "shift"_a = 1,
           "Plans from x, `shift` steps after the last update; returns the Plan.")
      .def("control", &PyMpc::control, "x"_a, "ahead"_a = 0,
           "The control of the latest plan `ahead` steps after its start, with feedback from x.")
      .def("set_parameters", &PyMpc::set_parameters, "p"_a,
           "Plans from here on are for a system with these parameters, those that are not named at their "
           "defaults.")
      .def(
          "start", [](PyMpc& mpc, const PyPlan& plan) { mpc.mpc->start(plan.plan); }, "plan"_a,
          "Goes on from a plan that was kept.")
      .def_prop_ro(
          "late", [](const PyMpc& p) { return p.mpc->late(); }, "Updates that took longer than the budget.")
      .def("__repr__", [](const PyMpc& p) {
        return "Mpc: " + std::to_string(p.mpc->problem().steps) + " steps ahead, " +
               std::to_string(p.mpc->late()) + " late updates";
      });
  m.def("mpc", &mpc_of, "system"_a, "loss"_a, "steps"_a, "u"_a = none(), "p"_a = none(), nb::kw_only(),
        "method"_a = "ilqr", "lower"_a = none(), "upper"_a = none(), "iterations"_a = 5, "tolerance"_a = 1e-8,
        "budget"_a = 0.0, "A controller that looks `steps` steps ahead. Arguments as of plan().");
}

}  // namespace

void bind_control(nb::module_& core) {
  nb::module_ m = core.def_submodule("control", "Planning, control and estimation.");
  bind_linear(m);
  bind_plans(m);
  bind_collocation(m);
}

}  // namespace costate::python
