// The System of system.h as a class: what it knows, the scratch of a step, and how its stages walk over
// pencils. The stages themselves:
//
//   system_setup.h        from a model, and its errors
//   system_inputs.h       colliders' poses, materials' numbers, and their cotangents
//   system_step.h         a step, with or without tangents
//   system_vjp.h          its transpose
//   system_bodies.h       the bodies that mechanisms move
//   system_bodies_vjp.h   their transposes
//   split_points.h        the same stages over ranks, each with a slab of the grid
#pragma once

#include <algorithm>
#include <cstring>

#include "costate/core/aligned_buffer.h"
#include "costate/core/parallel.h"
#include "costate/mpm/bodies/body_stage.h"
#include "costate/mpm/bodies/mechanism.h"
#include "costate/mpm/system.h"
#include "costate/mpm/transfer/grid_velocity.h"
#include "costate/mpm/transfer/particle_stage.h"
#include "costate/mpm/transfer/particle_transpose.h"
#include "costate/system/split_system.h"

namespace costate::mpm {

template <class Real, int D, int kTaps>
class SplitPoints;

// A System that knows its model, whatever its numbers and dimension (model_of.h).
class OfModel {
 public:
  virtual ~OfModel() = default;
  virtual const Model& model() const = 0;
};

template <class Real, int D, int kTaps>
class MaterialPoints final : public System<Real>, public Splittable<Real>, public OfModel {
  friend class SplitPoints<Real, D, kTaps>;

 public:
  explicit MaterialPoints(const Model& model);

  const Model& model() const override { return model_; }
  const Signature& signature() const override { return layout_.signature; }
  typename System<Real>::Capabilities capabilities() const override { return {.jvp = true, .vjp = true}; }
  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<Scratch>(*this); }

  // Momentum and mass of the live nodes, behind one number that says whether they are there: a sixth of a
  // state. A scene so sparse that they do not fit has them computed again.
  TapePlan tape(const Activity&, const TapeBudget&) const override { return {.size = tape_size()}; }

  void step(const StepContext& at, const Inputs<Real>& in, Real* y, Real* tape,
            Workspace& work) const override {
    forward<Values<Real>>(at, in, {}, y, nullptr, tape, static_cast<Scratch&>(work));
  }
  void step_jvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y,
                Real* y_dot, Workspace& work) const override {
    forward<Tangents<Real>>(at, in, in_dot, y, y_dot, nullptr, static_cast<Scratch&>(work));
  }
  void step_vjp(const StepContext& at, const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity& active, Workspace& work) const override;
  std::unique_ptr<SplitSystem<Real>> split(Channel& channel) const override;

 private:
  template <class S>
  struct BodyWork {
    std::vector<Pose<S>> poses;      // with the velocities that the nodes see
    std::vector<BodySums<S>> parts;  // node pencils x bodies
  };
  // What a mechanism reads and writes, in its own order.
  template <class T>
  struct MechanismWork {
    std::vector<T> x, u, p, y;
    std::vector<Pose<T>> poses, first;  // that the nodes see; that they saw at the first look
    std::vector<BodySums<T>> sums;
    void resize(const Signature& own, std::size_t shapes) {
      x.resize(own.states()), y.resize(x.size());
      u.resize(own.controls());
      p.resize(own.parameters());
      poses.resize(shapes), first.resize(shapes), sums.resize(shapes);
    }
  };
  struct MechanismScratch {
    MechanismWork<double> values, bar;
    MechanismWork<Dual<double>> tangents;
    std::unique_ptr<Workspace> work;
  };
  struct Scratch : Workspace {
    explicit Scratch(const MaterialPoints& system);
    ParticleOrder order;
    AlignedBuffer<Real> grid;      // momentum and mass; velocities in a forward step without bodies
    AlignedBuffer<Real> velocity;  // in a transpose, and with bodies
    AlignedBuffer<Real> grid_bar;
    AlignedBuffer<Real> grid_dot, velocity_dot;  // in a tangent step
    AlignedBuffer<Real> before;                  // in a transpose: velocities before the bodies
    BodyWork<Real> bodies;
    BodyWork<Dual<Real>> body_tangents;
    std::vector<Pose<double>> body_bars;  // node pencils x bodies
    std::vector<BodySums<double>> body_sums_bar;
    std::vector<MechanismScratch> mechanisms;
    std::vector<std::int64_t> offender;  // per pencil
    GridInputs<Real> grid_inputs;
    GridInputs<Dual<Real>> grid_tangents;
    std::vector<GridSums> grid_sums;      // per node pencil
    std::vector<Pose<double>> pose_bars;  // node pencils x colliders
    std::vector<double> particle_sums;    // per pencil: dt, actuation, materials x kLargestParameterCount
  };
  template <class S>
  static auto& body_work(Scratch& s) {
    if constexpr (is_dual<S>)
      return s.body_tangents;
    else
      return s.bodies;
  }
  // body(places, numbers, workspace) for each mechanism: values or tangents.
  template <class S, class Body>
  void for_mechanisms(Scratch& s, const Body& body) const {
    for (std::size_t i = 0; i < s.mechanisms.size(); ++i) {
      MechanismScratch& m = s.mechanisms[i];
      if constexpr (is_dual<S>)
        body(layout_.moved[i], m.tangents, *m.work);
      else
        body(layout_.moved[i], m.values, *m.work);
    }
  }
  // body(places, values, cotangents, workspace) for each; what it notices goes to our diagnostics.
  template <class Body>
  void for_mechanism_transposes(Scratch& s, const Body& body) const {
    for (std::size_t i = 0; i < s.mechanisms.size(); ++i) {
      MechanismScratch& m = s.mechanisms[i];
      const LentDiagnostics lent(s.diagnostics, m.work->diagnostics);
      body(layout_.moved[i], m.values, m.bar, *m.work);
    }
  }
  using NodePencil = ParticleOrder::NodePencil;
  using Pencil = ParticleOrder::Pencil;
  static constexpr int kTapeNodes = 1;  // per particle
  std::int64_t tape_size() const { return 1 + kTapeNodes * layout_.particles * 4; }

  template <class Mode>
  void forward(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y,
               Real* y_dot, Real* tape, Scratch& s) const;

  // --- stages ----------------------------------------------------------------------------------------------
  void sort(const StepContext& at, const Real* x, Scratch& s) const {
    s.order.sort(x + layout_.x, model_.origin, model_.dx, layout_.material.data(), at.k);
  }
  void clear(Slice<Real> grid, Scratch& s) const {
    for_node_pencils(s, [&](const NodePencil& p, std::int64_t) {
      for_columns(p, [&](std::int64_t at, std::int64_t size) {
        std::memset(grid.v + at, 0, static_cast<std::size_t>(size) * sizeof(Real));
        if (grid.d) std::memset(grid.d + at, 0, static_cast<std::size_t>(size) * sizeof(Real));
      });
    });
  }
  // body(pencil) colour by colour: pencils of one colour share no node.
  template <class Body>
  void for_pencils_by_colour(const Scratch& s, const Body& body) const {
    for_pencils_of_colours(s, 0, ParticleOrder::kColours, body);
  }
  template <class Body>
  void for_pencils_of_colours(const Scratch& s, int first, int end, const Body& body) const {
    for (int colour = first; colour < end; ++colour) {
      const auto& pencils = s.order.pencils(colour);
      parallel_for(static_cast<std::int64_t>(pencils.size()), 1,
                   [&](std::int64_t i, std::int64_t) { body(pencils[i]); });
    }
  }
  // In any order: nothing is shared.
  template <class Body>
  void for_pencils(const Scratch& s, const Body& body) const {
    std::int64_t count[ParticleOrder::kColours + 1] = {0};
    for (int c = 0; c < ParticleOrder::kColours; ++c)
      count[c + 1] = count[c] + static_cast<std::int64_t>(s.order.pencils(c).size());
    parallel_for(count[ParticleOrder::kColours], 1, [&](std::int64_t i, std::int64_t) {
      int c = 0;
      while (i >= count[c + 1]) ++c;
      body(s.order.pencils(c)[i - count[c]]);
    });
  }
  template <class Body>
  void for_node_pencils(const Scratch& s, const Body& body) const {
    const auto& pencils = s.order.node_pencils();
    parallel_for(static_cast<std::int64_t>(pencils.size()), 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(pencils[i], i);
    });
  }
  template <class Body>
  void for_columns(const NodePencil& p, const Body& body) const {
    constexpr int B = ParticleOrder::kBlock;
    const int i_end = std::min((p.a + 1) * B, grid_.nodes[0]);
    const int j_end = D == 3 ? std::min((p.b + 1) * B, grid_.nodes[1]) : 1;
    for (int i = p.a * B; i < i_end; ++i) {
      for (int j = p.b * B; j < j_end; ++j)
        body(i * grid_.first_stride() + j * grid_.second_stride() + 4 * p.low,
             4 * std::int64_t(p.high - p.low));
    }
  }
  // body(pencil, place): where each live node pencil begins when they lie one after the other. Returns where
  // they end.
  template <class Body>
  std::int64_t for_tape_places(const Scratch& s, const Body& body) const {
    std::int64_t place = 1;
    for (const NodePencil& p : s.order.node_pencils()) {
      body(p, place);
      for_columns(p, [&](std::int64_t, std::int64_t size) { place += size; });
    }
    return place;
  }
  void write_tape(const Real* grid, Real* tape, const Scratch& s) const {
    const bool fits = for_tape_places(s, [](const NodePencil&, std::int64_t) {}) <= tape_size();
    tape[0] = Real(fits ? 1 : 0);
    if (!fits) return;
    for_tape_places(s, [&](const NodePencil& p, std::int64_t place) {
      for_columns(p, [&](std::int64_t at, std::int64_t size) {
        std::memcpy(tape + place, grid + at, static_cast<std::size_t>(size) * sizeof(Real));
        place += size;
      });
    });
  }
  void read_tape(const Real* tape, Real* grid, const Scratch& s) const {
    for_tape_places(s, [&](const NodePencil& p, std::int64_t place) {
      for_columns(p, [&](std::int64_t at, std::int64_t size) {
        std::memcpy(grid + at, tape + place, static_cast<std::size_t>(size) * sizeof(Real));
        place += size;
      });
    });
  }
  std::int64_t worst(const Scratch& s) const {
    std::int64_t first = kNoParticle;
    for (int c = 0; c < ParticleOrder::kColours; ++c)
      for (const Pencil& p : s.order.pencils(c)) first = std::min(first, s.offender[s.order.pencil_index(p)]);
    return first;
  }

  template <class S>
  void read_grid_inputs(Slice<const Real> u, Slice<const Real> p, GridInputs<S>& out) const;
  // `sums` and `poses` of `count` node pencils, in their order.
  void grid_inputs_vjp(const Inputs<Real>& in, const GridSums* sums, const Pose<double>* poses,
                       std::size_t count, const Cotangents<Real>& bar) const;
  // each(body): body(particle_sums of a pencil) colour by colour, in the order of the pencils.
  template <class Each>
  void particle_numbers_vjp(const Each& each, const Cotangents<Real>& bar) const;

  // --- bodies ----------------------------------------------------------------------------------------------
  template <class S>
  void read_bodies(Slice<const Real> x, Slice<const Real> u, Slice<const Real> p, const GridInputs<S>& grid,
                   const StepContext& at, Scratch& s) const;
  template <class Mode>
  void look_at_bodies(Slice<const Real> grid, Slice<const Real> velocity, Scratch& s) const;
  template <class Mode>
  void push_bodies(Slice<const Real> grid, Slice<Real> velocity, Scratch& s) const;
  template <class Mode>
  void move_bodies(Slice<Real> y, Scratch& s) const;
  void bodies_vjp(const Real* y_bar, Scratch& s, const Cotangents<Real>& bar) const;
  void move_bodies_vjp(const Real* y_bar, bool parameters, Scratch& s) const;
  void predict_bodies_vjp(Scratch& s) const;
  void read_bodies_vjp(Scratch& s, const Cotangents<Real>& bar) const;
  void clear_body_bars(Scratch& s) const;
  Pose<double> body_bar(std::size_t body, const Scratch& s) const;

  [[noreturn]] void throw_inverted(const StepContext& at, std::int64_t particle, std::int64_t name) const;
  [[noreturn]] void throw_too_fast(const StepContext& at, std::int64_t particle, std::int64_t name,
                                   const Real* y, Real dt) const;

  std::int64_t particle_sum_count() const {
    return 1 + model_.actuators + std::int64_t(model_.materials.size()) * kLargestParameterCount;
  }

  Model model_;
  Layout layout_;
  GridShape grid_;
  ParticleConstants<Real, D> constants_;
  std::vector<Collider> body_shapes_;
  Real floor_;
};

}  // namespace costate::mpm
