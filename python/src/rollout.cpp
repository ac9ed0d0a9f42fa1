// costate.Rollout, Trajectory and Gradient.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "costate/core/names.h"
#include "loss_like.h"
#include "module.h"
#include "typed_rollout.h"

namespace costate::python {
namespace {

using namespace nb::literals;

// The part of `array`'s last axis that is the field.
Array slice_of(const Signature& signature, Role role, const std::string& name, nb::handle array) {
  const Field& field = signature.find(role, name);
  return array[nb::make_tuple(
      nb::ellipsis(), nb::slice(nb::int_(field.offset), nb::int_(field.offset + field.size), nb::none()))];
}

std::string shape_text(nb::handle array) { return nb::repr(array.attr("shape")).c_str(); }

std::string describe(const PyRollout& r) {
  return "Rollout of '" + r.system->name() + "': " + std::to_string(r.options.steps) + " steps, " +
         (r.fixed_worlds ? std::to_string(r.options.worlds) + " worlds"
                         : std::string("as many worlds as the arrays have")) +
         ", " + (r.single ? "float32" : "float64") + ", " + r.options.checkpoints.name() +
         (r.options.device == "cpu" ? "" : ", on " + r.options.device);
}

// (system.rollout again, its options). What forward() keeps for backward() stays behind.
nb::object reduced(const PyRollout& r) {
  const RolloutOptions& o = r.options;
  nb::dict options;
  options["worlds"] = r.fixed_worlds ? nb::cast(o.worlds) : nb::none();
  options["active"] = o.active;
  options["checkpoints"] = o.checkpoints;
  options["hold"] = o.hold;
  options["keep"] = o.keep;
  options["dtype"] = r.single ? "float32" : "float64";
  options["seed"] = o.seed;
  options["on_divergence"] = o.on_divergence == OnDivergence::stop ? "stop" : "mask_world";
  options["spot_check"] = o.spot_check;
  options["device"] = o.device;
  return nb::make_tuple(nb::module_::import_("costate._recipe").attr("rollout"),
                        nb::make_tuple(std::const_pointer_cast<AnySystem>(r.system), o.steps, options));
}

std::pair<PyGradient, nb::dict> smoothed_gradient(PyRollout& r, const FieldsLike& x0, const FieldsLike& u,
                                                  const Values& p, const LossLike& loss, double sigma,
                                                  int samples, const std::string& order,
                                                  const std::string& perturb,
                                                  const std::vector<std::string>& parameters,
                                                  std::uint64_t seed) {
  const auto choose = [](const std::string& word, const char* what, const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i)
      if (word == words[i]) return static_cast<int>(i);
    std::string all;
    for (const auto& w : words) all += (all.empty() ? "" : ", ") + w;
    throw Error({std::string(what) + " = '" + word + "'", {}, "use one of: " + all});
  };
  estimate::Smoothing smoothing;
  smoothing.sigma = sigma;
  smoothing.samples = samples;
  smoothing.seed = seed;
  const int what = choose(perturb, "perturb", {"none", "x0", "controls", "both"});
  smoothing.x0 = what == 1 || what == 3;
  smoothing.controls = what == 2 || what == 3;
  smoothing.parameters = parameters;
  const int kind = choose(order, "order", {"first", "zeroth", "mixed"});
  return r.smoothed_gradient(x0, u, p, loss_of(loss), smoothing, static_cast<estimate::Order>(kind));
}

nb::object by_parameter(const PyGradient& g, const std::string& name) {
  if (g.parameters.contains(name.c_str())) return g.parameters[name.c_str()];
  std::vector<std::string> active;
  for (const auto& [key, value] : g.parameters) active.push_back(nb::cast<std::string>(key));
  const std::string near = nearest_name(name, active);
  throw Error({"this gradient has no parameter '" + name + "'",
               {},
               (near.empty() ? "" : "did you mean '" + near + "'? ") +
                   "only active parameters have a gradient: make the rollout with active=['" + name +
                   "', ...]"});
}

void bind_results(nb::module_& m) {
  nb::class_<Simulation> trajectory(m, "Trajectory",
                                    "The states of a rollout; trajectory['q'] is the field q of them.");
  trajectory.def_ro("final_state", &Simulation::final_state, "(*batch, states)")
      .def_ro("states", &Simulation::states, "Every keep-th state, (kept, *batch, states); None if keep = 0.")
      .def_ro("steps", &Simulation::steps, "Of the kept states, (kept,).")
      .def_ro("t", &Simulation::t,
              "Times of the kept states, (kept,): steps * dt. None where the system has no dt; (kept, "
              "*batch) where "
              "worlds differ in it.")
      .def_prop_ro(
          "fields",
          [](const Simulation& s) {
            std::vector<std::string> names;
            for (const Field& field : s.signature->fields(Role::state)) names.push_back(field.name);
            return names;
          },
          "Names of the states' fields.")
      .def_ro("diverged", &Simulation::diverged, "Worlds that diverged, with on_divergence='mask_world'.")
      .def(
          "__getitem__",
          [](const Simulation& s, const std::string& name) {
            return slice_of(*s.signature, Role::state, name, s.states.is_none() ? s.final_state : s.states);
          },
          "name"_a, "A view of one field: of the kept states, or of the final one if none were kept.")
      .def("__repr__", [](const Simulation& s) {
        return "Trajectory of '" + s.name + "': final_state " + shape_text(s.final_state) +
               (s.states.is_none() ? "" : ", states " + shape_text(s.states));
      });
  trajectory
      .def("_repr_html_",
           [](nb::handle self) {
             return nb::cast<std::string>(nb::module_::import_("costate.notebook").attr("trajectory")(self));
           })
      .def("__getstate__",
           [](const Simulation& s) {
             return nb::make_tuple(s.name, *s.signature, s.final_state, s.states, s.steps, s.t, s.diverged);
           })
      .def("__setstate__", [](Simulation& s, const nb::tuple& state) {
        new (&s) Simulation{
            nb::cast<std::string>(state[0]), std::make_shared<Signature>(nb::cast<Signature>(state[1])),
            nb::cast<Array>(state[2]),       nb::cast<Array>(state[3]),
            nb::cast<Array>(state[4]),       nb::cast<Array>(state[5]),
            nb::cast<Array>(state[6])};
      });

  nb::class_<PyGradient> gradient(m, "Gradient",
                                  "A gradient; each part has the shape of what it is the gradient of.");
  pickle_members(gradient, &PyGradient::value, &PyGradient::values, &PyGradient::x0, &PyGradient::controls,
                 &PyGradient::parameters, &PyGradient::report);
  gradient.def_ro("value", &PyGradient::value, "Of the loss, summed over worlds (nan after backward()).")
      .def_ro("values", &PyGradient::values, "Of each world, (*batch,).")
      .def_ro("x0", &PyGradient::x0)
      .def_ro("controls", &PyGradient::controls)
      .def_ro("parameters", &PyGradient::parameters, "By name, of the active parameters.")
      .def_ro("report", &PyGradient::report)
      .def("__getitem__", &by_parameter, "name"_a, "With respect to one of the active parameters.")
      .def("__repr__", [](const PyGradient& g) {
        return "Gradient: x0 " + shape_text(g.x0) + ", controls " + shape_text(g.controls) + ", " +
               std::to_string(nb::len(g.parameters)) + " parameters\n" + g.report.to_text();
      });
}

// A method that takes a loss, from whatever Python gives as one.
template <class Result>
auto with_loss(Result (PyRollout::*method)(const FieldsLike&, const FieldsLike&, const Values&,
                                           const AnyLossPtr&)) {
  return [method](PyRollout& r, const FieldsLike& x0, const FieldsLike& u, const Values& p,
                  const LossLike& loss) { return (r.*method)(x0, u, p, loss_of(loss)); };
}

// None by its own type: since version 3 nanobind asks for it before it lets an argument be None.
nb::none none() { return {}; }

// Forward, and back along a loss.
void bind_runs(nb::class_<PyRollout>& rollout) {
  rollout
      .def("forward", &PyRollout::forward, "x0"_a = none(), "u"_a = none(), "p"_a = none(),
           "Runs, keeping what backward() needs. Returns a Trajectory.")
      .def("simulate", &PyRollout::simulate, "x0"_a = none(), "u"_a = none(), "p"_a = none(),
           "Runs without keeping anything for a gradient. Returns a Trajectory.")
      .def("backward", nb::overload_cast<const AnyLossPtr&>(&PyRollout::backward), "loss"_a,
           "Gradient of a loss along the latest forward().")
      .def("backward", nb::overload_cast<const ArrayLike&, const ArrayLike&>(&PyRollout::backward),
           "final_state"_a = none(), "states"_a = none(),
           "The same for cotangents of the outputs: d loss / d final_state, d loss / d states.")
      .def("value", with_loss(&PyRollout::value), "x0"_a = none(), "u"_a = none(), "p"_a = none(),
           "loss"_a = none(), "The loss, summed over worlds.")
      .def("values", with_loss(&PyRollout::values), "x0"_a = none(), "u"_a = none(), "p"_a = none(),
           "loss"_a = none(),
           "The loss of each world, (*batch,), without a gradient; nan of a world that is masked. What "
           "minimize(method='cma_es', batched=True) ranks.")
      .def(
          "value_and_grad",
          [](PyRollout& r, const FieldsLike& x0, const FieldsLike& u, const Values& p, const LossLike& loss) {
            PyGradient gradient = r.value_and_gradient(x0, u, p, loss_of(loss));
            const double value = gradient.value;
            return std::make_pair(value, std::move(gradient));
          },
          "x0"_a = none(), "u"_a = none(), "p"_a = none(), "loss"_a = none(),
          "(value, Gradient): forward and back, block by block, in the memory of one block per thread.");
}

// Derivatives of the final state and of second order.
void bind_derivatives(nb::class_<PyRollout>& rollout) {
  rollout
      .def("pull_back", &PyRollout::pull_back, "x0"_a = none(), "u"_a = none(), "p"_a = none(), nb::kw_only(),
           "final_state"_a = none(), "states"_a = none(),
           "Gradient of <final_state, x_T> + <states, x_k>: forward and back with given cotangents.")
      .def("jvp", &PyRollout::jvp, "x0"_a = none(), "u"_a = none(), "p"_a = none(), "x0_dot"_a = none(),
           "u_dot"_a = none(), "p_dot"_a = none(),
           "(final_state, final_state_dot): forward mode along a direction.")
      .def("hessian_vector", &PyRollout::hessian_vector, "x0"_a = none(), "u"_a = none(), "p"_a = none(),
           "x0_dot"_a = none(), "u_dot"_a = none(), "p_dot"_a = none(), nb::kw_only(), "loss"_a,
           "(Gradient, its rate of change along the direction).")
      .def("pull_back_tangent", &PyRollout::pull_back_tangent, "x0"_a = none(), "u"_a = none(),
           "p"_a = none(), "x0_dot"_a = none(), "u_dot"_a = none(), "p_dot"_a = none(), nb::kw_only(),
           "final_state"_a = none(), "states"_a = none(),
           "pull_back() and its rate of change along the direction, the cotangents held.")
      .def("_linearize", &PyRollout::linearize, "x0"_a = none(), "u"_a = none(), "p"_a = none(),
           "(states, A, B, C): costate/linearise.py")
      .def(
          "linearize",
          [](const nb::object& self, const FieldsLike& x0, const FieldsLike& u, const Values& p) {
            return nb::module_::import_("costate.linearise").attr("linearize")(self, x0, u, p);
          },
          "x0"_a = none(), "u"_a = none(), "p"_a = none(),
          nb::sig("def linearize(self, x0: numpy.typing.ArrayLike | collections.abc.Mapping[str, "
                  "numpy.typing.ArrayLike] | None "
                  "= None, u: "
                  "numpy.typing.ArrayLike | collections.abc.Mapping[str, numpy.typing.ArrayLike] | None = "
                  "None, p: dict[str, "
                  "numpy.typing.ArrayLike] | None = None) -> costate.linearise.Linearization"),
          "The steps of one world as linear maps along its trajectory, exact: A, B and, of active "
          "parameters, C.")
      .def(
          "jacobian",
          [](const nb::object& self, const FieldsLike& x0, const FieldsLike& u, const Values& p) {
            return nb::module_::import_("costate.linearise").attr("jacobian")(self, x0, u, p);
          },
          "x0"_a = none(), "u"_a = none(), "p"_a = none(),
          nb::sig("def jacobian(self, x0: numpy.typing.ArrayLike | collections.abc.Mapping[str, "
                  "numpy.typing.ArrayLike] | None "
                  "= None, u: "
                  "numpy.typing.ArrayLike | collections.abc.Mapping[str, numpy.typing.ArrayLike] | None = "
                  "None, p: dict[str, "
                  "numpy.typing.ArrayLike] | None = None) -> costate.linearise.Jacobian"),
          "Derivatives of one world's final state, or of its kept states (keep > 0), with respect to x0, "
          "controls and "
          "active parameters.");
}

// What a gradient is worth, and one of the smoothed loss.
void bind_checks(nb::class_<PyRollout>& rollout) {
  rollout
      .def("check", &PyRollout::check, "x0"_a = none(), "u"_a = none(), "p"_a = none(), nb::kw_only(),
           "loss"_a = nb::none(), "seed"_a = 1, "step"_a = 1e-3,
           "Is this gradient right? Dot-product test and, with a loss, stencil and Taylor tests: a list of "
           "Check.\n\n"
           "step: the longest of the stencil, in units of each input's scale; it is shortened where "
           "differences of "
           "several lengths disagree, or where contacts change within it. A failure names the worst field.")
      .def(
          "trust",
          [](PyRollout& r, const FieldsLike& x0, const FieldsLike& u, const Values& p, const LossLike& loss,
             double tolerance, double longest, int directions, std::uint64_t seed) {
            return r.trust(x0, u, p, loss_of(loss), {tolerance, longest, directions, seed});
          },
          "x0"_a = none(), "u"_a = none(), "p"_a = none(), nb::kw_only(), "loss"_a, "tolerance"_a = 0.1,
          "longest"_a = 1.0, "directions"_a = 4, "seed"_a = 1,
          "How far can this gradient be followed? A list of Trust, for the initial state, the controls and "
          "the "
          "active parameters: the largest change over which the loss keeps to the gradient's straight line, "
          "within `tolerance` of the predicted change. Of one world.\n\n"
          "longest     the largest change that is tried, in units of max(1, |value|) of each number\n"
          "directions  how many random directions are tried beside the gradient's own")
      .def(
          "smoothed_gradient", &smoothed_gradient, "x0"_a = none(), "u"_a = none(), "p"_a = none(),
          nb::kw_only(), "loss"_a, "sigma"_a = 0.01, "samples"_a = 256, "order"_a = "mixed",
          "perturb"_a = "controls", "parameters"_a = std::vector<std::string>{}, "seed"_a = 0,
          "(Gradient, statistics) of the loss smoothed by normal noise of size sigma, of one world.\n\n"
          "order       'first' (mean of gradients), 'zeroth' (differences of values) or 'mixed' (of least "
          "variance)\n"
          "perturb     'controls', 'x0', 'both' or 'none'; parameters: globs of those to perturb\n"
          "statistics  standard_error (relative), first_order_share, disagreement (above 3: the loss jumps)");
}

// What the rollout was made with.
void bind_facts(nb::class_<PyRollout>& rollout) {
  rollout.def_prop_ro("device", [](const PyRollout& r) { return r.options.device; })
      .def_prop_ro("steps", [](const PyRollout& r) { return r.options.steps; })
      .def_prop_ro("hold", [](const PyRollout& r) { return r.options.hold; })
      .def_prop_ro("keep", [](const PyRollout& r) { return r.options.keep; })
      .def_prop_ro(
          "knots", [](const PyRollout& r) { return knots_of(r.options); }, "Rows of u.")
      .def_prop_ro("dtype", [](const PyRollout& r) { return r.single ? "float32" : "float64"; })
      .def_prop_ro(
          "active",
          [](const PyRollout& r) {
            const Signature& s = r.system->signature();
            const auto flags = s.match(Role::parameter, r.options.active);
            std::vector<std::string> names;
            for (std::size_t f = 0; f < flags.size(); ++f)
              if (flags[f]) names.push_back(s.fields(Role::parameter)[f].name);
            return names;
          },
          "Names of the parameters whose gradient is computed.")
      .def_prop_ro("system", [](const PyRollout& r) { return std::const_pointer_cast<AnySystem>(r.system); })
      .def("__reduce__", &reduced, nb::sig("def __reduce__(self) -> tuple"))
      .def("__repr__", &describe);
}

}  // namespace

void bind_rollout(nb::module_& m) {
  bind_results(m);
  nb::class_<PyRollout> rollout(
      m, "Rollout",
      "Steps of a system, forward and back. Made by system.rollout(steps, ...).\n\n"
      "x0 (*batch, states), or a dict by field; None: the system's initial state.\n"
      "u  (*batch, knots, controls), or a dict by field; None: zero.\n"
      "p  {name or glob: number, (size,) or (*batch, size)}; None: defaults.\n"
      "What has no batch axes is shared by all worlds; its gradient is the sum over them.");
  bind_resident(m, rollout);
  bind_runs(rollout);
  bind_derivatives(rollout);
  bind_checks(rollout);
  bind_facts(rollout);
}

}  // namespace costate::python
