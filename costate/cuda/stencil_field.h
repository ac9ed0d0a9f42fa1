// A cell kernel (grid/stencil_kernel.h) as one thread of a GPU runs it: one cell of a grid with zeros
// outside.
//
// The transpose reads the drives of its neighbours. A thread computes them itself: for the wave that costs a
// few multiplications where a pass of its own would cost a trip to memory. Each thread writes only its own
// cell, so sums need no atomics and the result is the same on every run.
//
// Nothing here needs a GPU. The __global__ kernels of the wave: device_wave.h. Tests:
// tests/cuda/stencil_field_test.cpp, device_wave_test.cu.
#pragma once

#include <cstdint>

#include "costate/grid/stencil_kernel.h"

namespace costate::cuda {

// nx * ny cells, x fastest.
template <class Kernel, class S>
struct StencilField {
  static_assert(!grid::stencil::HasOutside<Kernel> && !grid::stencil::HasPeriodic<Kernel>,
                "only kernels with zeros outside run on the GPU");
  std::int64_t nx = 0, ny = 0;
  typename Kernel::template Scale<S> scale{};
  const S* coefficients = nullptr;  // planes of nx * ny numbers

  COSTATE_HD COSTATE_INLINE std::int64_t cells() const { return nx * ny; }
};

// What a kernel sees of cell (i, j): numbers of the grid, zero outside.
template <class Kernel, class S>
struct FieldAt {
  const StencilField<Kernel, S>& field;
  std::int64_t i, j;
  const S *state, *cotangent;

  COSTATE_HD COSTATE_INLINE bool inside(int di, int dj) const {
    return i + di >= 0 && i + di < field.nx && j + dj >= 0 && j + dj < field.ny;
  }
  COSTATE_HD COSTATE_INLINE S read(const S* planes, int plane, int di, int dj) const {
    return inside(di, dj) ? planes[plane * field.cells() + (j + dj) * field.nx + i + di] : S(0);
  }
  COSTATE_HD COSTATE_INLINE S x(int f, int di = 0, int dj = 0) const { return read(state, f, di, dj); }
  COSTATE_HD COSTATE_INLINE S p(int c, int di = 0, int dj = 0) const {
    return read(field.coefficients, c, di, dj);
  }
  COSTATE_HD COSTATE_INLINE S y_bar(int f, int di = 0, int dj = 0) const {
    return read(cotangent, f, di, dj);
  }
  COSTATE_HD COSTATE_INLINE S open(int axis, int di = 0, int dj = 0) const {
    return inside(di, dj) && inside(di - (axis == 0), dj - (axis == 1)) ? S(1) : S(0);
  }
  COSTATE_HD COSTATE_INLINE S drive(int d, int di = 0, int dj = 0) const {
    if (!inside(di, dj)) return S(0);
    return Kernel{}.drive(field.scale, FieldAt{field, i + di, j + dj, state, cotangent})[d];
  }
};

// State x and y: plane after plane.
template <class Kernel, class S>
COSTATE_HD inline void step_cell(const StencilField<Kernel, S>& field, std::int64_t cell, const S* x, S* y) {
  const FieldAt<Kernel, S> at{field, cell % field.nx, cell / field.nx, x, nullptr};
  const auto next = Kernel{}.step(field.scale, at, Kernel{}.tape(field.scale, at));
  for (int f = 0; f < Kernel::fields; ++f) y[f * field.cells() + cell] = next[f];
}

// Writes x_bar, adds to coefficients_bar.
template <class Kernel, class S>
COSTATE_HD inline void transpose_cell(const StencilField<Kernel, S>& field, std::int64_t cell, const S* x,
                                      const S* y_bar, S* x_bar, S* coefficients_bar) {
  const FieldAt<Kernel, S> at{field, cell % field.nx, cell / field.nx, x, y_bar};
  const auto bar = Kernel{}.step_vjp(field.scale, at, Kernel{}.tape(field.scale, at));
  for (int f = 0; f < Kernel::fields; ++f) x_bar[f * field.cells() + cell] = bar.x[f];
  for (int c = 0; c < Kernel::coefficients; ++c)
    coefficients_bar[c * field.cells() + cell] += bar.coefficients[c];
}

}  // namespace costate::cuda
