// costate.control: regulators, linear-quadratic problems, plans and model predictive control.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "costate/control/ddp.h"
#include "costate/control/lq.h"
#include "costate/control/lqr.h"
#include "costate/control/mpc.h"
#include "costate/control/sampling.h"
#include "costate/core/text.h"
#include "loss_like.h"
#include "module.h"
#include "one_world.h"
#include "without_gil.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using namespace control;
using Numbers = std::vector<double>;

Numbers numbers(nb::handle object, const char* what) {
  return object.is_none() ? Numbers{} : to_vector<double>(object, what);
}
Array rows(const Numbers& values, std::size_t row) {
  return to_numpy(Numbers(values), {row == 0 ? 0 : values.size() / row, row});
}
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
  Regulator r{last_axis(A, "A"), last_axis(B, "B"), numbers(A, "A"), numbers(B, "B"),
              numbers(Q, "Q"),   numbers(R, "R"),   numbers(S, "S")};
  RegulatorSolution solution = solve(r);
  return {std::move(r), std::move(solution)};
}

// --- linear-quadratic problems, as batches over x0 ---------------------------------------------------------

using Part = Numbers LinearQuadratic::*;
constexpr std::pair<const char*, Part> kParts[] = {
    {"A", &LinearQuadratic::A},        {"B", &LinearQuadratic::B},   {"c", &LinearQuadratic::c},
    {"Q", &LinearQuadratic::Q},        {"R", &LinearQuadratic::R},   {"S", &LinearQuadratic::S},
    {"q", &LinearQuadratic::q},        {"r", &LinearQuadratic::r},   {"Qf", &LinearQuadratic::Qf},
    {"qf", &LinearQuadratic::qf},      {"x0", &LinearQuadratic::x0}, {"lower", &LinearQuadratic::lower},
    {"upper", &LinearQuadratic::upper}};

struct PyLinearQuadratic {
  std::vector<LinearQuadratic> problems;
  std::vector<LinearQuadraticSolution> solutions;
  nb::dict given;  // shapes for cotangents
  bool batched = false;

  Array stacked(Numbers LinearQuadraticSolution::*part, Shape one) const {
    Numbers all;
    for (const auto& s : solutions) all.insert(all.end(), (s.*part).begin(), (s.*part).end());
    if (batched) one.insert(one.begin(), solutions.size());
    return to_numpy(std::move(all), one);
  }
  std::size_t n() const { return std::size_t(problems[0].states); }
  std::size_t m() const { return std::size_t(problems[0].controls); }
  std::size_t steps() const { return std::size_t(problems[0].steps); }

  nb::dict vjp(const ArrayLike& x, const ArrayLike& u, const ArrayLike& value) const {
    const Numbers x_bar = numbers(x, "the cotangent of x"), u_bar = numbers(u, "the cotangent of u"),
                  value_bar = numbers(value, "the cotangent of value");
    const auto part = [&](const Numbers& all, std::size_t i, const char* what, std::size_t size) {
      if (all.empty()) return Numbers{};
      if (all.size() != size * problems.size())
        throw Error(std::string(what) + " has " + std::to_string(all.size()) + " numbers instead of " +
                    std::to_string(size * problems.size()));
      return Numbers(all.begin() + std::ptrdiff_t(i * size), all.begin() + std::ptrdiff_t((i + 1) * size));
    };
    std::vector<LinearQuadratic> bars(problems.size());
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const Numbers weight = part(value_bar, i, "the cotangent of value", 1);
      bars[i] =
          solve_vjp(problems[i], solutions[i], part(x_bar, i, "the cotangent of x", (steps() + 1) * n()),
                    part(u_bar, i, "the cotangent of u", steps() * m()), weight.empty() ? 0 : weight[0]);
    }
    nb::dict result;
    for (const auto& [name, member] : kParts) {
      if (!given.contains(name)) continue;
      Numbers sum;
      for (const LinearQuadratic& bar : bars) {
        const Numbers& one = bar.*member;
        if (std::string_view(name) == "x0")
          sum.insert(sum.end(), one.begin(), one.end());
        else if (sum.empty())
          sum = one;
        else
          for (std::size_t j = 0; j < one.size(); ++j) sum[j] += one[j];
      }
      result[name] = to_numpy(std::move(sum)).attr("reshape")(given[name]);
    }
    return result;
  }
};

PyLinearQuadratic linear_quadratic(int steps, const nb::kwargs& parts) {
  PyLinearQuadratic solved;
  LinearQuadratic problem;
  problem.steps = steps;
  for (const auto& [key, value] : parts) {
    const std::string name = nb::cast<std::string>(key);
    const auto* found =
        std::find_if(std::begin(kParts), std::end(kParts), [&](const auto& p) { return name == p.first; });
    if (found == std::end(kParts))
      throw Error({"a linear-quadratic problem has no part '" + name + "'",
                   {},
                   "its parts are A, B, c, Q, R, S, q, r, Qf, qf, x0, lower, upper"});
    if (value.is_none()) continue;
    const auto array = as_array<double>(value, name.c_str());
    problem.*(found->second) = to_vector<double>(value, name.c_str());
    solved.given[name.c_str()] = nb::tuple(nb::cast(shape_of(array)));
  }
  for (const char* name : {"A", "B", "Q", "R", "x0"})
    if (!solved.given.contains(name)) throw Error(std::string("a linear-quadratic problem needs ") + name);
  problem.states = last_axis(parts["A"], "A"), problem.controls = last_axis(parts["B"], "B");
  const auto x0 = as_array<double>(parts["x0"], "x0");
  if (x0.ndim() > 2 || int(x0.shape(x0.ndim() - 1)) != problem.states)
    wrong_shape("x0", shape_of(x0), "(states,) or (batch, states)");
  solved.batched = x0.ndim() == 2;
  solved.problems.assign(solved.batched ? x0.shape(0) : 1, problem);
  for (std::size_t i = 0; i < solved.problems.size(); ++i)
    solved.problems[i].x0.assign(x0.data() + i * solved.n(), x0.data() + (i + 1) * solved.n());
  solved.solutions = without_gil([&] { return solve(solved.problems); });
  return solved;
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
           "Cotangents of A, B, Q, R and S from those of P and K, as a dict.");
  m.def("lqr", &regulator, "A"_a, "B"_a, "Q"_a, "R"_a, "S"_a = nb::none(),
        "The regulator of x+ = A x + B u with the least sum of (x'Qx + 2 u'Sx + u'Ru) / 2.");
  using P = PyLinearQuadratic;
  using Solution = LinearQuadraticSolution;
  nb::class_<P>(
      m, "LinearQuadratic",
      "The solution of a linear-quadratic problem, or of a batch of them; vjp differentiates through it.")
      .def_prop_ro(
          "x",
          [](const P& p) {
            return p.stacked(&Solution::x, {p.steps() + 1, p.n()});
          },
          "(*batch, steps + 1, states)")
      .def_prop_ro(
          "u",
          [](const P& p) {
            return p.stacked(&Solution::u, {p.steps(), p.m()});
          },
          "(*batch, steps, controls)")
      .def_prop_ro(
          "K",
          [](const P& p) {
            return p.stacked(&Solution::K, {p.steps(), p.m(), p.n()});
          },
          "(*batch, steps, controls, states): u moves by K times what x moves.")
      .def_prop_ro(
          "costate",
          [](const P& p) {
            return p.stacked(&Solution::lambda, {p.steps() + 1, p.n()});
          },
          "(*batch, steps + 1, states): derivative of the cost with respect to the state.")
      .def_prop_ro(
          "value",
          [](const P& p) {
            Numbers values;
            for (const auto& s : p.solutions) values.push_back(s.value);
            return p.batched ? to_numpy(std::move(values)) : to_numpy(std::move(values), Shape{});
          },
          "(*batch,)")
      .def("vjp", &P::vjp, "x"_a = nb::none(), "u"_a = nb::none(), "value"_a = nb::none(),
           "Cotangents of all parts that were given, as a dict, from those of x, u and value. What the batch "
           "shares gets the sum.");
  m.def("linear_quadratic", &linear_quadratic, "steps"_a, "parts"_a,
        "The controls with the least cost over `steps` steps of x+ = A x + B u + c, lower <= u <= upper:\n"
        "sum of x'Qx/2 + u'Sx + u'Ru/2 + q'x + r'u, plus x'Qf x/2 + qf'x at the end.\n\n"
        "A, B, Q, R, x0 are needed; c, S, q, r, Qf, qf, lower, upper are not. Each may have a leading axis "
        "of `steps`.\n"
        "x0 (batch, states) solves a batch that shares the rest.");
}

// --- plans -------------------------------------------------------------------------------------------------

struct PyPlan {
  Plan plan;
  std::size_t states = 0, controls = 0, tangents = 0;
};

// What plan() and Mpc have in common.
Problem problem_of(const AnySystem& system, const LossLike& loss, std::int64_t steps, const FieldsLike& x0,
                   const FieldsLike& u, const Values& p, const ArrayLike& lower, const ArrayLike& upper,
                   const ArrayLike& goal, const nb::list& zero, const nb::list& below, Numbers& controls) {
  Problem problem;
  problem.system = system.make<double>(8);
  const Signature& s = problem.system->signature();
  const Arguments<double> at = one_world(system, steps, x0, u, p);
  problem.steps = steps, problem.x0 = at.x0, problem.parameters = at.parameters;
  controls = at.controls;
  problem.objective = loss_of(loss)->bind<double>(s);
  problem.lower = numbers(lower, "lower"), problem.upper = numbers(upper, "upper");
  for (Numbers* bound : {&problem.lower, &problem.upper})
    if (bound->size() == 1 && s.controls() > 1) bound->assign(std::size_t(s.controls()), (*bound)[0]);
  if (system.model()) {
    StateSpace space = space_of(*system.model());
    if (space.states() == s.states()) problem.space = std::move(space);
  }
  if (!goal.is_none()) problem.constraints = reach(s, problem.space, numbers(goal, "goal"));
  for (const nb::handle one : zero) problem.constraints.push_back({loss_of(one)->bind<double>(s), true});
  for (const nb::handle one : below) problem.constraints.push_back({loss_of(one)->bind<double>(s), false});
  return problem;
}

template <class Kind>
Kind choose(const std::string& word, std::initializer_list<std::pair<const char*, Kind>> kinds) {
  std::string all;
  for (const auto& [name, kind] : kinds) {
    if (word == name) return kind;
    all += (all.empty() ? "" : ", ") + std::string(name);
  }
  throw Error({"method = '" + word + "'", {}, "use one of: " + all});
}

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
  const Kind kind = choose<Kind>(
      method, {{"ilqr", ilqr}, {"ddp", ddp}, {"mppi", mppi}, {"predictive", predictive}, {"cem", cem}});
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
};

PyMpc mpc_of(const AnySystem& system, const LossLike& loss, std::int64_t steps, const FieldsLike& u,
             const Values& p, const std::string& method, const ArrayLike& lower, const ArrayLike& upper,
             int iterations, double tolerance, double budget) {
  Numbers controls;
  const Problem problem = problem_of(system, loss, steps, nb::borrow<FieldsLike>(nb::none()), u, p, lower,
                                     upper, nb::borrow<ArrayLike>(nb::none()), {}, {}, controls);
  const Method kind = choose<Method>(method, {{"ilqr", Method::ilqr}, {"ddp", Method::ddp}});
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
      .def_prop_ro(
          "late", [](const PyMpc& p) { return p.mpc->late(); }, "Updates that took longer than the budget.");
  m.def("mpc", &mpc_of, "system"_a, "loss"_a, "steps"_a, "u"_a = none(), "p"_a = none(), nb::kw_only(),
        "method"_a = "ilqr", "lower"_a = none(), "upper"_a = none(), "iterations"_a = 5, "tolerance"_a = 1e-8,
        "budget"_a = 0.0, "A controller that looks `steps` steps ahead. Arguments as of plan().");
}

}  // namespace

void bind_control(nb::module_& core) {
  nb::module_ m = core.def_submodule("control", "Planning, control and estimation.");
  bind_linear(m);
  bind_plans(m);
}

}  // namespace costate::python
