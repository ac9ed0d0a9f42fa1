// Line: the loss of a study along one direction through its variables, seen from a point whose gradient is
// known. What check.h compares is measured here.
//
//   difference   (45 (L1 - L-1) - 9 (L2 - L-2) + (L3 - L-3)) / (60 h)   both sides, error h^6
//   side         (-11 L0 + 18 L1 - 9 L2 + 2 L3) / (6 h)                 one side, error h^3; h < 0: the other
//
// with Li the loss at the point + i h times the direction.
// Tests: tests/study/check_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "costate/study/study.h"

namespace costate::study {

// Where a gradient was taken, and what it came to.
struct CheckPoint {
  CheckPoint(Study& study, std::vector<double> at);
  std::vector<double> z, gradient;
  double value = 0;
  std::vector<std::int64_t> pattern;  // steps in which contacts change
};

// Variables that are moved together: those of one name, as "jug.angle" is of "jug.angle[3]".
struct CheckField {
  std::string name;
  std::vector<std::size_t> members;
};
// All of them first, as "all variables"; then one by one where there are several. Many fields are taken
// together by their owners, "parameters" or "jug".
std::vector<CheckField> check_fields(const std::vector<Variable>& variables);

class Line {
 public:
  // A random direction of length one (in the mean) over the members of the field.
  Line(Study& study, const CheckPoint& from, const CheckField& field, std::uint64_t seed);

  const std::string& name() const { return name_; }
  double slope() const { return slope_; }  // <gradient, direction>
  double norm() const { return norm_; }    // how large such a slope usually is
  // NaN where the physics cannot be simulated.
  double value(double h) const;
  double difference(double h) const;
  double side(double h) const;
  // Whether the run there changes contacts in the same steps.
  bool same_pattern(double h) const;
  // The longest of h, h/4, h/16, ... at which the whole stencil has one pattern; 0: none of `shortenings`.
  double comparable(double h, int shortenings) const;

 private:
  std::vector<double> moved(double h) const;
  Study& study_;
  const CheckPoint& from_;
  std::string name_;
  std::vector<double> direction_;
  double slope_ = 0, norm_ = 0;
};

}  // namespace costate::study
