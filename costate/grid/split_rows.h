// A stencil system over ranks: each rank owns whole rows of cells, and a halo of its neighbours' rows.
//
//   step        of the rows that are here; the rows of the halo come out wrong, and are fetched again
//   transpose   the rows of y_bar in the halo are fetched; a cell gathers its cotangent from its neighbours
//               (stencil_kernel.h), so the cells that are owned come out right
//
// A cell's number does not depend on the rows around it that it does not see, so the bits are those of the
// whole grid. Cotangents of constants are sums over rows, in the order of the rows: rank r adds its rows to
// the sum that the ranks before it have handed on.
//
// A halo costs `halo` rows of all fields, up and down, in each step and transpose.
// Tests: tests/cluster/split_test.cpp.
#pragma once

#include <memory>
#include <vector>

#include "costate/system/split_system.h"

namespace costate::grid {

struct RowsShape {
  std::int64_t nx = 0, ny = 0;
  int halo = 1, fields = 1, coefficients = 0, constants = 0;
  bool periodic = false;  // north joins south
};

// What a stencil system says about its rows.
template <class Real>
class RowsSystem : public Splittable<Real> {
 public:
  virtual RowsShape rows_shape() const = 0;
  virtual std::vector<std::int64_t> row_sources() const = 0;  // cells, in the order of the controls
  // The same cells, in a grid of so many rows.
  virtual std::shared_ptr<const System<Real>> with_rows(std::int64_t rows,
                                                        const std::vector<std::int64_t>& sources) const = 0;
  // After a transpose with constants: [row][constant][value, tangent].
  virtual const double* row_sums(const Workspace& work) const = 0;
  virtual void check_parameters(const Real* p) const = 0;
};

template <class Real>
std::unique_ptr<SplitSystem<Real>> split_rows(const RowsSystem<Real>& whole, const Signature& signature,
                                              Channel& channel);

extern template std::unique_ptr<SplitSystem<float>> split_rows(const RowsSystem<float>&, const Signature&,
                                                               Channel&);
extern template std::unique_ptr<SplitSystem<double>> split_rows(const RowsSystem<double>&, const Signature&,
                                                                Channel&);

}  // namespace costate::grid
