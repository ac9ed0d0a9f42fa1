// costate.System, and systems given as equations in text.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "build_signature.h"
#include "costate/system/program/program_system.h"
#include "module.h"
#include "typed_rollout.h"

namespace costate::python {
namespace {

using namespace nb::literals;

Checkpoints checkpoints_of(nb::handle object) {
  Checkpoints given;
  if (nb::try_cast(object, given)) return given;
  if (object.is_none()) return store_all();
  throw Error(
      {"checkpoints is no schedule", {}, "use costate.store_all(), segments(), binomial(slots), ..."});
}

OnDivergence on_divergence_of(const std::string& word) {
  if (word == "stop") return OnDivergence::stop;
  if (word == "mask_world") return OnDivergence::mask_world;
  throw Error({"on_divergence = '" + word + "'", {}, "use 'stop' or 'mask_world'"});
}

bool is_single(nb::handle dtype) {
  const auto name = nb::cast<std::string>(nb::module_::import_("numpy").attr("dtype")(dtype).attr("name"));
  if (name == "float32") return true;
  if (name == "float64") return false;
  throw Error({"dtype = " + name, {}, "use float32 or float64"});
}

std::unique_ptr<PyRollout> rollout(std::shared_ptr<AnySystem> system, std::int64_t steps,
                                   std::optional<std::int64_t> worlds, const std::vector<std::string>& active,
                                   nb::handle checkpoints, std::int64_t hold, std::int64_t keep,
                                   nb::handle dtype, std::uint64_t seed, const std::string& on_divergence,
                                   bool spot_check) {
  RolloutOptions options;
  options.steps = steps;
  options.worlds = worlds.value_or(1);
  options.active = active;
  options.checkpoints = checkpoints_of(checkpoints);
  options.hold = hold;
  options.keep = keep;
  options.seed = seed;
  options.on_divergence = on_divergence_of(on_divergence);
  options.spot_check = spot_check;
  return make_rollout(std::move(system), options, worlds.has_value(), is_single(dtype));
}

// {"q": view, "v": view} of arrays whose last axis holds all numbers of a role.
nb::dict split(const Signature& signature, Role role, nb::handle array) {
  nb::dict views;
  for (const Field& f : signature.fields(role)) {
    views[f.name.c_str()] = array[nb::make_tuple(
        nb::ellipsis(), nb::slice(nb::int_(f.offset), nb::int_(f.offset + f.size), nb::none()))];
  }
  return views;
}

nb::dict defaults_of(const AnySystem& system) {
  nb::dict values;
  const Parameters<double> defaults(system.signature());
  const auto& fields = system.signature().fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const auto numbers = defaults.values(f);
    const auto size = static_cast<std::size_t>(fields[f].size);
    values[fields[f].name.c_str()] =
        to_numpy(std::vector<double>(numbers.begin(), numbers.end()), size == 1 ? Shape{} : Shape{size});
  }
  return values;
}

std::shared_ptr<AnySystem> equations(nb::handle states, const std::string& text, nb::handle controls,
                                     nb::handle parameters, const std::string& method, double dt,
                                     const std::string& name) {
  const Signature signature = build_signature(states, controls, parameters);
  const Scheme scheme = scheme_of(method, dt);
  return std::make_shared<AnySystem>(
      name, [=](std::int64_t worlds) { return equations_system<double>(signature, text, scheme, worlds); },
      [=](std::int64_t worlds) { return equations_system<float>(signature, text, scheme, worlds); },
      std::vector<double>{});
}

void bind_checkpoints(nb::module_& m) {
  nb::class_<Checkpoints>(m, "Checkpoints", "How a rollout is reversed in bounded memory.")
      .def("in_single_precision", &Checkpoints::in_single_precision, "Snapshots of half the bytes.")
      .def("truncated", &Checkpoints::truncated, "steps"_a,
           "Drops the cotangent every so many steps: biased.")
      .def("__repr__", &Checkpoints::name);
  m.def("store_all", &store_all, "Every state is kept: no step is taken twice.");
  m.def("segments", &segments, "length"_a = 0, "A snapshot every `length` steps (0: sqrt of the steps).");
  m.def("binomial", &binomial, "slots"_a, "So many snapshots, with the fewest steps taken again.");
  m.def("reversible", &reversible, "States are reconstructed by inverse steps.");
}

}  // namespace

void bind_systems(nb::module_& m) {
  bind_checkpoints(m);
  nb::class_<AnySystem>(m, "System", "A physics: a step, its derivatives, and the names of its numbers.")
      .def_prop_ro("name", &AnySystem::name)
      .def_prop_ro("signature", &AnySystem::signature, nb::rv_policy::reference_internal)
      .def_prop_ro(
          "initial_state", [](const AnySystem& s) { return to_numpy(std::vector<double>(s.initial())); },
          "Where a rollout starts unless told otherwise, (states,).")
      .def_prop_ro("parameters", &defaults_of, "Default of every parameter, by name.")
      .def_prop_ro(
          "second_order", [](const AnySystem& s) { return s.capabilities().second_order; },
          "Whether hessian_vector() is available.")
      .def("rollout", &rollout, "steps"_a, nb::kw_only(), "worlds"_a = nb::none(),
           "active"_a = std::vector<std::string>{"**"}, "checkpoints"_a = nb::none(), "hold"_a = 1,
           "keep"_a = 0, "dtype"_a = "float64", "seed"_a = 0, "on_divergence"_a = "stop",
           "spot_check"_a = false,
           "A Rollout of `steps` steps.\n\n"
           "worlds        how many; None: what the arrays of a call say\n"
           "active        globs of the parameters whose gradient is wanted; [] for none\n"
           "checkpoints   costate.store_all(), segments(), binomial(slots), reversible()\n"
           "hold          steps that share a row of u\n"
           "keep          every keep-th state is returned by forward(); 0: only the last\n"
           "dtype         float64 or float32\n"
           "on_divergence 'stop' or 'mask_world'\n"
           "spot_check    compare each gradient with one directional difference")
      .def(
          "split",
          [](const AnySystem& s, const ArrayLike& x) { return split(s.signature(), Role::state, x); }, "x"_a,
          "Views of a state by field: {'q': (..., size), ...}.")
      .def(
          "split_controls",
          [](const AnySystem& s, const ArrayLike& u) { return split(s.signature(), Role::control, u); },
          "u"_a, "Views of controls by field.")
      .def("__repr__",
           [](const AnySystem& s) { return "System '" + s.name() + "'\n" + s.signature().to_text(); });

  m.def("equations", &equations, "states"_a, "text"_a, "controls"_a = nb::none(), "parameters"_a = nb::none(),
        "method"_a = "rk4", "dt"_a = 0.01, "name"_a = "equations",
        "A System from equations such as 'q_dot = v; v_dot = -g/l*sin(q)'.\n\n"
        "states, controls   {name: size} or a list of names\n"
        "parameters         {name: default}\n"
        "method             'rk4', 'euler', 'midpoint', 'heun', 'bs3', 'dopri5', 'tsit5', 'dop853' in fixed "
        "steps "
        "of dt,\n"
        "                   or 'next' for equations q_next = ...");
}

}  // namespace costate::python
