// costate.md: molecules from numbers instead of files. costate.estimate: gradients of averages.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <variant>

#include "costate/estimate/free_energy.h"
#include "costate/estimate/gradient.h"
#include "costate/md/compile.h"
#include "costate/md/io/structure.h"
#include "costate/md/observable/pair_distribution.h"
#include "loss_like.h"
#include "module.h"
#include "one_world.h"
#include "without_gil.h"

namespace costate::python {
namespace {

using namespace nb::literals;

// {"kind": "lennard_jones", "epsilon": 1.0, "cutoff": 2.5, "atoms": [[0, 1], [1, 2]]}
md::Potential potential_of(nb::handle given) {
  nb::dict dict;
  if (!nb::try_cast(given, dict)) throw Error("a potential is a dictionary: {'kind': 'lennard_jones', ...}");
  if (!dict.contains("kind")) throw Error("a potential has no 'kind'");
  md::Potential p{.kind = nb::cast<std::string>(nb::object(dict["kind"]))};
  const md::PotentialKind& kind = md::find_potential(p.kind);
  for (const auto& [key, value] : dict) {
    const std::string name = nb::cast<std::string>(nb::object(key, nb::detail::borrow_t()));
    const auto is = [&](const auto& one) { return one.name == name; };
    if (name == "kind") continue;
    if (name == "name") {
      p.name = nb::cast<std::string>(value);
    } else if (name == "formula") {
      p.formula = nb::cast<std::string>(nb::str(value));
    } else if (name == "atoms" || name == "exclude") {
      std::vector<int>& to = name == "atoms" ? p.atoms : p.exclude;
      for (const double i : to_vector<double>(value, name.c_str())) {
        if (i != std::floor(i))
          throw Error(name + " has a number that is not whole: atoms are counted from 0");
        to.push_back(int(i));
      }
    } else if (std::any_of(kind.options.begin(), kind.options.end(), is)) {
      p.options[name] = nb::cast<double>(nb::float_(nb::object(value, nb::detail::borrow_t())));
    } else {
      p.parameters[name] = to_vector<double>(value, name.c_str());  // the model says if there is none
    }
  }
  return p;
}

md::Model model_of(const ArrayLike& x, const ArrayLike& masses, const nb::list& potentials,
                   const ArrayLike& box) {
  const auto positions = as_array<double>(x, "x");
  if (positions.ndim() != 2) throw Error("x is (atoms, dimensions)");
  md::Model model;
  model.dimensions = int(positions.shape(1));
  model.masses = to_vector<double>(masses, "masses");
  if (model.masses.size() == 1) model.masses.assign(positions.shape(0), model.masses[0]);
  if (model.masses.size() != positions.shape(0))
    throw Error("there are " + std::to_string(positions.shape(0)) + " positions and " +
                std::to_string(model.masses.size()) + " masses");
  for (nb::handle given : potentials) model.potentials.push_back(potential_of(given));
  if (!box.is_none()) model.box = to_vector<double>(box, "box");
  return model;
}

std::shared_ptr<AnySystem> system(const ArrayLike& x, const ArrayLike& masses, const nb::list& potentials,
                                  const ArrayLike& v, const ArrayLike& box, const std::string& integrator,
                                  double dt, double kT, double friction, const ArrayLike& thermostat_masses,
                                  int suzuki_yoshida, const ArrayLike& memory_friction,
                                  const ArrayLike& memory_time, const ArrayLike& rigid_bonds,
                                  const ArrayLike& rigid_lengths) {
  md::Model model = model_of(x, masses, potentials, box);
  model.integrator = integrator;
  model.dt = dt, model.kT = kT, model.friction = friction, model.suzuki_yoshida = suzuki_yoshida;
  if (!thermostat_masses.is_none())
    model.thermostat_masses = to_vector<double>(thermostat_masses, "thermostat_masses");
  if (!memory_friction.is_none())
    model.memory_friction = to_vector<double>(memory_friction, "memory_friction");
  if (!memory_time.is_none()) model.memory_time = to_vector<double>(memory_time, "memory_time");
  if (!rigid_bonds.is_none()) {
    for (const double i : to_vector<double>(rigid_bonds, "rigid_bonds")) {
      if (i != std::floor(i)) throw Error("rigid_bonds has a number that is not whole");
      model.rigid_bonds.push_back(int(i));
    }
    if (rigid_lengths.is_none()) throw Error("rigid_bonds without rigid_lengths: one for all, or one each");
    model.rigid_lengths = to_vector<double>(rigid_lengths, "rigid_lengths");
  }
  const md::Compiled compiled = md::compile(model);
  if (!thermostat_masses.is_none() && compiled.layout.chain == 0)
    throw Error("integrator '" + integrator + "' has no thermostat: leave out thermostat_masses");
  if (!(memory_friction.is_none() && memory_time.is_none()) && compiled.layout.modes == 0)
    throw Error("integrator '" + integrator + "' has no memory: leave out memory_friction and memory_time");
  std::vector<double> initial = to_vector<double>(x, "x");
  if (!v.is_none()) {
    const std::vector<double> speeds = to_vector<double>(v, "v");
    if (compiled.layout.v < 0) throw Error("this integrator has no velocities: leave out v");
    if (speeds.size() != initial.size()) throw Error("v has another size than x");
    initial.insert(initial.end(), speeds.begin(), speeds.end());
  }
  initial.resize(std::size_t(compiled.layout.states), 0.0);
  return std::make_shared<AnySystem>(
      "molecules", [model](std::int64_t) { return SystemPtr<double>(md::make_system<double>(model)); },
      [model](std::int64_t) { return SystemPtr<float>(md::make_system<float>(model)); }, std::move(initial));
}

std::pair<double, Array> energy_and_forces(const ArrayLike& x, const nb::list& potentials,
                                           const ArrayLike& box) {
  const std::vector<double> positions = to_vector<double>(x, "x");
  for (const double number : positions)
    if (!std::isfinite(number)) throw Error("x has a number that is not finite");
  const md::Compiled compiled =
      md::compile(model_of(x, nb::cast<ArrayLike>(nb::float_(1.0)), potentials, box));
  std::vector<double> p, forces(positions.size(), 0.0);
  for (const Field& field : compiled.signature.fields(Role::parameter))
    p.insert(p.end(), field.defaults.begin(), field.defaults.end());
  double energy = 0;
  for (const auto& term : md::make_terms<double>(compiled)) {
    const auto scratch = term->make_scratch();
    energy += term->energy(positions.data(), p.data(), scratch.get());
    term->force(positions.data(), p.data(), forces.data(), scratch.get());
  }
  const Shape shape = {std::size_t(compiled.layout.atoms), std::size_t(compiled.layout.dimensions)};
  return {energy, to_numpy(std::move(forces), shape)};
}

// g, and with weights the gradient of weights . g.
nb::object pair_distribution(const ArrayLike& x, const ArrayLike& box, const ArrayLike& radii, double width,
                             const ArrayLike& waves, const std::vector<int>& from, const std::vector<int>& to,
                             const ArrayLike& weights) {
  const md::Model model = model_of(x, nb::cast<ArrayLike>(nb::float_(1.0)), {}, box);
  md::PairDistribution what{.width = width, .from = from, .to = to};
  if (!radii.is_none()) what.radii = to_vector<double>(radii, "radii");
  if (!waves.is_none()) {
    const auto given = as_array<double>(waves, "waves");
    if (given.ndim() != 2 || given.shape(1) != std::size_t(model.dimensions))
      throw Error("waves is (waves, dimensions)");
    for (std::size_t w = 0; w < given.shape(0); ++w) {
      std::array<int, 3> n = {0, 0, 0};
      for (std::size_t k = 0; k < given.shape(1); ++k) {
        const double number = given.data()[w * given.shape(1) + k];
        if (number != std::round(number)) throw Error("waves are whole numbers: q = 2 pi n / box");
        n[k] = int(number);
      }
      what.waves.push_back(n);
    }
  }
  const std::vector<double> positions = to_vector<double>(x, "x");
  std::vector<double> g = md::pair_distribution(model, what, positions, model.box);
  if (weights.is_none()) return nb::cast(to_numpy(std::move(g)));
  std::vector<double> x_bar(positions.size(), 0.0), box_bar(model.box.size(), 0.0);
  md::pair_distribution_vjp(model, what, positions, model.box, to_vector<double>(weights, "weights"),
                            x_bar.data(), box_bar.data());
  const Shape shape = {std::size_t(model.atoms()), std::size_t(model.dimensions)};
  return nb::make_tuple(to_numpy(std::move(g)), to_numpy(std::move(x_bar), shape),
                        to_numpy(std::move(box_bar)));
}

nb::dict load_structure(const std::string& path) {
  md::Structure s = md::load_structure(path);
  const Shape shape = {s.atoms(), 3};
  nb::dict out;
  out["elements"] = s.elements;
  out["x"] = to_numpy(std::move(s.x), shape);
  out["v"] = s.v.empty() ? nb::object(nb::none()) : nb::object(to_numpy(std::move(s.v), shape));
  out["masses"] = s.masses.empty() ? nb::object(nb::none()) : nb::object(to_numpy(std::move(s.masses)));
  out["box"] = s.box.empty() ? nb::object(nb::none()) : nb::object(to_numpy(std::move(s.box)));
  return out;
}

std::string xyz(const std::vector<std::string>& elements, const ArrayLike& x, const ArrayLike& v,
                const ArrayLike& box) {
  md::Structure s{.elements = elements, .x = to_vector<double>(x, "x"), .v = {}, .masses = {}, .box = {}};
  if (!v.is_none()) s.v = to_vector<double>(v, "v");
  if (!box.is_none()) s.box = to_vector<double>(box, "box");
  if (s.x.size() != 3 * elements.size() || (!s.v.empty() && s.v.size() != s.x.size()) ||
      (!s.box.empty() && s.box.size() != 3))
    throw Error("x and v are (atoms, 3), and a box has three edges");
  return md::to_xyz(s);
}

nb::bytes dcd(const ArrayLike& frames, const ArrayLike& box, double dt) {
  const auto given = as_array<double>(frames, "frames");
  if (given.ndim() != 3 || given.shape(2) != 3) throw Error("frames is (frames, atoms, 3)");
  const std::size_t width = given.shape(1) * 3;
  std::vector<std::vector<double>> all;
  for (std::size_t f = 0; f < given.shape(0); ++f)
    all.emplace_back(given.data() + f * width, given.data() + (f + 1) * width);
  const std::vector<double> edges = box.is_none() ? std::vector<double>{} : to_vector<double>(box, "box");
  if (!edges.empty() && edges.size() != 3) throw Error("a box has three edges");
  const std::string bytes = md::to_dcd(all, edges, dt);
  return nb::bytes(bytes.data(), bytes.size());
}

nb::dict gradient(const AnySystem& physics, const LossLike& loss, std::int64_t steps,
                  const std::string& method, std::int64_t samples,
                  const std::variant<std::string, std::vector<std::string>>& parameters, std::uint64_t seed,
                  const FieldsLike& x0, const FieldsLike& u, const Values& p, const std::string& baseline,
                  std::int64_t every, double difference,
                  const std::vector<std::pair<std::string, std::vector<double>>>& reference) {
  const Arguments<double> at = one_world(physics, steps, x0, u, p);
  const auto typed = physics.make<double>(1);
  const auto objective = loss_of(loss)->bind<double>(typed->signature());
  estimate::Sampling sampling{
      .method = estimate::method_by_name(method), .samples = samples, .parameters = {}};
  if (const auto* one = std::get_if<std::string>(&parameters))
    sampling.parameters = {*one};
  else
    sampling.parameters = std::get<std::vector<std::string>>(parameters);
  if (baseline == "none")
    sampling.baseline = estimate::Baseline::none;
  else if (baseline == "optimal")
    sampling.baseline = estimate::Baseline::optimal;
  else if (baseline != "mean")
    throw Error({"baseline = '" + baseline + "'", {}, "use one of: none, mean, optimal"});
  sampling.every = every, sampling.difference = difference, sampling.reference = reference;
  const estimate::Sampled s = without_gil([&] {
    return estimate::gradient<double>(typed, {.steps = steps, .seed = seed}, at, *objective, sampling);
  });
  nb::dict slopes, errors, out;
  for (std::size_t i = 0; i < s.names.size(); ++i) {
    slopes[s.names[i].c_str()] = s.gradient[i];
    errors[s.names[i].c_str()] = s.standard_error[i];
  }
  out["method"] = estimate::to_string(s.method);
  out["label"] = s.label;
  out["reason"] = s.reason;
  out["value"] = s.value;
  out["value_error"] = s.value_error;
  out["gradient"] = slopes;
  out["standard_error"] = errors;
  out["samples"] = s.samples;
  out["effective_samples"] = s.effective_samples;
  out["correlation_time"] = s.correlation_time;
  out["advice"] = s.advice;
  return out;
}

nb::dict free_energy(const AnySystem& physics, const estimate::FreeEnergy::Numbers& from,
                     const estimate::FreeEnergy::Numbers& to, std::int64_t steps, const std::string& method,
                     std::int64_t samples, std::int64_t every, int points,
                     const std::vector<std::string>& parameters, std::uint64_t seed, const FieldsLike& x0,
                     const Values& p) {
  const Arguments<double> at = one_world(physics, steps, x0, nb::none(), p);
  const auto typed = physics.make<double>(1);
  const estimate::FreeEnergy question{.from = from,
                                      .to = to,
                                      .method = estimate::free_energy_method(method),
                                      .samples = samples,
                                      .every = every,
                                      .points = points,
                                      .parameters = parameters};
  const estimate::FreeEnergyDifference f = without_gil(
      [&] { return estimate::free_energy<double>(typed, {.steps = steps, .seed = seed}, at, question); });
  nb::dict out, slopes, errors, first, second;
  for (std::size_t i = 0; i < f.names.size(); ++i) {
    slopes[f.names[i].c_str()] = f.gradient[i];
    errors[f.names[i].c_str()] = f.standard_error[i];
    first[f.names[i].c_str()] = f.at_from[i];
    second[f.names[i].c_str()] = f.at_to[i];
  }
  out["value"] = f.value;
  out["error"] = f.error;
  out["gradient"] = slopes;
  out["standard_error"] = errors;
  out["at_from"] = first;
  out["at_to"] = second;
  out["overlap"] = f.overlap;
  return out;
}

}  // namespace

void bind_molecules(nb::module_& m) {
  const auto none = [] { return nb::none(); };
  auto d = m.def_submodule("md", "Molecules.");
  d.def("system", &system, "x"_a, "masses"_a, "potentials"_a, nb::kw_only(), "v"_a = none(), "box"_a = none(),
        "integrator"_a = "langevin", "dt"_a = 0.01, "kT"_a = 1.0, "friction"_a = 1.0,
        "thermostat_masses"_a = none(), "suzuki_yoshida"_a = 1, "memory_friction"_a = none(),
        "memory_time"_a = none(), "rigid_bonds"_a = none(), "rigid_lengths"_a = none(),
        "Atoms and the potentials between them (docs/md.md).\n\n"
        "x           where they start, (atoms, dimensions); v: how fast\n"
        "masses      one number, or one per atom\n"
        "potentials  [{'kind': 'lennard_jones', 'epsilon': 1.0, 'cutoff': 2.5}, {'kind': 'harmonic_bond', "
        "'atoms': [[0, 1]], 'k': 50.0}, ...]\n"
        "box         edges of a periodic box\n"
        "integrator  'verlet', 'leapfrog', 'langevin', 'nose_hoover', 'overdamped', 'heun', 'descent',\n"
        "            'generalized_langevin', 'esh', or a word of letters: 'BAOAB'\n"
        "rigid_bonds pairs of atoms whose distance is kept, with rigid_lengths: one for all, or one each\n"
        "state 'x', 'v', ...; parameters '<kind>/<parameter>', 'mass', 'kT', 'friction', 'box', 'dt', ...");
  d.def("energy_and_forces", &energy_and_forces, "x"_a, "potentials"_a, "box"_a = none(),
        "The potential energy at x, (atoms, dimensions), and the force on every atom.");
  d.def(
      "pair_distribution", &pair_distribution, "x"_a, "box"_a, nb::kw_only(), "radii"_a = none(),
      "width"_a = 0.05, "waves"_a = none(), "from_atoms"_a = std::vector<int>{},
      "to_atoms"_a = std::vector<int>{}, "weights"_a = none(),
      "The radial distribution g(r) of one state at `radii`, smoothed by `width`, then the structure factor "
      "S(2 pi n / box) at the whole numbers `waves`.\n\n"
      "from_atoms, to_atoms  the atoms of the pairs; all without them\n"
      "weights               then also the gradient of weights . g: returns g, d/dx, d/dbox");
  d.def(
      "potential_kinds",
      [] {
        std::vector<std::pair<std::string, std::string>> kinds;
        for (const auto& kind : md::potential_kinds()) kinds.emplace_back(kind.name, kind.formula);
        return kinds;
      },
      "The kinds of potentials, each with its formula.");
  d.def("load_structure", &load_structure, "path"_a,
        "Atoms of an extended XYZ or PDB file: elements, x, v, masses, box (None where the file has none).");
  d.def("xyz", &xyz, "elements"_a, "x"_a, "v"_a = none(), "box"_a = none(),
        "One frame of an extended XYZ file as text; frames follow each other.");
  d.def("dcd", &dcd, "frames"_a, "box"_a = none(), "dt"_a = 1.0,
        "A DCD file as bytes, from frames of shape (frames, atoms, 3).");
  auto e = m.def_submodule("estimate", "Gradients of averages over noise.");
  e.def("gradient", &gradient, "system"_a, "loss"_a, "steps"_a, nb::kw_only(), "method"_a = "automatic",
        "samples"_a = 4096, "parameters"_a = "**", "seed"_a = 0, "x0"_a = none(), "u"_a = none(),
        "p"_a = none(), "baseline"_a = "mean", "every"_a = 0, "difference"_a = 1e-3,
        "reference"_a = std::vector<std::pair<std::string, std::vector<double>>>{},
        "The derivative of the average loss of one world with respect to its parameters "
        "(docs/estimators.md).\n\n"
        "method      automatic, pathwise, forward, girsanov, reinforce, reweighting, implicit, differences\n"
        "samples     worlds, each with noise of its own\n"
        "parameters  with respect to which: a glob, or a list of globs\n"
        "Returns a dictionary: value, gradient and the standard errors of both, method, label, reason, ...");
  e.def("free_energy", &free_energy, "system"_a, "from_parameters"_a, "to_parameters"_a, "steps"_a,
        nb::kw_only(), "method"_a = "acceptance", "samples"_a = 4096, "every"_a = 0, "points"_a = 5,
        "parameters"_a = std::vector<std::string>{}, "seed"_a = 0, "x0"_a = none(), "p"_a = none(),
        "The difference of free energy between two sets of parameters, with its gradient "
        "(docs/estimators.md).\n\n"
        "from_parameters, to_parameters  [('double_well/b', [0.4])]: the numbers that differ\n"
        "method      integration, perturbation, acceptance (Bennett)\n"
        "samples     worlds at every point; every: also states on the way\n"
        "Returns a dictionary: value, error, gradient, standard_error, at_from, at_to, overlap.");
}

}  // namespace costate::python
