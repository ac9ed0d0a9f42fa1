// Values and gradients as JSON objects with the names of the file.
#pragma once

#include <nlohmann/json.hpp>

#include "costate/io/problem.h"

namespace costate::app {

using Json = nlohmann::ordered_json;

// {"h": 1.0, "u": [1.0, 2.0]}: the elements of x or p by the names of their variables.
Json named(const std::vector<io::Variable>& variables, const double* values);
// {"thrust": [0.5, 1.0]}: one number per value of a control.
Json named_controls(const io::Problem& problem, const std::vector<double>& values);
// One object and the end of the line, on stdout.
void print(const Json& json);

}  // namespace costate::app
