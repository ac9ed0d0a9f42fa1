// Variables: the numbers that may change about a study, and the one map from them to its inputs, with its
// transpose.
//
//   z_i = (number i) / (scale_i unit_i)     what an optimiser sees: steps of equal size mean equally much
//   inputs(z) = the inputs of the file, with number i replaced by z_i scale_i unit_i         with_values
//   z_bar_i = scale_i unit_i (cotangent of number i)                                         pull_back
//
// Everything that is written or shown is in the unit of the file: degrees, where the physics has radians.
//
// Tests: tests/study/variables_test.cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "costate/study/path.h"

namespace costate::study {

// Everything that a study's result depends on. A cotangent of it has the same shape.
struct Inputs {
  std::vector<double> x0;   // state at the start
  std::vector<double> p;    // parameters, in the order of the signature
  std::vector<Path> paths;  // controls and motions over time

  Inputs zeros() const;
};

// One number among them.
struct Variable {
  enum class Where { state, parameter, path };
  std::string name = {};  // "start.h", "parameters.gravity[1]", "controls.push[4]", "jug.position[2].x"
  Where where = Where::state;
  std::size_t index = 0;  // in x0, in p, or of a point of the path
  std::size_t path = 0;   // which
  double unit = 1;        // of the file, in that of the physics; of start, scale and bounds
  double start = 0;       // as the file says
  double scale = 1;
  double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();
  double mean = 0, deviation = 0;  // what a fit knows beforehand; a deviation of 0: nothing
};

double& number_of(Inputs& inputs, const Variable& variable);
double number_of(const Inputs& inputs, const Variable& variable);

// z at the start.
std::vector<double> start_of(const std::vector<Variable>& variables);
Inputs with_values(const Inputs& inputs, const std::vector<Variable>& variables,
                   const std::vector<double>& z);
// Writes z_bar.
void pull_back(const Inputs& bar, const std::vector<Variable>& variables, double* z_bar);

}  // namespace costate::study
