// costate.System, and systems given as equations in text.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "build_signature.h"
#include "costate/system/devices.h"
#include "costate/system/program/program_system.h"
#include "module.h"
#include "typed_rollout.h"

namespace costate::python {

Checkpoints checkpoints_of(nb::handle object) {
  Checkpoints given;
  if (nb::try_cast(object, given)) return given;
  if (object.is_none()) return store_all();
  throw Error(
      {"checkpoints is no schedule", {}, "use costate.store_all(), segments(), binomial(slots), ..."});
}

namespace {

using namespace nb::literals;

// An int in signatures and type stubs; what it really is, whole() finds out.
class Whole : public nb::object {
  NB_OBJECT_DEFAULT(Whole, nb::object, "int", anything)
};

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

// A whole number, also one that was computed as a float: 2.0 / 0.01. nanobind's own conversion would cut
// NumPy's 10.5 down to 10.
std::int64_t whole(nb::handle given, const char* name) {
  const nb::object index = nb::steal(PyIndex_Check(given.ptr()) ? PyNumber_Index(given.ptr()) : nullptr);
  PyErr_Clear();
  std::int64_t number = 0;
  double real = 0;
  if (index.is_valid() && nb::try_cast(index, number)) return number;
  if (nb::try_cast(given, real) && std::nearbyint(real) == real && std::abs(real) < 0x1p53)
    return static_cast<std::int64_t>(real);
  throw Error({std::string(name) + " = " + nb::cast<std::string>(nb::repr(given)),
               {},
               std::string(name) + " must be a whole number"});
}

using Globs = std::variant<std::string, std::vector<std::string>>;

std::unique_ptr<PyRollout> rollout(std::shared_ptr<AnySystem> system, const Whole& wanted,
                                   const std::optional<Whole>& worlds, const Globs& active,
                                   nb::handle checkpoints, const Whole& hold, const Whole& keep,
                                   nb::handle dtype, std::uint64_t seed, const std::string& on_divergence,
                                   bool spot_check, const std::string& device) {
  const std::int64_t steps = whole(wanted, "steps");
  if (steps < 1) throw Error({"steps = " + std::to_string(steps), {}, "a rollout has at least one step"});
  RolloutOptions options;
  options.steps = steps;
  options.worlds = worlds ? whole(*worlds, "worlds") : 1;
  if (const auto* glob = std::get_if<std::string>(&active))
    options.active = {*glob};
  else
    options.active = std::get<std::vector<std::string>>(active);
  options.checkpoints = checkpoints_of(checkpoints);
  options.hold = whole(hold, "hold");
  options.keep = whole(keep, "keep");
  options.seed = seed;
  options.on_divergence = on_divergence_of(on_divergence);
  options.spot_check = spot_check;
  options.device = device;
  return make_rollout(std::move(system), options, worlds.has_value(), is_single(dtype));
}

// {"q": view, "v": view} of arrays whose last axis holds all numbers of a role.
nb::dict split(const Signature& signature, Role role, nb::handle given) {
  nb::dict views;
  const nb::object array = nb::module_::import_("numpy").attr("asarray")(given);
  const auto shape = nb::cast<Shape>(array.attr("shape"));
  const auto size = static_cast<std::size_t>(signature.total(role));
  if (shape.empty() || shape.back() != size)
    wrong_shape(role == Role::state ? "x" : "u", shape, "(..., " + std::to_string(size) + ")");
  for (const Field& f : signature.fields(role)) {
    views[f.name.c_str()] = array[nb::make_tuple(
        nb::ellipsis(), nb::slice(nb::int_(f.offset), nb::int_(f.offset + f.size), nb::none()))];
  }
  return views;
}

// A dict that says why it cannot be written to.
nb::typed<nb::dict, nb::str, Array> defaults_of(const AnySystem& system) {
  nb::dict values;
  const Parameters<double> defaults(system.signature());
  const auto& fields = system.signature().fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const auto numbers = defaults.values(f);
    const auto size = static_cast<std::size_t>(fields[f].size);
    const auto own = system.shapes.find(fields[f].name);
    values[fields[f].name.c_str()] =
        to_numpy(std::vector<double>(numbers.begin(), numbers.end()), own != system.shapes.end() ? own->second
                                                                      : size == 1                ? Shape{}
                                                                                  : Shape{size});
  }
  return nb::borrow<nb::typed<nb::dict, nb::str, Array>>(
      nb::module_::import_("costate._fields").attr("Defaults")(values));
}

// Equal for systems with the same fields, defaults and start.
std::uint64_t fingerprint(const AnySystem& system) {
  std::string all;
  const auto put = [&](const std::vector<double>& numbers) {
    all.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
  };
  for (const Role role : {Role::state, Role::control, Role::parameter}) {
    for (const Field& f : system.signature().fields(role)) {
      all += f.name + ' ' + std::to_string(f.size) + '\n';
      put(f.defaults);
    }
  }
  put(system.initial());
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : all) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

// "q (28), v (27)", the first few.
std::string listed(const std::vector<Field>& fields) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t f = 0; f < std::min(kMost, fields.size()); ++f) {
    text += (f > 0 ? ", " : "") + fields[f].name;
    if (fields[f].size > 1) text += " (" + std::to_string(fields[f].size) + ")";
  }
  return text + (fields.size() > kMost ? ", ..." : "");
}

// A few lines; all of it is system.signature.
std::string summary(const AnySystem& system) {
  std::string text = "System '" + system.name() + "'";
  const std::pair<Role, const char*> roles[] = {
      {Role::state, "states"}, {Role::control, "controls"}, {Role::parameter, "parameters"}};
  for (const auto& [role, name] : roles) {
    const auto& fields = system.signature().fields(role);
    if (fields.empty()) continue;
    const auto total = system.signature().total(role);
    std::string numbers = name;
    if (total == 1) numbers.pop_back();  // one state
    text += "\n  " + std::to_string(total) + " " + numbers + " in " + std::to_string(fields.size()) +
            (fields.size() == 1 ? " field: " : " fields: ") + listed(fields);
  }
  return text + "\n  (all of them with sizes, units and defaults: .signature)";
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
      .def("__getstate__",
           [](const Checkpoints& c) {
             return nb::make_tuple(int(c.kind), c.slots, c.window, c.single_precision);
           })
      .def("__setstate__",
           [](Checkpoints& c, const std::tuple<int, std::int64_t, std::int64_t, bool>& s) {
             new (&c) Checkpoints{Checkpoints::Kind(std::get<0>(s)), std::get<1>(s), std::get<2>(s),
                                  std::get<3>(s)};
           })
      .def("__repr__", &Checkpoints::name);
  m.def("store_all", &store_all, "Every state is kept: no step is taken twice.");
  m.def("segments", &segments, "length"_a = 0, "A snapshot every `length` steps (0: sqrt of the steps).");
  m.def("binomial", &binomial, "slots"_a, "So many snapshots, with the fewest steps taken again.");
  m.def("reversible", &reversible, "States are reconstructed by inverse steps.");
}

}  // namespace

void bind_systems(nb::module_& m) {
  bind_checkpoints(m);
  nb::class_<AnySystem> system(m, "System",
                               "A physics: a step, its derivatives, and the names of its numbers.");
  pickle_by(system, "reduce_system");
  copy_is_itself(system);
  system.def_prop_ro("name", &AnySystem::name)
      .def_prop_ro("signature", &AnySystem::signature, nb::rv_policy::reference_internal)
      .def_prop_ro(
          "initial_state",
          [](const AnySystem& s) {
            const Array start = to_numpy(std::vector<double>(s.initial()));
            start.attr("setflags")("write"_a = false);  // it is a copy: writing to it would change nothing
            return start;
          },
          "Where a rollout starts unless told otherwise, (states,), to be read. Another start is given to a "
          "call: x0 = system.initial_state.copy(); x0[0] = 3; sim.simulate(x0).")
      .def_prop_ro("parameters", &defaults_of,
                   "Default of every parameter, by name, to be read. Other values are given to a call: "
                   "p={name: value}.")
      .def_prop_rw(
          "_recipe", [](const AnySystem& s) { return s.recipe.get(); },
          [](AnySystem& s, const nb::object& recipe) { s.recipe = recipe.ptr(); })
      .def_prop_ro("_fingerprint", &fingerprint)
      .def_prop_ro(
          "second_order", [](const AnySystem& s) { return s.capabilities().second_order; },
          "Whether hessian_vector() is available.")
      .def("rollout", &rollout, "steps"_a, nb::kw_only(), "worlds"_a = nb::none(), "active"_a = "**",
           "checkpoints"_a = nb::none(), "hold"_a = 1, "keep"_a = 0, "dtype"_a = "float64", "seed"_a = 0,
           "on_divergence"_a = "stop", "spot_check"_a = false, "device"_a = "cpu",
           "A Rollout of `steps` steps.\n\n"
           "worlds        how many; None: what the arrays of a call say\n"
           "active        globs (or one) of the parameters whose gradient is wanted; [] for none\n"
           "checkpoints   costate.store_all(), segments(), binomial(slots), reversible()\n"
           "hold          steps that share a row of u\n"
           "keep          every keep-th state is returned by forward(); 0: only the last\n"
           "dtype         float64 or float32\n"
           "on_divergence 'stop' or 'mask_world'\n"
           "spot_check    compare each gradient with one directional difference\n"
           "device        'cpu', 'cuda:0', ...: costate.devices() lists them; 'ranks:2' "
           "splits one large world")
      .def(
          "split",
          [](const AnySystem& s, const ArrayLike& x) { return split(s.signature(), Role::state, x); }, "x"_a,
          "Views of a state by field: {'q': (..., size), ...}.")
      .def(
          "split_controls",
          [](const AnySystem& s, const ArrayLike& u) { return split(s.signature(), Role::control, u); },
          "u"_a, "Views of controls by field.")
      .def("__repr__", &summary);

  m.def(
      "devices",
      [] {
        nb::list all;
        for (const DeviceInfo& d : devices()) {
          nb::dict found;
          found["device"] = d.device;
          found["description"] = d.description;
          found["memory_bytes"] = d.memory_bytes;
          found["free_bytes"] = d.free_bytes;
          all.append(found);
        }
        return all;
      },
      nb::sig("def devices() -> list[dict[str, str | int]]"),
      "Where a rollout can run: what its argument `device` may be, what that is, and its memory.");

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
