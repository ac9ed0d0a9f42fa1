// The step of a flow (flow.h has the equations) and its transpose: the same stages, in reverse order.
//
//   read inputs -> for every stage: tracers, scalars, momentum, sides, projection -> write the state
//
// `How` speeds are carried: where they are traced back instead of pushed by fluxes (carry/trace.h), there is
// one stage.
//
// S = Pack gives values, S = Dual<Pack> tangents and, in the transpose, second order. The tape of a step has
// its inner stages; without it the transpose computes them again, to the same bits.
// Tests: tests/fluid/flow_test.cpp, tests/contract.
#pragma once

#include <memory>
#include <utility>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/fluid/carry/traced_speeds.h"
#include "costate/fluid/carry/tracers.h"
#include "costate/fluid/obstacles/free.h"
#include "costate/fluid/obstacles/resistance.h"
#include "costate/fluid/obstacles/surface.h"
#include "costate/fluid/step/clear_cotangents.h"
#include "costate/fluid/step/flow_fault.h"
#include "costate/fluid/step/flow_inputs.h"
#include "costate/fluid/step/implicit.h"
#include "costate/fluid/step/make_flow_system.h"
#include "costate/fluid/step/momentum.h"
#include "costate/fluid/step/projection.h"
#include "costate/fluid/step/readings.h"

namespace costate::fluid {

template <class Real, int Dim, Carry How>
class FlowSystem final : public System<Real> {
  static constexpr bool Traced = How == Carry::traced, Stretched = How == Carry::stretched;
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
    if (model_.implicit) viscous_ = ViscousSolver<Real>(model_.sides);
  }

  const Signature& signature() const override { return model_.signature; }
  typename System<Real>::Capabilities capabilities() const override {
    return {.jvp = true, .vjp = true, .second_order = !model_.linkage};
  }
  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Scratch>(model_, std::max(solver_.scratch_numbers(), viscous_.scratch_numbers()));
  }
  TapePlan tape(const Activity&, const TapeBudget& budget) const override {
    // What a linkage found in the stages is found again.
    const Index size = model_.linkage ? 0 : Index(model_.stages() - 1) * model_.stage_size;
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
    Scalars<S, Dim, How>{model_, w, {p}}.read_parameters();
    w.run_p = p;
  }
  void end_run(const Real*, Real*, const Activity&, Workspace& work) const override {
    static_cast<Scratch&>(work).run_p = nullptr;
  }

  typename System<Real>::Fault fault(const Inputs<Real>& in, int) const override {
    return flow_fault<Real>(model_, in);
  }

 private:
  // --- inputs ----------------------------------------------------------------------------------------------

  template <class T>
  void read_parameters(In p, Scratch& w) const {
    const Sides& sides = model_.sides;
    const Index cells = sides.shape.cells();
    w.same_viscosity = std::all_of(p.value, p.value + cells, [&](Real nu) { return nu == p.value[0]; });
    w.uniform_viscosity = !kIsDual<T> && w.same_viscosity;
    read_field<T>(sides.shape, sides.shape.all_cells(), p, w.viscosity);
    sides.template extend<Single<T>>(w.viscosity);
    mean_over_edges<T, Dim>(sides.shape, w.viscosity, w.edges);
    read_given<T>(false, p, w);
    Obstacles<T, Dim>{model_, w}.read_masks(false, {.x = {}, .u = {}, .p = p, .dt = {}});
    if constexpr (Dim == 2)
      if (model_.points() > 0) Surfaces<T, Stretched>{model_, w, solver_, {}, p, {}}.factorise();
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
  typename Obstacles<T, Dim>::From obstacles_from(const PackedInputs& in) const {
    return {in.x, in.u, in.p, read_number<T>(in.p, model_.dt_at())};
  }
  template <class T>
  Momentum<T, Dim, How> read_inputs(const PackedInputs& in, Scratch& w) const {
    if constexpr (kIsDual<T>) w.use_tangents();
    if (kIsDual<T> || in.p.value != w.run_p) read_parameters<T>(in.p, w);
    if (in.u.value) read_given<T>(true, in.u, w);
    if (model_.push >= 0) read_speeds<T>(model_, in.u + model_.push, w.push);
    if (!model_.obstacles.empty()) {
      const Obstacles<T, Dim> obstacles{model_, w};
      const auto from = obstacles_from<T>(in);
      if constexpr (Dim == 2)
        if (model_.linkage) free_bodies<T>(in, w).linked.begin();
      if (model_.moving()) obstacles.read_masks(true, from);
      obstacles.read_motion(from);
      if constexpr (Dim == 2) free_bodies<T>(in, w).read_rates(in.x, 0);
    }
    read_speeds<T>(model_, in.x, w.x);
    model_.sides.template set_sides<Single<T>>(w.x, w.side);
    const Scalars<T, Dim, How> scalars{model_, w, in.p};
    if (kIsDual<T> || in.p.value != w.run_p) scalars.read_parameters();
    scalars.read_state(in.x);
    CarriedPoints<T, Dim>{model_, w}.read(in.x, w.tracers.x);
    const Single<T> constant = model_.eddies ? read_number<T>(in.p, model_.dt_at() + 1) : Single<T>(0);
    Momentum<T, Dim, How> momentum{model_, w,       read_number<T>(in.p, model_.dt_at()),
                                   {},     scalars, {model_, w, constant}};
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

  template <class T>
  ImplicitViscosity<T, Dim> implicit(const Single<T>& dt, Scratch& w) const {
    return {model_, w, viscous_, dt};
  }
  const Speeds<Real>& current(const Scratch& w, int stage) const {
    return stage == 0 ? w.x : w.stage[stage - 1];
  }
  template <class T>
  Surfaces<T, Stretched> surfaces(const PackedInputs& in, const Single<T>& dt, Scratch& w) const {
    return {model_, w, solver_, in.u, in.p, dt};
  }
  template <class T>
  FreeBodies<T> free_bodies(const PackedInputs& in, Scratch& w) const {
    return {model_, w, obstacles_from<T>(in)};
  }
  // `then` looks at `star`, before it is projected.
  template <class T, class Then>
  void advance_stage(int stage, const PackedInputs& in, const Momentum<T, Dim, How>& momentum,
                     const Speeds<Real>& out, Scratch& w, const Then& then) const {
    if (model_.eddies) momentum.eddies.read(current(w, stage));
    CarriedPoints<T, Dim>{model_, w}.apply(model_.weights(stage), stage, current(w, stage), momentum.dt);
    momentum.scalars.apply(model_.weights(stage), stage, current(w, stage), momentum.dt);
    if constexpr (Traced) traced_speeds<T>(momentum.dt, w).apply();
    momentum.apply(model_.weights(stage), stage, current(w, stage));
    if constexpr (Dim == 2)
      if (model_.any_free()) free_bodies<T>(in, w).apply(model_.weights(stage), stage);
    if (model_.implicit) implicit<T>(momentum.dt, w).apply(model_.weights(stage), current(w, stage));
    model_.sides.template set_faces<Single<T>>(w.star, w.side);
    then(stage);
    Projection<T, Dim, Stretched>(model_.sides, solver_).apply(w.star, out, {}, w);
    if constexpr (Dim == 2)
      if (model_.points() > 0) surfaces<T>(in, momentum.dt, w).apply(out);
    model_.sides.template set_sides<Single<T>>(out, w.side);
  }
  template <class T>
  TracedSpeeds<T, Dim> traced_speeds(const Single<T>& dt, Scratch& w) const {
    return {model_.sides, w, dt};
  }
  // What each body feels in a stage, for the state.
  template <class T>
  void add_forces(int stage, const PackedInputs& in, Scratch& w) const {
    if (model_.obstacles.empty()) return;
    if (stage == 0) w.force.assign(model_.obstacles.size(), {});
    Obstacles<T, Dim>{model_, w}.add_forces(model_.weights(stage).mean, obstacles_from<T>(in), w.force);
  }
  template <class T>
  void forward(const PackedInputs& in, Out y, Real* tape, Scratch& w) const {
    const auto momentum = read_inputs<T>(in, w);
    const int last = model_.stages() - 1;
    const auto forces = [&](int stage) { add_forces<T>(stage, in, w); };
    const auto surface_forces = [&](int stage) {
      if constexpr (Dim == 2)
        if (model_.points() > 0) surfaces<T>(in, momentum.dt, w).add_forces(model_.weights(stage));
    };
    for (int stage = 0; stage < last; ++stage) {
      advance_stage<T>(stage, in, momentum, w.stage[stage], w, forces);
      surface_forces(stage);
      if (!tape) continue;
      Real* const to = tape + stage * model_.stage_size;
      write_speeds<S>(model_, w.stage[stage], {to});
      if constexpr (Dim == 2) free_bodies<T>(in, w).write_rates(std::size_t(stage) + 1, {to});
      write_scalars<S>({to}, w, [&](const auto& fields) { return fields.stage[stage]; });
      CarriedPoints<S, Dim>{model_, w}.write(w.tracers.stage[stage], {to});
    }
    advance_stage<T>(last, in, momentum, w.star, w, forces);
    surface_forces(last);
    Obstacles<T, Dim>{model_, w}.write_forces(y);
    write_speeds<T>(model_, w.star, y);
    write_scalars<T>(y, w, [](const auto& fields) { return fields.star; });
    CarriedPoints<T, Dim>{model_, w}.write(w.tracers.star, y);
    if (model_.moving()) Obstacles<T, Dim>{model_, w}.move(obstacles_from<T>(in), y);
    if constexpr (Dim == 2) free_bodies<T>(in, w).move(model_.stages(), y);
    if constexpr (Dim == 2)
      if (model_.linkage) free_bodies<T>(in, w).linked.end(y);
    if (model_.pressure >= 0) {
      scale_pressure<T>(model_, momentum.dt, w.pressure);
      write_field<T>(model_.sides.shape, model_.sides.shape.all_cells(), w.pressure, y + model_.pressure,
                     false);
    }
    if (model_.readings()) Readings<T, Dim, Stretched>{model_, w, solver_}.write(y);
  }

  // --- its transpose ---------------------------------------------------------------------------------------

  template <class T>
  void recall_stages(const PackedInputs& in, const Momentum<T, Dim, How>& momentum, const Real* tape,
                     Scratch& w) const {
    for (int stage = 0; stage + 1 < model_.stages(); ++stage) {
      if (tape) {
        const In from{tape + stage * model_.stage_size};
        read_speeds<T>(model_, from, w.stage[stage]);
        model_.sides.template set_sides<Single<T>>(w.stage[stage], w.side);
        read_scalars<T>(from, w, [&](const auto& fields) { return fields.stage[stage]; });
        CarriedPoints<T, Dim>{model_, w}.read(from, w.tracers.stage[stage]);
        if constexpr (Dim == 2) free_bodies<T>(in, w).read_rates(from, std::size_t(stage) + 1);
        for (std::size_t s = 0; s < w.scalars.size(); ++s)
          momentum.scalars.set_sides(s, w.scalars[s].stage[stage]);
      } else {
        advance_stage<T>(stage, in, momentum, w.stage[stage], w, [&](int s) {
          if (model_.linkage) add_forces<T>(s, in, w);
        });
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
  // Of the fields at the end of the step: from those of the state and of what it says about them, for which
  // the last stage is computed again.
  template <class T>
  void read_ends_bar(const PackedInputs& in, const Momentum<T, Dim, How>& momentum, In y_bar, bool viscosity,
                     Scratch& w) const {
    const Shape& shape = model_.sides.shape;
    read_speeds<T>(model_, y_bar, w.out_bar);
    read_scalars<T>(y_bar, w, [](const auto& fields) { return fields.out_bar; });
    CarriedPoints<T, Dim>{model_, w}.read(y_bar, w.tracers.out_bar);
    if (model_.pressure >= 0)
      read_field<T>(shape, shape.all_cells(), y_bar + model_.pressure, w.pressure_bar);
    if (!model_.readings()) return;
    advance_stage<T>(model_.stages() - 1, in, momentum, w.star, w, [](int) {});
    Readings<T, Dim, Stretched>{model_, w, solver_}.transpose(y_bar, viscosity);
  }
  // Of what the last projection subtracts the gradient of. For dt that one is computed again.
  template <class T>
  void read_pressure_bar(const PackedInputs& in, const Momentum<T, Dim, How>& momentum, bool sums,
                         Single<T>& dt_bar, Scratch& w) const {
    const Shape& shape = model_.sides.shape;
    scale_pressure<T>(model_, momentum.dt, w.pressure_bar);
    if (!sums) return;
    const int last = model_.stages() - 1;
    advance_stage<T>(last, in, momentum, w.star, w, [](int) {});
    const auto total = sum_packs<T, 1>(shape, shape.all_cells(), w.sums, [&](Index at, Index) {
      return std::array<T, 1>{load<T>(w.pressure, at) * load<T>(w.pressure_bar, at)};
    });
    dt_bar = dt_bar - total[0] / momentum.dt;
  }
  // `bodies`: their points, too. For these the stage is computed again.
  template <class T>
  void transpose_surfaces(int stage, const PackedInputs& in, const Momentum<T, Dim, How>& momentum,
                          bool bodies, const PackedCotangents& bar, Single<T>& dt_bar, Scratch& w) const {
    const Surfaces<T, Stretched> surface = surfaces<T>(in, momentum.dt, w);
    const auto weights = model_.weights(stage);
    surface.transpose(weights);
    if (!bodies) return;
    const Speeds<Real>& out = stage + 1 == model_.stages() ? w.star : w.stage[stage];
    advance_stage<T>(stage, in, momentum, out, w, [](int) {});
    surface.transpose_bodies(weights, out, bar.u, bar.p, dt_bar);
  }
  // Cotangents of what bodies that the flow moves have come to; for it, with what speed the last stage ends.
  // Of bodies that a linkage holds those of the wrenches, too.
  template <class T>
  void begin_free(const PackedInputs& in, const Momentum<T, Dim, How>& momentum, In y_bar,
                  const typename Obstacles<T, Dim>::To& bar, Scratch& w) const {
    if (!model_.any_free()) return;
    const int last = model_.stages() - 1;
    if (model_.eddies) momentum.eddies.read(current(w, last));
    momentum.apply(model_.weights(last), last, current(w, last));
    free_bodies<T>(in, w).apply(model_.weights(last), last);
    free_bodies<T>(in, w).begin_transpose(last + 1, y_bar, bar);
    if (!model_.linkage) return;
    add_forces<T>(last, in, w);
    free_bodies<T>(in, w).linked.end_vjp(y_bar, bar.p.value != nullptr);
  }
  template <class T>
  void reverse(const PackedInputs& in, const Real* tape, In y_bar, const PackedCotangents& bar,
               const Activity& active, Scratch& w) const {
    using One = Single<T>;
    const Sides& sides = model_.sides;
    const auto momentum = read_inputs<T>(in, w);
    recall_stages<T>(in, momentum, tape, w);
    One dt_bar(0);
    const auto is_active = [&](FlowModel::Parameter f) { return bar.p.value && active.parameters[f]; };
    const bool viscosity = is_active(FlowModel::kViscosity),
               sums = is_active(FlowModel::kForce) || is_active(FlowModel::kDt);
    One eddies_bar(0);
    const bool of_scalars = wants_scalars(bar, active);
    const Scalars<T, Dim, How>& scalars = momentum.scalars;
    const bool bodies =
        !model_.obstacles.empty() && (viscosity || sums || model_.moving() || wants_bodies(bar, active));
    clear_cotangents<T, Dim>(model_, viscosity, w);
    read_ends_bar<T>(in, momentum, y_bar, viscosity, w);
    if (model_.pressure >= 0) read_pressure_bar<T>(in, momentum, sums, dt_bar, w);
    if constexpr (Traced)
      if (bodies || sums || of_scalars) {
        scalars.apply(model_.weights(0), 0, w.x, momentum.dt);
        traced_speeds<T>(momentum.dt, w).apply();
      }
    const Obstacles<T, Dim> obstacles{model_, w};
    const typename Obstacles<T, Dim>::To bodies_bar{bar.x, bar.u, bar.p, dt_bar};
    if constexpr (Dim == 2) begin_free<T>(in, momentum, y_bar, bodies_bar, w);
    obstacles.read_forces_bar(obstacles_from<T>(in), y_bar);
    std::array<One, 3> force_bar{One(0), One(0), One(0)};
    const CarriedPoints<T, Dim> tracers{model_, w};
    for (int stage = model_.stages() - 1; stage >= 0; --stage) {
      const auto weights = model_.weights(stage);
      sides.template set_sides_vjp<One>(w.out_bar, w.side_bar);
      Projection<T, Dim, Stretched>(sides, solver_)
          .transpose(w.out_bar, w.star_bar, stage + 1 == model_.stages() ? w.pressure_bar : Plane<Real>{}, w);
      if constexpr (Dim == 2)
        if (model_.points() > 0) transpose_surfaces<T>(stage, in, momentum, bodies, bar, dt_bar, w);
      sides.template set_faces_vjp<One>(w.star_bar, w.side_bar);
      if (model_.eddies) momentum.eddies.read(current(w, stage));
      if (model_.implicit && (viscosity || sums || bodies)) {  // star and delta again
        momentum.apply(weights, stage, current(w, stage));
        implicit<T>(momentum.dt, w).apply(weights, current(w, stage));
      }
      momentum.transpose_forces(weights);
      if constexpr (Dim == 2)
        if (model_.any_free()) {
          momentum.apply(weights, stage, current(w, stage));
          free_bodies<T>(in, w).let_move(weights, stage);
          free_bodies<T>(in, w).transpose(weights, stage, bodies_bar);
        }
      if (!model_.obstacles.empty()) momentum.transpose_resistance(weights);
      if (model_.implicit) implicit<T>(momentum.dt, w).transpose(weights);
      if (bodies) momentum.transpose_bodies(weights, stage, current(w, stage), dt_bar);
      if constexpr (Dim == 2)
        if (model_.any_free()) free_bodies<T>(in, w).transpose_bodies(weights, viscosity, bodies_bar);
      for (int a = 0; a < Dim; ++a) sides.template wrap<One>(w.star_bar[std::size_t(a)], a);
      if (Traced) scalars.transpose_buoyancy(momentum.dt);
      scalars.begin_transpose(weights, momentum.dt);
      if (sums) momentum.transpose_sums(weights, stage, current(w, stage), dt_bar, force_bar);
      if (model_.implicit && sums) implicit<T>(momentum.dt, w).transpose_sums(weights, dt_bar);
      if (model_.implicit && viscosity) implicit<T>(momentum.dt, w).transpose_viscosity(weights);
      if (viscosity && !model_.eddies) momentum.transpose_viscosity(weights, current(w, stage));
      momentum.transpose(weights, stage, current(w, stage));
      if (model_.implicit) implicit<T>(momentum.dt, w).add_extra(w.out_bar);
      if (model_.eddies)
        momentum.eddies.transpose(One(Real(weights.share)) * momentum.dt, current(w, stage), viscosity,
                                  eddies_bar);
      if constexpr (Traced) traced_speeds<T>(momentum.dt, w).transpose(sums, dt_bar);
      scalars.transpose(weights, stage, current(w, stage), momentum.dt, sums || of_scalars, dt_bar);
      tracers.transpose(weights, stage, current(w, stage), momentum.dt, w.out_bar, dt_bar);
    }
    set_beginnings_vjp<T>(scalars, w);
    write_state<T>(bar.x, w);
    if constexpr (Dim == 2) free_bodies<T>(in, w).end_transpose(bar.x);
    if (bar.u.value) write_given<T>(true, bar.u, w);
    if (bar.u.value && model_.push >= 0) write_speeds<T>(model_, w.push_bar, bar.u + model_.push, true);
    if constexpr (Dim == 2)
      if (model_.linkage) free_bodies<T>(in, w).linked.begin_vjp(bodies_bar);
    if (bodies) obstacles.transpose(obstacles_from<T>(in), viscosity, y_bar, bodies_bar);
    if (bodies && viscosity) obstacles.face_viscosity_vjp();
    if (!bar.p.value) return;
    write_given<T>(false, bar.p, w);
    if (of_scalars) scalars.write_parameters(bar.p);
    if (viscosity) write_viscosity<T>(bar.p, w);
    if (model_.eddies) add_number<T>(bar.p, model_.dt_at() + 1, eddies_bar);
    if (sums) write_sums<T>(bar.p, dt_bar, force_bar);
  }
  // The sides of what a step begins with.
  template <class T>
  void set_beginnings_vjp(const Scalars<T, Dim, How>& scalars, Scratch& w) const {
    model_.sides.template set_sides_vjp<Single<T>>(w.out_bar, w.side_bar);
    for (std::size_t s = 0; s < w.scalars.size(); ++s) scalars.set_sides_vjp(s, w.scalars[s].out_bar);
  }
  template <class T>
  void write_sums(Out p_bar, const Single<T>& dt_bar, const std::array<Single<T>, 3>& force_bar) const {
    add_number<T>(p_bar, model_.dt_at(), dt_bar);
    for (int a = 0; a < Dim; ++a) add_number<T>(p_bar, model_.force_at() + a, force_bar[std::size_t(a)]);
  }
  template <class T>
  void write_state(Out x_bar, Scratch& w) const {
    const Shape& shape = model_.sides.shape;
    const auto add_kept = [&](const auto& range, const Plane<Real>& kept, const Plane<Real>& moved) {
      each_pack<T>(shape, range, [&](Index at, Index count) {
        store<T>(moved, at, load<T>(moved, at) + load<T>(kept, at), count);
      });
    };
    for (int a = 0; a < Dim; ++a)
      add_kept(shape.faces(a), w.x_bar[std::size_t(a)], w.out_bar[std::size_t(a)]);
    write_speeds<T>(model_, w.out_bar, x_bar);
    for (const auto& scalar : w.scalars) add_kept(shape.all_cells(), scalar.x_bar, scalar.out_bar);
    write_scalars<T>(x_bar, w, [](const auto& fields) { return fields.out_bar; });
    CarriedPoints<T, Dim>{model_, w}.write_start(x_bar);
    const auto unread = [&](Index at, Index count) {
      std::fill_n(x_bar.value + at, count, Real(0));
      if (x_bar.tangent) std::fill_n(x_bar.tangent + at, count, Real(0));
    };
    for (const FlowModel::ObstacleModel& o : model_.obstacles) unread(o.force_at, Dim == 2 ? 3 : 6);
    if (model_.pressure >= 0) unread(model_.pressure, shape.cells());
    if (model_.readings()) unread(model_.readings_at, model_.signature.states() - model_.readings_at);
  }
  template <class T>
  void write_given(bool controls, Out to, Scratch& w) const {
    for (const FlowModel::GivenSpeed& g : model_.given) {
      if (g.control != controls) continue;
      const Plane<Real>& from = w.side_bar[std::size_t(g.axis)][std::size_t(g.end)][std::size_t(g.component)];
      for (Index i = 0; i < g.count; ++i) add_number<T>(to, g.offset + i, load<Single<T>>(from, i));
    }
  }
  // What edges got goes to the cells around them, and what cells beyond the sides got to those inside.
  template <class T>
  void write_viscosity(Out p_bar, Scratch& w) const {
    const Sides& sides = model_.sides;
    mean_over_edges_vjp<T, Dim>(sides, w.edges_bar, w.viscosity_bar);
    sides.template extend_vjp<Single<T>>(w.viscosity_bar);
    write_field<T>(sides.shape, sides.shape.all_cells(), w.viscosity_bar, p_bar, true);
  }

  FlowModel model_;
  PressureSolver<Real> solver_;
  ViscousSolver<Real> viscous_;  // of implicit viscosity
};

template <class Real, int Dim, Carry How>
std::shared_ptr<System<Real>> make_flow_system(FlowModel model) {
  return std::make_shared<FlowSystem<Real, Dim, How>>(std::move(model));
}

}  // namespace costate::fluid
