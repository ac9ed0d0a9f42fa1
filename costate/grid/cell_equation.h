// An equation of your own on a grid of nx x ny square cells, as text: the rate of every field in a cell.
//
//   dc/dt = formula of   c, c_x, c_y, c_xx, c_yy, lap_c   of every field c, by central differences
//                        parameters (one number, or one per cell), controls, x and y, the middle of the cell
//
//   cell_equation<double>({.fields = {{"c", "D*lap_c - w*c_x + r*c*(1 - c)"}},
//                          .parameters = {{"D", 0.1}, {"w", 1.0}, {"r", 2.0}}});
//
// Time goes in the three stages of SSP-RK3 (Shu, Osher 1988):
//
//   a = c + dt F(c)     b = 3/4 c + 1/4 (a + dt F(a))     c+ = 1/3 c + 2/3 (b + dt F(b))
//
// F is a Program, which runs on all cells, with its derivatives by source transformation (ad/derivative.h);
// differences have their transposes by hand. Exact with respect to fields, parameters, controls, dx and dt.
// Beyond a side a field goes on at the other end, as it is inside (closed: nothing diffuses through), or with
// the opposite sign (zero on the side). Tests: tests/grid/cell_equation_test.cpp.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "costate/grid/cell_values.h"
#include "costate/system/system.h"

namespace costate::grid {

struct CellEquation {
  enum class Side { periodic, closed, zero };
  struct Rate {
    std::string field, formula;
  };
  struct Parameter {
    std::string name;
    CellValues value;
    bool per_cell = false;  // a number per cell even where one is given
  };
  std::int64_t nx = 64, ny = 64;
  double dx = 1, dt = 0.1;
  std::vector<Rate> fields;
  std::vector<Parameter> parameters = {};
  std::vector<std::string> controls = {};
  std::array<Side, 4> sides = {};  // west, east, south, north
};

// Error for a formula that cannot be read, names that are used twice, sides that do not match.
template <class Real>
std::shared_ptr<System<Real>> cell_equation(const CellEquation& options);

extern template std::shared_ptr<System<float>> cell_equation<float>(const CellEquation&);
extern template std::shared_ptr<System<double>> cell_equation<double>(const CellEquation&);

}  // namespace costate::grid
