// One model per kind of potential, and a place for its atoms where all of its derivatives exist.
#pragma once

#include <cmath>

#include "costate/core/philox.h"
#include "costate/md/model.h"
#include "costate/md/potential/term.h"
#include "costate/system/rollout.h"

namespace costate::md::test {

struct Sample {
  Model model;
  std::vector<double> x;  // of the atoms
};

inline const std::vector<double>& four_atoms() {
  static const std::vector<double> kPlaces = {0.1, 0.2, -0.1, 1.25, 0.1, 0.15,
                                              0.7, 1.2, 0.3,  0.55, 0.6, 1.35};
  return kPlaces;
}

inline Sample sample(const std::string& kind, const std::string& integrator = "BAOAB") {
  const PotentialKind& of = find_potential(kind);
  Sample s;
  s.model.integrator = integrator;
  s.model.dt = 0.02;
  s.model.kT = 0.7;
  s.model.friction = 0.8;
  s.model.thermostat_masses = {1.3, 0.9};
  s.model.suzuki_yoshida = 3;
  s.model.memory_friction = {0.7, 1.1};
  s.model.memory_time = {0.4, 1.5};
  Potential p{.kind = kind};
  if (kind == "double_well") {
    s.model.dimensions = 1;
    s.x = {-0.8, 0.4};
    p.parameters = {{"a", {1.2}}, {"b", {0.3, -0.2}}};
  } else if (of.atoms == 1) {
    s.model.dimensions = 2;
    s.x = {-0.7, 0.5, 0.35, 0.9};
    if (kind == "mueller_brown") s.model.dt = 1e-3;
    if (kind == "harmonic") p.parameters = {{"k", {1.4}}, {"centre", {0.1, -0.2}}};
    if (kind == "energy_formula") {
      p.formula = "k*((x[0] - x[2])^2 + (x[1] - x[3])^2 - d[0])^2 + d[1]*exp(x[1]*x[2])";
      p.parameters = {{"k", {0.6}}, {"d", {1.2, 0.3}}};
    }
    if (kind == "uniform_field") p.parameters = {{"force", {0.3, -0.4}}};
    if (kind == "field_formula") {
      p.formula = "a*(x^2 - 1)^2 + b*x*y + exp(-c*y)";
      p.parameters = {{"a", {1.2}}, {"b", {0.3, -0.2}}, {"c", {0.5}}};
    }
  } else {
    s.x = four_atoms();
    s.model.dt = 0.004;
    if (of.atoms == 2) s.model.box = {3.1, 3.3, 3.5};
    if (kind == "lennard_jones") p.options = {{"cutoff", 1.4}, {"switch_from", 1.0}};
    if (kind == "lennard_jones_mixture")
      p.parameters = {{"epsilon", {1, 0.8, 1.1, 0.9}}, {"sigma", {1, 0.95, 0.9, 1.05}}};
    if (kind == "pair_formula") {
      p.formula = "A*exp(-r/rho) - C/r^6";  // Buckingham
      p.parameters = {{"A", {90}}, {"rho", {0.25}}, {"C", {1.1}}};
      p.options = {{"cutoff", 1.4}, {"switch_from", 1.0}};
    }
    if (kind == "wca") p.parameters = {{"sigma", {1.2}}};
    if (kind == "coulomb") p.parameters = {{"charge", {0.5, -0.4, 0.3, -0.6}}, {"strength", {1.5}}};
    if (kind == "coulomb") p.options = {{"cutoff", 1.4}};
    if (kind == "ewald") {
      p.parameters = {{"charge", {0.5, -0.4, 0.3, -0.6}}, {"strength", {1.5}}};
      p.options = {{"cutoff", 1.4}, {"tolerance", 0.01}};
      p.exclude = {0, 2};
    }
    if (kind == "stillinger_weber") s.model.box = {3.9, 4.1, 4.0};
    if (kind == "neural") {
      s.model.box = {3.9, 4.1, 4.0};
      p.options = {{"cutoff", 1.9}, {"radial", 2}, {"angular", 3}, {"hidden", 3}, {"layers", 2}};
      p.parameters = {{"species", {1, 0.7, 1.2, 0.9}}, {"eta", {1.5}}};
    }
    if (kind.ends_with("_bond")) p.atoms = {0, 1, 2, 3};
    if (kind == "harmonic_bond") p.parameters = {{"k", {5, 7}}, {"r0", {1.1, 1.2}}};
    if (kind == "harmonic_angle") p.atoms = {0, 1, 2, 1, 2, 3};
    if (kind == "torsion") p.atoms = {0, 1, 2, 3};
  }
  for (std::size_t i = 0; i < s.x.size() / std::size_t(s.model.dimensions); ++i)
    s.model.masses.push_back(1.0 + 0.3 * double(i));
  s.model.potentials = {p};
  if (integrator == "R") {
    const std::size_t dof = s.x.size();  // near to diagonal, and not symmetric
    for (std::size_t i = 0; i < dof * dof; ++i)
      s.model.preconditioner.push_back((i % (dof + 1) == 0 ? 0.5 : 0.0) + 0.03 * std::sin(1.7 * double(i)));
  }
  return s;
}

// The sample's places, a little displaced, with some of every other state.
template <class Real>
Arguments<Real> start(const Sample& sample, const Rollout<Real>& rollout, unsigned seed,
                      double spread = 0.02) {
  Arguments<Real> at = rollout.arguments();
  const Signature& signature = rollout.system().signature();
  std::uint64_t drawn = 0;
  const auto random = [&] { return normal<double>(seed + 1, 0, drawn++); };
  for (const Field& field : signature.fields(Role::state)) {
    double square = 0;
    for (std::int64_t i = 0; i < field.size; ++i) {
      const double value = field.name == "x" ? sample.x[std::size_t(i)] + spread * random() : 0.4 * random();
      at.x0[std::size_t(field.offset + i)] = Real(value);
      square += value * value;
    }
    if (field.name == "v" && signature.find_if(Role::state, "log_speed"))
      for (std::int64_t i = 0; i < field.size; ++i)
        at.x0[std::size_t(field.offset + i)] /= Real(std::sqrt(square));
  }
  return at;
}

inline const std::vector<std::string>& every_word() {
  static const std::vector<std::string> kWords = {"BAB", "ABA",     "BAOAB", "ABOBA", "OBABO", "NBABN",
                                                  "E",   "BACMCAB", "H",     "KAK",   "G",     "R"};
  return kWords;
}

}  // namespace costate::md::test
