// Energies, temperature and pressure of a model as losses, with exact gradients with respect to the state and
// every parameter.
//
//   potential_energy   U(x, p)
//   kinetic_energy     K = sum m v^2 / 2
//   temperature        2 K / (dof less the rigid bonds)
//   pressure           (2 K - d.dU/dd) / (dimensions volume), with d.dU/dd summed over all displacements: the
//                      virial, which is the tangent of U when positions and box are scaled together
//
// With a barostat the box is that of the moment. The gradient of the virial is the tangent of U's gradient
// along the scaling (potential/term.h).
// Tests: tests/md/observable_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "costate/md/model.h"
#include "costate/system/objective.h"

namespace costate::md {

enum class Quantity { potential_energy, kinetic_energy, temperature, pressure };
Quantity quantity_by_name(const std::string& name);  // throws Error

struct Observe {
  Quantity quantity = Quantity::potential_energy;
  std::vector<std::int64_t> steps = {};  // empty: of the final state
  double weight = 1;
  std::optional<double> target = {};  // then weight / 2 (quantity - target)^2 instead of weight quantity
};

template <class Real>
ObjectivePtr<Real> observe(const Model& model, const Observe& what);

extern template ObjectivePtr<float> observe(const Model&, const Observe&);
extern template ObjectivePtr<double> observe(const Model&, const Observe&);

}  // namespace costate::md
