// The System of system.h: the stages of a step in order, their transposes in reverse, and the scratch between them.
#pragma once

#include <algorithm>
#include <cstring>

#include "costate/core/aligned_buffer.h"
#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/mpm/body_stage.h"
#include "costate/mpm/grid_velocity.h"
#include "costate/mpm/particle_stage.h"
#include "costate/mpm/particle_transpose.h"
#include "costate/mpm/system.h"

namespace costate::mpm {

template <class Real, int D, int kTaps>
class MaterialPoints final : public System<Real> {
 public:
  explicit MaterialPoints(const Model& model);

  const Signature& signature() const override { return layout_.signature; }
  typename System<Real>::Capabilities capabilities() const override { return {.jvp = true, .vjp = true}; }
  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<Scratch>(*this); }

  // Momentum and mass of the live nodes, behind one number that says whether they are there: a tenth of a state. A scene so sparse that they do not fit
  // has them computed again.
  std::int64_t tape_size() const override { return 1 + kTapeNodes * layout_.particles * 4; }

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

 private:
  template <class S>
  struct BodyWork {
    std::vector<BodyInputs<S>> in;
    std::vector<Pose<S>> poses;      // with the velocities that the nodes see
    std::vector<BodySums<S>> parts;  // node pencils x bodies
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
    std::vector<BodyInputs<double>> body_inputs_bar;
    std::vector<BodySums<double>> body_sums_bar;
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
  using NodePencil = ParticleOrder::NodePencil;
  using Pencil = ParticleOrder::Pencil;
  static constexpr int kTapeNodes = 1;  // a particle

  template <class Mode>
  void forward(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y,
               Real* y_dot, Real* tape, Scratch& s) const;

  // --- stages --------------------------------------------------------------------------------------------------------
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
    for (int colour = 0; colour < ParticleOrder::kColours; ++colour) {
      const auto& pencils = s.order.pencils(colour);
      parallel_for(static_cast<std::int64_t>(pencils.size()), 1,
                   [&](std::int64_t i, std::int64_t) { body(pencils[static_cast<std::size_t>(i)]); });
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
      body(s.order.pencils(c)[static_cast<std::size_t>(i - count[c])]);
    });
  }
  template <class Body>
  void for_node_pencils(const Scratch& s, const Body& body) const {
    const auto& pencils = s.order.node_pencils();
    parallel_for(static_cast<std::int64_t>(pencils.size()), 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(pencils[static_cast<std::size_t>(i)], i);
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
  // body(pencil, place): where each live node pencil begins when they lie one after the other. Returns where they end.
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
      for (const Pencil& p : s.order.pencils(c))
        first = std::min(first, s.offender[static_cast<std::size_t>(s.order.pencil_index(p))]);
    return first;
  }

  template <class S>
  void read_grid_inputs(Slice<const Real> u, Slice<const Real> p, GridInputs<S>& out) const;
  void grid_inputs_vjp(const Inputs<Real>& in, const Scratch& s, const Cotangents<Real>& bar) const;
  void particle_numbers_vjp(const Scratch& s, const Cotangents<Real>& bar) const;

  // --- free bodies -----------------------------------------------------------------------------------------------------
  template <class S>
  void read_bodies(Slice<const Real> x, Slice<const Real> p, const GridInputs<S>& grid,
                   BodyWork<S>& out) const;
  template <class Mode>
  void look_at_bodies(Slice<const Real> grid, Slice<const Real> velocity, Scratch& s) const;
  template <class Mode>
  void push_bodies(Slice<const Real> grid, Slice<Real> velocity, Scratch& s) const;
  template <class Mode>
  void move_bodies(Slice<Real> y, Scratch& s) const;
  void bodies_vjp(const Inputs<Real>& in, const Real* y_bar, Scratch& s, const Cotangents<Real>& bar) const;

  [[noreturn]] void throw_inverted(const StepContext& at, std::int64_t particle) const;
  [[noreturn]] void throw_too_fast(const StepContext& at, std::int64_t particle, const Real* y,
                                   Real dt) const;

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

// ---------------------------------------------------------------------------------------------------------------------

template <class Real, int D, int kTaps>
MaterialPoints<Real, D, kTaps>::MaterialPoints(const Model& model)
    : model_(model), layout_((check(model), model)), grid_(model) {
  for (const Body& b : model_.bodies)
    body_shapes_.push_back({b.name, b.shape, b.contact, b.friction, b.band});
  constants_.layout = &layout_;
  constants_.model = &model_;
  constants_.volume.assign(layout_.volume.begin(), layout_.volume.end());
  constants_.same_volume = std::all_of(constants_.volume.begin(), constants_.volume.end(),
                                       [&](Real v) { return v == constants_.volume[0]; });
  for (const Material& m : model_.materials) {
    constants_.laws.push_back(law_of<typename Values<Real>::Lanes, D>(m.kind));
    constants_.tangent_laws.push_back(law_of<typename Tangents<Real>::Lanes, D>(m.kind));
  }
  constants_.strides = {grid_.first_stride(), grid_.second_stride()};
  constants_.dx = Real(model_.dx);
  constants_.inverse_dx = Real(1 / model_.dx);
  constants_.courant = Real(model_.largest_courant);
  for (std::size_t a = 0; a < 3; ++a)
    constants_.shift[a] = Real(model_.origin[a] / model_.dx + kFirstNodeShift<kTaps>);
  double lightest = 1e300;
  for (std::size_t i = 0; i < layout_.volume.size(); ++i) {
    lightest =
        std::min(lightest,
                 layout_.volume[i] * model_.materials[static_cast<std::size_t>(layout_.material[i])].density);
  }
  floor_ = Real(model_.mass_floor > 0 ? model_.mass_floor : (sizeof(Real) == 8 ? 1e-16 : 1e-12) * lightest);
}

template <class Real, int D, int kTaps>
MaterialPoints<Real, D, kTaps>::Scratch::Scratch(const MaterialPoints& system)
    : order(D, system.model_.nodes, kTaps, system.layout_.particles,
            static_cast<int>(system.model_.materials.size())) {
  const auto pencils = static_cast<std::size_t>(order.pencil_count());
  grid.reserve(system.grid_.size);
  offender.resize(pencils);
  grid_sums.resize(pencils);
  pose_bars.resize(pencils * system.model_.colliders.size());
  particle_sums.resize(pencils * static_cast<std::size_t>(system.particle_sum_count()));
  grid_inputs.poses.resize(system.model_.colliders.size());
  grid_tangents.poses.resize(system.model_.colliders.size());
  const std::size_t count = system.model_.bodies.size();
  bodies.in.resize(count), body_tangents.in.resize(count);
  bodies.poses.resize(count), body_tangents.poses.resize(count);
  bodies.parts.resize(count * pencils), body_tangents.parts.resize(count * pencils);
  body_bars.resize(count * pencils);
  body_inputs_bar.resize(count), body_sums_bar.resize(count);
}

template <class Real, int D, int kTaps>
template <class Mode>
void MaterialPoints<Real, D, kTaps>::forward(const StepContext& at, const Inputs<Real>& in,
                                             const Inputs<Real>& in_dot, Real* y, Real* y_dot, Real* tape,
                                             Scratch& s) const {
  const Slice<const Real> x{in.x, in_dot.x}, u{in.u, in_dot.u}, p{in.p, in_dot.p};
  const Slice<Real> next{y, y_dot};
  Slice<Real> grid{s.grid.data(), nullptr};
  if constexpr (Mode::kTangent) {
    s.grid_dot.reserve(grid_.size);
    grid.d = s.grid_dot.data();
  }
  const Slice<const Real> grid_in{grid.v, grid.d};
  Slice<Real> velocity = grid;
  if (!model_.bodies.empty()) {
    s.velocity.reserve(grid_.size);
    velocity.v = s.velocity.data();
    if constexpr (Mode::kTangent) {
      s.velocity_dot.reserve(grid_.size);
      velocity.d = s.velocity_dot.data();
    }
  }
  auto& grid_inputs = [&]() -> auto& {
    if constexpr (Mode::kTangent)
      return s.grid_tangents;
    else
      return s.grid_inputs;
  }
  ();

  sort(at, in.x, s);
  clear(grid, s);
  const ParticleStage<Mode, D, kTaps> particles(constants_, s.order, x, u, p);
  for_pencils_by_colour(s, [&](const Pencil& pencil) {
    s.offender[static_cast<std::size_t>(s.order.pencil_index(pencil))] =
        particles.deform_and_scatter(pencil, next, grid);
  });
  if (const std::int64_t particle = worst(s); particle != kNoParticle) throw_inverted(at, particle);
  if (tape) write_tape(grid.v, tape, s);
  read_grid_inputs(u, p, grid_inputs);
  const GridVelocity<Mode> on_grid(model_, grid_, floor_, grid_inputs);
  for_node_pencils(
      s, [&](const NodePencil& pencil, std::int64_t) { on_grid.update(pencil, grid_in, velocity); });
  if (!model_.bodies.empty()) {
    read_bodies(x, p, grid_inputs, body_work<typename Mode::Number>(s));
    look_at_bodies<Mode>(grid_in, {velocity.v, velocity.d}, s);
    push_bodies<Mode>(grid_in, velocity, s);
    move_bodies<Mode>(next, s);
  }
  for_pencils(s, [&](const Pencil& pencil) {
    s.offender[static_cast<std::size_t>(s.order.pencil_index(pencil))] =
        particles.gather_and_move(pencil, {velocity.v, velocity.d}, next);
  });
  if (const std::int64_t particle = worst(s); particle != kNoParticle)
    throw_too_fast(at, particle, y, in.p[layout_.dt]);
}

template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::step_vjp(const StepContext& at, const Inputs<Real>& in, const Real* tape,
                                              const Real* y_bar, const Cotangents<Real>& bar, const Activity&,
                                              Workspace& work) const {
  using Mode = Values<Real>;
  Scratch& s = static_cast<Scratch&>(work);
  s.velocity.reserve(grid_.size);
  s.grid_bar.reserve(grid_.size);
  const Slice<const Real> x{in.x, nullptr}, u{in.u, nullptr}, p{in.p, nullptr};
  const Slice<Real> grid{s.grid.data(), nullptr}, velocity{s.velocity.data(), nullptr},
      grid_bar{s.grid_bar.data(), nullptr};

  // The step again, as far as the velocities of the grid.
  sort(at, in.x, s);
  const ParticleTranspose<Real, D, kTaps> particles(constants_, s.order, x, u, p);
  if (tape && tape[0] != Real(0)) {
    read_tape(tape, grid.v, s);
  } else {
    clear(grid, s);
    for_pencils_by_colour(s, [&](const Pencil& pencil) { particles.scatter_momentum(pencil, grid.v); });
  }
  read_grid_inputs(u, p, s.grid_inputs);
  const GridVelocity<Mode> on_grid(model_, grid_, floor_, s.grid_inputs);
  for_node_pencils(s, [&](const NodePencil& pencil, std::int64_t) {
    on_grid.update(pencil, {grid.v, nullptr}, velocity);
  });
  if (!model_.bodies.empty()) {
    s.before.reserve(grid_.size);
    for_node_pencils(s, [&](const NodePencil& pencil, std::int64_t) {
      for_columns(pencil, [&](std::int64_t place, std::int64_t size) {
        std::memcpy(s.before.data() + place, velocity.v + place,
                    static_cast<std::size_t>(size) * sizeof(Real));
      });
    });
    read_bodies(x, p, s.grid_inputs, s.bodies);
    look_at_bodies<Mode>({grid.v, nullptr}, {velocity.v, nullptr}, s);
    push_bodies<Mode>({grid.v, nullptr}, velocity, s);
  }

  // And back.
  clear(grid_bar, s);
  for_pencils_by_colour(
      s, [&](const Pencil& pencil) { particles.scatter_cotangents(pencil, y_bar, grid_bar.v); });
  if (!model_.bodies.empty()) bodies_vjp(in, y_bar, s, bar);
  const std::size_t colliders = model_.colliders.size();
  for_node_pencils(s, [&](const NodePencil& pencil, std::int64_t i) {
    const auto slot = static_cast<std::size_t>(i);
    GridSums& sums = s.grid_sums[slot] = {};
    Pose<double>* poses = s.pose_bars.data() + slot * colliders;
    for (std::size_t c = 0; c < colliders; ++c) {
      poses[c] = {Mat3<double>::zero(), Vec3<double>::zero(), Vec3<double>::zero(), Vec3<double>::zero(),
                  0.0};
    }
    on_grid.update_vjp(pencil, grid.v, grid_bar.v, sums, poses);
    if (model_.bodies.empty()) return;
    for_columns(pencil, [&](std::int64_t place, std::int64_t size) {
      for (std::int64_t n = place + 3; n < place + size; n += 4) grid_bar.v[n] += s.before.data()[n];
    });
  });
  for_pencils(s, [&](const Pencil& pencil) {
    double* sums = s.particle_sums.data() + s.order.pencil_index(pencil) * particle_sum_count();
    std::fill(sums, sums + particle_sum_count(), 0.0);
    typename ParticleTranspose<Real, D, kTaps>::Sums to{0, bar.u && model_.actuators > 0 ? sums + 1 : nullptr,
                                                        bar.p ? sums + 1 + model_.actuators : nullptr};
    particles.gather_cotangents(pencil, velocity.v, grid_bar.v, y_bar, bar.x, bar.p, to);
    sums[0] = to.dt;
  });
  grid_inputs_vjp(in, s, bar);
  particle_numbers_vjp(s, bar);
}

template <class Real, int D, int kTaps>
template <class S>
void MaterialPoints<Real, D, kTaps>::read_grid_inputs(Slice<const Real> u, Slice<const Real> p,
                                                      GridInputs<S>& out) const {
  using Mode = std::conditional_t<is_dual<S>, Tangents<Real>, Values<Real>>;
  const auto vector = [](Slice<const Real> from, std::int64_t at) {
    Vec3<S> r = Vec3<S>::zero();
    for (int a = 0; a < D; ++a) r[a] = number_at<Mode>(from, at + a);
    return r;
  };
  const auto turn = [&](Slice<const Real> from, std::int64_t at) {
    if constexpr (D == 3)
      return vector(from, at);
    else
      return Vec3<S>{S(0), S(0), number_at<Mode>(from, at)};
  };
  out.gravity = vector(p, layout_.gravity);
  out.dt = number_at<Mode>(p, layout_.dt);
  for (int face = 0; face < 6; ++face) {
    out.wall_friction[face] =
        layout_.wall_friction >= 0 && face < 2 * D ? number_at<Mode>(p, layout_.wall_friction + face) : S(0);
  }
  for (std::size_t c = 0; c < model_.colliders.size(); ++c) {
    const Layout::ColliderNumbers& n = layout_.colliders[c];
    const bool moves = model_.colliders[c].moves;
    const Slice<const Real> from = moves ? u : p;
    Pose<S>& pose = out.poses[c];
    pose.c = vector(from, n.position);
    pose.R = rotation_matrix(turn(from, n.rotation));
    pose.V = moves ? vector(u, n.velocity) : Vec3<S>::zero();
    pose.W = moves ? turn(u, n.angular_velocity) : Vec3<S>::zero();
    pose.mu = number_at<Mode>(p, n.friction);
  }
}

template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::grid_inputs_vjp(const Inputs<Real>& in, const Scratch& s,
                                                     const Cotangents<Real>& bar) const {
  const std::size_t count = s.order.node_pencils().size(), colliders = model_.colliders.size();
  GridSums total = {};
  for (std::size_t i = 0; i < count; ++i) {
    for (int a = 0; a < D; ++a) total.velocity[a] += s.grid_sums[i].velocity[a];
    for (int f = 0; f < 2 * D; ++f) total.wall_friction[f] += s.grid_sums[i].wall_friction[f];
  }
  if (bar.p) {
    for (int a = 0; a < D; ++a) {
      bar.p[layout_.gravity + a] += Real(double(in.p[layout_.dt]) * total.velocity[a]);
      bar.p[layout_.dt] += Real(double(in.p[layout_.gravity + a]) * total.velocity[a]);
    }
    if (layout_.wall_friction >= 0)
      for (int f = 0; f < 2 * D; ++f) bar.p[layout_.wall_friction + f] += Real(total.wall_friction[f]);
  }
  for (std::size_t c = 0; c < colliders; ++c) {
    Pose<double> pose{Mat3<double>::zero(), Vec3<double>::zero(), Vec3<double>::zero(), Vec3<double>::zero(),
                      0.0};
    for (std::size_t i = 0; i < count; ++i) {
      const Pose<double>& part = s.pose_bars[i * colliders + c];
      pose.R += part.R;
      pose.c += part.c;
      pose.V += part.V;
      pose.W += part.W;
      pose.mu += part.mu;
    }
    const Layout::ColliderNumbers& n = layout_.colliders[c];
    const bool moves = model_.colliders[c].moves;
    if (bar.p) bar.p[n.friction] += Real(pose.mu);
    Real* to = moves ? bar.u : bar.p;
    if (!to) continue;
    const Real* from = moves ? in.u : in.p;
    Vec3<double> phi = Vec3<double>::zero();
    if constexpr (D == 3)
      phi = {double(from[n.rotation]), double(from[n.rotation + 1]), double(from[n.rotation + 2])};
    else
      phi.z = double(from[n.rotation]);
    const Vec3<double> phi_bar = rotation_matrix_vjp(phi, pose.R);
    for (int a = 0; a < D; ++a) {
      to[n.position + a] += Real(pose.c[a]);
      if (moves) to[n.velocity + a] += Real(pose.V[a]);
    }
    for (int a = 0; a < (D == 3 ? 3 : 1); ++a) {
      const int axis = D == 3 ? a : 2;
      to[n.rotation + a] += Real(phi_bar[axis]);
      if (moves) to[n.angular_velocity + a] += Real(pose.W[axis]);
    }
  }
}

template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::particle_numbers_vjp(const Scratch& s,
                                                          const Cotangents<Real>& bar) const {
  const auto add = [&](Real* to, std::int64_t slot) {
    double total = 0;
    for (int c = 0; c < ParticleOrder::kColours; ++c) {
      for (const Pencil& p : s.order.pencils(c)) {
        total +=
            s.particle_sums[static_cast<std::size_t>(s.order.pencil_index(p) * particle_sum_count() + slot)];
      }
    }
    *to += Real(total);
  };
  if (bar.u) {
    for (int a = 0; a < model_.actuators; ++a) add(bar.u + layout_.actuation + a, 1 + a);
  }
  if (!bar.p) return;
  add(bar.p + layout_.dt, 0);
  for (std::size_t m = 0; m < layout_.materials.size(); ++m) {
    const auto& numbers = layout_.materials[m].numbers;
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      if (!numbers[n].per_particle)
        add(bar.p + numbers[n].offset, 1 + model_.actuators +
                                           static_cast<std::int64_t>(m) * kLargestParameterCount +
                                           static_cast<std::int64_t>(n));
    }
  }
}

template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::throw_inverted(const StepContext& at, std::int64_t particle) const {
  const Material& m =
      model_.materials[static_cast<std::size_t>(layout_.material[static_cast<std::size_t>(particle)])];
  throw Error({"particle " + std::to_string(particle) + " (material \"" + m.name +
                   "\") is inverted: the determinant of its deformation gradient is not positive",
               "step " + std::to_string(at.k),
               "reduce dt (now " + std::to_string(model_.dt) + "), or make the material stiffer"},
              Error::Kind::numerics);
}

template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::throw_too_fast(const StepContext& at, std::int64_t particle,
                                                    const Real* y, Real dt) const {
  double way = 0;
  for (int a = 0; a < D; ++a) {
    const double v = std::abs(double(y[layout_.v + particle * D + a]));
    way = v > way || !(v == v) ? v : way;
  }
  throw Error(
      {"particle " + std::to_string(particle) + " moves " + std::to_string(way * double(dt) / model_.dx) +
           " cells in one step; the largest allowed is " + std::to_string(model_.largest_courant),
       "step " + std::to_string(at.k),
       "reduce dt (now " + std::to_string(double(dt)) + ") or raise largest_courant"},
      Error::Kind::numerics);
}

}  // namespace costate::mpm

#include "costate/mpm/system_bodies.h"
