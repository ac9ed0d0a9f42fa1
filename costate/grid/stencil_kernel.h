// A cell kernel: what an explicit scheme on a grid does in one cell, and its transpose. StencilSystem makes a
// System of it.
//
//   y(c) = step(x(c + d), p(c + d), theta)     |d| <= halo; x state planes, p parameters per
//                                              cell, theta parameters of all cells
//
// A kernel is a struct of templates on the scalar S: packs of cells on the CPU, Dual of packs for tangents
// and second order, float and double on a GPU.
//
//   struct Kernel {
//     static constexpr int fields;         // planes of state
//     static constexpr int coefficients;   // planes of parameters
//     static constexpr int constants;      // parameters that all cells share
//     static constexpr int tapes;          // numbers per cell that the transpose needs of the state;
//                                          // 0: it reads the state
//     static constexpr int tape_fields;    // where tapes > 0: how many of the first planes tape() reads
//     static constexpr int drives;         // numbers per cell whose neighbours the transpose reads; 0: none
//     static constexpr int halo;           // how far a cell sees
//     template <class S> struct Scale;     // what a step makes of its constants, once for all cells
//
//     template <class S> Scale<S> scale(const Vec<S, constants>&) const;
//     template <class S, class At> Vec<S, tapes>  tape(const Scale<S>&, const At&) const;
//     template <class S, class At> Vec<S, fields> step(const Scale<S>&, const At&,
//                                                      const Vec<S, tapes>&) const;
//     template <class S, class At> Vec<S, drives> drive(const Scale<S>&, const At&) const;
//     template <class S, class At> CellCotangent<S, Kernel> step_vjp(const Scale<S>&, const At&,
//                                                                    const Vec<S, tapes>&) const;
//     ...                                  // optional parts, below
//   };
//
// What a cell sees goes through At: at.x(field, di, dj), at.p(plane, di, dj), and in the transpose also
// at.y_bar(field, di, dj) and at.drive(number, di, dj); di and dj default to 0. Fields may lie on faces, as
// on a staggered grid: at.open(axis, di, dj) is 1 where the west (axis 0) or south (axis 1) face of a cell
// lies between two cells of the grid, and 0 on a wall. A step of several sweeps, each of which reads what the
// one before has made of the neighbours, is one kernel: a cell makes again what it needs of them, as
// shallow_water_kernel.h does with the speeds of its four faces.
//
// The transpose gathers: x_bar(c) = sum_d (dy(c - d) / dx(c))' y_bar(c - d). What several neighbours would
// compute again is a `drive`: a function of y_bar and p of one cell, linear in y_bar. A kernel with drives
// reads y_bar of its own cell alone, so that all steps of a sweep update it in one place. The tape is what
// the transpose reads of the state of its own cell. It lets a rollout keep `tapes` numbers per cell instead
// of `fields`; with a constant's cotangent wanted, states are kept. A term of step_vjp that reads the tape
// has the factor y_bar of its own cell.
//
// Optional parts:
//
//   source(k, control, y)                  what a control does to the new state y of its cell; its transpose
//   source_vjp(k, control, y_bar, constants_bar) -> control_bar
//   step_back(k, at) -> x                  the inverse step, at.x being the new state; with sources also
//                                          source_back(k, control, x)
//   energy(k, at) -> S                     of one cell; conserves_energy() -> bool says whether the sum is
//                                          reported
//   periodic(axis) -> bool                 axis 0 is x, 1 is y
//   outside(k, side, field) -> Outside     state beyond a side that is not periodic; its transpose
//   outside_vjp(k, side, field, offset_bar, constants_bar)
//   check(p, cells)                        throws an Error for parameters with which no step makes sense
//
// Without `outside` everything beyond the sides is zero. With it, the coefficients there are those of the
// cells inside, and tapes = 0. Implementations: wave_kernel.h, heat_kernel.h, shallow_water_kernel.h. Tests:
// tests/grid/stencil_system_test.cpp.
#pragma once

#include "costate/core/vec.h"

namespace costate::grid {

enum Side { kWest, kEast, kSouth, kNorth };  // x = 0, x = nx, y = 0, y = ny

// The value of a cell beyond a side: slope times the value of its mirror image inside, plus offset. A fixed
// value on the side itself is {-1, 2 value}; a fixed gradient g along the outward normal is {1, g dx}.
template <class S>
struct Outside {
  S slope, offset;
};

template <class S, class Kernel>
struct CellCotangent {
  Vec<S, Kernel::fields> x;
  Vec<S, Kernel::coefficients> coefficients;
  Vec<S, Kernel::constants> constants;
};

namespace stencil {

template <class K>
using Scale = typename K::template Scale<double>;
template <class K>
using State = Vec<double, K::fields>;

template <class K>
concept HasSources = requires(const K& kernel, const Scale<K>& k, State<K>& y) {
  kernel.source(k, 0.0, y);
};
template <class K>
concept HasOutside = requires(const K& kernel, const Scale<K>& k) {
  kernel.outside(k, kWest, 0);
};
template <class K>
concept HasPeriodic = requires(const K& kernel) {
  kernel.periodic(0);
};
template <class K>
concept HasCheck = requires(const K& kernel, const double* p) {
  kernel.check(p, std::int64_t(1));
};
// Views of a cell are templates, so the other optional parts are asked with this one.
struct AnyCell {
  double x(int, int = 0, int = 0) const;
  double p(int, int = 0, int = 0) const;
  double open(int, int = 0, int = 0) const;
};
template <class K>
concept Reversible = requires(const K& kernel, const Scale<K>& k, const AnyCell& at) {
  kernel.step_back(k, at);
};
template <class K>
concept HasEnergy = requires(const K& kernel, const Scale<K>& k, const AnyCell& at) {
  kernel.energy(k, at);
};

template <class K>
bool conserves_energy(const K& kernel) {
  if constexpr (HasEnergy<K>)
    return kernel.conserves_energy();
  else
    return false;
}
template <class K>
bool periodic(const K& kernel, int axis) {
  if constexpr (HasPeriodic<K>)
    return kernel.periodic(axis);
  else
    return false;
}

}  // namespace stencil

// The cell and its four neighbours, added up: ((west + east) + (south + north)) - 4 centre.
template <class S, class F>
COSTATE_HD COSTATE_INLINE S laplacian(const F& f) {
  return ((f(-1, 0) + f(1, 0)) + (f(0, -1) + f(0, 1))) - S(4) * f(0, 0);
}

}  // namespace costate::grid
