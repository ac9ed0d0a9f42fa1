// check: is the gradient of this problem right? Four kinds of evidence, each of which would catch a different mistake.
//
//   dot product    <J v, w> = <v, J' w> for random v (inputs) and w (outputs): forward and reverse are transposes
//   stencil        the gradient along random directions against (45 (L1 - L-1) - 9 (L2 - L-2) + (L3 - L-3)) / (60 h)
//   Taylor         |L(x + h d) - L(x) - h <g, d>| falls like h^2
//   comparisons    discrete adjoint against forward sensitivities, the continuous adjoint, and CVODES where it applies
//
// The problem is solved to tight tolerances (rtol 1e-11 or what the file says, if that is less): differences of losses
// carry the error of the solution divided by h. Tests: tests/io/check_test.cpp.
#pragma once

#include "costate/io/problem.h"

namespace costate::io {

struct CheckResult {
  std::string name;
  double error = 0, gate = 0;  // passes where error <= gate
  std::string detail;
  bool skipped = false;
  bool passed() const { return skipped || error <= gate; }
};

std::vector<CheckResult> check(const Problem& problem, std::uint64_t seed = 1);

}  // namespace costate::io
