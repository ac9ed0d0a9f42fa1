// Where the numbers of a model lie among states and parameters, and how its integrator is spelt.
#pragma once

#include <string>
#include <vector>

#include "costate/md/model.h"

namespace costate::md {

inline constexpr int kMostBonds = 16;  // rigid bonds that share atoms

struct Layout {
  int atoms = 0, dimensions = 3, dof = 0;  // dof = atoms * dimensions
  // States; -1: there are none.
  int x = 0, v = -1, thermostat = -1, memory = -1, log_speed = -1, strain = -1, piston = -1;
  int chain = 0, modes = 0;  // links of the thermostat, modes of the memory
  int states = 0;
  // Parameters; -1: there are none.
  int mass = -1, dt = -1, kT = -1, friction = -1, thermostat_mass = -1, memory_friction = -1,
      memory_time = -1, box = -1, pressure = -1, piston_mass = -1, piston_friction = -1, preconditioner = -1;
  int parameters = 0;
  std::vector<double> yoshida = {1};  // weights of the parts of a thermostat's step
  // Rigid bonds, in groups that share atoms (integrator/constraint.h), and the parameters with their lengths.
  struct Bond {
    int a, b, number;
  };
  using Bonds = std::vector<Bond>;
  std::vector<Bonds> groups = {};
  int length = -1, lengths = 0;
  int freedom = 0;        // degrees of freedom: dof less the rigid bonds
  double least_edge = 0;  // of a box: twice the longest cutoff
};

// What rigid bonds make of a drift, and what they add to letters that change velocities.
inline constexpr char kRigidDrift = 'a', kRigidProjection = 'v';

// One letter of the integrator's word.
struct Letter {
  char name;
  double fraction;   // of dt
  int first_normal;  // of its random numbers among those of a step
  int force;         // its place among the letters that need the force; -1: it needs none
};
struct Word {
  std::vector<Letter> letters;
  int normals = 0;  // random numbers per step
  int forces = 0;   // evaluations of the force per step
  bool invertible = true;
  bool conserves = true;  // only drifts and kicks, with or without a piston: the energy is conserved
  // Only drifts, kicks and friction: transposes that do not ask for mass, kT, friction and dt need nothing
  // but the places where forces were found.
  bool places_suffice = true;
};

Word spell(const std::string& letters, const Layout& layout);

}  // namespace costate::md
