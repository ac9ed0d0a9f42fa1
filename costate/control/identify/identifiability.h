// How well data determine what was searched: the singular values of the Jacobian of the residuals.
//
//   J = U S V'     covariance (J'J)^-1 = V S^-2 V' of Gauss-Newton, for residuals in standard deviations
//
// A column of V whose singular value is not above 1e-8 of the largest is a direction that the data cannot
// see: along it the unknowns change and the residuals do not. Each column of J is scaled by how far its
// unknown may sensibly move, so that sizes can be compared.
//
// Laplace's approximation takes the whole Hessian instead, H = J'J + C, where C is what Gauss-Newton leaves
// out: residuals times their second derivatives. In the directions that the data see,
//
//   H^-1 = V S^-1 (1 + E)^-1 S^-1 V'      E = S^-1 V'C V S^-1
//
// so that nothing is lost where J'J is ill-conditioned. H is that of a minimum where 1 + E is positive.
// Tests: tests/control/identify_test.cpp, laplace_test.cpp.
#pragma once

#include <string>
#include <vector>

namespace costate::control {

struct Identifiability {
  std::vector<double> singular_values;  // of the scaled Jacobian, largest first
  std::vector<double> covariance;       // names x names; the variance of what is not seen is infinite
  std::vector<double> deviations;
  // In words: "the data cannot tell length from gravity", "the data do not depend on mass". Empty: none.
  std::vector<std::string> unseen;
};

// jacobian: rows x columns, with respect to the unknowns divided by their scales. Columns after those that
// have a name (states between pieces of a recording) are searched as well and not reported.
Identifiability identifiability(const double* jacobian, int rows, int columns,
                                const std::vector<std::string>& names, const std::vector<double>& scales);

struct Laplace {
  std::vector<double> covariance;  // names x names; the variance of what is not seen is infinite
  std::vector<double> deviations;
  bool minimum = true;  // false: H is not positive; then the other two are empty
};

// correction: C, columns x columns, in the units of the Jacobian.
Laplace laplace(const double* jacobian, int rows, int columns, const double* correction,
                const std::vector<std::string>& names, const std::vector<double>& scales);

}  // namespace costate::control
