// The equations on a grid by their names: what scene files, the command line and Python choose from. A new
// equation is a kernel, its factory (wave.h is a model), and one entry in the list of equations.cpp.
// Tests: tests/grid/equations_test.cpp.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "costate/grid/cell_values.h"
#include "costate/system/system.h"

namespace costate::grid {

// What is said about a grid. Everything that is left out has the equation's default.
struct GridSpec {
  std::string equation;  // "wave"
  std::int64_t nx = 64, ny = 64;
  double dx = 1;
  double dt = 0;                                                     // 0: half of what is stable
  std::map<std::string, CellValues> parameters = {};                 // by name
  std::map<std::string, std::pair<std::string, double>> sides = {};  // "west" -> ("temperature", 20)
  std::vector<std::int64_t> sources = {};  // cells (j * nx + i) driven by the control
};

struct Equation {
  struct Parameter {
    const char* name;
    double value;  // default
    bool per_cell;
  };
  const char* name;
  std::vector<Parameter> parameters;  // besides dx, dt and the values of sides
  std::vector<std::string> sides;     // kinds of sides that there are; empty: no choice
  double (*stable_dt)(
      const GridSpec&);  // the longest step, for the parameters of a spec that has all of them
  std::shared_ptr<System<float>> (*in_float)(const GridSpec&);
  std::shared_ptr<System<double>> (*in_double)(const GridSpec&);
};
const std::vector<Equation>& equations();
// Error that lists the names.
const Equation& equation(const std::string& name);

// The spec with every default filled in, dt too. Error for a parameter or a side that the equation does not
// have.
GridSpec complete(GridSpec spec);

template <class Real>
std::shared_ptr<System<Real>> make_system(const GridSpec& spec);

extern template std::shared_ptr<System<float>> make_system<float>(const GridSpec&);
extern template std::shared_ptr<System<double>> make_system<double>(const GridSpec&);

}  // namespace costate::grid
