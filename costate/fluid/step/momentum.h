// One stage before its projection, and its transpose:
//
//   star = kept x + share (u + dt (F(u) + f))             on free faces; f: force and push
//
//   x_bar += kept star_bar      u_bar = share (star_bar + dt F'(u) star_bar)
//   f_bar += share dt star_bar  dt_bar += share <F(u) + f, star_bar>
//
// u_bar is written on faces inside and one beyond each side (sides.h folds it back). star_bar is zero on
// faces that are not free, and wrapped. Sums over the grid are added row by row, in the order of the rows.
#pragma once

#include "costate/fluid/step/flow_scratch.h"
#include "costate/fluid/step/stress.h"

namespace costate::fluid {

template <class S>
COSTATE_INLINE S everywhere(const Single<S>& x) {
  if constexpr (kIsDual<S>) {
    using P = NativePack<value_t<S>>;
    return S(P(x.v), P(x.d[0]));
  } else {
    return S(x);
  }
}

template <class S, int Dim>
struct Momentum {
  using Real = value_t<S>;
  using One = Single<S>;
  const FlowModel& model;
  FlowScratch<Real>& work;
  One dt;
  std::array<One, 3> force;
  const Shape& shape = model.sides.shape;

  Stress<S, Dim> stress(const Speeds<Real>& u) const { return {shape, u, work.viscosity, work.edges}; }

  void apply(FlowModel::Weights w, const Speeds<Real>& u) const {
    const Stress<S, Dim> of = stress(u);
    const S step = everywhere<S>(One(Real(w.share)) * dt);
    std::array<S, 3> f;
    for (std::size_t a = 0; a < Dim; ++a) f[a] = everywhere<S>(force[a]);
    const auto update = [&](int c, Index at, Index count) {
      const auto a = std::size_t(c);
      S rate = of.force(c, at) + f[a];
      if (model.push >= 0) rate = rate + load<S>(work.push[a], at);
      S star = Real(w.share) * load<S>(u[a], at) + step * rate;
      if (w.kept != 0) star = star + Real(w.kept) * load<S>(work.x[a], at);
      store<S>(work.star[a], at, star, count);
    };
    each_component([&](int a) { return model.sides.free_faces(a); }, update);
  }

  void transpose(FlowModel::Weights w, const Speeds<Real>& u) const {
    const Stress<S, Dim> of = stress(u);
    const StressTranspose<S, Dim> back{of, work.star_bar};
    const S step = everywhere<S>(One(Real(w.share)) * dt);
    const auto update = [&](int c, Index at, Index count) {
      const auto a = std::size_t(c);
      const S bar = load<S>(work.star_bar[a], at);
      if (w.kept != 0) store<S>(work.x_bar[a], at, load<S>(work.x_bar[a], at) + Real(w.kept) * bar, count);
      if (model.push >= 0) store<S>(work.push_bar[a], at, load<S>(work.push_bar[a], at) + step * bar, count);
      store<S>(work.out_bar[a], at, Real(w.share) * bar + step * back.speed_bar(c, at), count);
    };
    each_component([&](int a) { return shape.widened(shape.faces(a)); }, update);
  }

  // dt_bar += share <F + f, star_bar> and force_bar += share dt <1, star_bar>.
  void transpose_sums(FlowModel::Weights w, const Speeds<Real>& u, One& dt_bar,
                      std::array<One, 3>& force_bar) const {
    const Stress<S, Dim> of = stress(u);
    for (int c = 0; c < Dim; ++c) {
      const auto a = std::size_t(c);
      const Box box = model.sides.free_faces(c);
      const S f = everywhere<S>(force[a]);
      each_row(shape, box, [&](Index row, Index begin) {
        std::array<double, 4> sum{};
        for (Index i = 0; i < box.width(); i += lanes_of<S>) {
          const Index at = begin + i;
          S rate = of.force(c, at) + f;
          if (model.push >= 0) rate = rate + load<S>(work.push[a], at);
          const S bar = load<S>(work.star_bar[a], at);
          add_lanes(bar * rate, box.width() - i, sum[0], sum[1]);
          add_lanes(bar, box.width() - i, sum[2], sum[3]);
        }
        std::copy(sum.begin(), sum.end(), work.sums.begin() + 4 * row);
      });
      std::array<double, 4> total{};
      for (Index row = 0; row < box.rows(); ++row)
        for (std::size_t m = 0; m < 4; ++m) total[m] += work.sums[std::size_t(4 * row) + m];
      const One share(Real(w.share));
      dt_bar = dt_bar + share * one(total[0], total[1]);
      force_bar[a] = force_bar[a] + share * dt * one(total[2], total[3]);
    }
  }

  // viscosity_bar and edges_bar += dt share T_bar dT/dnu.
  void transpose_viscosity(FlowModel::Weights w, const Speeds<Real>& u) const {
    const Stress<S, Dim> of = stress(u);
    const StressTranspose<S, Dim> back{of, work.star_bar};
    const S step = everywhere<S>(One(Real(w.share)) * dt);
    const auto add = [&](const Plane<Real>& to, Index at, const S& x, Index count) {
      store<S>(to, at, load<S>(to, at) + step * x, count);
    };
    Box box = shape.all_cells();
    for (int a = 0; a < Dim; ++a)
      if (model.sides.open(a, 1)) ++box.hi[std::size_t(a)];
    for (int a = 0; a < Dim; ++a)
      if (model.sides.open(a, 0)) --box.lo[std::size_t(a)];
    each_pack<S>(shape, box, [&](Index at, Index count) {
      add(work.viscosity_bar, at, back.cell_viscosity_bar(at), count);
    });
    for (int a = 0; a < Dim; ++a) {
      for (int b = a + 1; b < Dim; ++b) {
        Box edges = shape.faces(a);
        edges.hi[std::size_t(b)] = shape.faces(b).hi[std::size_t(b)];
        each_pack<S>(shape, edges, [&](Index at, Index count) {
          add(work.edges_bar[std::size_t(edge(a, b))], at, back.edge_viscosity_bar(a, b, at), count);
        });
      }
    }
  }

 private:
  static One one(double value, [[maybe_unused]] double tangent) {
    if constexpr (kIsDual<S>)
      return One(Real(value), Real(tangent));
    else
      return One(value);
  }
  static COSTATE_INLINE void add_lanes(const S& x, Index count, double& value,
                                       [[maybe_unused]] double& tangent) {
    const int lanes = int(std::min<Index>(count, lanes_of<S>));
    if constexpr (kIsDual<S>) {
      for (int l = 0; l < lanes; ++l) value += double(x.v[l]), tangent += double(x.d[0][l]);
    } else {
      for (int l = 0; l < lanes; ++l) value += double(x[l]);
    }
  }
  template <class BoxOf, class F>
  void each_component(const BoxOf& box_of, const F& f) const {
    const auto& wraps = shape.periodic;
    if (wraps[0] && wraps[1] && (Dim == 2 || wraps[2])) {  // one pass: edges are shared between components
      return each_pack<S>(shape, shape.all_cells(), [&](Index at, Index count) {
        for (int a = 0; a < Dim; ++a) f(a, at, count);
      });
    }
    for (int a = 0; a < Dim; ++a)
      each_pack<S>(shape, box_of(a), [&](Index at, Index count) { f(a, at, count); });
  }
};

}  // namespace costate::fluid
