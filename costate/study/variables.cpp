#include "costate/study/variables.h"

#include "costate/core/error.h"

namespace costate::study {
namespace {

template <class In>
auto& element(In& inputs, const Variable& v) {
  return v.where == Variable::Where::state       ? inputs.x0[v.index]
         : v.where == Variable::Where::parameter ? inputs.p[v.index]
                                                 : inputs.paths[v.path].points[v.index];
}

}  // namespace

Inputs Inputs::zeros() const {
  Inputs zero{std::vector<double>(x0.size()), std::vector<double>(p.size()), paths};
  for (Path& path : zero.paths) path.points.assign(path.points.size(), 0.0);
  return zero;
}

double& number_of(Inputs& inputs, const Variable& variable) { return element(inputs, variable); }
double number_of(const Inputs& inputs, const Variable& variable) { return element(inputs, variable); }

std::vector<double> start_of(const std::vector<Variable>& variables) {
  std::vector<double> z;
  for (const Variable& v : variables) z.push_back(v.start / v.scale);
  return z;
}

Inputs with_values(const Inputs& inputs, const std::vector<Variable>& variables,
                   const std::vector<double>& z) {
  if (z.size() != variables.size())
    throw Error("there are " + std::to_string(variables.size()) + " variables, but " +
                std::to_string(z.size()) + " values are given");
  Inputs moved = inputs;
  for (std::size_t i = 0; i < variables.size(); ++i)
    number_of(moved, variables[i]) = z[i] * variables[i].scale * variables[i].unit;
  return moved;
}

void pull_back(const Inputs& bar, const std::vector<Variable>& variables, double* z_bar) {
  for (std::size_t i = 0; i < variables.size(); ++i)
    z_bar[i] = number_of(bar, variables[i]) * variables[i].scale * variables[i].unit;
}

}  // namespace costate::study
