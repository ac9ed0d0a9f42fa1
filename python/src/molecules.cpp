// costate.md: molecules from numbers instead of files, and losses of them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "any_system.h"
#include "averages.h"
#include "costate/ad/program.h"
#include "costate/core/interrupt.h"
#include "costate/md/compile.h"
#include "costate/md/io/structure.h"
#include "costate/md/observable/atom_energies.h"
#include "costate/md/observable/motion.h"
#include "costate/md/observable/pair_distribution.h"
#include "costate/md/observable/thermodynamics.h"
#include "module.h"
#include "rows.h"
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
    } else if (name == "formula" && nb::isinstance<ad::Program>(value)) {
      p.program = std::make_shared<ad::Program>(nb::cast<ad::Program>(value));
    } else if (name == "formula") {
      p.formula = nb::cast<std::string>(nb::str(value));
    } else if (name == "atoms" || name == "exclude") {
      (name == "atoms" ? p.atoms : p.exclude) =
          to_indices(value, name.c_str(), name == "atoms" ? std::size_t(kind.atoms) : 2);
    } else if (name == "species" && std::none_of(kind.parameters.begin(), kind.parameters.end(), is)) {
      p.species = to_indices(value, "species");
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
  // Functions of Python become Programs.
  const nb::object recorded = nb::module_::import_("costate.md").attr("_recorded")(potentials, x);
  for (nb::handle given : nb::cast<nb::list>(recorded)) model.potentials.push_back(potential_of(given));
  if (!box.is_none()) model.box = to_vector<double>(box, "box");
  return model;
}

// A model and where it starts.
struct Given {
  md::Model model;
  std::vector<double> initial;
};
Given given(const ArrayLike& x, const ArrayLike& masses, const nb::list& potentials, const ArrayLike& v,
            const ArrayLike& box, const std::string& integrator, double dt, double kT, double friction,
            const ArrayLike& thermostat_masses, int suzuki_yoshida, const ArrayLike& memory_friction,
            const ArrayLike& memory_time, const ArrayLike& rigid_bonds, const ArrayLike& rigid_lengths,
            std::optional<double> pressure, std::optional<double> piston_mass,
            std::optional<double> piston_friction, const ArrayLike& preconditioner) {
  md::Model model = model_of(x, masses, potentials, box);
  model.integrator = integrator;
  model.dt = dt, model.kT = kT, model.friction = friction, model.suzuki_yoshida = suzuki_yoshida;
  if (!thermostat_masses.is_none())
    model.thermostat_masses = to_vector<double>(thermostat_masses, "thermostat_masses");
  if (!memory_friction.is_none())
    model.memory_friction = to_vector<double>(memory_friction, "memory_friction");
  if (!memory_time.is_none()) model.memory_time = to_vector<double>(memory_time, "memory_time");
  if (rigid_bonds.is_none() != rigid_lengths.is_none())
    throw Error("rigid_bonds and rigid_lengths belong together: give one length for all, or one each");
  if (!rigid_bonds.is_none()) {
    model.rigid_bonds = to_indices(rigid_bonds, "rigid_bonds", 2);
    model.rigid_lengths = to_vector<double>(rigid_lengths, "rigid_lengths");
  }
  if (!preconditioner.is_none())
    model.preconditioner =
        to_rows(preconditioner, "preconditioner", model.masses.size() * std::size_t(model.dimensions));
  model.pressure = pressure.value_or(model.pressure);
  model.piston_mass = piston_mass.value_or(model.piston_mass);
  model.piston_friction = piston_friction.value_or(model.piston_friction);
  const md::Compiled compiled = md::compile(model);
  if ((pressure || piston_mass || piston_friction) && compiled.layout.strain < 0)
    throw Error("integrator '" + integrator +
                "' has no barostat: leave out pressure, piston_mass and piston_friction");
  if (!thermostat_masses.is_none() && compiled.layout.chain == 0)
    throw Error("integrator '" + integrator + "' has no thermostat: leave out thermostat_masses");
  if (!(memory_friction.is_none() && memory_time.is_none()) && compiled.layout.modes == 0)
    throw Error("integrator '" + integrator + "' has no memory: leave out memory_friction and memory_time");
  std::vector<double> initial = to_vector<double>(x, "x");
  if (!v.is_none()) {
    if (compiled.layout.v < 0) throw Error("this integrator has no velocities: leave out v");
    const std::vector<double> speeds = to_vector_of(v, "v", shape_of(as_array<double>(x, "x")));
    initial.insert(initial.end(), speeds.begin(), speeds.end());
  }
  initial.resize(std::size_t(compiled.layout.states), 0.0);
  return {std::move(model), std::move(initial)};
}

std::shared_ptr<AnySystem> system_of(Given made) {
  const md::Model model = std::move(made.model);
  return std::make_shared<AnySystem>(
      "molecules", [model](std::int64_t) { return SystemPtr<double>(md::make_system<double>(model)); },
      [model](std::int64_t) { return SystemPtr<float>(md::make_system<float>(model)); },
      std::move(made.initial));
}
// then(f(...)), with the arguments of f.
template <class Made, class... Arguments, class Then>
auto after(Made (*f)(Arguments...), Then then) {
  return [f, then](Arguments... arguments) { return then(f(arguments...)); };
}

// The model that a system of costate.md.system was made of: the call that made it, once more.
md::Model model_behind(const nb::object& system) {
  const nb::object model = nb::module_::import_("costate.md").attr("_model")(system);
  return nb::cast<Given&>(model).model;
}

using Steps = std::vector<std::int64_t>;

// A loss of the atoms of this model. It reads their numbers where they lie, so that it is of no other system.
template <class What>
std::shared_ptr<AnyLoss> loss_of_atoms(const std::string& text, const md::Model& model, const What& what) {
  md::observe<double>(model, what);  // says what it needs
  return any_loss(text,
                  [text, model, what, own = md::compile(model).signature]<class Real>(const Signature& s) {
                    for (const Role role : {Role::state, Role::control, Role::parameter})
                      if (!same_fields(own, s, role))
                        throw Error({text + " was made of another system, with other states or parameters",
                                     {},
                                     "make it of the system that is simulated"});
                    return md::observe<Real>(model, what);
                  });
}

std::shared_ptr<AnyLoss> observe(const nb::object& system, const std::string& quantity, const Steps& steps,
                                 double weight, std::optional<double> target) {
  const md::Observe what{md::quantity_by_name(quantity), steps, weight, target};
  return loss_of_atoms("observe('" + quantity + "')", model_behind(system), what);
}

std::shared_ptr<AnyLoss> observe_motion(const nb::object& system, const std::string& of,
                                        const ArrayLike& start, const Steps& steps, const ArrayLike& weights,
                                        const std::vector<int>& atoms) {
  if (of != "displacement" && of != "velocity")
    throw Error({"of = '" + of + "'", {}, "use 'displacement' or 'velocity'"});
  md::ObserveMotion what{.of = of == "velocity" ? md::Motion::velocity : md::Motion::displacement,
                         .steps = steps,
                         .atoms = atoms};
  what.start = to_vector<double>(
      start.is_none() ? nb::object(system.attr("initial_state")) : nb::object(start), "start");
  if (!weights.is_none()) what.weights = to_vector<double>(weights, "weights");
  return loss_of_atoms("observe_motion('" + of + "')", model_behind(system), what);
}

std::shared_ptr<AnyLoss> observe_energies(const nb::object& system, const ArrayLike& weights,
                                          const ArrayLike& target, const Steps& steps) {
  md::ObserveEnergies what{.steps = steps};
  if (!weights.is_none()) what.weights = to_vector<double>(weights, "weights");
  if (!target.is_none()) what.target = to_vector<double>(target, "target");
  return loss_of_atoms("observe_energies()", model_behind(system), what);
}

std::vector<double> finite_positions(const ArrayLike& x) {
  std::vector<double> positions = to_vector<double>(x, "x");
  for (const double number : positions)
    if (!std::isfinite(number)) throw Error("x has a number that is not finite");
  return positions;
}

std::pair<double, Array> energy_and_forces(const ArrayLike& x, const nb::list& potentials,
                                           const ArrayLike& box) {
  const std::vector<double> positions = finite_positions(x);
  const md::Compiled compiled =
      md::compile(model_of(x, nb::cast<ArrayLike>(nb::float_(1.0)), potentials, box));
  std::vector<double> p, forces(positions.size(), 0.0);
  for (const Field& field : compiled.signature.fields(Role::parameter))
    p.insert(p.end(), field.defaults.begin(), field.defaults.end());
  const double energy = without_gil([&] {
    double sum = 0;
    for (const auto& term : md::make_terms<double>(compiled)) {
      const auto scratch = term->make_scratch();
      stop_if_interrupted();
      sum += term->energy(positions.data(), p.data(), scratch.get());
      stop_if_interrupted();
      term->force(positions.data(), p.data(), forces.data(), scratch.get());
    }
    return sum;
  });
  if (!std::isfinite(energy))
    throw Error({"the energy is " + std::to_string(energy), {}, "do two atoms lie in the same place?"});
  const Shape shape = {std::size_t(compiled.layout.atoms), std::size_t(compiled.layout.dimensions)};
  return {energy, to_numpy(std::move(forces), shape)};
}

Array atom_energies(const ArrayLike& x, const nb::list& potentials, const ArrayLike& box) {
  const std::vector<double> positions = finite_positions(x);
  const md::Model model = model_of(x, nb::cast<ArrayLike>(nb::float_(1.0)), potentials, box);
  std::vector<double> e = without_gil([&] { return md::atom_energies(model, positions); });
  for (const double part : e)
    if (!std::isfinite(part))
      throw Error({"an energy is " + std::to_string(part), {}, "do two atoms lie in the same place?"});
  return to_numpy(std::move(e));
}

md::PairDistribution distribution_of(const ArrayLike& radii, double width, const ArrayLike& waves,
                                     const std::vector<int>& from, const std::vector<int>& to,
                                     int dimensions) {
  md::PairDistribution what{.width = width, .from = from, .to = to};
  if (!radii.is_none()) what.radii = to_vector<double>(radii, "radii");
  if (waves.is_none()) return what;
  const auto given = as_array<double>(waves, "waves");
  if (given.ndim() != 2 || given.shape(1) != std::size_t(dimensions))
    throw Error("waves is (waves, dimensions)");
  for (std::size_t w = 0; w < given.shape(0); ++w) {
    std::array<int, 3> n = {0, 0, 0};
    for (std::size_t k = 0; k < given.shape(1); ++k) {
      const double number = given.data()[w * given.shape(1) + k];
      if (!(number == std::round(number) && std::abs(number) < 1e9))
        throw Error("waves are whole numbers: q = 2 pi n / box");
      n[k] = int(number);
    }
    what.waves.push_back(n);
  }
  return what;
}

// g, and with weights the gradient of weights . g.
nb::object pair_distribution(const ArrayLike& x, const ArrayLike& box, const ArrayLike& radii, double width,
                             const ArrayLike& waves, const std::vector<int>& from, const std::vector<int>& to,
                             const ArrayLike& weights) {
  const md::Model model = model_of(x, nb::cast<ArrayLike>(nb::float_(1.0)), {}, box);
  const md::PairDistribution what = distribution_of(radii, width, waves, from, to, model.dimensions);
  const std::vector<double> positions = finite_positions(x);
  std::vector<double> g =
      without_gil([&] { return md::pair_distribution(model, what, positions, model.box); });
  if (weights.is_none()) return nb::cast(to_numpy(std::move(g)));
  std::vector<double> x_bar(positions.size(), 0.0), box_bar(model.box.size(), 0.0);
  const std::vector<double> g_bar = to_vector<double>(weights, "weights");
  without_gil([&] {
    md::pair_distribution_vjp(model, what, positions, model.box, g_bar, x_bar.data(), box_bar.data());
    return true;
  });
  const Shape shape = {std::size_t(model.atoms()), std::size_t(model.dimensions)};
  return nb::make_tuple(to_numpy(std::move(g)), to_numpy(std::move(x_bar), shape),
                        to_numpy(std::move(box_bar)));
}

std::shared_ptr<AnyLoss> observe_distribution(const nb::object& system, const ArrayLike& radii, double width,
                                              const ArrayLike& waves, const std::vector<int>& from,
                                              const std::vector<int>& to, const ArrayLike& weights,
                                              const ArrayLike& target, const Steps& steps) {
  const md::Model model = model_behind(system);
  md::ObserveDistribution what{.of = distribution_of(radii, width, waves, from, to, model.dimensions),
                               .steps = steps};
  if (!weights.is_none()) what.weights = to_vector<double>(weights, "weights");
  if (!target.is_none()) what.target = to_vector<double>(target, "target");
  return loss_of_atoms("observe_distribution()", model, what);
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
  const Shape shape = {elements.size(), 3};
  md::Structure s{.elements = elements, .x = to_vector_of(x, "x", shape), .v = {}, .masses = {}, .box = {}};
  if (!v.is_none()) s.v = to_vector_of(v, "v", shape);
  if (!box.is_none()) s.box = to_vector_of(box, "box", {3});
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

nb::none none() { return {}; }

// Quantities of the atoms as losses.
void bind_observed_atoms(nb::module_& d) {
  d.def("observe", &observe, "system"_a, "quantity"_a, nb::kw_only(), "steps"_a = Steps{}, "weight"_a = 1.0,
        "target"_a = none(),
        "A loss: weight times a quantity of the atoms, summed over `steps` (none given: of the final "
        "state).\n\n"
        "quantity    'potential_energy', 'kinetic_energy', 'temperature' or 'pressure'\n"
        "target      then weight / 2 (quantity - target)^2 instead");
  d.def("observe_motion", &observe_motion, "system"_a, "of"_a = "displacement", nb::kw_only(),
        "start"_a = none(), "steps"_a = Steps{}, "weights"_a = none(), "atoms"_a = std::vector<int>{},
        "A loss: the mean square displacement since the start, or the autocorrelation of velocities.\n\n"
        "of          'displacement': |x_k - x_0|^2 per atom; 'velocity': v_k . v_0 per atom\n"
        "start       (states,) or (worlds, states): what the worlds start from; None: the system's own\n"
        "steps       none given: the final state; weights: one, or one per step\n"
        "With steps=range(T + 1) and weights=costate.md.green_kubo(T, dt, dimensions) the autocorrelation "
        "gives\n"
        "the diffusion coefficient.");
  d.def("green_kubo", &md::green_kubo, "steps"_a, "dt"_a, "dimensions"_a = 3,
        "Weights of steps 0 ... steps with which the autocorrelation of velocities sums to the diffusion "
        "coefficient.");
  d.def("observe_distribution", &observe_distribution, "system"_a, nb::kw_only(), "radii"_a = none(),
        "width"_a = 0.05, "waves"_a = none(), "from_atoms"_a = std::vector<int>{},
        "to_atoms"_a = std::vector<int>{}, "weights"_a = none(), "target"_a = none(), "steps"_a = Steps{},
        "A loss: weights . g of the radial distribution and structure factor g (see pair_distribution), or "
        "with "
        "a target the sum of weights / 2 (g - target)^2.");
  d.def("observe_energies", &observe_energies, "system"_a, nb::kw_only(), "weights"_a = none(),
        "target"_a = none(), "steps"_a = Steps{},
        "A loss: weights . e of the energies e of the atoms (see atom_energies), or with a target the sum of "
        "weights / 2 (e - target)^2.\n\n"
        "weights     one for all, or one per atom; None: 1; target: one per atom");
}

// Quantities of one state, and files.
void bind_atoms(nb::module_& d) {
  d.def(
      "atom_energies", &atom_energies, "x"_a, "potentials"_a, "box"_a = none(),
      "The part of the potential energy at x, (atoms, dimensions), that every atom has: half of a pair's, a "
      "third of an angle's, ...");
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
}

}  // namespace

void bind_molecules(nb::module_& m) {
  auto d = m.def_submodule("md", "Molecules.");
  nb::class_<Given>(d, "_Given");
  const auto define = [&](const char* name, auto f, const char* text) {
    d.def(name, f, "x"_a, "masses"_a, "potentials"_a, nb::kw_only(), "v"_a = none(), "box"_a = none(),
          "integrator"_a = "langevin", "dt"_a = 0.01, "kT"_a = 1.0, "friction"_a = 1.0,
          "thermostat_masses"_a = none(), "suzuki_yoshida"_a = 1, "memory_friction"_a = none(),
          "memory_time"_a = none(), "rigid_bonds"_a = none(), "rigid_lengths"_a = none(),
          "pressure"_a = none(), "piston_mass"_a = none(), "piston_friction"_a = none(),
          "preconditioner"_a = none(), text);
  };
  const char* about =
      "Atoms and the potentials between them (docs/md.md).\n\n"
      "x           where they start, (atoms, dimensions); v: how fast\n"
      "masses      one number, or one per atom\n"
      "potentials  [{'kind': 'lennard_jones', 'epsilon': 1.0, 'cutoff': 2.5}, {'kind': 'harmonic_bond', "
      "'atoms': [[0, 1]], 'k': 50.0}, ...]\n"
      "box         edges of a periodic box\n"
      "integrator  'verlet', 'leapfrog', 'langevin', 'nose_hoover', 'overdamped', 'heun', 'preconditioned',\n"
      "            'descent', 'generalized_langevin', 'esh', 'barostat', or a word of letters: 'BAOAB'\n"
      "pressure    of 'barostat', with piston_mass and piston_friction\n"
      "preconditioner  of 'preconditioned': R of the mobility R R', (dof, dof) with dof = atoms x "
      "dimensions\n"
      "rigid_bonds pairs of atoms whose distance is kept, with rigid_lengths: one for all, or one each\n"
      "state 'x', 'v', ...; parameters '<kind>/<parameter>', 'mass', 'kT', 'friction', 'box', 'dt', ...";
  define("system", after(&given, system_of), about);
  define("_given", &given, "What a system is made of.");
  bind_observed_atoms(d);
  bind_atoms(d);
  bind_averages(m);
}

}  // namespace costate::python
