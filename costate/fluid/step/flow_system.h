// The step of a flow (flow.h has the equations) and its transpose: the same stages, in reverse order.
//
//   read inputs -> for every stage: scalars, momentum, sides, projection -> write the state
//
// `Traced`: speeds are traced back instead of pushed by fluxes (carry/trace.h); there is one stage then.
//
// S = Pack gives values, S = Dual<Pack> tangents and, in the transpose, second order. The tape of a step has
// its inner stages; without it the transpose computes them again, to the same bits.
// Tests: tests/fluid/flow_test.cpp, tests/contract.
#pragma once

#include <memory>
#include <utility>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/fluid/obstacles/resistance.h"
#include "costate/fluid/step/flow_inputs.h"
#include "costate/fluid/step/momentum.h"
#include "costate/fluid/step/projection.h"

namespace costate::fluid {

template <class Real, int Dim, bool Traced>
class FlowSystem final : public System<Real> {
  using S = NativePack<Real>;
  using Tangent = Dual<S>;
  using Scratch = FlowScratch<Real>;
  using In = Packed<Real>;
  using Out = PackedOut<Real>;
  struct PackedInputs {
    In x, u, p;
  };
  struct PackedCotangents {
    Out x, u, p;
  };

 public:
  explicit FlowSystem(FlowModel model) : model_(std::move(model)) {
    std::array<Ends, 3> ends{};
    for (int a = 0; a < Dim; ++a) ends[std::size_t(a)] = model_.sides.ends(a);
    solver_ = PressureSolver<Real>(model_.sides.shape, ends);
  }

  const Signature& signature() const override { return model_.signature; }
  typename System<Real>::Capabilities capabilities() const override {
    return {.jvp = true, .vjp = true, .second_order = true};
  }
  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Scratch>(model_, solver_.scratch_numbers());
  }
  TapePlan tape(const Activity&, const TapeBudget& budget) const override {
    const Index size = Index(model_.stages() - 1) * model_.stage_size;
    return {.size = size <= budget.numbers ? size : 0};
  }

  void step(const StepContext&, const Inputs<Real>& in, Real* y, Real* tape, Workspace& work) const override {
    forward<S>({{in.x}, {in.u}, {in.p}}, {y}, tape, static_cast<Scratch&>(work));
  }
  void step_jvp(const StepContext&, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y, Real* y_dot,
                Workspace& work) const override {
    forward<Tangent>({{in.x, in_dot.x}, {in.u, in_dot.u}, {in.p, in_dot.p}}, {y, y_dot}, nullptr,
                     static_cast<Scratch&>(work));
  }
  void step_vjp(const StepContext&, const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity& active, Workspace& work) const override {
    reverse<S>({{in.x}, {in.u}, {in.p}}, tape, {y_bar}, {{bar.x}, {bar.u}, {bar.p}}, active,
               static_cast<Scratch&>(work));
  }
  void step_hvp(const StepContext&, const Inputs<Real>& in, const Inputs<Real>& in_dot, const Real* y_bar,
                const Real* y_bar_dot, const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                const Activity& active, Workspace& work) const override {
    reverse<Tangent>({{in.x, in_dot.x}, {in.u, in_dot.u}, {in.p, in_dot.p}}, nullptr, {y_bar, y_bar_dot},
                     {{bar.x, bar_dot.x}, {bar.u, bar_dot.u}, {bar.p, bar_dot.p}}, active,
                     static_cast<Scratch&>(work));
  }

  // Runs read the parameters once.
  void begin_run(const Real* p, Real*, const Activity&, Workspace& work) const override {
    auto& w = static_cast<Scratch&>(work);
    w.run_p = nullptr;
    read_parameters<S>({p}, w);
    Scalars<S, Dim, Traced>{model_, w, {p}}.read_parameters();
    w.run_p = p;
  }
  void end_run(const Real*, Real*, const Activity&, Workspace& work) const override {
    static_cast<Scratch&>(work).run_p = nullptr;
  }

  typename System<Real>::Fault fault(const Inputs<Real>& in, int) const override {
    const Shape& shape = model_.sides.shape;
    const double dt = double(in.p[model_.dt_at()]);
    double courant = 0, viscous = 0, per_h2 = 0;
    for (int a = 0; a < Dim; ++a) {
      const Real* u = in.x + model_.face_offset[std::size_t(a)];
      double fastest = 0;
      for (Index i = 0; i < shape.face_count(a); ++i) fastest = std::max(fastest, std::abs(double(u[i])));
      if (!Traced) courant += fastest * dt / shape.h[std::size_t(a)];  // tracing back has no such limit
      per_h2 += 1 / (shape.h[std::size_t(a)] * shape.h[std::size_t(a)]);
    }
    for (Index i = 0; i < shape.cells(); ++i) viscous = std::max(viscous, 4 * double(in.p[i]) * dt * per_h2);
    const bool rk3 = model_.scheme == Scheme::rk3;
    const double most_courant = rk3 ? 1.7 : 1, most_viscous = rk3 ? 2.5 : 2;
    const double share = std::max(courant / most_courant, viscous / most_viscous);
    if (!(share > 0.7)) return {};
    const std::string carried = "the Courant number sum |u| dt / h is " + number(courant) + " (about " +
                                number(most_courant) + " is stable), ";
    return {"dt = " + number(dt) + " is too long for this flow: " + (Traced ? "" : carried) +
                "4 viscosity dt sum 1/h^2 is " + number(viscous) + " (about " + number(most_viscous) +
                " is stable)",
            "take dt below " + number(0.5 * dt / share) + ", or larger cells"};
  }

 private:
  // --- inputs ----------------------------------------------------------------------------------------------

  template <class T>
  void read_parameters(In p, Scratch& w) const {
    const Sides& sides = model_.sides;
    const Index cells = sides.shape.cells();
    w.uniform_viscosity =
        !kIsDual<T> && std::all_of(p.value, p.value + cells, [&](Real nu) { return nu == p.value[0]; });
    read_field<T>(sides.shape, sides.shape.all_cells(), p, w.viscosity);
    sides.template extend<Single<T>>(w.viscosity);
    Box box = sides.shape.all_cells();
    for (int a = 0; a < Dim; ++a) ++box.hi[std::size_t(a)];
    for (int a = 0; a < Dim; ++a) {
      for (int b = a + 1; b < Dim; ++b) {
        const Index i = sides.shape.stride[std::size_t(a)], j = sides.shape.stride[std::size_t(b)];
        each_pack<T>(sides.shape, box, [&](Index at, Index count) {
          const auto nu = [&](Index from) { return load<T>(w.viscosity, from); };
          store<T>(w.edges[std::size_t(edge(a, b))], at,
                   Real(0.25) * ((nu(at) + nu(at - i)) + (nu(at - j) + nu(at - i - j))), count);
        });
      }
    }
    read_given<T>(false, p, w);
    Obstacles<T, Dim>{model_, w}.read_masks(p);
  }
  template <class T>
  void read_given(bool controls, In from, Scratch& w) const {
    for (const FlowModel::GivenSpeed& g : model_.given) {
      if (g.control != controls) continue;
      const Plane<Real>& to = w.side[std::size_t(g.axis)][std::size_t(g.end)][std::size_t(g.component)];
      for (Index i = 0; i < g.count; ++i) store<Single<T>>(to, i, read_number<T>(from, g.offset + i));
    }
  }
  template <class T>
  Momentum<T, Dim, Traced> read_inputs(const PackedInputs& in, Scratch& w) const {
    if constexpr (kIsDual<T>) w.use_tangents();
    if (kIsDual<T> || in.p.value != w.run_p) read_parameters<T>(in.p, w);
    if (in.u.value) read_given<T>(true, in.u, w);
    if (model_.push >= 0) read_speeds<T>(model_, in.u + model_.push, w.push);
    if (!model_.obstacles.empty()) Obstacles<T, Dim>{model_, w}.read_motion(in.p, in.u);
    read_speeds<T>(model_, in.x, w.x);
    model_.sides.template set_sides<Single<T>>(w.x, w.side);
    const Scalars<T, Dim, Traced> scalars{model_, w, in.p};
    if (kIsDual<T> || in.p.value != w.run_p) scalars.read_parameters();
    scalars.read_state(in.x);
    Momentum<T, Dim, Traced> momentum{model_, w, read_number<T>(in.p, model_.dt_at()), {}, scalars};
    for (int a = 0; a < Dim; ++a)
      momentum.force[std::size_t(a)] = read_number<T>(in.p, model_.force_at() + a);
    return momentum;
  }

  template <class T, class Which>
  void read_scalars(In from, Scratch& w, const Which& which) const {
    const Shape& shape = model_.sides.shape;
    for (std::size_t s = 0; s < w.scalars.size(); ++s)
      read_field<T>(shape, shape.all_cells(), from + model_.scalars[s].state_at, which(w.scalars[s]));
  }
  template <class T, class Which>
  void write_scalars(Out to, Scratch& w, const Which& which) const {
    const Shape& shape = model_.sides.shape;
    for (std::size_t s = 0; s < w.scalars.size(); ++s)
      write_field<T>(shape, shape.all_cells(), which(w.scalars[s]), to + model_.scalars[s].state_at, false);
  }

  // --- the step --------------------------------------------------------------------------------------------

  const Speeds<Real>& current(const Scratch& w, int stage) const {
    return stage == 0 ? w.x : w.stage[stage - 1];
  }
  // `then` looks at `star`, before it is projected.
  template <class T, class Then>
  void advance_stage(int stage, const Momentum<T, Dim, Traced>& momentum, const Speeds<Real>& out, Scratch& w,
                     const Then& then) const {
    momentum.scalars.apply(model_.weights(stage), stage, current(w, stage), momentum.dt);
    if constexpr (Traced) trace_speeds<T>(momentum.dt, w);
    momentum.apply(model_.weights(stage), stage, current(w, stage));
    model_.sides.template set_faces<Single<T>>(w.star, w.side);
    then(stage);
    Projection<T, Dim>(model_.sides, solver_).apply(w.star, out, w);
    model_.sides.template set_sides<Single<T>>(out, w.side);
  }
  // Beyond a side with given speeds lie those along it.
  typename Trace<S, Dim>::Beyond beyond(int c, const SideSpeeds<Real>& given) const {
    typename Trace<S, Dim>::Beyond all{};
    for (std::size_t side = 0; side < 2 * Dim; ++side)
      if (int(side / 2) != c && model_.sides.kind[side / 2][side % 2] == Side::Kind::velocity)
        all[side] = &given[side / 2][side % 2][std::size_t(c)];
    return all;
  }
  template <class T>
  void trace_speeds(const Single<T>& dt, Scratch& w) const {
    const Trace<T, Dim> points{model_.sides, w, w.x, dt};
    for (int c = 0; c < Dim; ++c)
      points.traced(c, model_.sides.free_faces(c), w.x[std::size_t(c)], beyond(c, w.side),
                    w.star[std::size_t(c)]);
  }
  template <class T>
  void trace_speeds_vjp(const Single<T>& dt, bool sums, Single<T>& dt_bar, Scratch& w) const {
    const Trace<T, Dim> points{model_.sides, w, w.x, dt};
    for (int c = 0; c < Dim; ++c) {
      const Box box = model_.sides.free_faces(c);
      const auto a = std::size_t(c);
      points.clear_shifts();
      points.traced_vjp(c, box, w.x[a], beyond(c, w.side), w.star_bar[a], w.out_bar[a],
                        beyond(c, w.side_bar));
      if (sums) dt_bar = dt_bar + points.dt_bar(c, box);
      points.shifts_vjp(c, w.out_bar);
    }
  }
  // What each body feels in a stage, for the state.
  template <class T>
  void add_forces(int stage, const PackedInputs& in, Out y, Scratch& w) const {
    if (model_.obstacles.empty()) return;
    if (stage == 0) w.force.assign(model_.obstacles.size(), {});
    Obstacles<T, Dim>{model_, w}.add_forces(model_.weights(stage).mean, in.p, in.u, w.force);
    for (std::size_t b = 0; b < w.force.size(); ++b) {
      for (Index a = 0; a < Dim; ++a) {
        y.value[model_.obstacles[b].force_at + a] = Real(w.force[b][std::size_t(2 * a)]);
        if (kIsDual<T>)
          y.tangent[model_.obstacles[b].force_at + a] = Real(w.force[b][std::size_t(2 * a + 1)]);
      }
    }
  }
  template <class T>
  void forward(const PackedInputs& in, Out y, Real* tape, Scratch& w) const {
    const auto momentum = read_inputs<T>(in, w);
    const int last = model_.stages() - 1;
    const auto forces = [&](int stage) { add_forces<T>(stage, in, y, w); };
    for (int stage = 0; stage < last; ++stage) {
      advance_stage<T>(stage, momentum, w.stage[stage], w, forces);
      if (!tape) continue;
      Real* const to = tape + stage * model_.stage_size;
      write_speeds<S>(model_, w.stage[stage], {to});
      write_scalars<S>({to}, w, [&](const auto& fields) { return fields.stage[stage]; });
    }
    advance_stage<T>(last, momentum, w.star, w, forces);
    write_speeds<T>(model_, w.star, y);
    write_scalars<T>(y, w, [](const auto& fields) { return fields.star; });
  }

  // --- its transpose ---------------------------------------------------------------------------------------

  template <class T>
  void recall_stages(const Momentum<T, Dim, Traced>& momentum, const Real* tape, Scratch& w) const {
    for (int stage = 0; stage + 1 < model_.stages(); ++stage) {
      if (tape) {
        const In from{tape + stage * model_.stage_size};
        read_speeds<T>(model_, from, w.stage[stage]);
        model_.sides.template set_sides<Single<T>>(w.stage[stage], w.side);
        read_scalars<T>(from, w, [&](const auto& fields) { return fields.stage[stage]; });
        for (std::size_t s = 0; s < w.scalars.size(); ++s)
          momentum.scalars.set_sides(s, w.scalars[s].stage[stage]);
      } else {
        advance_stage<T>(stage, momentum, w.stage[stage], w, [](int) {});
      }
    }
  }
  bool wants_scalars(const PackedCotangents& bar, const Activity& active) const {
    for (std::size_t f = model_.scalar_fields; bar.p.value && f < model_.obstacle_fields; ++f)
      if (active.parameters[f]) return true;
    return false;
  }
  bool wants_bodies(const PackedCotangents& bar, const Activity& active) const {
    if (bar.p.value)
      for (std::size_t f = model_.obstacle_fields; f < active.parameters.size(); ++f)
        if (active.parameters[f]) return true;
    return bar.u.value != nullptr;
  }
  double volume() const {
    const auto& h = model_.sides.shape.h;
    return h[0] * h[1] * (Dim == 3 ? h[2] : 1.0);
  }
  template <class T>
  auto& forces_bar(Scratch& w) const {
    if constexpr (kIsDual<T>)
      return w.force_bar_dual;
    else
      return w.force_bar;
  }
  template <class T>
  void read_forces_bar(In y_bar, Scratch& w) const {
    auto& bars = forces_bar<T>(w);
    bars.resize(model_.obstacles.size());
    for (std::size_t b = 0; b < bars.size(); ++b)
      for (Index a = 0; a < Dim; ++a)
        bars[b][std::size_t(a)] =
            Single<T>(Real(volume())) * read_number<T>(y_bar, model_.obstacles[b].force_at + a);
  }
  template <class T>
  void reverse(const PackedInputs& in, const Real* tape, In y_bar, const PackedCotangents& bar,
               const Activity& active, Scratch& w) const {
    using One = Single<T>;
    const Sides& sides = model_.sides;
    const auto momentum = read_inputs<T>(in, w);
    recall_stages<T>(momentum, tape, w);
    const auto is_active = [&](FlowModel::Parameter f) { return bar.p.value && active.parameters[f]; };
    const bool viscosity = is_active(FlowModel::kViscosity),
               sums = is_active(FlowModel::kForce) || is_active(FlowModel::kDt);
    const bool of_scalars = wants_scalars(bar, active);
    const Scalars<T, Dim, Traced>& scalars = momentum.scalars;
    const bool bodies = !model_.obstacles.empty() && (viscosity || sums || wants_bodies(bar, active));
    if (Traced && (bodies || sums || of_scalars)) {
      scalars.apply(model_.weights(0), 0, w.x, momentum.dt);
      trace_speeds<T>(momentum.dt, w);
    }
    read_forces_bar<T>(y_bar, w);
    clear_cotangents<T>(viscosity, w);
    One dt_bar(0);
    std::array<One, 3> force_bar{One(0), One(0), One(0)};
    read_speeds<T>(model_, y_bar, w.out_bar);
    read_scalars<T>(y_bar, w, [](const auto& fields) { return fields.out_bar; });
    for (int stage = model_.stages() - 1; stage >= 0; --stage) {
      sides.template set_sides_vjp<One>(w.out_bar, w.side_bar);
      Projection<T, Dim>(sides, solver_).transpose(w.out_bar, w.star_bar, w);
      sides.template set_faces_vjp<One>(w.star_bar, w.side_bar);
      const auto weights = model_.weights(stage);
      if (!model_.obstacles.empty()) momentum.transpose_resistance(weights, forces_bar<T>(w));
      if (bodies) momentum.transpose_bodies(weights, stage, current(w, stage), dt_bar);
      for (int a = 0; a < Dim; ++a) sides.template wrap<One>(w.star_bar[std::size_t(a)], a);
      if (Traced) scalars.transpose_buoyancy(momentum.dt);
      scalars.begin_transpose(weights, momentum.dt);
      if (sums) momentum.transpose_sums(weights, stage, current(w, stage), dt_bar, force_bar);
      if (viscosity) momentum.transpose_viscosity(weights, current(w, stage));
      momentum.transpose(weights, stage, current(w, stage));
      if constexpr (Traced) trace_speeds_vjp<T>(momentum.dt, sums, dt_bar, w);
      scalars.transpose(weights, stage, current(w, stage), momentum.dt, sums || of_scalars, dt_bar);
    }
    sides.template set_sides_vjp<One>(w.out_bar, w.side_bar);
    for (std::size_t s = 0; s < w.scalars.size(); ++s) scalars.set_sides_vjp(s, w.scalars[s].out_bar);
    write_state<T>(bar.x, w);
    if (bar.u.value) write_given<T>(true, bar.u, w);
    if (bar.u.value && model_.push >= 0) write_speeds<T>(model_, w.push_bar, bar.u + model_.push, true);
    if (bodies) {
      Obstacles<T, Dim>{model_, w}.transpose(in.p, in.u, forces_bar<T>(w), viscosity, bar.p, bar.u);
      if (viscosity) Obstacles<T, Dim>{model_, w}.face_viscosity_vjp();
    }
    if (!bar.p.value) return;
    write_given<T>(false, bar.p, w);
    if (of_scalars) write_scalar_parameters<T>(bar.p, w);
    if (viscosity) write_viscosity<T>(bar.p, w);
    if (sums) {
      add_number<T>(bar.p, model_.dt_at(), dt_bar);
      for (int a = 0; a < Dim; ++a) add_number<T>(bar.p, model_.force_at() + a, force_bar[std::size_t(a)]);
    }
  }
  template <class T>
  void clear_cotangents(bool viscosity, Scratch& w) const {
    const Shape& shape = model_.sides.shape;
    for (int a = 0; a < Dim; ++a) {
      clear<T>(shape, w.x_bar[std::size_t(a)]);
      clear<T>(shape, w.out_bar[std::size_t(a)]);
      if (model_.push >= 0) clear<T>(shape, w.push_bar[std::size_t(a)]);
    }
    for (const FlowModel::GivenSpeed& g : model_.given) {
      const Plane<Real>& to = w.side_bar[std::size_t(g.axis)][std::size_t(g.end)][std::size_t(g.component)];
      for (Index i = 0; i < g.count; ++i) store<Single<T>>(to, i, Single<T>(0));
    }
    for (std::size_t s = 0; s < w.scalars.size(); ++s) {
      auto& f = w.scalars[s];
      for (const Plane<Real>* plane : {&f.x_bar, &f.out_bar, &f.rate_bar, &f.source_bar})
        clear<T>(shape, *plane);
      for (const auto& g : model_.scalars[s].given)
        for (Index i = 0; i < g.count; ++i)
          store<Single<T>>(f.side_bar[std::size_t(g.side)], i, Single<T>(0));
      std::fill_n(w.template numbers_bar<Single<T>>(s), 4, Single<T>(0));
    }
    for (int a = 0; !w.mask.empty() && a < Dim; ++a)
      for (const Speeds<Real>* s : {&w.carried_bar, &w.resist_bar, &w.mean_star, &w.face_bar})
        clear<T>(shape, (*s)[std::size_t(a)]);
    if (!viscosity) return;
    clear<T>(shape, w.viscosity_bar);
    for (int e = 0; e < (Dim == 2 ? 1 : 3); ++e) clear<T>(shape, w.edges_bar[std::size_t(e)]);
  }
  template <class T>
  void write_state(Out x_bar, Scratch& w) const {
    for (int a = 0; a < Dim; ++a) {
      const Plane<Real>&kept = w.x_bar[std::size_t(a)], &moved = w.out_bar[std::size_t(a)];
      each_pack<T>(model_.sides.shape, model_.sides.shape.faces(a), [&](Index at, Index count) {
        store<T>(moved, at, load<T>(moved, at) + load<T>(kept, at), count);
      });
    }
    write_speeds<T>(model_, w.out_bar, x_bar);
    const Shape& shape = model_.sides.shape;
    for (std::size_t s = 0; s < w.scalars.size(); ++s) {
      const Plane<Real>&kept = w.scalars[s].x_bar, &moved = w.scalars[s].out_bar;
      each_pack<T>(shape, shape.all_cells(), [&](Index at, Index count) {
        store<T>(moved, at, load<T>(moved, at) + load<T>(kept, at), count);
      });
    }
    write_scalars<T>(x_bar, w, [](const auto& fields) { return fields.out_bar; });
    for (const FlowModel::ObstacleModel& o : model_.obstacles) {  // nothing reads the forces
      std::fill_n(x_bar.value + o.force_at, Dim, Real(0));
      if (x_bar.tangent) std::fill_n(x_bar.tangent + o.force_at, Dim, Real(0));
    }
  }
  template <class T>
  void write_given(bool controls, Out to, Scratch& w) const {
    for (const FlowModel::GivenSpeed& g : model_.given) {
      if (g.control != controls) continue;
      const Plane<Real>& from = w.side_bar[std::size_t(g.axis)][std::size_t(g.end)][std::size_t(g.component)];
      for (Index i = 0; i < g.count; ++i) add_number<T>(to, g.offset + i, load<Single<T>>(from, i));
    }
  }
  template <class T>
  void write_scalar_parameters(Out p_bar, Scratch& w) const {
    const Shape& shape = model_.sides.shape;
    for (std::size_t s = 0; s < w.scalars.size(); ++s) {
      const FlowModel::ScalarModel& m = model_.scalars[s];
      const Single<T>* bars = w.template numbers_bar<Single<T>>(s);
      add_number<T>(p_bar, m.diffusivity_at, bars[0]);
      for (Index a = 0; a < Dim; ++a) add_number<T>(p_bar, m.buoyancy_at + a, bars[1 + a]);
      write_field<T>(shape, shape.all_cells(), w.scalars[s].source_bar, p_bar + m.source_at, true);
      for (const auto& g : m.given)
        for (Index i = 0; i < g.count; ++i)
          add_number<T>(p_bar, g.offset + i, load<Single<T>>(w.scalars[s].side_bar[std::size_t(g.side)], i));
    }
  }
  // What edges got goes to the cells around them, and what cells beyond the sides got to those inside.
  template <class T>
  void write_viscosity(Out p_bar, Scratch& w) const {
    const Sides& sides = model_.sides;
    for (int a = 0; a < Dim; ++a) {
      for (int b = a + 1; b < Dim; ++b) {
        const Plane<Real>& edges = w.edges_bar[std::size_t(edge(a, b))];
        sides.template wrap<Single<T>>(edges, -1);
        const Index i = sides.shape.stride[std::size_t(a)], j = sides.shape.stride[std::size_t(b)];
        each_pack<T>(sides.shape, sides.shape.widened(sides.shape.all_cells()), [&](Index at, Index count) {
          const auto bar = [&](Index from) { return load<T>(edges, from); };
          store<T>(w.viscosity_bar, at,
                   load<T>(w.viscosity_bar, at) +
                       Real(0.25) * ((bar(at) + bar(at + i)) + (bar(at + j) + bar(at + i + j))),
                   count);
        });
      }
    }
    sides.template extend_vjp<Single<T>>(w.viscosity_bar);
    write_field<T>(sides.shape, sides.shape.all_cells(), w.viscosity_bar, p_bar, true);
  }

  FlowModel model_;
  PressureSolver<Real> solver_;
};

}  // namespace costate::fluid
