// Molecules: atoms in one to three dimensions, potentials between them, and an integrator that is a word.
//
//   state      "x" [length], "v" [length/time]: `dimensions` numbers per atom; with a thermostat "thermostat"
//              [1/time], with memory "memory" [length/time^2], with ESH "log_speed", with a barostat "strain"
//              and "piston" [1/time]
//   parameter  those of every potential ("<name>/<parameter>"), "mass" per atom, "dt", and where the word
//              needs them "kT", "friction", "thermostat/mass", "memory/friction", "memory/time", "box",
//              "pressure", "piston/mass", "piston/friction", "rigid/length", "preconditioner": all of them
//              differentiable, to second order
//
// A model with few atoms runs as many worlds in SIMD lanes; one with many as a single world that is parallel
// inside, with neighbour lists (neighbour/). Units are the user's: nothing here has a constant of nature.
//
// Rooms: potential/ one file per potential, integrator/ one file per letter of the words, splitting.h the
// step that spells a word and its transpose, system.h the System.
// Tests: tests/md/.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "costate/system/system.h"

namespace costate::ad {
class Program;
}

namespace costate::md {

// One potential energy: a kind, the atoms that it acts on, and its numbers.
struct Potential {
  std::string kind;               // a name of potential_kinds()
  std::string name = {};          // before its parameters' names; empty: the kind
  std::vector<int> atoms = {};    // one after the other: pairs a0 b0 a1 b1 ...; empty: every atom, every pair
  std::vector<int> exclude = {};  // pairs that "every pair" leaves out, one after the other
  // Of a potential of pairs: the species of every atom, from 0. Its numbers are then one for all pairs, or a
  // table with one per pair of species: 00, 01, ..., 0K, 11, 12, ...
  std::vector<int> species = {};
  // What differs from the defaults. One number for all, or one per atom, bond, ...
  std::map<std::string, std::vector<double>> parameters = {};
  std::map<std::string, double> options = {};  // constants: "cutoff"
  std::string formula = {};                    // of pair_formula, field_formula and energy_formula, or ...
  std::shared_ptr<const ad::Program> program = {};  // ... recorded from a function (own_potential.h)
};

struct Model {
  int dimensions = 3;               // 1, 2 or 3
  std::vector<double> masses = {};  // one per atom
  std::vector<Potential> potentials = {};
  std::vector<double> box = {};  // edges of a periodic box; empty: none

  // Letters, one per part of the step; each part takes dt divided by the number of times that it occurs.
  //   A drift   B kick   O friction and noise   N Nose-Hoover chain   C, M coupling and decay of memory
  //   E Euler-Maruyama (overdamped)   H Heun (overdamped)   G descent (overdamped, no noise)
  //   R Euler-Maruyama with a preconditioner (overdamped)   K kick of ESH
  //   P kick of the piston   D dilation   Q friction and noise of the piston
  // "BAB" is velocity Verlet, "BAOAB" Langevin's equation, "NBABN" Nose-Hoover, "BACMCAB" generalised
  // Langevin, "KAK" ESH, "PBADOQDABP" Langevin's equation at constant pressure.
  std::string integrator = "BAOAB";
  double dt = 0.01;
  double kT = 1;
  double friction = 1;                          // 1/time: letters O, E, G and H
  std::vector<double> thermostat_masses = {1};  // one per link of the chain: letter N
  int suzuki_yoshida = 1;                       // parts of a thermostat's step: 1, 3, 5 or 7
  // Letters P, D and Q. A piston of mass (dof + dimensions) kT t^2 answers within about the time t.
  double pressure = 1;
  double piston_mass = 0;  // energy time^2: must be given
  double piston_friction = 1;
  // Letter R: the matrix R of the mobility R R', dof rows of dof numbers, dof = atoms x dimensions.
  std::vector<double> preconditioner = {};
  // Rigid bonds, pairs of atoms one after the other, kept by SHAKE and RATTLE; and their lengths, one for all
  // or one per bond. Words of A, B, O and N.
  std::vector<int> rigid_bonds = {};
  std::vector<double> rigid_lengths = {};
  // Memory kernel sum_i friction_i / time_i e^(-t / time_i): letters C and M.
  std::vector<double> memory_friction = {1}, memory_time = {1};

  int atoms() const { return int(masses.size()); }
};

// A word for people who know the name: "verlet", "leapfrog", "langevin", "nose_hoover", "overdamped", "heun",
// "preconditioned", "descent", "generalized_langevin", "esh", "barostat" and words of letters stand for
// themselves. Throws Error on anything else.
std::string integrator_word(const std::string& name);

// Throws Error where the model is no model.
template <class Real>
std::shared_ptr<System<Real>> make_system(const Model& model);

template <>
std::shared_ptr<System<float>> make_system<float>(const Model& model);
template <>
std::shared_ptr<System<double>> make_system<double>(const Model& model);

}  // namespace costate::md
