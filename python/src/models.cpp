// costate.rigid: models of rigid bodies, losses on their points, and policies that control them.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <mutex>
#include <variant>

#include "any_system.h"
#include "arrays.h"
#include "costate/io/model/load_model.h"
#include "costate/io/rigid_picture.h"
#include "costate/learn/closed_loop.h"
#include "costate/learn/program_policy.h"
#include "costate/rigid/observer.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/program/program_system.h"
#include "module.h"
#include "results.h"
#include "without_gil.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using SystemHandle = std::shared_ptr<AnySystem>;

// A system that serves any number of worlds, made once in each precision. (Calls come one at a time, or from
// the lock that makes plans.)
template <class Make>
SystemHandle made_once(const std::string& name, std::vector<double> initial, const Make& make) {
  struct Both {
    std::mutex mutex;
    SystemPtr<double> in_double;
    SystemPtr<float> in_single;
  };
  const auto both = std::make_shared<Both>();
  return std::make_shared<AnySystem>(
      name,
      [=](std::int64_t) {
        const std::lock_guard lock(both->mutex);
        if (!both->in_double) both->in_double = make.template operator()<double>();
        return both->in_double;
      },
      [=](std::int64_t) {
        const std::lock_guard lock(both->mutex);
        if (!both->in_single) both->in_single = make.template operator()<float>();
        return both->in_single;
      },
      std::move(initial));
}

rigid::Onset onset_of(const std::string& word) {
  if (word == "automatic") return rigid::Onset::automatic;
  if (word == "none") return rigid::Onset::none;
  if (word == "split") return rigid::Onset::split;
  throw Error({"onset = '" + word + "'", {}, "use 'automatic', 'none' or 'split'"});
}

rigid::Integrator integrator_of(const std::string& word) {
  std::string names;
  for (const auto& [name, integrator] : rigid::kIntegrators) {
    if (word == name) return integrator;
    names += (names.empty() ? "'" : ", '") + std::string(name) + "'";
  }
  throw Error({"integrator = '" + word + "'", {}, "use one of " + names});
}

rigid::ContactModel contact_of(const std::string& word) {
  std::string names;
  for (const rigid::ContactParts& known : rigid::kContactModels) {
    if (word == known.name) return known.model;
    names += "'" + std::string(known.name) + "', ";
  }
  throw Error({"contact = '" + word + "'", {}, "use " + names + "or False for none"});
}

using Contact = std::optional<std::variant<bool, std::string>>;

using Number = std::optional<double>;

// A setting that another contact model has is not left without effect in silence.
template <class Value>
void set(Value& to, const std::optional<Value>& given, const char* name, bool has_it, const char* who) {
  if (!given) return;
  if (!has_it)
    throw Error({std::string(name) + " has no effect with this model of contact",
                 {},
                 "use contact=" + std::string(who)});
  to = *given;
}

SystemHandle load(const std::filesystem::path& file, const std::optional<std::string>& keyframe,
                  bool applied_forces, const Contact& contact, const std::string& onset, Number restitution,
                  Number rest_speed, Number stiffness, Number damping, std::optional<bool> aware,
                  const std::optional<std::string>& integrator, Number rtol, Number atol) {
  const std::string path = file.string();
  rigid::SystemOptions options{.applied_forces = applied_forces, .onset = onset_of(onset)};
  if (contact && std::holds_alternative<std::string>(*contact))
    options.contact = contact_of(std::get<std::string>(*contact));
  const bool none = contact && std::holds_alternative<bool>(*contact) && !std::get<bool>(*contact);
  const bool rebounds = !none && rigid::parts_of(options.contact).restitution;
  const bool springs = !none && options.contact == rigid::ContactModel::penalty;
  set(options.impact.restitution, restitution, "restitution", rebounds, "'event' or 'hard'");
  set(options.impact.rest_speed, rest_speed, "rest_speed", rebounds, "'event' or 'hard'");
  set(options.penalty.stiffness, stiffness, "stiffness", springs, "'penalty'");
  set(options.penalty.damping, damping, "damping", springs, "'penalty'");
  set(options.hard.aware, aware, "aware", !none && options.contact == rigid::ContactModel::hard, "'hard'");
  return without_gil([&] {
    const auto model = std::make_shared<rigid::Model>(rigid::load(path));
    if (integrator) model->options.integrator = integrator_of(*integrator);
    const bool adaptive = model->options.integrator == rigid::Integrator::adaptive;
    for (const auto& [given, name, to] :
         {std::tuple{rtol, "rtol", &model->options.rtol}, {atol, "atol", &model->options.atol}}) {
      if (given && !adaptive)
        throw Error(
            {std::string(name) + " has no effect with this integrator", {}, "use integrator='adaptive'"});
      if (given) *to = *given;
    }
    if (contact) model->options.contact = !std::holds_alternative<bool>(*contact) || std::get<bool>(*contact);
    const auto initial = keyframe ? rigid::initial_state(*model, *keyframe) : rigid::initial_state(*model);
    const auto system = made_once(file.filename().string(), initial, [model, options]<class Real>() {
      return rigid::make_system<Real>(*model, options);
    });
    system->set_model(model, options);
    return system;
  });
}

const rigid::Model& model_of(const AnySystem& system) {
  if (!system.model()) throw Error(system.name() + " is no model of rigid bodies");
  return *system.model();
}

// (lower, upper) of each actuator's control; infinite where there is no limit.
std::pair<Array, Array> control_range(const AnySystem& system) {
  const auto& actuators = model_of(system).actuators;
  std::vector<double> lower, upper;
  for (const auto& a : actuators) {
    const bool limited = a.control_limited;
    lower.push_back(limited ? a.control_range[0] : -std::numeric_limits<double>::infinity());
    upper.push_back(limited ? a.control_range[1] : std::numeric_limits<double>::infinity());
  }
  return {to_numpy(std::move(lower)), to_numpy(std::move(upper))};
}

std::vector<rigid::Quantity> quantities_of(const std::map<std::string, std::string>& paths) {
  std::vector<rigid::Quantity> list;
  for (const auto& [name, path] : paths) list.push_back({name, path});
  return list;
}

// A loss on quantities of a model, as one of its states.
std::shared_ptr<AnyLoss> observed(const SystemHandle& system, const std::map<std::string, std::string>& paths,
                                  const std::shared_ptr<AnyLoss>& loss) {
  model_of(*system);
  if (!loss) throw Error("observed(..., None): give a loss of the quantities");
  auto made =
      any_loss("observed(" + loss->text + ")", [model = system->model(), options = system->rigid_options(),
                                                quantities = quantities_of(paths),
                                                loss]<class Real>(const Signature& s, const Shapes& shapes) {
        const rigid::Observer observer(*model, s, quantities, options);
        return observer.template objective<Real>(loss->template bind<Real>(observer.signature(), shapes));
      });
  made->changes = loss->changes;
  return made;
}

// States (..., states) of a system, row by row.
ConstArray<double> rows_of(const AnySystem& system, nb::handle x) {
  auto array = as_array<double>(x, "x");
  const auto states = static_cast<std::size_t>(system.signature().states());
  if (array.ndim() < 1 || array.shape(array.ndim() - 1) != states)
    wrong_shape("x", shape_of(array), "(..., " + std::to_string(states) + ")");
  return array;
}

// Controls (..., controls) that go with states, row by row; null where none are given.
std::optional<ConstArray<double>> controls_of(const AnySystem& system, const ConstArray<double>& x,
                                              const std::optional<ArrayLike>& u) {
  if (!u) return std::nullopt;
  auto array = as_array<double>(*u, "u");
  Shape wanted = shape_of(x);
  wanted.back() = static_cast<std::size_t>(system.signature().controls());
  if (shape_of(array) != wanted) wrong_shape("u", shape_of(array), text_of(wanted));
  return array;
}

// Row k of an array of rows of n numbers; none where there is no array.
std::vector<double> row(const std::optional<ConstArray<double>>& from, std::size_t k, std::int64_t n) {
  if (!from) return {};
  const double* at = from->data() + k * static_cast<std::size_t>(n);
  return {at, at + n};
}

// {name: (..., size)} at states (..., states).
nb::dict observe(const AnySystem& system, const std::map<std::string, std::string>& paths, const ArrayLike& x,
                 const std::optional<ArrayLike>& u) {
  const rigid::Observer observer(model_of(system), system.signature(), quantities_of(paths),
                                 system.rigid_options());
  const auto array = rows_of(system, x);
  const auto controls = controls_of(system, array, u);
  const auto states = system.signature().states();
  std::vector<std::vector<double>> columns(paths.size());
  for (std::size_t k = 0; k < array.size() / static_cast<std::size_t>(states); ++k) {
    const std::vector<double> values =
        observer.values(row(array, k, states), {}, row(controls, k, system.signature().controls()));
    std::size_t column = 0;
    for (const auto& [name, path] : paths) {
      const Field& field = observer.signature().find(Role::state, name);
      const double* from = values.data() + (field.offset - states);
      columns[column].insert(columns[column].end(), from, from + field.size);
      ++column;
    }
  }
  nb::dict result;
  std::size_t column = 0;
  for (const auto& [name, path] : paths) {
    Shape shape = shape_of(array);
    shape.back() = std::size_t(observer.signature().find(Role::state, name).size);
    result[name.c_str()] = to_numpy(std::move(columns[column++]), shape);
  }
  return result;
}

// The transpose of observe: cotangents of the states, of the controls, and of the parameters, summed over all
// states.
std::tuple<Array, Array, nb::dict> pull_back_observed(const AnySystem& system,
                                                      const std::map<std::string, std::string>& paths,
                                                      const ArrayLike& x,
                                                      const std::map<std::string, ArrayLike>& bars,
                                                      const std::optional<ArrayLike>& u) {
  const rigid::Observer observer(model_of(system), system.signature(), quantities_of(paths),
                                 system.rigid_options());
  const Signature& signature = system.signature();
  const auto array = rows_of(system, x);
  const auto controls = controls_of(system, array, u);
  const auto states = signature.states();
  const std::size_t rows = array.size() / static_cast<std::size_t>(states);
  const auto numbers = static_cast<std::size_t>(observer.signature().states() - states);
  std::vector<double> all(rows * numbers), x_bar, u_bar,
      p_bar(static_cast<std::size_t>(signature.parameters()));
  for (const auto& [name, bar] : bars) {
    if (!paths.contains(name)) throw Error("'" + name + "' is not among the quantities of paths");
    const Field& field = observer.signature().find(Role::state, name);
    const auto given = as_array<double>(bar, name.c_str());
    Shape wanted = shape_of(array);
    wanted.back() = static_cast<std::size_t>(field.size);
    if (shape_of(given) != wanted) wrong_shape(name.c_str(), shape_of(given), text_of(wanted));
    for (std::size_t k = 0; k < rows; ++k)
      std::copy_n(given.data() + k * wanted.back(), wanted.back(),
                  all.begin() + std::ptrdiff_t(k * numbers + std::size_t(field.offset - states)));
  }
  for (std::size_t k = 0; k < rows; ++k) {
    const std::vector<double> bar(all.begin() + std::ptrdiff_t(k * numbers),
                                  all.begin() + std::ptrdiff_t((k + 1) * numbers));
    rigid::Observer::Pulled g =
        observer.pull_back(row(array, k, states), bar, {}, row(controls, k, signature.controls()));
    x_bar.insert(x_bar.end(), g.x.begin(), g.x.end());
    g.u.resize(static_cast<std::size_t>(signature.controls()));
    u_bar.insert(u_bar.end(), g.u.begin(), g.u.end());
    for (std::size_t i = 0; i < g.p.size(); ++i) p_bar[i] += g.p[i];
  }
  nb::dict p;
  for (const Field& f : signature.fields(Role::parameter)) {
    const auto from = p_bar.begin() + std::ptrdiff_t(f.offset);
    p[f.name.c_str()] =
        to_numpy(std::vector<double>(from, from + f.size), {static_cast<std::size_t>(f.size)});
  }
  Shape of_u = shape_of(array);
  of_u.back() = static_cast<std::size_t>(signature.controls());
  return {to_numpy(std::move(x_bar), shape_of(array)), to_numpy(std::move(u_bar), of_u), p};
}

// Position and quaternion of every body at states (..., states): (..., bodies, 7).
Array body_poses(const AnySystem& system, const ArrayLike& x) {
  const auto array = rows_of(system, x);
  const auto states = static_cast<std::size_t>(system.signature().states());
  const rigid::Observer observer(model_of(system), system.signature(), {});
  std::vector<double> values;
  std::size_t bodies = 0;
  for (std::size_t row = 0; row < array.size() / states; ++row) {
    const double* from = array.data() + row * states;
    const auto poses = observer.body_poses(std::vector<double>(from, from + states));
    bodies = poses.size();
    for (const auto& pose : poses) values.insert(values.end(), pose.begin(), pose.end());
  }
  Shape shape = shape_of(array);
  shape.back() = bodies;
  shape.push_back(7);
  return to_numpy(std::move(values), shape);
}

// The motion of a model: states (frames, states).
io::Recording record(const AnySystem& system, nb::handle x, Number frame_interval, const std::string& title) {
  Simulation trajectory;
  const bool timed = nb::try_cast(x, trajectory);
  if (timed && trajectory.states.is_none())
    throw Error({"the trajectory has no states to show", {}, "make the rollout with keep=1 or more"});
  if (timed && !frame_interval && !trajectory.t.is_none() && nb::len(trajectory.t) > 1)
    frame_interval =
        nb::cast<double>(nb::float_(trajectory.t[1])) - nb::cast<double>(nb::float_(trajectory.t[0]));
  const auto array = as_array<double>(timed ? nb::handle(trajectory.states) : x, "x");
  const auto states = static_cast<std::size_t>(system.signature().states());
  if (array.ndim() != 2 || array.shape(1) != states)
    throw Error("x has the shape (frames, " + std::to_string(states) + ")");
  const rigid::Observer observer(model_of(system), system.signature(), {});
  io::RigidPicture picture(model_of(system));
  for (std::size_t k = 0; k < array.shape(0); ++k)
    picture.add_frame(observer.body_poses({array.data() + k * states, array.data() + (k + 1) * states}));
  io::Recording recording = picture.finish();
  recording.frame_interval = frame_interval.value_or(1.0 / 30);
  recording.title = title;
  return recording;
}

// Names of the states that match one of the globs; Error for a glob that matches none.
std::vector<std::string> matching_states(const AnySystem& plant, const std::vector<std::string>& globs) {
  std::vector<std::string> names;
  for (const std::string& glob : globs) plant.signature().match(Role::state, {glob});
  for (const Field& field : plant.signature().fields(Role::state)) {
    for (const std::string& glob : globs) {
      if (!glob_match(glob, field.name)) continue;
      names.push_back(field.name);
      break;
    }
  }
  return names;
}

SystemHandle network_loop(const SystemHandle& plant, const std::optional<std::vector<std::string>>& observe,
                          int hidden, int waves, double omega, std::uint64_t seed) {
  learn::PolicyNetwork network;
  network.hidden = hidden;
  network.waves = waves;
  network.omega = omega;
  network.seed = seed;
  for (const std::string& name : matching_states(*plant, observe.value_or(std::vector<std::string>{"**"}))) {
    const Field& field = plant->signature().find(Role::state, name);
    for (std::int64_t i = 0; i < field.size; ++i) network.observations.push_back({{{field.offset + i, 1.0}}});
  }
  const auto system =
      made_once(plant->name() + " with a policy", plant->initial(), [plant, network]<class Real>() {
        return learn::closed_loop<Real>(plant->make<Real>(kManyWorlds), network);
      });
  system->set_model(plant->model(), plant->rigid_options());
  return system;
}

// `hybrid`: the function adds to controls that stay.
SystemHandle recorded_loop(const SystemHandle& plant, const Signature& weights, const ad::Program& function,
                           const std::map<std::string, Shape>& shapes, bool hybrid) {
  const auto system = made_once(plant->name() + (hybrid ? " with a residual" : " with a policy"),
                                plant->initial(), [plant, weights, function, hybrid]<class Real>() {
                                  const auto inner = plant->make<Real>(kManyWorlds);
                                  return hybrid ? learn::hybrid<Real>(inner, weights, function)
                                                : learn::closed_loop<Real>(inner, weights, function);
                                });
  system->set_model(plant->model(), plant->rigid_options());
  system->shapes = shapes;
  return system;
}

}  // namespace

void bind_models(nb::module_& m) {
  auto r = m.def_submodule("rigid", "Rigid bodies with joints and contact.");
  r.def(
      "load", &load, "path"_a, nb::kw_only(), "keyframe"_a = nb::none(), "applied_forces"_a = false,
      "contact"_a = nb::none(), "onset"_a = "automatic", "restitution"_a = nb::none(),
      "rest_speed"_a = nb::none(), "stiffness"_a = nb::none(), "damping"_a = nb::none(),
      "aware"_a = nb::none(), "integrator"_a = nb::none(), "rtol"_a = nb::none(), "atol"_a = nb::none(),
      "A System from an MJCF or URDF file.\n\n"
      "state      'q' (positions, as MuJoCo's qpos), 'v', 'act'\n"
      "control    'ctrl', one per actuator; with applied_forces also 'qfrc', one force per degree of "
      "freedom\n"
      "parameter  'gravity', 'dt', 'body/<name>/mass', 'joint/<name>/damping', 'geom/<name>/friction', ...\n"
      "keyframe   where it starts; None: the reference configuration, at rest\n"
      "contact    'convex' (MuJoCo's), 'event' (impacts at their moment), 'penalty' (springs) or 'hard' "
      "(complementarity);\n"
      "           False lets geoms pass through each other; None: convex where the file has contact\n"
      "onset      'split' cuts a step where a contact begins or ends: gradients of the physics, not of the "
      "time grid; 'none' does not, as MuJoCo; 'automatic' splits, but not where the model has actuators\n"
      "restitution, rest_speed  of 'event' and 'hard': where each geom/<name>/restitution starts (0), and "
      "the "
      "m/s below which a body stays (0.05)\n"
      "stiffness, damping       of 'penalty': N/m (1e4) and s/m (0)\n"
      "aware      of 'hard': gradients that can leave a contact at rest (False)\n"
      "integrator 'Euler', 'implicitfast', 'RK4', or 'adaptive': parts of steps whose error is held below "
      "rtol "
      "(1e-6) and atol (1e-9); None: the file's");
  r.def("control_range", &control_range, "system"_a,
        "(lower, upper) of every control, infinite where there is no limit.");
  r.def(
      "observe", &observe, "system"_a, "paths"_a, "x"_a, "u"_a = nb::none(),
      "Quantities of a model at states (..., states), by name: {name: (..., size)}.\n\n"
      "paths   {'tip': 'site/tip', 'speed': 'body/hand/velocity', 'load': 'body/foot/contact', ...}\n"
      "u       controls (..., controls), which forces and accelerations depend on; None: none are asked for");
  r.def("pull_back_observed", &pull_back_observed, "system"_a, "paths"_a, "x"_a, "bars"_a, "u"_a = nb::none(),
        "The transpose of observe: (x_bar, u_bar, {parameter: cotangent}) given cotangents of the "
        "quantities.\n\n"
        "bars   {name: (..., size)}, of each quantity or of some; parameters are summed over all states");
  r.def("observed", &observed, "system"_a, "paths"_a, "loss"_a,
        "A loss on quantities of a model: observed(arm, {'tip': 'site/tip'}, costate.loss.final('tip', [0.4, "
        "0, 0.3])).");
  r.def(
      "body_poses", &body_poses, "system"_a, "x"_a,
      "Position and unit quaternion (w, x, y, z) of every body, (..., bodies, 7), at states (..., states).");
  r.def("record", &record, "system"_a, "x"_a, "frame_interval"_a = nb::none(), "title"_a = "",
        "A Recording of a Trajectory with kept states, or of states (frames, states), for replays.\n\n"
        "frame_interval   s; None: that of the trajectory, or 1/30 for plain states");
  // python/costate/policy.py says what these are.
  m.def("_network_loop", &network_loop, "plant"_a, "observe"_a.none(), "hidden"_a, "waves"_a, "omega"_a,
        "seed"_a);
  m.def("_recorded_loop", &recorded_loop, "plant"_a, "weights"_a, "policy"_a, "shapes"_a, "hybrid"_a = false);
  m.def("_matching_states", &matching_states, "plant"_a, "globs"_a);
  m.def(
      "_policy_signature",
      [](const AnySystem& plant, const Signature& weights) {
        return learn::policy_signature(plant.signature(), weights);
      },
      "plant"_a, "weights"_a);
}

}  // namespace costate::python
