#include "costate/study/study.h"

#include <cmath>

#include "costate/core/error.h"
#include "costate/core/names.h"

namespace costate::study {

void Study::set_optimize(std::optional<Optimize> optimize) {
  optimize_ = std::move(optimize);
  if (optimize_) variables_ = optimize_->variables;
}

void Study::choose(std::vector<Variable> variables) { variables_ = std::move(variables); }

void Study::use_adjoint(const std::string& name) {
  if (name != "discrete")
    throw Error({"a rollout has one adjoint, 'discrete', not '" + name + "'", file, "leave --adjoint out"});
}

void Study::residuals(const std::vector<double>&, double*, double*) {
  throw Error({"there are no measurements to fit", file, "add [fit] with data"});
}

void Study::curvature(const std::vector<double>&, const std::vector<double>&, double*) {
  throw Error(
      {"laplace needs second derivatives, which are not there for this physics, its precision, or what "
       "moves along a path",
       file, "leave laplace out: the other error bars need first derivatives only"});
}

void Study::require_finite(double value, const double* gradient) const {
  if (!std::isfinite(value))
    throw Error({"the loss is not finite", file, "look for a width, weight or distance that is absurd"},
                Error::Kind::numerics);
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    if (!std::isfinite(gradient[i]))
      throw Error({"the loss is finite, but its derivative with respect to " + variables_[i].name + " is not",
                   file, "shorten the simulation, or set gradient_window in [optimize]"},
                  Error::Kind::numerics);
  }
}

}  // namespace costate::study
