// The part of the potential energy that each atom has, as a loss, with exact gradients with respect to the
// positions and every parameter.
//
//   U = sum_i e_i:  half of a pair's energy is either atom's, a third of an angle's, a quarter of a
//   torsion's; of stillinger_weber's triples all is the middle atom's, of `neural` every atom has its own
//   network's; of charges q_i times half of the potential that all others make there
//
//   loss  sum_i weight_i e_i,  or with a target  sum_i weight_i / 2 (e_i - target_i)^2
//
// An energy_formula has no parts, and is refused.
// Tests: tests/md/observable_test.cpp, potential_test.cpp, tests/python/test_md_peers.py (ASE).
#pragma once

#include <vector>

#include "costate/md/model.h"
#include "costate/system/objective.h"

namespace costate::md {

struct ObserveEnergies {
  std::vector<std::int64_t> steps = {};  // empty: of the final state
  std::vector<double> weights = {};      // one for all, or one per atom; empty: 1
  std::vector<double> target = {};       // one per atom
};

template <class Real>
ObjectivePtr<Real> observe(const Model& model, const ObserveEnergies& what);

// At positions x, with the numbers of the model.
std::vector<double> atom_energies(const Model& model, const std::vector<double>& x);

extern template ObjectivePtr<float> observe(const Model&, const ObserveEnergies&);
extern template ObjectivePtr<double> observe(const Model&, const ObserveEnergies&);

}  // namespace costate::md
