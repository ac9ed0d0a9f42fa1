// The wave equation of grid/wave.h as one thread of a GPU sees it: one cell, by the formulas of
// grid/wave_cell.h.
//
// The transpose needs the Laplacian of c^2 w, w = v+_bar + dt u+_bar, and so w in five cells. A thread
// computes all five itself: that costs a few multiplications where a pass of its own would cost a trip to
// memory. Each thread writes only its own cell, so sums need no atomics and the result is the same on every
// run.
//
// Nothing here needs a GPU. The __global__ kernels: device_wave.h. Tests: tests/cuda/wave_field_test.cpp,
// device_wave_test.cu.
#pragma once

#include <cstdint>

#include "costate/grid/wave_cell.h"

namespace costate::cuda {

// nx * ny cells, x fastest, u = 0 outside.
template <class S>
struct WaveField {
  std::int64_t nx = 0, ny = 0;
  grid::WaveScale<S> scale{};
  const S* speed = nullptr;

  COSTATE_HD COSTATE_INLINE std::int64_t cells() const { return nx * ny; }

  // f at a cell and its neighbours; f is asked only for cells of the grid.
  template <class F>
  COSTATE_HD COSTATE_INLINE grid::Stencil<S> stencil(std::int64_t cell, const F& f) const {
    const std::int64_t i = cell % nx, j = cell / nx;
    return {f(cell), i > 0 ? f(cell - 1) : S(0), i + 1 < nx ? f(cell + 1) : S(0), j > 0 ? f(cell - nx) : S(0),
            j + 1 < ny ? f(cell + nx) : S(0)};
  }
};

// State x and y: u in all cells, then v in all cells.
template <class S>
COSTATE_HD inline void step_wave_cell(const WaveField<S>& field, std::int64_t cell, const S* x, S* y) {
  const auto u = field.stencil(cell, [x](std::int64_t c) { return x[c]; });
  const grid::WavePoint<S> next = grid::wave_cell(field.scale, u, x[field.cells() + cell], field.speed[cell]);
  y[cell] = next.u;
  y[field.cells() + cell] = next.v;
}

// Writes x_bar, adds to speed_bar.
template <class S>
COSTATE_HD inline void transpose_wave_cell(const WaveField<S>& field, std::int64_t cell, const S* x,
                                           const S* y_bar, S* x_bar, S* speed_bar) {
  const std::int64_t n = field.cells();
  const S dt = field.scale.dt;
  const S* speed = field.speed;
  const auto w = [y_bar, n, dt](std::int64_t c) { return y_bar[n + c] + dt * y_bar[c]; };
  const auto flux = field.stencil(cell, [w, speed](std::int64_t c) { return speed[c] * speed[c] * w(c); });
  const auto u = field.stencil(cell, [x](std::int64_t c) { return x[c]; });
  const grid::WaveCotangent<S> bar =
      grid::wave_cell_vjp(field.scale, y_bar[cell], w(cell), flux, u, speed[cell]);
  x_bar[cell] = bar.u;
  x_bar[n + cell] = bar.v;
  speed_bar[cell] += bar.speed;
}

}  // namespace costate::cuda
