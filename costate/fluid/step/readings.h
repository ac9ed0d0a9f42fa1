// What a state says about the flow besides its fields, at the end of a step, and its transpose.
//
//   probes        the velocity, every scalar and the pressure at a place (or how much they differ from those
//   at
//                 another one: a pressure drop), linear between the numbers around (grid/lookup.h)
//   dissipation   V sum_cells (2 nu sum_a (d_a u_a)^2 + sum_(a<b) the mean over four edges of
//                 nu (d_b u_a + d_a u_b)^2): what the kinetic energy loses by `viscosity`, over density
//   mix-norm      m = <c - mean, (-D G)^-1 (c - mean)> V, the square of the norm H^-1 of a scalar [1]:
//   streaks
//                 count less, the finer they are. One pressure equation.
//
//   transpose     u_bar, c_bar, p_bar and viscosity_bar get what they caused: bar dr/du, 2 bar (-D G)^-1 c V
//
// Nothing reads these numbers back. [1] Thiffeault, Nonlinearity 25 (2012), eq. 2.9 for s = 1.
// Tests: tests/fluid/readings_test.cpp.
#pragma once

#include "costate/fluid/grid/lookup.h"
#include "costate/fluid/pressure/pressure_solver.h"
#include "costate/fluid/step/flow_inputs.h"
#include "costate/fluid/step/row_sums.h"
#include "costate/fluid/step/stress.h"

namespace costate::fluid {

template <class S, int Dim, bool Stretched>
struct Readings {
  using Real = value_t<S>;
  using One = Single<S>;
  using Flux = Stress<S, Dim, false, Stretched>;
  const FlowModel& model;
  FlowScratch<Real>& work;
  const PressureSolver<Real>& solver;
  const Shape& shape = model.sides.shape;

  // Of the fields at the end of a step: work.star with what lies beyond the sides, and work.pressure.
  void write(PackedOut<Real> y) const;

  // Given y_bar; adds to out_bar of the speeds and the scalars, and to pressure_bar.
  void transpose(Packed<Real> y_bar, bool viscosity) const;

 private:
  static void set(PackedOut<Real> y, Index at, const One& x) {
    if constexpr (kIsDual<S>) {
      y.value[at] = x.v;
      if (y.tangent) y.tangent[at] = x.d[0];
    } else {
      y.value[at] = x;
    }
  }
  double volume() const { return shape.h[0] * shape.h[1] * (Dim == 3 ? shape.h[2] : 1.0); }
  // Of a cell, in units of that volume.
  COSTATE_INLINE auto size(Index at) const {
    if constexpr (Stretched)
      return work.metric.template cell_size<NativePack<Real>>(shape, at);
    else
      return Real(1);
  }
  Lookup<One, Dim> place(int component, const std::array<double, 3>& at) const {
    std::array<One, Dim> y;
    for (std::size_t a = 0; a < Dim; ++a) y[a] = One(Real(at[a]));
    return {shape, component, y};
  }
  // f(component, field, its cotangent) in the order of a probe's numbers.
  template <class F>
  void each_field(const FlowModel::ProbeModel&, const F& f) const {
    for (int c = 0; c < Dim; ++c) f(c, work.star[std::size_t(c)], work.out_bar[std::size_t(c)]);
    for (const auto& scalar : work.scalars) f(-1, scalar.star, scalar.out_bar);
    if (model.pressure >= 0) f(-1, work.pressure, work.pressure_bar);
  }

  // --- dissipation -----------------------------------------------------------------------------------------

  Flux stress() const { return {shape, {shape, work}, work.star, work.viscosity, work.edges, false}; }
  One power() const {
    const Flux of = stress();
    return sum_packs<S, 1>(shape, shape.all_cells(), work.sums, [&](Index at, Index) {
      S sum(Real(0));
      for (int a = 0; a < Dim; ++a) {
        const S d = of.stretch(a, at);
        sum = sum + Real(2) * of.viscosity(at) * d * d;
      }
      for (int a = 0; a < Dim; ++a)
        for (int b = a + 1; b < Dim; ++b) {
          const auto heat = [&](Index e) {
            const S d = of.shear(a, b, e);
            return of.viscosity(a, b, e) * d * d;
          };
          const Index i = of.s(a), j = of.s(b);
          sum = sum + Real(0.25) * ((heat(at) + heat(at + i)) + (heat(at + j) + heat(at + i + j)));
        }
      return std::array<S, 1>{size(at) * sum};
    })[0];
  }
  // work.reading holds the cotangent of every cell's share: nothing beyond.
  void transpose_power(const One& bar, bool viscosity) const;

  // --- mix-norm --------------------------------------------------------------------------------------------

  // work.reading = (D G)^-1 (c - mean)
  void solve(std::size_t s) const {
    const Plane<Real>& c = work.scalars[s].star;
    each_pack<S>(shape, shape.all_cells(),
                 [&](Index at, Index count) { store<S>(work.reading, at, load<S>(c, at), count); });
    solver.solve(work.reading.value, work.solver);
    if constexpr (kIsDual<S>) solver.solve(work.reading.tangent, work.solver);
  }
  One mixed(std::size_t s) const {
    solve(s);
    return sum_packs<S, 1>(shape, shape.all_cells(), work.sums, [&](Index at, Index) {
      return std::array<S, 1>{size(at) * (load<S>(work.scalars[s].star, at) * load<S>(work.reading, at))};
    })[0];
  }
};

}  // namespace costate::fluid
