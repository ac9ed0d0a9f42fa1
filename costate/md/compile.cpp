#include "costate/md/compile.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/md/integrator/thermostat.h"
#include "costate/md/potential/kinds.h"

namespace costate::md {
namespace {

[[noreturn]] void refuse(std::string what, std::string advice = {}) {
  throw Error({std::move(what), "md::Model", std::move(advice)});
}
void require_positive(double value, const std::string& what) {
  if (!(value > 0) || !std::isfinite(value))
    refuse(what + " must be greater than 0 (it is " + number(value) + ")");
}

void check_piston(const Model& m, const std::string& word) {
  const auto has = [&](char letter) { return word.find(letter) != std::string::npos; };
  if (!has('P') || !has('D')) refuse("a barostat needs both letters, P and D", "\"PBADOQDABP\" has them");
  if (has('C') || has('M'))
    refuse("integrator '" + word + "' has a barostat and memory", "use A, B, O and N with P, D and Q");
  if (m.box.empty()) refuse("a barostat needs a box", "give the model a box");
  if (!std::isfinite(m.pressure)) refuse("the pressure is not finite");
  if (m.piston_mass == 0)
    refuse("integrator '" + word + "' needs a piston_mass",
           "(dof + dimensions) kT t^2 answers within about the time t");
  require_positive(m.piston_mass, "piston_mass");
  if (has('Q')) require_positive(m.piston_friction, "piston_friction");
}

void check_preconditioner(const Model& m, bool used) {
  const std::size_t dof = m.masses.size() * std::size_t(m.dimensions);
  if (!used && !m.preconditioner.empty())
    refuse("integrator '" + m.integrator + "' has no preconditioner",
           "use \"preconditioned\", or leave it out");
  if (used && m.preconditioner.size() != dof * dof)
    refuse(
        "the preconditioner has " + std::to_string(m.preconditioner.size()) + " numbers",
        "give the matrix R of the mobility R R', " + std::to_string(dof) + " rows of " + std::to_string(dof));
  for (const double r : m.preconditioner)
    if (!std::isfinite(r)) refuse("the preconditioner has a number that is not finite");
}

void check_model(const Model& m, const std::string& word) {
  if (m.dimensions < 1 || m.dimensions > 3) refuse("atoms live in 1, 2 or 3 dimensions");
  if (m.masses.empty()) refuse("there are no atoms", "give masses, one per atom");
  for (std::size_t i = 0; i < m.masses.size(); ++i)
    require_positive(m.masses[i], "the mass of atom " + std::to_string(i));
  require_positive(m.dt, "dt");
  const auto has = [&](const char* letters) { return word.find_first_of(letters) != std::string::npos; };
  if (has("OEHRNMQ")) require_positive(m.kT, "kT");
  if (has("OEGH")) require_positive(m.friction, "friction");
  if (has("N")) {
    if (m.thermostat_masses.empty() || int(m.thermostat_masses.size()) > kMostLinks)
      refuse("a thermostat's chain has 1 to " + std::to_string(kMostLinks) + " links",
             "give thermostat_masses, one per link");
    for (const double q : m.thermostat_masses) require_positive(q, "a thermostat's mass");
  }
  if (has("CM")) {
    if (m.memory_friction.empty() || m.memory_friction.size() != m.memory_time.size())
      refuse("memory_friction and memory_time have " + std::to_string(m.memory_friction.size()) + " and " +
                 std::to_string(m.memory_time.size()) + " modes",
             "give both, one number per mode");
    for (const double f : m.memory_friction) require_positive(f, "memory_friction");
    for (const double t : m.memory_time) require_positive(t, "memory_time");
    if (!has("C") || !has("M")) refuse("memory needs both letters, C and M", "\"BACMCAB\" has them");
  }
  if (has("PDQ")) check_piston(m, word);
  if (has("EGHR") && has("ABONCMKPDQ"))
    refuse("integrator '" + word + "' mixes overdamped letters with letters that have velocities",
           "use E, G, H or R alone");
  check_preconditioner(m, has("R"));
  if (has("K") && has("BONCMPDQ"))
    refuse("integrator '" + word + "' mixes ESH with velocities: its v is a direction", "\"KAK\" is ESH");
  if (has("ABONCMKPDQ") && !has("A"))
    refuse("integrator '" + word + "' has no drift: no atom would move", "add A");
  if (!m.box.empty()) {
    if (int(m.box.size()) != m.dimensions) refuse("the box needs one edge per dimension");
    for (const double edge : m.box) require_positive(edge, "an edge of the box");
  }
}

// Rigid bonds in groups that share atoms, each in the order in which it is given.
void group_bonds(const Model& m, const std::string& word, Layout& at) {
  const int bonds = int(m.rigid_bonds.size()) / 2;
  at.freedom = at.dof - bonds;
  if (m.rigid_bonds.empty()) {
    if (!m.rigid_lengths.empty()) refuse("there are lengths of rigid bonds, and no rigid bonds");
    return;
  }
  if (m.rigid_bonds.size() % 2 != 0) refuse("rigid_bonds lists pairs of atoms");
  if (word.find_first_not_of("ABON") != std::string::npos)
    refuse("integrator '" + word + "' has letters that do not keep rigid bonds", "use A, B, O and N alone");
  if (m.rigid_lengths.size() != 1 && int(m.rigid_lengths.size()) != bonds)
    refuse("there are " + std::to_string(m.rigid_lengths.size()) + " lengths of " + std::to_string(bonds) +
               " rigid bonds",
           "give one for all, or one per bond");
  for (const double length : m.rigid_lengths) require_positive(length, "the length of a rigid bond");
  std::set<std::pair<int, int>> seen;
  std::vector<int> group_of(m.masses.size(), -1);  // of every atom
  for (int i = 0; i < bonds; ++i) {
    const int a = m.rigid_bonds[std::size_t(2 * i)], b = m.rigid_bonds[std::size_t(2 * i + 1)];
    for (const int atom : {a, b})
      if (atom < 0 || atom >= m.atoms())
        refuse("a rigid bond names atom " + std::to_string(atom) + ", and there are " +
                   std::to_string(m.atoms()),
               "atoms are counted from 0");
    if (a == b) refuse("a rigid bond joins atom " + std::to_string(a) + " to itself");
    if (!seen.insert(std::minmax(a, b)).second)
      refuse("atoms " + std::to_string(a) + " and " + std::to_string(b) + " have two rigid bonds");
    int &one = group_of[std::size_t(a)], &two = group_of[std::size_t(b)];
    if (one < 0 && two < 0) at.groups.emplace_back();
    const int group = one >= 0 ? one : two >= 0 ? two : int(at.groups.size()) - 1;
    const int other = one >= 0 && two >= 0 && one != two ? two : -1;
    one = two = group;
    auto& to = at.groups[std::size_t(group)];
    if (other >= 0) {
      auto& from = at.groups[std::size_t(other)];
      to.insert(to.end(), from.begin(), from.end());
      from.clear();
      for (int& g : group_of)
        if (g == other) g = group;
    }
    to.push_back({a, b, i});
    if (int(to.size()) > kMostBonds)
      refuse("more than " + std::to_string(kMostBonds) + " rigid bonds hang together at atom " +
                 std::to_string(a),
             "make some of them springs: harmonic_bond");
  }
  std::erase_if(at.groups, [](const Layout::Bonds& group) { return group.empty(); });
}

// Weights whose parts make a step of order 2, 4, 6 [Yoshida, Phys. Lett. A 150 (1990)].
std::vector<double> yoshida_weights(int parts) {
  if (parts == 1) return {1};
  if (parts == 3) {
    const double w = 1 / (2 - std::cbrt(2.0));
    return {w, 1 - 2 * w, w};
  }
  if (parts == 5) {
    const double w = 1 / (4 - std::cbrt(4.0));
    return {w, w, 1 - 4 * w, w, w};
  }
  if (parts == 7) {
    const double a = 0.784513610477560, b = 0.235573213359357, c = -1.17767998417887;
    return {a, b, c, 1 - 2 * (a + b + c), c, b, a};
  }
  refuse("suzuki_yoshida is 1, 3, 5 or 7 (it is " + std::to_string(parts) + ")");
}

constexpr int kMostOfAllPairs = 2000;  // atoms whose pairs are written down one by one

// Atoms of every instance of a potential.
std::vector<int> tuples_of(const Potential& potential, const PotentialKind& kind, int atoms,
                           const std::string& name) {
  if (!potential.atoms.empty()) {
    if (potential.atoms.size() % std::size_t(kind.atoms) != 0)
      refuse(name + " acts on " + std::to_string(kind.atoms) + " atoms at a time, and " +
             std::to_string(potential.atoms.size()) + " are listed");
    for (std::size_t i = 0; i < potential.atoms.size(); ++i) {
      const int a = potential.atoms[i];
      if (a < 0 || a >= atoms)
        refuse(name + " names atom " + std::to_string(a) + ", and there are " + std::to_string(atoms),
               "atoms are counted from 0");
      for (std::size_t j = i - i % std::size_t(kind.atoms); j < i; ++j)
        if (potential.atoms[j] == a) refuse(name + " joins atom " + std::to_string(a) + " to itself");
    }
    return potential.atoms;
  }
  std::vector<int> tuples;
  if (kind.atoms == 1) {
    for (int i = 0; i < atoms; ++i) tuples.push_back(i);
  } else if (kind.atoms == 2) {
    if (atoms > kMostOfAllPairs)
      refuse(name + " would act on all " + std::to_string(std::int64_t(atoms) * (atoms - 1) / 2) + " pairs",
             kind.lists ? "give options cutoff: then pairs go by neighbour lists" : "list its atoms");
    std::set<std::pair<int, int>> out;
    for (std::size_t i = 0; i + 1 < potential.exclude.size(); i += 2)
      out.insert(std::minmax(potential.exclude[i], potential.exclude[i + 1]));
    for (int i = 0; i < atoms; ++i)
      for (int j = i + 1; j < atoms; ++j)
        if (!out.contains({i, j})) tuples.insert(tuples.end(), {i, j});
    if (tuples.empty() && atoms > 1) refuse(name + " excludes every pair of atoms", "leave it out");
    if (tuples.empty()) refuse(name + " needs at least two atoms");
  } else {
    refuse(name + " does not say which atoms it acts on", "list them: atoms = {0, 1, 2}");
  }
  return tuples;
}

// A potential of all atoms at once.
void check_whole(const Potential& potential, const PotentialKind& kind, const Model& model,
                 const std::string& name) {
  if (!potential.atoms.empty()) refuse(name + " acts on all atoms", "leave out `atoms`");
  if (kind.periodic && model.box.empty()) refuse(name + " needs a periodic box", "give the model a box");
}

void check_exclude(const Potential& potential, const PotentialKind& kind, const Model& model,
                   const std::string& name) {
  if (potential.exclude.empty()) return;
  const bool of_all_pairs = kind.whole ? kind.name == "ewald" : kind.atoms == 2 && potential.atoms.empty();
  if (!of_all_pairs) refuse(name + " is not a sum over all pairs: `exclude` has no effect", "leave it out");
  if (potential.exclude.size() % 2 != 0) refuse(name + ": exclude lists pairs of atoms");
  for (const int a : potential.exclude)
    if (a < 0 || a >= model.atoms())
      refuse(
          name + " excludes atom " + std::to_string(a) + ", and there are " + std::to_string(model.atoms()),
          "atoms are counted from 0");
}

// How many species there are; 0: the potential has none.
int check_species(const Potential& potential, const PotentialKind& kind, const Model& model,
                  const std::string& name) {
  if (potential.species.empty()) return 0;
  const auto by_instance = [](const ParameterKind& of) { return of.per == ParameterKind::Per::instance; };
  if (kind.whole || kind.atoms != 2 ||
      std::none_of(kind.parameters.begin(), kind.parameters.end(), by_instance))
    refuse(name + " has no numbers of pairs: `species` has no effect", "leave it out");
  if (potential.species.size() != model.masses.size())
    refuse(name + " has the species of " + std::to_string(potential.species.size()) +
               " atoms, and there are " + std::to_string(model.atoms()),
           "give one whole number per atom");
  int most = 0;
  for (const int s : potential.species) {
    if (s < 0 || s >= kMostSpecies)
      refuse(name + " has a species " + std::to_string(s),
             "species are counted from 0 to " + std::to_string(kMostSpecies - 1));
    most = std::max(most, s);
  }
  return most + 1;
}

// The constants of a potential, in the order of the kind's.
void read_options(const Potential& potential, const PotentialKind& kind, const std::string& name,
                  Sites& sites) {
  std::vector<std::string> known;
  for (const OptionKind& option : kind.options) {
    known.push_back(option.name);
    const auto given = potential.options.find(option.name);
    sites.options.push_back(given == potential.options.end() ? option.fallback : given->second);
    if (given == potential.options.end() && std::isnan(option.fallback))
      refuse(name + " has no " + option.name, "give options " + option.name);
  }
  if (sites.every_pair && !sites.options.empty()) {
    sites.skin = sites.options.back();
    if (!(sites.skin >= 0)) refuse(name + ": the skin is negative");
  }
  for (const auto& [key, value] : potential.options)
    if (std::find(known.begin(), known.end(), key) == known.end())
      refuse(name + " has no option '" + key + "'", meant(key, known));
}

// Adds a potential's numbers to the signature, and returns where every instance finds them.
Sites place_numbers(const Potential& potential, const PotentialKind& kind, const std::string& name,
                    const Model& model, Signature& signature) {
  using Per = ParameterKind::Per;
  Sites sites{.dimensions = model.dimensions,
              .atoms = model.atoms(),
              .exclude = potential.exclude,
              .species = potential.species,
              .species_count = check_species(potential, kind, model, name)};
  check_exclude(potential, kind, model, name);
  // A formula may reach without end; others of so many atoms are asked for a cutoff (check_cutoff).
  const auto cutoff = potential.options.find("cutoff");
  const bool endless = kind.own_formula && (cutoff == potential.options.end() || cutoff->second == 0);
  sites.every_pair =
      potential.atoms.empty() && model.atoms() > kMostInLanes && (kind.whole || (kind.lists && !endless));
  if (kind.whole)
    check_whole(potential, kind, model, name);
  else if (!sites.every_pair)
    sites.tuples = tuples_of(potential, kind, model.atoms(), name);
  const int instances = int(sites.tuples.size()) / kind.atoms;
  std::vector<std::vector<int>> slots(static_cast<std::size_t>(instances));
  std::vector<std::string> known;
  for (const ParameterKind& number_of : kind.parameters) {
    known.push_back(number_of.name);
    const bool point = number_of.defaults.empty();
    std::vector<double> values =
        point ? std::vector<double>(std::size_t(model.dimensions), 0.0) : number_of.defaults;
    const int width = int(values.size());
    if (const auto given = potential.parameters.find(number_of.name); given != potential.parameters.end())
      values = given->second;
    for (const double value : values)
      if (!std::isfinite(value))
        refuse(name + "/" + number_of.name + " is " + number(value), "give a finite number");
    const bool of_species = number_of.per == Per::instance && sites.species_count > 0;
    const int places = number_of.per == Per::atom    ? model.atoms()
                       : number_of.per == Per::model ? 1
                       : of_species                  ? species_pairs(sites.species_count)
                                                     : instances;
    const bool shared = int(values.size()) == width;
    if (!shared && int(values.size()) != width * places)
      refuse(name + "/" + number_of.name + " has " + std::to_string(values.size()) + " numbers",
             "give " + std::to_string(width) +
                 (places > 1 ? ", or " + std::to_string(width * places) : std::string()) +
                 (of_species ? ": one per pair of species, 00, 01, ..., 11, 12, ..." : ""));
    const int offset = int(signature.parameters());
    signature.parameter(name + "/" + number_of.name, values, number_of.unit);
    if (kind.name == "lennard_jones_mixture" && number_of.name == "epsilon") {  // a root of two of them
      for (const double value : values)
        if (value < 0) refuse(name + "/" + number_of.name + " is negative (it is " + number(value) + ")");
      signature.limit(name + "/" + number_of.name, kNotNegative);
    }
    if (sites.every_pair || kind.whole) {
      const bool own = number_of.per == Per::atom;
      const int atoms = own && !kind.whole ? kind.atoms : 1;
      for (int a = 0; a < atoms; ++a)
        sites.numbers.push_back({offset, own && !shared, a, of_species && !shared});
    }
    for (int i = 0; i < instances; ++i) {
      auto& to = slots[std::size_t(i)];
      const auto add = [&](int place) {
        for (int k = 0; k < width; ++k) to.push_back(offset + (shared ? 0 : place * width) + k);
        for (int k = width; point && k < 3; ++k) to.push_back(-1);
      };
      if (number_of.per == Per::atom)
        for (int a = 0; a < kind.atoms; ++a) add(sites.tuples[std::size_t(i * kind.atoms + a)]);
      else if (of_species)
        add(species_pair(sites.species[std::size_t(sites.tuples[std::size_t(2 * i)])],
                         sites.species[std::size_t(sites.tuples[std::size_t(2 * i + 1)])],
                         sites.species_count));
      else
        add(number_of.per == Per::model ? 0 : i);
    }
  }
  for (const auto& [key, values] : potential.parameters)
    if (std::find(known.begin(), known.end(), key) == known.end())
      refuse(name + " has no parameter '" + key + "'", meant(key, known));
  for (const auto& one : slots) sites.slots.insert(sites.slots.end(), one.begin(), one.end());
  read_options(potential, kind, name, sites);
  return sites;
}

// The kind of a potential. Where the formula is the user's, so are the names of its numbers.
std::shared_ptr<const PotentialKind> kind_of(const Potential& potential) {
  const PotentialKind& kind = find_potential(potential.kind);
  const bool given = !potential.formula.empty() || potential.program;
  if (kind.own_formula && !given)
    refuse("potential '" + kind.name + "' has no formula", "give one: \"k * (r - r0)^2 / 2\"");
  if (!kind.own_formula && given)
    refuse("potential '" + kind.name + "' has a formula of its own",
           "use pair_formula, field_formula or energy_formula");
  if (!kind.sized) return {std::shared_ptr<void>(), &kind};  // one of the list, which lives for ever
  return std::make_shared<PotentialKind>(kind.sized(kind, potential));
}

// Returns how far the potential reaches: 0 where that has no end.
double check_cutoff(const std::string& name, const PotentialKind& kind, const Sites& sites,
                    const Model& model, const Signature& signature) {
  const auto option = [&](const char* key) {
    for (std::size_t i = 0; i < kind.options.size(); ++i)
      if (kind.options[i].name == key) return sites.options[i];
    return 0.0;
  };
  const double cutoff = option("cutoff"), from = option("switch_from");
  const bool has_cutoff = !kind.options.empty() && kind.options[0].name == "cutoff";
  if (sites.every_pair && has_cutoff && cutoff == 0)
    refuse(name + " has no cutoff, and there are more than " + std::to_string(kMostInLanes) + " atoms",
           "give options cutoff");
  if (kind.name == "coulomb" && !(option("dielectric") > 0))
    refuse(name + ": the dielectric is " + number(option("dielectric")), "give a positive number");
  if (!(cutoff >= 0)) refuse(name + ": the cutoff is " + number(cutoff), "give a length, or 0 for none");
  if ((option("shifted") != 0 || from > 0) && cutoff == 0)
    refuse(name + " is shifted or switched without a cutoff", "give options cutoff");
  if (!(from >= 0)) refuse(name + ": switch_from is " + number(from), "give a length, or 0 for none");
  if (from > 0 && from >= cutoff) refuse(name + ": switch_from must be less than the cutoff");
  double reach = kind.reach.empty() ? cutoff : kind.reach_factor;
  for (const std::string& factor : kind.reach) {
    const std::vector<double>& values = signature.find(Role::parameter, name + "/" + factor).defaults;
    reach *= *std::max_element(values.begin(), values.end());
  }
  for (const double edge : model.box)
    if (2 * reach > edge)
      refuse(name + ": the cutoff " + number(reach) + " is more than half of the box's edge " + number(edge),
             "an atom would meet two images of its neighbour: take a larger box or a shorter cutoff");
  return reach;
}

// Whether the integrator has one of these letters.
using Has = std::function<bool(const char*)>;

void place_states(const Model& model, const Has& has, Signature& s, Layout& at) {
  const auto state = [&](const char* name, int size, const char* unit) {
    s.state(name, size, unit);
    return std::exchange(at.states, at.states + size);
  };
  at.x = state("x", at.dof, "length");
  if (has("ABONCMKPDQ")) at.v = state("v", at.dof, has("K") ? "" : "length/time");
  if (has("N"))
    at.chain = int(model.thermostat_masses.size()), at.thermostat = state("thermostat", at.chain, "1/time");
  if (has("CM")) {
    at.modes = int(model.memory_time.size());
    at.memory = state("memory", at.modes * at.dof, "length/time^2");
  }
  if (has("K")) at.log_speed = state("log_speed", 1, "");
  if (has("D")) at.strain = state("strain", 1, ""), at.piston = state("piston", 1, "1/time");
}

// All but the numbers of potentials, which come before.
void place_parameters(const Model& model, const Has& has, Signature& s, Layout& at) {
  const auto parameter = [&](const char* name, const std::vector<double>& values, const char* unit) {
    const int offset = int(s.parameters());
    s.parameter(name, values, unit);
    return offset;
  };
  at.mass = parameter("mass", model.masses, "mass");
  if (has("OEHRNMQ")) at.kT = parameter("kT", {model.kT}, "energy");
  if (has("OEGH")) at.friction = parameter("friction", {model.friction}, "1/time");
  if (has("N")) at.thermostat_mass = parameter("thermostat/mass", model.thermostat_masses, "energy time^2");
  if (has("CM")) {
    at.memory_friction = parameter("memory/friction", model.memory_friction, "1/time");
    at.memory_time = parameter("memory/time", model.memory_time, "time");
  }
  if (!model.box.empty()) at.box = parameter("box", model.box, "length");
  if (has("D")) {
    at.pressure = parameter("pressure", {model.pressure}, "energy/length^n");
    at.piston_mass = parameter("piston/mass", {model.piston_mass}, "energy time^2");
    if (has("Q")) at.piston_friction = parameter("piston/friction", {model.piston_friction}, "1/time");
  }
  if (has("R")) at.preconditioner = parameter("preconditioner", model.preconditioner, "sqrt(time/mass)");
  if (!at.groups.empty()) {
    at.lengths = int(model.rigid_lengths.size());
    at.length = parameter("rigid/length", model.rigid_lengths, "length");
  }
  at.dt = parameter("dt", {model.dt}, "time");
  // The numbers of an integrator are positive; those of potentials have any sign.
  for (const char* name : {"mass", "kT*", "friction*", "thermostat/mass*", "memory/*", "piston/*", "dt"})
    s.limit(name, kPositive);
  // Two cutoffs fit into a box, but for a rounding. (A barostat looks at the box of the moment.)
  if (at.least_edge > 0 && at.strain < 0)
    s.limit("box*", {.low = (1 - 1e-6) * at.least_edge, .open = false});
  else
    s.limit("box*", kPositive);
}

}  // namespace

Compiled compile(const Model& model) {
  const std::string letters = integrator_word(model.integrator);
  check_model(model, letters);
  const auto has = [&](const char* any) { return letters.find_first_of(any) != std::string::npos; };
  Compiled out;
  Layout& at = out.layout;
  Signature& s = out.signature;
  at.atoms = model.atoms(), at.dimensions = model.dimensions, at.dof = at.atoms * at.dimensions;

  place_states(model, has, s, at);
  std::set<std::string> names;
  for (const Potential& potential : model.potentials) {
    const auto found = kind_of(potential);
    const PotentialKind& kind = *found;
    const std::string name = potential.name.empty() ? kind.name : potential.name;
    if (!names.insert(name).second)
      refuse("there are two potentials '" + name + "'", "give one of them another name");
    if (kind.dimensions > model.dimensions)
      refuse(name + " needs " + std::to_string(kind.dimensions) + " dimensions");
    out.potentials.push_back({found, place_numbers(potential, kind, name, model, s)});
    if (kind.own_formula) {
      Sites& sites = out.potentials.back().sites;
      sites.formula = potential.formula, sites.program = potential.program;
      for (const ParameterKind& number_of : kind.parameters) {
        sites.names.push_back(number_of.name);
        sites.sizes.push_back(int(number_of.defaults.size()));
      }
    }
    const double reach = check_cutoff(name, kind, out.potentials.back().sites, model, s);
    at.least_edge = std::max(at.least_edge, 2 * reach);
  }
  group_bonds(model, letters, at);
  place_parameters(model, has, s, at);
  at.parameters = int(s.parameters());
  at.yoshida = yoshida_weights(model.suzuki_yoshida);
  for (Compiled::One& one : out.potentials)
    one.sites.box = at.box, one.sites.edges = model.box, one.sites.parameters = at.parameters;
  out.word = spell(letters, at);
  return out;
}

}  // namespace costate::md
