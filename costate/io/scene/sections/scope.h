// Scope: the names that the formulas of a file of equations may use, and formulas made into programs of (t,
// x, p).
//
//   states         in the order of the file, one after the other: the vector x
//   parameters     likewise: the vector p
//   controls       one number each, at the end of p
//   definitions    named formulas, each may use those above it; computed once however often they are used
//   t, pi          and e unless it is a name of the file
//
// A mistake inside a formula is reported at its place in the file. Tests: tests/io/scene/equations_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "costate/ad/builder.h"
#include "costate/ad/program.h"
#include "costate/io/text/toml_document.h"
#include "costate/study/equations.h"

namespace costate::io {

// A named number or array, and where the file declares it.
struct Declared : study::Named {
  Place place = {};
};

class Scope {
 public:
  Scope(const TomlDocument& document, const std::vector<Declared>& states,
        const std::vector<Declared>& parameters, const std::vector<Declared>& controls = {});

  // An Error if the name cannot be used in formulas, or is taken.
  void check_new_name(const std::string& name, Place place);

  // A formula, or an array of them.
  void define(const std::string& name, Place place, const TomlValue& formulas);

  // Program with inputs t, x, p and the values of the formulas as one output field. With `extra`, that name
  // stands for one more element at the end of p.
  ad::Program program(const std::vector<const TomlValue*>& formulas, const std::string& extra = "") const;
  // The states, with some of them replaced by formulas: null means unchanged.
  ad::Program jump(const std::vector<const TomlValue*>& formulas) const;

  int states() const { return states_; }
  int parameters() const { return parameters_; }  // with the controls

 private:
  struct Definition {
    std::vector<ad::Program> elements;  // inputs: the fields that were known before it
  };
  ad::Program parse(const TomlValue& formula, const std::vector<ad::Field>& fields) const;
  ad::Program assemble(const std::vector<const TomlValue*>& formulas, const std::string& extra,
                       bool states_by_default) const;

  const TomlDocument& document_;
  int states_ = 0, parameters_ = 0;
  std::vector<ad::Field> fields_;  // t, states, parameters, controls, definitions
  std::vector<Definition> definitions_;
};

}  // namespace costate::io
