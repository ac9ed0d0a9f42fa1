#include "costate/md/potential/kinds.h"

#include "costate/core/error.h"
#include "costate/core/names.h"

namespace costate::md {

const std::vector<PotentialKind>& potential_kinds() {
  static const std::vector<PotentialKind> kKinds = {double_well_kind(),
                                                    double_well_2d_kind(),
                                                    mueller_brown_kind(),
                                                    harmonic_kind(),
                                                    uniform_field_kind(),
                                                    lennard_jones_kind(),
                                                    lennard_jones_mixture_kind(),
                                                    wca_kind(),
                                                    coulomb_kind(),
                                                    ewald_kind(),
                                                    harmonic_bond_kind(),
                                                    morse_bond_kind(),
                                                    dimer_bond_kind(),
                                                    harmonic_angle_kind(),
                                                    torsion_kind(),
                                                    stillinger_weber_kind(),
                                                    neural_kind(),
                                                    pair_formula_kind(),
                                                    field_formula_kind(),
                                                    energy_formula_kind()};
  return kKinds;
}

std::string meant(const std::string& name, const std::vector<std::string>& known) {
  const std::string near = nearest_name(name, known);
  if (!near.empty()) return "did you mean '" + near + "'?";
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  return known.empty() ? "there are none" : "there are: " + list;
}

const PotentialKind& find_potential(const std::string& kind) {
  std::vector<std::string> names;
  for (const PotentialKind& one : potential_kinds()) {
    if (one.name == kind) return one;
    names.push_back(one.name);
  }
  throw Error({"there is no potential '" + kind + "'", {}, meant(kind, names)});
}

}  // namespace costate::md
