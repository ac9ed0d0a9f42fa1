#include "costate/solve/implicit_function.h"

#include <algorithm>

#include "costate/core/error.h"

namespace costate::solve {

ImplicitFunction::ImplicitFunction(NonlinearSystem& system, NewtonOptions options)
    : system_(system),
      newton_(system.unknowns(), options),
      linear_(system.unknowns()),
      jacobian_(std::size_t(system.unknowns()) * system.unknowns()),
      z_(system.unknowns()),
      p_(system.parameters()),
      right_(system.unknowns()),
      mu_(system.unknowns()) {}

NewtonResult ImplicitFunction::solve(const double* p, double* z) {
  NewtonResult result = newton_.solve(system_, p, z);
  if (!result.converged) {
    throw Error({"Newton's method found no root: " + result.reason, "", "start closer to the solution"},
                Error::Kind::numerics);
  }
  return result;
}

void ImplicitFunction::linearise(const double* z, const double* p) {
  std::copy(z, z + z_.size(), z_.begin());
  std::copy(p, p + p_.size(), p_.begin());
  system_.jacobian(z, p, jacobian_.data());
  if (!linear_.try_factorise(jacobian_.data())) {
    throw Error(
        {"the derivative of an implicit function does not exist here: the Jacobian of its equations is "
         "singular",
         "", "the solution is at a fold or a bifurcation, or an unknown is not determined by the equations"},
        Error::Kind::numerics);
  }
}

double ImplicitFunction::jvp(const double* p_dot, double* z_dot) {
  system_.parameter_jvp(z_.data(), p_.data(), p_dot, right_.data());
  for (double& e : right_) e = -e;
  return linear_.solve(right_.data(), z_dot);
}

double ImplicitFunction::vjp(const double* z_bar, double* p_bar) {
  const double left = linear_.solve_transposed(z_bar, mu_.data());
  for (double& e : mu_) e = -e;
  system_.parameter_vjp(z_.data(), p_.data(), mu_.data(), p_bar);
  return left;
}

}  // namespace costate::solve
