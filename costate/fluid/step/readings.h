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
  void write(PackedOut<Real> y) const {
    for (const FlowModel::ProbeModel& probe : model.probes) {
      Index at = probe.state_at;
      each_field(probe, [&](int component, const Plane<Real>& field, const Plane<Real>&) {
        One value = place(component, probe.place).value(field);
        if (probe.minus) value = value - place(component, *probe.minus).value(field);
        set(y, at++, value);
      });
    }
    if (model.dissipation >= 0) set(y, model.dissipation, One(Real(volume())) * power());
    for (std::size_t s = 0; s < model.scalars.size(); ++s) {
      if (model.scalars[s].mix_norm < 0) continue;
      set(y, model.scalars[s].mix_norm, One(Real(-volume())) * mixed(s));
    }
  }

  // Given y_bar; adds to out_bar of the speeds and the scalars, and to pressure_bar.
  void transpose(Packed<Real> y_bar, bool viscosity) const {
    for (const FlowModel::ProbeModel& probe : model.probes) {
      Index at = probe.state_at;
      each_field(probe, [&](int component, const Plane<Real>& field, const Plane<Real>& field_bar) {
        const One bar = read_number<S>(y_bar, at++);
        std::array<One, Dim> fixed;  // places are no inputs
        fixed.fill(One(0));
        place(component, probe.place).value_vjp(field, bar, field_bar, fixed);
        if (probe.minus) place(component, *probe.minus).value_vjp(field, -bar, field_bar, fixed);
      });
    }
    if (model.dissipation >= 0)
      transpose_power(One(Real(volume())) * read_number<S>(y_bar, model.dissipation), viscosity);
    for (std::size_t s = 0; s < model.scalars.size(); ++s) {
      if (model.scalars[s].mix_norm < 0) continue;
      const S bar =
          everywhere<S>(One(Real(-2 * volume())) * read_number<S>(y_bar, model.scalars[s].mix_norm));
      solve(s);
      const Plane<Real>& to = work.scalars[s].out_bar;
      each_pack<S>(shape, shape.all_cells(), [&](Index at, Index count) {
        store<S>(to, at, load<S>(to, at) + size(at) * (bar * load<S>(work.reading, at)), count);
      });
    }
  }

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
  void transpose_power(const One& bar, bool viscosity) const {
    const Flux of = stress();
    const S inside = everywhere<S>(bar);
    clear<S>(shape, work.reading);
    each_pack<S>(shape, shape.all_cells(),
                 [&](Index at, Index count) { store<S>(work.reading, at, size(at) * inside, count); });
    model.sides.template wrap<One>(work.reading, -1);
    const auto share = [&](Index at) { return load<S>(work.reading, at); };
    const auto edge_share = [&](int a, int b, Index e) {
      const Index i = of.s(a), j = of.s(b);
      return Real(0.25) * ((share(e) + share(e - i)) + (share(e - j) + share(e - i - j)));
    };
    for (int a = 0; a < Dim; ++a)
      each_pack<S>(shape, shape.widened(shape.faces(a)), [&](Index at, Index count) {
        const Index below = at - of.s(a);
        const auto normal = [&](Index cell) {
          return of.per.cell(a, cell) * (of.viscosity(cell) * of.stretch(a, cell) * share(cell));
        };
        S sum = Real(4) * (normal(below) - normal(at));
        for (int b = 0; b < Dim; ++b) {
          if (b == a) continue;
          const auto tangential = [&](Index e) {
            return of.per.face(b, e) * (of.viscosity(a, b, e) * of.shear(a, b, e) * edge_share(a, b, e));
          };
          sum = sum + Real(2) * (tangential(at) - tangential(at + of.s(b)));
        }
        const Plane<Real>& to = work.out_bar[std::size_t(a)];
        store<S>(to, at, load<S>(to, at) + sum, count);
      });
    if (!viscosity) return;
    const auto add = [&](const Plane<Real>& to, Index at, const S& x, Index count) {
      store<S>(to, at, load<S>(to, at) + x, count);
    };
    each_pack<S>(shape, shape.all_cells(), [&](Index at, Index count) {
      S sum(Real(0));
      for (int a = 0; a < Dim; ++a) {
        const S d = of.stretch(a, at);
        sum = sum + Real(2) * d * d;
      }
      add(work.viscosity_bar, at, share(at) * sum, count);
    });
    for (int a = 0; a < Dim; ++a)
      for (int b = a + 1; b < Dim; ++b) {
        Box edges = shape.faces(a);
        edges.hi[std::size_t(b)] = shape.faces(b).hi[std::size_t(b)];
        each_pack<S>(shape, edges, [&](Index at, Index count) {
          const S d = of.shear(a, b, at);
          add(work.edges_bar[std::size_t(edge(a, b))], at, edge_share(a, b, at) * d * d, count);
        });
      }
  }

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
