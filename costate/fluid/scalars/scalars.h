// The stages of all scalars of a flow: as momentum.h does for speeds, without a projection. transport.h has
// the equations.
#pragma once

#include "costate/fluid/carry/trace.h"
#include "costate/fluid/scalars/reactions.h"
#include "costate/fluid/scalars/transport.h"
#include "costate/fluid/step/flow_inputs.h"
#include "costate/fluid/step/row_sums.h"

namespace costate::fluid {

// Where the speeds are traced back (carry/trace.h), scalars may be.
template <class S, int Dim, Carry How>
struct Scalars {
  static constexpr bool Traced = How == Carry::traced, Stretched = How == Carry::stretched;
  using Carrying = Transport<S, Dim, Stretched>;
  using Real = value_t<S>;
  using One = Single<S>;
  using Fields = typename FlowScratch<Real>::ScalarFields;
  const FlowModel& model;
  FlowScratch<Real>& work;
  Packed<Real> p;
  const Shape& shape = model.sides.shape;

  std::size_t count() const { return model.scalars.size(); }
  const Plane<Real>& current(std::size_t s, int stage) const {
    const Fields& f = work.scalars[s];
    return stage == 0 ? f.x : f.stage[stage - 1];
  }
  // What stage `stage` makes: the last one goes to `star`.
  const Plane<Real>& made(std::size_t s, int stage) const {
    const Fields& f = work.scalars[s];
    return stage + 1 == model.stages() ? f.star : f.stage[stage];
  }

  // --- inputs and sides ------------------------------------------------------------------------------------

  void read_parameters() const {
    for (std::size_t s = 0; s < count(); ++s) {
      const FlowModel::ScalarModel& m = model.scalars[s];
      read_field<S>(shape, shape.all_cells(), p + m.source_at, work.scalars[s].source);
      for (const auto& g : m.given)
        for (Index i = 0; i < g.count; ++i)
          store<One>(work.scalars[s].side[std::size_t(g.side)], i, read_number<S>(p, g.offset + i));
    }
  }
  // The cotangents of what read_parameters reads, and of diffusivity and buoyancy.
  void write_parameters(PackedOut<Real> p_bar) const {
    for (std::size_t s = 0; s < count(); ++s) {
      const FlowModel::ScalarModel& m = model.scalars[s];
      const One* bars = work.template numbers_bar<One>(s);
      add_number<S>(p_bar, m.diffusivity_at, bars[0]);
      for (Index a = 0; a < Dim; ++a) add_number<S>(p_bar, m.buoyancy_at + a, bars[1 + a]);
      write_field<S>(shape, shape.all_cells(), work.scalars[s].source_bar, p_bar + m.source_at, true);
      for (const auto& g : m.given)
        for (Index i = 0; i < g.count; ++i)
          add_number<S>(p_bar, g.offset + i, load<One>(work.scalars[s].side_bar[std::size_t(g.side)], i));
    }
    for (std::size_t j = 0; j < model.reactions.size(); ++j)
      add_number<S>(p_bar, model.reactions[j].rate_at, work.template reactions_bar<One>()[j]);
  }
  void read_state(Packed<Real> x) const {
    for (std::size_t s = 0; s < count(); ++s) {
      read_field<S>(shape, shape.all_cells(), x + model.scalars[s].state_at, work.scalars[s].x);
      set_sides(s, work.scalars[s].x);
    }
  }
  void set_sides(std::size_t s, const Plane<Real>& c) const {
    each_side(s, [&](Index out, Index in, Index face, const Plane<Real>* given, const Plane<Real>*) {
      const One inside = load<One>(c, in);
      store<One>(c, out, given ? One(2) * load<One>(*given, face) - inside : inside);
    });
    model.sides.template carry_on<One>(c, -1);
    model.sides.template wrap<One>(c, -1);
  }
  void set_sides_vjp(std::size_t s, const Plane<Real>& c_bar) const {
    model.sides.template carry_on_vjp<One>(c_bar, -1);
    each_side(s,
              [&](Index out, Index in, Index face, const Plane<Real>* given, const Plane<Real>* given_bar) {
                const One beyond = load<One>(c_bar, out), inside = load<One>(c_bar, in);
                store<One>(c_bar, in, given ? inside - beyond : inside + beyond);
                store<One>(c_bar, out, One(0));
                if (given) store<One>(*given_bar, face, load<One>(*given_bar, face) + One(2) * beyond);
              });
  }

  // --- a stage ---------------------------------------------------------------------------------------------

  Carrying transport(std::size_t s, const Speeds<Real>& u, int stage) const {
    return {shape,
            {shape, work},
            u,
            current(s, stage),
            everywhere<S>(read_number<S>(p, model.scalars[s].diffusivity_at)),
            model.scalars[s].carried};
  }
  Reactions<S> reactions(int stage) const {
    typename Reactions<S>::Fields fields{};
    for (std::size_t s = 0; s < count(); ++s) fields[s] = current(s, stage);
    return {model, p, fields};
  }
  bool traced(std::size_t s) const {
    const auto how = model.scalars[s].carried;
    return how == Scalar::Carried::semi_lagrangian || how == Scalar::Carried::mac_cormack;
  }
  One buoyancy(std::size_t s, std::size_t a) const {
    return read_number<S>(p, model.scalars[s].buoyancy_at + Index(a));
  }
  void apply(FlowModel::Weights w, int stage, const Speeds<Real>& u, const One& dt) const {
    const S step = everywhere<S>(One(Real(w.share)) * dt);
    const Reactions<S> reacting = reactions(stage);
    for (std::size_t s = 0; s < count(); ++s) {
      const Fields& f = work.scalars[s];
      const Carrying of = transport(s, u, stage);
      if constexpr (Traced) {
        if (traced(s)) trace(s, u, dt);
      }
      const Plane<Real>& from = traced(s) ? made(s, stage) : of.c;
      each_pack<S>(shape, shape.all_cells(), [&](Index at, Index lanes) {
        S c = Real(w.share) * load<S>(from, at) + step * (of.rate(at) + load<S>(f.source, at));
        if (!model.reactions.empty()) c = c + step * reacting.rate(s, at);
        if (w.kept != 0) c = c + Real(w.kept) * load<S>(f.x, at);
        store<S>(made(s, stage), at, c, lanes);
      });
      set_sides(s, made(s, stage));
    }
  }

  // Where speeds are traced back, scalars push with what they have become.
  void transpose_buoyancy(const One& dt) const {
    for (std::size_t s = 0; s < count(); ++s) {
      const std::array<S, 3> push = buoyancy_shares(s, dt);
      const Plane<Real>& bar = work.scalars[s].out_bar;
      each_pack<S>(shape, shape.widened(shape.all_cells()), [&](Index at, Index lanes) {
        store<S>(bar, at, pushed(load<S>(bar, at), push, at), lanes);
      });
    }
  }
  // Before the speeds' own transpose: takes out_bar to star_bar, wrapped, and times step to rate_bar.
  void begin_transpose(FlowModel::Weights w, const One& dt) const {
    const S step = everywhere<S>(One(Real(w.share)) * dt);
    for (std::size_t s = 0; s < count(); ++s) {
      const Fields& f = work.scalars[s];
      set_sides_vjp(s, f.out_bar);
      each_pack<S>(shape, shape.all_cells(), [&](Index at, Index lanes) {
        const S bar = load<S>(f.out_bar, at);
        store<S>(f.star_bar, at, bar, lanes);
        store<S>(f.rate_bar, at, step * bar, lanes);
        store<S>(f.source_bar, at, load<S>(f.source_bar, at) + step * bar, lanes);
        if (w.kept != 0) store<S>(f.x_bar, at, load<S>(f.x_bar, at) + Real(w.kept) * bar, lanes);
      });
      model.sides.template wrap<One>(f.rate_bar, -1);
    }
  }
  // After it: star_bar of the speeds is wrapped, and zero where they are not free.
  void transpose(FlowModel::Weights w, int stage, const Speeds<Real>& u, const One& dt, bool sums,
                 One& dt_bar) const {
    if constexpr (Traced) tracing(u, dt).clear_shifts();
    const Reactions<S> reacting = reactions(stage);
    if (sums) add_reaction_sums(reacting);
    for (std::size_t s = 0; s < count(); ++s) {
      const Fields& f = work.scalars[s];
      const Carrying of = transport(s, u, stage);
      const std::array<S, 3> push = buoyancy_shares(s, One(Real(w.share)) * dt);
      if (sums) add_sums(s, of, reacting, w, dt, dt_bar);
      each_pack<S>(shape, shape.widened(shape.all_cells()), [&](Index at, Index lanes) {
        S bar = of.carried_bar(f.rate_bar, at);
        if (!model.reactions.empty()) bar = bar + reacting.carried_bar(s, rates_bar(), at);
        store<S>(f.out_bar, at, Traced ? bar : pushed(bar, push, at), lanes);
      });
      if (!traced(s))
        each_pack<S>(shape, shape.all_cells(), [&](Index at, Index lanes) {
          store<S>(f.out_bar, at, load<S>(f.out_bar, at) + Real(w.share) * load<S>(f.star_bar, at), lanes);
        });
      else if constexpr (Traced)
        trace_vjp(s, u, dt);
    }
    if constexpr (Traced) {
      if (sums) dt_bar = dt_bar + tracing(u, dt).dt_bar(Trace<S, Dim>::kCells, shape.all_cells());
      tracing(u, dt).shifts_vjp(Trace<S, Dim>::kCells, work.out_bar);
    }
  }

 private:
  // What half of a face's f_bar a cell gets, times the step.
  std::array<S, 3> buoyancy_shares(std::size_t s, const One& step) const {
    std::array<S, 3> push;
    for (std::size_t a = 0; a < Dim; ++a)
      push[a] = Real(0.5) * everywhere<S>(step) * everywhere<S>(buoyancy(s, a));
    return push;
  }
  COSTATE_INLINE S pushed(S bar, const std::array<S, 3>& push, Index at) const {
    for (std::size_t a = 0; a < Dim; ++a)
      bar = bar + push[a] * (load<S>(work.star_bar[a], at) + load<S>(work.star_bar[a], at + shape.stride[a]));
    return bar;
  }

  // --- scalars that are traced back ------------------------------------------------------------------------

  Trace<S, Dim> tracing(const Speeds<Real>& u, const One& dt) const { return {model.sides, work, u, dt}; }
  typename Trace<S, Dim>::Beyond beyond(std::size_t s, const std::array<Plane<Real>, 6>& given) const {
    typename Trace<S, Dim>::Beyond all{};
    for (std::size_t side = 0; side < 6; ++side)
      if (model.scalars[s].fixed[side]) all[side] = &given[side];
    return all;
  }
  void trace(std::size_t s, const Speeds<Real>& u, const One& dt) const {
    const Fields& f = work.scalars[s];
    const Trace<S, Dim> points = tracing(u, dt);
    if (model.scalars[s].carried == Scalar::Carried::mac_cormack)
      points.mac_cormack(f.x, beyond(s, f.side), f.star);
    else
      points.traced(Trace<S, Dim>::kCells, shape.all_cells(), f.x, beyond(s, f.side), f.star);
  }
  void trace_vjp(std::size_t s, const Speeds<Real>& u, const One& dt) const {
    const Fields& f = work.scalars[s];
    const Trace<S, Dim> points = tracing(u, dt);
    const auto given = beyond(s, f.side), given_bar = beyond(s, f.side_bar);
    if (model.scalars[s].carried == Scalar::Carried::mac_cormack)
      points.mac_cormack_vjp(f.x, given, f.star_bar, f.out_bar, given_bar);
    else
      points.traced_vjp(Trace<S, Dim>::kCells, shape.all_cells(), f.x, given, f.star_bar, f.out_bar,
                        given_bar);
  }

  typename Reactions<S>::Fields rates_bar() const {
    typename Reactions<S>::Fields fields{};
    for (std::size_t s = 0; s < count(); ++s) fields[s] = work.scalars[s].rate_bar;
    return fields;
  }
  void add_reaction_sums(const Reactions<S>& reacting) const {
    auto& bars = work.template reactions_bar<One>();
    const auto rate_bar = rates_bar();
    for (std::size_t j = 0; j < model.reactions.size(); ++j)
      bars[j] = bars[j] + sum_packs<S, 1>(shape, shape.all_cells(), work.sums, [&](Index at, Index) {
                  return std::array<S, 1>{reacting.constant_bar(j, rate_bar, at)};
                })[0];
  }

  // Diffusivity, buoyancy, and dt through the rate.
  void add_sums(std::size_t s, const Carrying& of, const Reactions<S>& reacting, FlowModel::Weights w,
                const One& dt, One& dt_bar) const {
    Fields& f = work.scalars[s];
    const One share(Real(w.share));
    const auto rates = sum_packs<S, 1>(shape, shape.all_cells(), work.sums, [&](Index at, Index) {
      S rate = of.rate(at) + load<S>(f.source, at);
      if (!model.reactions.empty()) rate = rate + reacting.rate(s, at);
      return std::array<S, 1>{load<S>(f.star_bar, at) * rate};
    });
    dt_bar = dt_bar + share * rates[0];
    Carrying pushing = of;
    if (Traced) pushing.c = f.star;
    One* const bars = work.template numbers_bar<One>(s);
    for (std::size_t a = 0; a < Dim; ++a) {
      const auto faces = sum_packs<S, 2>(shape, shape.faces(int(a)), work.sums, [&](Index at, Index) {
        return std::array<S, 2>{of.diffusivity_bar(f.rate_bar, a, at),
                                load<S>(work.star_bar[a], at) * pushing.mean(a, at)};
      });
      bars[0] = bars[0] + faces[0];
      bars[1 + a] = bars[1 + a] + share * dt * faces[1];
    }
  }

  // f(outside, inside, face, given speed or null, its cotangent) for the sides that do not wrap.
  template <class F>
  void each_side(std::size_t s, const F& f) const {
    const Fields& fields = work.scalars[s];
    for (int a = 0; a < Dim; ++a) {
      if (shape.periodic[std::size_t(a)]) continue;
      const Index stride = shape.stride[std::size_t(a)], n = shape.n[std::size_t(a)];
      for (int end = 0; end < 2; ++end) {
        const auto side = std::size_t(2 * a + end);
        const bool fixed = model.scalars[s].fixed[side];
        model.sides.each_line(shape.all_cells(), a, [&](Index at, Index face) {
          f(end ? at + n * stride : at - stride, end ? at + (n - 1) * stride : at, face,
            fixed ? &fields.side[side] : nullptr, fixed ? &fields.side_bar[side] : nullptr);
        });
      }
    }
  }
};

}  // namespace costate::fluid
