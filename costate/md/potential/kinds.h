// The list of potentials: each function is defined in the file of its potential.
#pragma once

#include "costate/md/model.h"
#include "costate/md/potential/term.h"

namespace costate::md {

PotentialKind double_well_kind();
PotentialKind double_well_2d_kind();
PotentialKind mueller_brown_kind();
PotentialKind harmonic_kind();
PotentialKind uniform_field_kind();
PotentialKind lennard_jones_kind();
PotentialKind lennard_jones_mixture_kind();
PotentialKind wca_kind();
PotentialKind coulomb_kind();
PotentialKind ewald_kind();
PotentialKind harmonic_bond_kind();
PotentialKind morse_bond_kind();
PotentialKind dimer_bond_kind();
PotentialKind harmonic_angle_kind();
PotentialKind torsion_kind();
PotentialKind stillinger_weber_kind();
PotentialKind neural_kind();
PotentialKind pair_formula_kind();
PotentialKind field_formula_kind();
PotentialKind energy_formula_kind();

}  // namespace costate::md
