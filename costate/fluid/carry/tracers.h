// Points that the flow carries along and that do not act on it, and their transpose.
//
//   dy/dt = U(y)        U_c(y) between the numbers of component c, linear along each axis (grid/lookup.h)
//
// in the stages of the step, each with the speeds that the stage begins with:
//
//   next = kept x + share (y + dt U(y))
//
//   transpose        x_bar += kept next_bar        y_bar = share (next_bar + dt dU/dy' next_bar)
//                    u_c_bar += share dt dU_c/du_c' next_bar_c        dt_bar += share <U, next_bar>
//
// Along an axis that wraps a point goes on beyond the box. Across a wall the speed is that of the wall, and
// through an open side points leave with the speed there. Cotangents of speeds are scattered to, in the
// order of the points, by one thread.
// Tests: tests/fluid/tracer_test.cpp, tests/contract.
#pragma once

#include "costate/fluid/grid/lookup.h"
#include "costate/fluid/step/flow_inputs.h"

namespace costate::fluid {

template <class S, int Dim>
struct CarriedPoints {
  using Real = value_t<S>;
  using One = Single<S>;

  const FlowModel& model;
  FlowScratch<Real>& work;
  const Shape& shape = model.sides.shape;

  Index numbers() const { return model.tracers * Dim; }

  // --- in and out ------------------------------------------------------------------------------------------

  void read(Packed<Real> from, const Plane<Real>& to) const;
  void write(const Plane<Real>& from, PackedOut<Real> to) const;
  void clear(const Plane<Real>& of) const;
  // The cotangents of where they begin.
  void write_start(PackedOut<Real> x_bar) const;
  const Plane<Real>& current(int stage) const {
    return stage == 0 ? work.tracers.x : work.tracers.stage[stage - 1];
  }
  const Plane<Real>& made(int stage) const {
    return stage + 1 == model.stages() ? work.tracers.star : work.tracers.stage[stage];
  }

  // --- a stage ---------------------------------------------------------------------------------------------

  void apply(FlowModel::Weights w, int stage, const Speeds<Real>& u, const One& dt) const;
  // From out_bar, in place, to the cotangents of the places that the stage begins with; adds to x_bar, to
  // those of the speeds, and to dt_bar.
  void transpose(FlowModel::Weights w, int stage, const Speeds<Real>& u, const One& dt,
                 const Speeds<Real>& u_bar, One& dt_bar) const;

 private:
  static One read_or_zero(Packed<Real> from, Index at) {
    if (!from.value) return One(0);
    return read_number<S>(from, at);
  }
  Lookup<One, Dim> lookup(int c, Index point, const Plane<Real>& y) const {
    std::array<One, Dim> place;
    for (int a = 0; a < Dim; ++a) place[std::size_t(a)] = load<One>(y, point * Dim + a);
    return {shape, c, place};
  }
};

}  // namespace costate::fluid
