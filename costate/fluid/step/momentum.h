// One stage before its projection, and its transpose:
//
//   star = kept x + share (u + dt (F(u) + f))             on free faces; f: force and push
//   `Traced` (carry/trace.h): star = traced u + dt (F(u) + f); F is viscosity alone, and scalars push with
//   what they have become
//   `limited` (carry/limited.h): F carries speeds by limited upwind fluxes instead of central ones
//   with obstacles (resistance.h) that over 1 + s kappa, after adding s kappa u_body; s = share dt
//   with implicit viscosity (implicit.h) that without the division: the next stage of the step solves
//
//   x_bar += kept star_bar      u_bar = share (star_bar + dt F'(u) star_bar)
//   f_bar += share dt star_bar  dt_bar += share <F(u) + f, star_bar>
//
// u_bar is written on faces inside and one beyond each side (sides.h folds it back). star_bar is zero on
// faces that are not free, and wrapped. Sums over the grid are added row by row, in the order of the rows.
#pragma once

#include "costate/fluid/carry/limited.h"
#include "costate/fluid/scalars/scalars.h"
#include "costate/fluid/step/eddies.h"
#include "costate/fluid/step/flow_scratch.h"
#include "costate/fluid/step/row_sums.h"
#include "costate/fluid/step/stress.h"

namespace costate::fluid {

template <class S, int Dim, Carry How>
struct Momentum {
  static constexpr bool Traced = How == Carry::traced, Stretched = How == Carry::stretched,
                        Central = How == Carry::central || Stretched;
  using Flux = Stress<S, Dim, Central, Stretched>;
  using FluxTranspose = StressTranspose<S, Dim, Central, Stretched>;
  using Real = value_t<S>;
  using One = Single<S>;
  const FlowModel& model;
  FlowScratch<Real>& work;
  One dt;
  std::array<One, 3> force;
  Scalars<S, Dim, How> scalars;
  Eddies<S, Dim, How> eddies;
  const Shape& shape = model.sides.shape;

  Flux stress(const Speeds<Real>& u) const {
    if (model.eddies) return {shape, {shape, work}, u, work.eddy, work.eddy_edges, false};
    return {shape, {shape, work}, u, work.viscosity, work.edges, work.uniform_viscosity};
  }

  // F + f on a face, for the scalars of a stage.
  COSTATE_INLINE S rate(const Flux& of, int stage, int c, Index at) const {
    const auto a = std::size_t(c);
    S sum = of.force(c, at) + everywhere<S>(force[a]);
    if constexpr (How == Carry::limited) sum = sum + Limited<S, Dim>(shape, of.u, of.u[a], c).rate(at);
    if (model.push >= 0) sum = sum + load<S>(work.push[a], at);
    for (std::size_t s = 0; s < work.scalars.size(); ++s) {
      const Plane<Real>& carried = Traced ? scalars.made(s, stage) : scalars.current(s, stage);
      sum = sum + everywhere<S>(One(Real(0.5)) * scalars.buoyancy(s, a)) *
                      (load<S>(carried, at) + load<S>(carried, at - shape.stride[a]));
    }
    return sum;
  }

  void apply(FlowModel::Weights w, int stage, const Speeds<Real>& u) const {
    const Flux of = stress(u);
    const S step = everywhere<S>(One(Real(w.share)) * dt);
    const auto star_at = [&](int c, Index at) {
      const auto a = std::size_t(c);
      S star = Real(w.share) * load<S>(Traced ? work.star[a] : u[a], at) + step * rate(of, stage, c, at);
      if (w.kept != 0) star = star + Real(w.kept) * load<S>(work.x[a], at);
      if (!work.mask.empty()) {
        star = star + step * load<S>(work.carried[a], at);
        if (!model.implicit) star = star / (S(Real(1)) + step * resistance(a, at));
      }
      return star;
    };
    // All components of a cell before any is stored: they share what flows across edges. Faces with given
    // speeds come along, and are set afterwards.
    each_pack<S>(shape, shape.all_cells(), [&](Index at, Index count) {
      std::array<S, Dim> star;
      for (int c = 0; c < Dim; ++c) star[std::size_t(c)] = star_at(c, at);
      for (int c = 0; c < Dim; ++c) store<S>(work.star[std::size_t(c)], at, star[std::size_t(c)], count);
    });
    for (int c = 0; c < Dim; ++c) {
      if (!model.sides.open(c, 1)) continue;
      Box last = model.sides.free_faces(c);
      last.lo[std::size_t(c)] = last.hi[std::size_t(c)] - 1;
      each_pack<S>(shape, last, [&](Index at, Index count) {
        store<S>(work.star[std::size_t(c)], at, star_at(c, at), count);
      });
    }
  }

  // The obstacles' part, in place, in two steps: what bodies felt, then from star_bar to the cotangent of
  // what it was made of.
  void transpose_forces(FlowModel::Weights w) const {
    for (std::size_t b = 0; b < work.mask.size(); ++b) {
      if (!work.feels[b]) continue;
      for (int c = 0; c < Dim; ++c) {
        const auto a = std::size_t(c);
        each_pack<S>(shape, model.sides.free_faces(c), [&](Index at, Index count) {
          store<S>(work.star_bar[a], at,
                   load<S>(work.star_bar[a], at) +
                       Real(w.mean) * load<S>(work.felt[b][a], at) * load<S>(work.mask[b][a], at),
                   count);
        });
      }
    }
  }
  void transpose_resistance(FlowModel::Weights w) const {
    if (model.implicit) return;
    const S step = everywhere<S>(One(Real(w.share)) * dt);
    for (int c = 0; c < Dim; ++c) {
      const auto a = std::size_t(c);
      each_pack<S>(shape, model.sides.free_faces(c), [&](Index at, Index count) {
        store<S>(work.star_bar[a], at,
                 load<S>(work.star_bar[a], at) / (S(Real(1)) + step * resistance(a, at)), count);
      });
    }
  }
  // What resistances and bodies get, and dt through them.
  void transpose_bodies(FlowModel::Weights w, int stage, const Speeds<Real>& u, One& dt_bar) const {
    const Flux of = stress(u);
    const S step = everywhere<S>(One(Real(w.share)) * dt);
    for (int c = 0; c < Dim; ++c) {
      const auto a = std::size_t(c);
      const auto sums =
          sum_packs<S, 1>(shape, model.sides.free_faces(c), work.sums, [&](Index at, Index count) {
            const S bar = load<S>(work.star_bar[a], at), resist = resistance(a, at),
                    carried = load<S>(work.carried[a], at);
            const S pre = Real(w.share) * load<S>(Traced ? work.star[a] : u[a], at) +
                          Real(w.kept) * load<S>(work.x[a], at);
            const S star = model.implicit ? load<S>(work.star[a], at)
                                          : (pre + step * (rate(of, stage, c, at) + carried)) /
                                                (S(Real(1)) + step * resist);
            const auto add = [&](const Speeds<Real>& to, const S& x) {
              store<S>(to[a], at, load<S>(to[a], at) + x, count);
            };
            add(work.resist_bar, -(step * star * bar));
            add(work.carried_bar, step * bar);
            add(work.mean_star, Real(w.mean) * star);
            return std::array<S, 1>{bar * (carried - resist * star)};
          });
      dt_bar = dt_bar + One(Real(w.share)) * sums[0];
    }
  }

  void transpose(FlowModel::Weights w, int stage, const Speeds<Real>& u) const {
    const Flux of = stress(u);
    const FluxTranspose back{of, work.star_bar};
    const S step = everywhere<S>(One(Real(w.share)) * dt);
    const auto update = [&](int c, Index at, Index count) {
      const auto a = std::size_t(c);
      const S bar = load<S>(work.star_bar[a], at);
      if (w.kept != 0) store<S>(work.x_bar[a], at, load<S>(work.x_bar[a], at) + Real(w.kept) * bar, count);
      if (model.push >= 0) store<S>(work.push_bar[a], at, load<S>(work.push_bar[a], at) + step * bar, count);
      S out = step * back.speed_bar(c, at);
      if constexpr (How == Carry::limited) out = out + step * carrying_bar(u, c, at);
      if (!Traced) out = Real(w.share) * bar + out;
      for (std::size_t s = 0; s < work.scalars.size(); ++s)
        out = out + scalars.transport(s, u, stage).speed_bar(work.scalars[s].rate_bar, a, at);
      store<S>(work.out_bar[a], at, out, count);
    };
    each_component([&](int a) { return shape.widened(shape.faces(a)); }, update);
  }

  // dt_bar += share <F + f, star_bar> and force_bar += share dt <1, star_bar>.
  void transpose_sums(FlowModel::Weights w, int stage, const Speeds<Real>& u, One& dt_bar,
                      std::array<One, 3>& force_bar) const {
    const Flux of = stress(u);
    const One share(Real(w.share));
    for (int c = 0; c < Dim; ++c) {
      const auto a = std::size_t(c);
      const auto sums = sum_packs<S, 2>(shape, model.sides.free_faces(c), work.sums, [&](Index at, Index) {
        const S bar = load<S>(work.star_bar[a], at);
        return std::array<S, 2>{bar * rate(of, stage, c, at), bar};
      });
      dt_bar = dt_bar + share * sums[0];
      force_bar[a] = force_bar[a] + share * dt * sums[1];
    }
  }

  // viscosity_bar and edges_bar += dt share T_bar dT/dnu.
  void transpose_viscosity(FlowModel::Weights w, const Speeds<Real>& u) const {
    const Flux of = stress(u);
    const FluxTranspose back{of, work.star_bar};
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
  // Component c is carried, and carries all of them.
  COSTATE_INLINE S carrying_bar(const Speeds<Real>& u, int c, Index at) const {
    const auto of = [&](int k) { return Limited<S, Dim>(shape, u, u[std::size_t(k)], k); };
    S sum = of(c).carried_bar(work.star_bar[std::size_t(c)], at);
    for (int k = 0; k < Dim; ++k) sum = sum + of(k).speed_bar(work.star_bar[std::size_t(k)], c, at);
    return sum;
  }
  COSTATE_INLINE S resistance(std::size_t a, Index at) const {
    S sum = load<S>(work.mask[0][a], at);
    for (std::size_t b = 1; b < work.mask.size(); ++b) sum = sum + load<S>(work.mask[b][a], at);
    return sum;
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
