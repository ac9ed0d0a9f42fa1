// What files can ask of molecules: numbers of one state that formulas, tracks and fits name, and a kind of
// loss of their own.
//
//   potential_energy, kinetic_energy, temperature, pressure     costate/md/observable/thermodynamics.h
//   displacement, velocity_correlation since the start          costate/md/observable/motion.h
//   kind = "pair_distribution"                                  costate/md/observable/pair_distribution.h
//
// Tests: tests/md/scene_test.cpp.
#pragma once

#include "costate/io/scene/section.h"
#include "costate/md/model.h"
#include "costate/study/field_quantities.h"

namespace costate::io {

// An atom by its name, or by its number from 0.
int atom_of(const SceneFile& file, const std::vector<std::string>& names, const TomlValue& value);
// ["a", "b"] or [["a", "b"], ["b", "c"]]: one after the other.
std::vector<int> atoms_of(const SceneFile& file, const std::vector<std::string>& names,
                          const TomlValue& value);

// `start`: the states that a run starts from.
std::vector<study::MeasuredNumber> measured_of(const md::Model& model, const std::vector<double>& start);

// g(r) and S(q) with weights, or compared with a target; atoms have these names.
OwnLoss pair_distribution_loss(const md::Model& model, const std::vector<std::string>& names);

}  // namespace costate::io
