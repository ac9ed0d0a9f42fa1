// Derivatives of a Program y = f(x), each again a Program.
//
//   jvp   (x, x_dot) -> (y, y_dot)     y_dot = J x_dot       tangent, forward mode
//   vjp   (x, y_bar) -> (x_bar)        x_bar = J' y_bar      cotangent, reverse mode
//
// Both transform the source: each node adds the nodes of its partial derivatives (derivative_rules.h, one
// rule for both modes) and what the results do not need is dropped. The results can be differentiated again:
// jvp(vjp(f)) gives Hessian-vector products. Field "x" gets "x_dot" or "x_bar". See op.h for the conventions
// at kinks.
//
// A branch that select, min or max does not take has cotangent 0, and its partial derivatives may be NaN
// (sqrt(x) for x < 0): products on the way back from a branch are gated_mul, which gives 0 for a zero
// cotangent. Code without branches pays nothing.
//
// Griewank, Walther: Evaluating Derivatives, 2nd ed., chapters 3 and 6. Tests:
// tests/ad/program_derivative_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "costate/ad/program.h"

namespace costate::ad {

struct DerivativeOptions {
  std::vector<std::string> active;  // input fields to differentiate by; none given: all
  bool with_outputs = false;        // vjp: also return y (jvp always does)
};

// Inputs: those of the program, then <name>_dot of the active ones. Outputs: those of the program, then
// <name>_dot of each.
Program jvp(const Program& program, const DerivativeOptions& options = {});

// Inputs: those of the program, then <name>_bar of every output. Outputs: (those of the program,) <name>_bar
// of the active inputs.
Program vjp(const Program& program, const DerivativeOptions& options = {});

// dy/dx at the entries that are not structurally zero. Inputs: those of the program. Output: "jacobian", row
// by row; rows are output elements, columns the elements of the active inputs, both counted over all fields
// in order.
struct Jacobian {
  Program program;
  int rows = 0, columns = 0;
  std::vector<int> row, column;  // of each element of the output
};
Jacobian jacobian(const Program& program, const DerivativeOptions& options = {});

}  // namespace costate::ad
