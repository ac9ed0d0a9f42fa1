// What one thread of a GPU does for a cell kernel (grid/stencil_kernel.h): one cell, one step.
//
// A thread reads its neighbours from the state before the step and writes its own cell, so nothing has to be
// ordered and sums need no atomics: the result is the same on every run. The transpose gathers in the same
// way. What several neighbours would compute again (drives) each thread computes itself: that costs a few
// multiplications where a pass of its own would cost a trip to memory.
//
// Sides, as on the CPU (grid/stencil_sweep_adjoint.h): x beyond a side is slope * x inside + offset, first
// along x, then along y. With g the cotangent that the cell beyond would have,
//
//   x_bar inside += slope g       offset_bar += g       coefficient_bar inside += that of the cell beyond
//
// Nothing here needs a GPU. Who calls it: stencil_kernels.h. Tests: tests/cuda/device_grid_test.cpp.
#pragma once

#include <cstdint>

#include "costate/grid/stencil_kernel.h"

namespace costate::cuda {

// nx * ny cells, x fastest; fewer than 2^31.
template <class Kernel, class S>
struct StencilField {
  Kernel kernel{};
  int nx = 0, ny = 0;
  bool periodic_x = false, periodic_y = false;
  typename Kernel::template Scale<S> scale{};
  const S* coefficients = nullptr;  // planes of nx * ny numbers

  COSTATE_HD COSTATE_INLINE std::int64_t cells() const { return std::int64_t(nx) * ny; }
  COSTATE_HD COSTATE_INLINE bool in_x(int i) const { return unsigned(i) < unsigned(nx); }
  COSTATE_HD COSTATE_INLINE bool in_y(int j) const { return unsigned(j) < unsigned(ny); }
  COSTATE_HD COSTATE_INLINE int wrap_x(int i) const {
    return !periodic_x || in_x(i) ? i : i < 0 ? i + nx : i - nx;
  }
  COSTATE_HD COSTATE_INLINE int wrap_y(int j) const {
    return !periodic_y || in_y(j) ? j : j < 0 ? j + ny : j - ny;
  }
  // The cell whose mirror image lies at i, beyond a side of n cells.
  static COSTATE_HD COSTATE_INLINE int mirrored(int i, int n) {
    const int beyond = i < 0 ? -1 - i : i - n, m = beyond < Kernel::halo ? beyond : Kernel::halo - 1;
    return i < 0 ? m : n - 1 - m;
  }
};

// What a kernel sees of cell (i, j), which may itself lie beyond a side.
template <class Kernel, class S>
struct FieldAt {
  const StencilField<Kernel, S>& field;
  int i, j;
  const S *state, *cotangent;

  COSTATE_HD COSTATE_INLINE S plane(const S* planes, int number, int at_i, int at_j) const {
    return planes[number * field.cells() + std::int64_t(at_j) * field.nx + at_i];
  }
  COSTATE_HD COSTATE_INLINE S x(int f, int di = 0, int dj = 0) const {
    int a = field.wrap_x(i + di), b = field.wrap_y(j + dj);
    if (field.in_x(a) && field.in_y(b)) return plane(state, f, a, b);
    if constexpr (grid::stencil::HasOutside<Kernel>) {
      grid::Outside<S> along_x{S(1), S(0)}, along_y{S(1), S(0)};
      if (!field.in_x(a)) {
        along_x = field.kernel.outside(field.scale, a < 0 ? grid::kWest : grid::kEast, f);
        a = field.mirrored(a, field.nx);
      }
      if (!field.in_y(b)) {
        along_y = field.kernel.outside(field.scale, b < 0 ? grid::kSouth : grid::kNorth, f);
        b = field.mirrored(b, field.ny);
      }
      return along_y.slope * (along_x.slope * plane(state, f, a, b) + along_x.offset) + along_y.offset;
    } else {
      return S(0);
    }
  }
  COSTATE_HD COSTATE_INLINE S p(int c, int di = 0, int dj = 0) const {
    int a = field.wrap_x(i + di), b = field.wrap_y(j + dj);
    if (!field.in_x(a) || !field.in_y(b)) {
      if constexpr (!grid::stencil::HasOutside<Kernel>) return S(0);
      if (!field.in_x(a)) a = field.mirrored(a, field.nx);
      if (!field.in_y(b)) b = field.mirrored(b, field.ny);
    }
    return plane(field.coefficients, c, a, b);
  }
  COSTATE_HD COSTATE_INLINE S y_bar(int f, int di = 0, int dj = 0) const {
    const int a = field.wrap_x(i + di), b = field.wrap_y(j + dj);
    return field.in_x(a) && field.in_y(b) ? plane(cotangent, f, a, b) : S(0);
  }
  COSTATE_HD COSTATE_INLINE S drive(int d, int di = 0, int dj = 0) const {
    const int a = field.wrap_x(i + di), b = field.wrap_y(j + dj);
    if (!field.in_x(a) || !field.in_y(b)) return S(0);
    return field.kernel.drive(field.scale, FieldAt{field, a, b, state, cotangent})[d];
  }
  COSTATE_HD COSTATE_INLINE S open(int axis, int di = 0, int dj = 0) const {
    const int a = i + di, b = j + dj;
    const bool is =
        axis == 0 ? field.periodic_x || (a > 0 && a < field.nx) : field.periodic_y || (b > 0 && b < field.ny);
    return is ? S(1) : S(0);
  }
};

// The same for a cell that sees no side: nearly all of them, without a question per number.
template <class Kernel, class S>
struct InnerAt {
  const StencilField<Kernel, S>& field;
  std::int64_t cell;
  const S *state, *cotangent;

  COSTATE_HD COSTATE_INLINE S plane(const S* planes, int number, int di, int dj) const {
    return planes[number * field.cells() + cell + (dj * field.nx + di)];
  }
  COSTATE_HD COSTATE_INLINE S x(int f, int di = 0, int dj = 0) const { return plane(state, f, di, dj); }
  COSTATE_HD COSTATE_INLINE S p(int c, int di = 0, int dj = 0) const {
    return plane(field.coefficients, c, di, dj);
  }
  COSTATE_HD COSTATE_INLINE S y_bar(int f, int di = 0, int dj = 0) const {
    return plane(cotangent, f, di, dj);
  }
  COSTATE_HD COSTATE_INLINE S drive(int d, int di = 0, int dj = 0) const {
    return field.kernel.drive(field.scale, InnerAt{field, cell + (dj * field.nx + di), state, cotangent})[d];
  }
  COSTATE_HD COSTATE_INLINE S open(int, int = 0, int = 0) const { return S(1); }
};

template <class Kernel, class S>
COSTATE_HD COSTATE_INLINE FieldAt<Kernel, S> cell_at(const StencilField<Kernel, S>& field, std::int64_t cell,
                                                     const S* x, const S* y_bar) {
  const unsigned n = unsigned(cell), row = n / unsigned(field.nx);
  return {field, int(n - row * unsigned(field.nx)), int(row), x, y_bar};
}
template <class Kernel, class S>
COSTATE_HD COSTATE_INLINE bool sees_no_side(const FieldAt<Kernel, S>& at) {
  constexpr int kHalo = Kernel::halo;  // and no face of a side, which lies west or south of its cell
  return at.i > kHalo && at.i < at.field.nx - kHalo && at.j > kHalo && at.j < at.field.ny - kHalo;
}

// State x and y: plane after plane.
template <class Kernel, class S>
COSTATE_HD inline void step_cell(const StencilField<Kernel, S>& field, int i, int j, const S* x, S* y) {
  const std::int64_t cell = std::int64_t(j) * field.nx + i;
  const auto put = [&](const auto& at) {
    const auto next = field.kernel.step(field.scale, at, field.kernel.tape(field.scale, at));
    for (int f = 0; f < Kernel::fields; ++f) y[f * field.cells() + cell] = next[f];
  };
  const FieldAt<Kernel, S> at{field, i, j, x, x};
  if (sees_no_side(at))
    put(InnerAt<Kernel, S>{field, cell, x, x});
  else
    put(at);
}

// What the cell (gi, gj) beyond a side passes on to its mirror image.
template <class Kernel, class S>
COSTATE_HD inline void add_beyond(const FieldAt<Kernel, S>& inside, int gi, int gj,
                                  grid::CellCotangent<S, Kernel>& bar) {
  const auto& field = inside.field;
  const FieldAt<Kernel, S> ghost{field, gi, gj, inside.state, inside.cotangent};
  const auto g = field.kernel.step_vjp(field.scale, ghost, field.kernel.tape(field.scale, ghost));
  for (int f = 0; f < Kernel::fields; ++f) {
    S passed = g.x[f];
    if (!field.in_y(gj)) {
      const grid::Side side = gj < 0 ? grid::kSouth : grid::kNorth;
      field.kernel.outside_vjp(field.scale, side, f, passed, bar.constants);
      passed *= field.kernel.outside(field.scale, side, f).slope;
    }
    if (!field.in_x(gi)) {
      const grid::Side side = gi < 0 ? grid::kWest : grid::kEast;
      field.kernel.outside_vjp(field.scale, side, f, passed, bar.constants);
      passed *= field.kernel.outside(field.scale, side, f).slope;
    }
    bar.x[f] += passed;
  }
  bar.coefficients += g.coefficients;
}

// Writes x_bar, adds to the cotangents of coefficients and constants, which lie in planes of their own: one
// plane for each constant, to be summed over the cells. Null: not wanted.
template <class Kernel, class S>
COSTATE_HD inline void transpose_cell(const StencilField<Kernel, S>& field, int i, int j, const S* x,
                                      const S* y_bar, S* x_bar, S* coefficients_bar, S* constants_bar) {
  const std::int64_t cell = std::int64_t(j) * field.nx + i;
  const FieldAt<Kernel, S> at{field, i, j, x, y_bar};
  const bool inner = sees_no_side(at);
  const auto own = [&](const auto& seen) {
    return field.kernel.step_vjp(field.scale, seen, field.kernel.tape(field.scale, seen));
  };
  auto bar = inner ? own(InnerAt<Kernel, S>{field, cell, x, y_bar}) : own(at);
  if constexpr (grid::stencil::HasOutside<Kernel>) {
    constexpr int kFar = -Kernel::halo - 1;  // no such image
    const auto image = [](int of, int n, bool periodic) {
      if (periodic) return kFar;
      return of < Kernel::halo ? -1 - of : n - 1 - of < Kernel::halo ? 2 * n - 1 - of : kFar;
    };
    const int gi = inner ? kFar : image(at.i, field.nx, field.periodic_x),
              gj = inner ? kFar : image(at.j, field.ny, field.periodic_y);
    if (gi != kFar) add_beyond(at, gi, at.j, bar);
    if (gj != kFar) add_beyond(at, at.i, gj, bar);
    if (gi != kFar && gj != kFar) add_beyond(at, gi, gj, bar);
  }
  for (int f = 0; f < Kernel::fields; ++f) x_bar[f * field.cells() + cell] = bar.x[f];
  for (int c = 0; coefficients_bar != nullptr && c < Kernel::coefficients; ++c)
    coefficients_bar[c * field.cells() + cell] += bar.coefficients[c];
  for (int c = 0; constants_bar != nullptr && c < Kernel::constants; ++c)
    constants_bar[c * field.cells() + cell] += bar.constants[c];
}

}  // namespace costate::cuda
