// The tables of runge_kutta.h as lists of their non-zero numbers, for loops whose method is chosen at run
// time.
#pragma once

#include <iterator>
#include <vector>

#include "costate/core/runge_kutta.h"

namespace costate::runge_kutta {

struct Term {  // value * k[stage]
  int stage;
  double value;
};
using Row = std::vector<Term>;

struct Rows {
  std::vector<double> c;
  std::vector<Row> a;  // one per stage
  Row b;
};

template <std::size_t N>
Row row_of(const double (&numbers)[N]) {
  Row row;
  for (std::size_t j = 0; j < N; ++j) {
    if (numbers[j] != 0) row.push_back({static_cast<int>(j), numbers[j]});
  }
  return row;
}

// All stages of the table: also the last of a method with an error estimate, which the solution does not
// need.
template <class Method>
Rows rows_of() {
  Rows rows{{std::begin(Method::c), std::end(Method::c)}, {}, row_of(Method::b)};
  for (const auto& row : Method::a) rows.a.push_back(row_of(row));
  return rows;
}

}  // namespace costate::runge_kutta
