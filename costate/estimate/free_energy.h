// The difference of free energy F = -kT log int e^(-U / kT) between two sets of parameters, and its gradient.
//
//   integration    F_1 - F_0 = int_0^1 <dU/ds>_s ds over parameters p(s) on the line between the ends, by
//                  Gauss-Legendre points [Kirkwood, J. Chem. Phys. 3 (1935)]
//   perturbation   F_1 - F_0 = -kT log <e^(-(U_1 - U_0) / kT)>_0, from samples of the first end alone
//                  [Zwanzig, J. Chem. Phys. 22 (1954)]
//   acceptance     Bennett's ratio, from samples of both ends; of all ways to use them the one with the
//                  smallest variance [Bennett, J. Comput. Phys. 22 (1976)]
//
// Gradient: dF/dp = <dU/dp> at either end, so a parameter that both ends share has d(F_1 - F_0)/dp =
// <dU/dp>_1 - <dU/dp>_0, and kT has (F_1 - F_0 - <U>_1 + <U>_0) / kT. `perturbation` takes <dU/dp>_1 from the
// samples of the first end, weighted.
// Tests: tests/estimate/free_energy_test.cpp.
#pragma once

#include "costate/estimate/gradient.h"

namespace costate::estimate {

enum class FreeEnergyMethod { integration, perturbation, acceptance };
FreeEnergyMethod free_energy_method(const std::string& name);  // throws Error

struct FreeEnergy {
  using Numbers = std::vector<std::pair<std::string, std::vector<double>>>;
  Numbers from = {}, to = {};  // parameters that differ between the ends; of one that is named once the other
                               // end has the value of the arguments
  FreeEnergyMethod method = FreeEnergyMethod::acceptance;
  std::int64_t samples = 4096;               // worlds, at every point
  std::int64_t every = 0;                    // also samples every so many steps after half of them
  int points = 5;                            // of integration: 1 to 8
  std::vector<std::string> parameters = {};  // with respect to which, as globs; empty: none
};

struct FreeEnergyDifference {
  double value = 0, error = 0;
  std::vector<std::string> names = {};
  std::vector<double> gradient = {}, standard_error = {};  // of parameters that both ends share
  std::vector<double> at_from = {}, at_to = {};            // dF/dp of each end
  // perturbation, acceptance: effective samples of the weights, as a share; near 0 the ends do not overlap.
  double overlap = 1;
};

// Samples are states after the last step of worlds that start from `at` (and, with `every`, on the way).
template <class Real>
FreeEnergyDifference free_energy(std::shared_ptr<const System<Real>> system, RolloutOptions options,
                                 const Arguments<Real>& at, const FreeEnergy& question);

extern template FreeEnergyDifference free_energy(std::shared_ptr<const System<float>>, RolloutOptions,
                                                 const Arguments<float>&, const FreeEnergy&);
extern template FreeEnergyDifference free_energy(std::shared_ptr<const System<double>>, RolloutOptions,
                                                 const Arguments<double>&, const FreeEnergy&);

}  // namespace costate::estimate
