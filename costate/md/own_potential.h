// Potentials of your own as functions, recorded once into a Program: their derivatives come by themselves,
// and they run without a compiler, in SIMD lanes.
//
//   // r: the distance of two atoms; p: your numbers, in the order in which you name them
//   md::pair_potential("buckingham", {{"A", {90}}, {"rho", {0.25}}, {"C", {1.1}}},
//                      [](auto r, auto p) { return p[0] * exp(-r / p[1]) - p[2] / pow(r, 6); })
//
//   pair_potential(name, numbers, f(r, p))                     all pairs, or those of `atoms`
//   field_potential(name, dimensions, numbers, f(x, p))        x: the position of one atom
//   energy_potential(name, coordinates, numbers, f(x, p))      x: the coordinates of all atoms; here a name
//                                                              may stand for several numbers
//
// What comes back is a Potential like any other: set its atoms, exclude and options. The same as text is
// Potential::formula (potential/formula.cpp).
// Tests: tests/md/formula_test.cpp.
#pragma once

#include <algorithm>
#include <utility>

#include "costate/ad/record.h"
#include "costate/md/model.h"

namespace costate::md {

using OwnNumbers = std::vector<std::pair<std::string, std::vector<double>>>;

namespace own {

// f(x, p) with x of the fields `variables`; the inputs of the Program are those, then the numbers by name.
template <class F>
Potential recorded(std::string kind, std::string name, const std::vector<ad::Field>& variables,
                   const OwnNumbers& numbers, const F& f) {
  ad::Recorder recorder;
  std::vector<ad::Var> x, p;
  for (const ad::Field& field : variables) {
    const auto part = recorder.input(field.name, field.size);
    x.insert(x.end(), part.begin(), part.end());
  }
  Potential potential{.kind = std::move(kind), .name = std::move(name)};
  potential.parameters = {numbers.begin(), numbers.end()};
  const bool several = potential.kind == "energy_formula";
  std::map<std::string, std::vector<ad::Var>> named;
  for (const auto& [key, values] : potential.parameters)
    named[key] = recorder.input(key, several ? int(values.size()) : 1);
  for (const auto& [key, values] : numbers) p.insert(p.end(), named[key].begin(), named[key].end());
  recorder.output("value", ad::Var(f(x, p)));
  potential.program = std::make_shared<ad::Program>(recorder.finish());
  return potential;
}

}  // namespace own

template <class F>
Potential pair_potential(std::string name, const OwnNumbers& numbers, const F& f) {
  return own::recorded("pair_formula", std::move(name), {{"r"}}, numbers,
                       [&](const auto& x, const auto& p) { return f(x[0], p); });
}

template <class F>
Potential field_potential(std::string name, int dimensions, const OwnNumbers& numbers, const F& f) {
  std::vector<ad::Field> axes = {{"x"}, {"y"}, {"z"}};
  axes.resize(std::size_t(std::clamp(dimensions, 0, 3)));
  return own::recorded("field_formula", std::move(name), axes, numbers, f);
}

template <class F>
Potential energy_potential(std::string name, int coordinates, const OwnNumbers& numbers, const F& f) {
  return own::recorded("energy_formula", std::move(name), {{"x", coordinates}}, numbers, f);
}

}  // namespace costate::md
