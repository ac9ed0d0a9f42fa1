// The section of molecules (costate/md/model.h): [molecules] for the integrator, the temperature and the box,
// [[atoms]] or a file with them, [[potentials]] with their numbers, [[rigid_bonds]].
#include <algorithm>
#include <cmath>

#include "costate/core/philox.h"
#include "costate/core/text.h"
#include "costate/io/scene/section.h"
#include "costate/io/scene/sections/molecules_measured.h"
#include "costate/io/scene/sections/molecules_picture.h"
#include "costate/md/io/structure.h"
#include "costate/md/model.h"
#include "costate/md/potential/term.h"
#include "costate/study/field_quantities.h"

namespace costate::io {
namespace {

constexpr std::size_t kMost = 100'000;

// The tables of the section, one after the other.
struct MoleculesReader {
  const SceneFile& file;
  const TomlValue& t;  // [molecules]
  md::Model model = {};
  std::vector<std::string> names = {}, elements = {};
  std::vector<double> x = {}, v = {};
  std::vector<std::pair<int, int>> bonds = {};

  void append(const TomlValue& value, const char* what, std::vector<double>& to) const {
    const std::array<double, 3> list = file.vector(value, what, model.dimensions);
    to.insert(to.end(), list.begin(), list.begin() + model.dimensions);
  }

  void world() {
    if (const TomlValue* value = t.find("dimension"))
      model.dimensions = int(file.count(*value, "dimension", 3));
    if (const TomlValue* value = t.find("integrator"))
      model.integrator =
          file.told_at(value->place, [&] { return md::integrator_word(file.string(*value, "integrator")); });
    model.kT = file.positive_or(t, "kT", model.kT);
    model.friction = file.positive_or(t, "friction", model.friction);
    if (const TomlValue* value = t.find("pressure")) model.pressure = file.number(*value, "pressure");
    model.piston_mass = file.positive_or(t, "piston_mass", model.piston_mass);
    model.piston_friction = file.positive_or(t, "piston_friction", model.piston_friction);
    const auto list = [&](const char* key, std::vector<double>& to) {
      if (const TomlValue* value = t.find(key)) to = file.one_or_more(*value, key);
    };
    list("thermostat_masses", model.thermostat_masses);
    list("memory_friction", model.memory_friction);
    list("memory_time", model.memory_time);
    list("box", model.box);
    list("preconditioner", model.preconditioner);
    if (const TomlValue* value = t.find("suzuki_yoshida"))
      model.suzuki_yoshida = int(file.count(*value, "suzuki_yoshida", 7));
  }

  void structure() {
    const TomlValue* value = t.find("file");
    if (!value) return;
    const md::Structure s = file.told_at(
        value->place, [&] { return md::load_structure(file.beside(file.string(*value, "file"))); });
    if (model.dimensions != 3) file.fail(value->place, "a file of atoms has three dimensions");
    x = s.x;
    v = s.v.empty() ? std::vector<double>(x.size(), 0.0) : s.v;
    if (model.box.empty()) model.box = s.box;
    for (std::size_t i = 0; i < s.atoms(); ++i) {
      names.push_back(s.elements[i] + std::to_string(i));
      elements.push_back(s.elements[i]);
      const TomlValue* mass = t.find("mass");
      model.masses.push_back(
          !s.masses.empty() ? s.masses[i]
          : mass            ? file.positive(*mass, "mass")
                            : file.told_at(value->place, [&] { return md::element_mass(s.elements[i]); }));
    }
  }

  void atoms() {
    for (const TomlValue& a : file.tables("atoms", kMost)) {
      file.require_known_keys(a, {"name", "position", "velocity", "mass"}, "[[atoms]]");
      names.push_back(file.name_of(a, "atom", "a"));
      if (std::count(names.begin(), names.end(), names.back()) > 1)
        file.fail(a.find("name")->place, "there are two atoms '" + names.back() + "'");
      elements.push_back(names.back());
      model.masses.push_back(file.positive_or(a, "mass", file.positive_or(t, "mass", 1)));
      append(file.required(a, "position", "this atom", "add position = [0.0]"), "position", x);
      if (const TomlValue* velocity = a.find("velocity"))
        append(*velocity, "velocity", v);
      else
        v.resize(x.size(), 0.0);
    }
    if (names.empty())
      file.fail(t.place, "there are no atoms",
                "add [[atoms]] with a name and a position, or file = \"atoms.xyz\"");
  }

  // Velocities of the temperature kT, drawn with a seed, without motion of the whole.
  void warm() {
    const TomlValue* seed = t.find("velocities_seed");
    if (!seed) return;
    const auto n = std::size_t(model.dimensions);
    const std::uint64_t key = std::uint64_t(file.count(*seed, "velocities_seed", 1'000'000'000));
    std::vector<double> drift(n, 0.0);
    double mass = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      mass += model.masses[i];
      for (std::size_t k = 0; k < n; ++k) {
        v[i * n + k] = std::sqrt(model.kT / model.masses[i]) * normal<double>(key, std::uint32_t(i), k);
        drift[k] += model.masses[i] * v[i * n + k];
      }
    }
    for (std::size_t i = 0; names.size() > 1 && i < v.size(); ++i) v[i] -= drift[i % n] / mass;
  }

  std::vector<int> atoms_in(const TomlValue& value) const { return atoms_of(file, names, value); }

  // One whole number per atom.
  std::vector<int> species_in(const TomlValue& potential) const {
    const TomlValue* value = potential.find("species");
    if (!value) return {};
    std::vector<int> list;
    for (const double s : file.one_or_more(*value, "species")) {
      if (!(s == std::floor(s) && std::abs(s) < 1e6))
        file.fail(value->place, "species are whole numbers", "count them from 0: species = [0, 1, 1]");
      list.push_back(int(s));
    }
    return list;
  }

  // Every key that means nothing else is a number of the formula.
  void own_formula(const TomlValue& p, const md::PotentialKind& kind, md::Potential& out,
                   std::vector<std::string>& known) const {
    known.push_back("formula");
    out.formula =
        file.string(file.required(p, "formula", "this potential", "add formula = \"k*r^2/2\""), "formula");
    for (std::size_t i = 0; i < p.keys.size(); ++i) {
      const std::string& key = p.keys[i];
      const auto is = [&](const auto& option) { return option.name == key; };
      if (std::count(known.begin(), known.end(), key) != 0 ||
          std::any_of(kind.options.begin(), kind.options.end(), is))
        continue;
      known.push_back(key);
      out.parameters[key] = file.one_or_more(p.items[i], key);
    }
  }

  void potentials() {
    for (const TomlValue& p : file.tables("potentials", 100)) {
      const TomlValue& kind_value =
          file.required(p, "kind", "this potential", "add kind = \"lennard_jones\"");
      const md::PotentialKind& kind = file.told_at(kind_value.place, [&]() -> const md::PotentialKind& {
        return md::find_potential(file.string(kind_value, "kind"));
      });
      md::Potential out{.kind = kind.name, .name = file.string_or(p, "name", "")};
      std::vector<std::string> known = {"kind", "name", "atoms", "exclude"};
      const bool takes_species = kind.atoms == 2 && !kind.whole;  // `neural` has a parameter of this name
      if (takes_species) known.push_back("species");
      if (kind.own_formula) own_formula(p, kind, out, known);
      for (const auto& parameter : kind.parameters) {
        known.push_back(parameter.name);
        if (const TomlValue* value = p.find(parameter.name.c_str()))
          out.parameters[parameter.name] = file.one_or_more(*value, parameter.name);
      }
      for (const auto& option : kind.options) {
        known.push_back(option.name);
        if (const TomlValue* value = p.find(option.name.c_str()))
          out.options[option.name] = file.number(*value, option.name.c_str());
      }
      file.require_known_keys(p, known, "a potential of kind \"" + kind.name + "\"");
      if (const TomlValue* value = p.find("atoms")) out.atoms = atoms_in(*value);
      if (const TomlValue* value = p.find("exclude")) out.exclude = atoms_in(*value);
      if (takes_species) out.species = species_in(p);
      if (kind.name.ends_with("_bond"))
        for (std::size_t i = 0; i + 1 < out.atoms.size(); i += 2)
          bonds.emplace_back(out.atoms[i], out.atoms[i + 1]);
      model.potentials.push_back(std::move(out));
    }
    if (model.potentials.empty())
      file.fail(t.place, "there are no potentials", "add [[potentials]] with a kind");
  }

  // [[rigid_bonds]]: pairs of atoms, with one length for all of the table or as far apart as they start.
  void rigid_bonds() {
    const int n = model.dimensions;
    for (const TomlValue& r : file.tables("rigid_bonds", 1000)) {
      file.require_known_keys(r, {"atoms", "length"}, "[[rigid_bonds]]");
      const std::vector<int> list = atoms_in(file.required(r, "atoms", "this table of rigid bonds",
                                                           "add atoms = [[\"a\", \"b\"], [\"b\", \"c\"]]"));
      if (list.size() % 2 != 0) file.fail(r.place, "rigid bonds are pairs of atoms");
      const TomlValue* length = r.find("length");
      for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
        double square = 0;
        for (int k = 0; k < n; ++k) {
          double d = x[std::size_t(list[i] * n + k)] - x[std::size_t(list[i + 1] * n + k)];
          if (!model.box.empty()) d -= model.box[std::size_t(k)] * std::round(d / model.box[std::size_t(k)]);
          square += d * d;
        }
        model.rigid_lengths.push_back(length ? file.number(*length, "length") : std::sqrt(square));
        bonds.emplace_back(list[i], list[i + 1]);
      }
      model.rigid_bonds.insert(model.rigid_bonds.end(), list.begin(), list.end());
    }
  }

  std::vector<study::RowGroup> groups(bool velocities) const {
    const int n = model.dimensions;
    const auto offset = std::int64_t(x.size());
    std::vector<study::RowGroup> all = {{.name = "atoms", .dimension = n}};
    if (velocities) all.push_back({.name = "atoms/velocity", .dimension = n, .offset = offset});
    for (std::size_t i = 0; i < names.size(); ++i)
      for (auto& group : all) group.rows.push_back(std::int64_t(i));
    for (std::size_t i = 0; i < names.size() && i < 1000; ++i) {
      const auto row = std::int64_t(i);
      all.push_back({.name = "atom/" + names[i], .dimension = n, .rows = {row}});
      if (velocities)
        all.push_back(
            {.name = "atom/" + names[i] + "/velocity", .dimension = n, .offset = offset, .rows = {row}});
    }
    return all;
  }
};

}  // namespace

Draft read_molecules(const SceneFile& file) {
  const TomlValue& t = file.table(*file.root().find("molecules"), "molecules");
  file.require_known_keys(t,
                          {"dimension", "integrator", "kT", "friction", "thermostat_masses", "suzuki_yoshida",
                           "memory_friction", "memory_time", "preconditioner", "pressure", "piston_mass",
                           "piston_friction", "box", "file", "mass", "size", "velocities_seed"},
                          "[molecules]");
  file.require_known_keys(file.table_or_empty("start"), {}, "[start]");
  MoleculesReader reader{file, t};
  reader.world();
  reader.structure();
  reader.atoms();
  reader.warm();
  reader.potentials();
  reader.rigid_bonds();
  Draft draft;
  md::Model& m = reader.model;
  study::Setup& setup = draft.setup;
  read_run(file, 0.01, 1, setup);
  m.dt = setup.dt;
  setup.signature = file.told_at(t.place, [&] { return md::make_system<double>(m)->signature(); });
  setup.system = study::any_system([m](auto real) {
    return std::shared_ptr<const System<decltype(real)>>(md::make_system<decltype(real)>(m));
  });
  const bool velocities = setup.signature.find_if(Role::state, "v") != nullptr;
  setup.inputs.x0 = reader.x;
  if (velocities) setup.inputs.x0.insert(setup.inputs.x0.end(), reader.v.begin(), reader.v.end());
  setup.inputs.x0.resize(std::size_t(setup.signature.states()), 0.0);
  const std::string atoms = std::to_string(m.masses.size()), steps = std::to_string(setup.steps);
  setup.headline =
      atoms + " atoms, " + md::integrator_word(m.integrator) + ", " + steps + " steps of " + number(setup.dt);
  setup.facts = {{"atoms", atoms}, {"integrator", m.integrator}, {"steps", steps}};
  setup.identity = setup.headline;
  setup.quantities = std::make_shared<study::FieldQuantities>(setup.signature, reader.groups(velocities),
                                                              measured_of(m, setup.inputs.x0));
  draft.losses.push_back(pair_distribution_loss(m, reader.names));
  LinksDrawing drawing{.dimensions = m.dimensions, .points = m.atoms(), .links = reader.bonds};
  drawing.size = file.positive_or(t, "size", 0.2);
  drawing.name = "atoms";
  drawing.box = m.box;
  const Field* strain = setup.signature.find_if(Role::state, "strain");
  setup.picture = std::make_shared<MoleculesPicture>(std::move(drawing), reader.elements, velocities,
                                                     strain ? int(strain->offset) : -1);
  setup.stencil = {.step = 1e-5, .gate = 1e-6};
  draft.dimension = m.dimensions;
  return draft;
}

}  // namespace costate::io
