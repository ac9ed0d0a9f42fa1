// What estimators by likelihood ratios ask of a System whose steps draw noise (costate/estimate/). A System
// that has an answer derives from these besides System.
//
// Arrays are those of a block: number i of lane l is at i * lanes + l.
#pragma once

#include <string>
#include <string_view>

#include "costate/system/system.h"

namespace costate {

// A step whose outcome y has a density given x.
template <class Real>
class ScoredSystem {
 public:
  virtual ~ScoredSystem() = default;
  // Adds d log p(y | x) / dp to `score`, for the y that the noise of `at` gives. The deviation of y from its
  // mean is held while the mean is differentiated: with it, the result would be twice the truth.
  virtual void add_score(const StepContext& at, const Inputs<Real>& in, Real* score,
                         Workspace& work) const = 0;
  // Why there is no such score with respect to a parameter (empty: there is), or of the step at all (name
  // "").
  virtual std::string no_score(std::string_view parameter) const = 0;
};

// A System that samples e^(-U(x, p) / kT).
template <class Real>
class BoltzmannSystem {
 public:
  virtual ~BoltzmannSystem() = default;
  // U of every lane; adds dU/dp to `slope`.
  virtual void boltzmann(const Inputs<Real>& in, Real* energy, Real* slope, Workspace& work) const = 0;
  // Why the density does not depend on a parameter in a way that is known (empty: it does), or why there is
  // none (name "").
  virtual std::string no_density(std::string_view parameter) const = 0;
};

}  // namespace costate
