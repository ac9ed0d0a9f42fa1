// Which experiment will tell most, before it is done: design by the Fisher information.
//
//   F = J'J         J of the residuals, in standard deviations, at the parameters as they are believed to be
//   C = F^-1        covariance that the parameters will have afterwards (Cramer, Rao); first states that are
//                   not known either are searched, too
//
//   volume   log det C, in units of the scales: the size of the whole ellipsoid of errors (D-optimal)
//   mean     sum of (deviation / scale)^2, each in units of how far it may sensibly move (A-optimal)
//
// J does not depend on what will be measured, only on when: in a planned recording every number of y that is
// not NaN stands for a measurement to come.
//
// [1] Pukelsheim: Optimal Design of Experiments, SIAM 2006, chapters 3 and 6.
// Tests: tests/control/experiment_test.cpp.
#pragma once

#include "costate/control/identify/identify.h"

namespace costate::control {

enum class Criterion { volume, mean };

struct Foretold {
  std::vector<std::string> names;
  std::vector<double> deviations, covariance;  // as in Identified
  std::vector<std::string> unseen;             // what the experiment will not tell
  double volume = 0, mean = 0;                 // infinite where something is not seen
  double by(Criterion criterion) const { return criterion == Criterion::volume ? volume : mean; }
};

// Of the recordings of a problem, done or planned, all together.
Foretold foretell(const Identification& problem);

// `count` of the candidates, best first, none twice: each is the one that lowers the criterion most beside
// the problem's recordings and those already chosen. Candidates that leave something unseen rank by the
// number of directions that they show.
std::vector<std::size_t> choose_experiments(const Identification& problem,
                                            const std::vector<Measurements>& candidates, std::size_t count,
                                            Criterion criterion = Criterion::volume);

}  // namespace costate::control
