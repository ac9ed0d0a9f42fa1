// Losses that are formulas of a few quantities, as programs whose inputs have the names of the quantities.
//
//   squared_distance   1/2 sum_i (q_i - target_i)^2          over the numbers that are wanted
//   squared_controls   1/2 sum_i u_i^2
//
// Tests: tests/study/losses_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "costate/ad/program.h"

namespace costate::study {

ad::Program squared_distance(const std::string& field, const std::vector<double>& target,
                             const std::vector<bool>& wanted);
// u: one input field of all controls.
ad::Program squared_controls(const std::string& field, const std::vector<bool>& wanted);

// weight * program, which has one output.
ad::Program scaled(const ad::Program& program, double weight);
// The program with one of its input fields, of one number, at a value.
ad::Program with_constant(const ad::Program& program, const std::string& field, double value);
bool reads(const ad::Program& program, const std::string& field);

}  // namespace costate::study
