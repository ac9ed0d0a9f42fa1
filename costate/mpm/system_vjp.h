// The transpose of system_step.h: the step again as far as the velocities of the grid, then its stages
// backwards. Tests: tests/mpm/system_test.cpp.
#pragma once

#include "costate/mpm/system_bodies_vjp.h"
#include "costate/mpm/system_inputs.h"

namespace costate::mpm {

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
  if (!body_shapes_.empty()) {
    s.before.reserve(grid_.size);
    for_node_pencils(s, [&](const NodePencil& pencil, std::int64_t) {
      for_columns(pencil, [&](std::int64_t place, std::int64_t size) {
        std::memcpy(s.before.data() + place, velocity.v + place,
                    static_cast<std::size_t>(size) * sizeof(Real));
      });
    });
    read_bodies(x, u, p, s.grid_inputs, at, s);
    look_at_bodies<Mode>({grid.v, nullptr}, {velocity.v, nullptr}, s);
    push_bodies<Mode>({grid.v, nullptr}, velocity, s);
  }

  // And back.
  clear(grid_bar, s);
  for_pencils_by_colour(
      s, [&](const Pencil& pencil) { particles.scatter_cotangents(pencil, y_bar, grid_bar.v); });
  if (!body_shapes_.empty()) bodies_vjp(y_bar, s, bar);
  const std::size_t colliders = model_.colliders.size();
  for_node_pencils(s, [&](const NodePencil& pencil, std::int64_t i) {
    const std::size_t slot = i;
    GridSums& sums = s.grid_sums[slot] = {};
    Pose<double>* poses = s.pose_bars.data() + slot * colliders;
    for (std::size_t c = 0; c < colliders; ++c) {
      poses[c] = {Mat3<double>::zero(), Vec3<double>::zero(), Vec3<double>::zero(), Vec3<double>::zero(),
                  0.0};
    }
    on_grid.update_vjp(pencil, grid.v, grid_bar.v, sums, poses);
    if (body_shapes_.empty()) return;
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
  grid_inputs_vjp(in, s.grid_sums.data(), s.pose_bars.data(), s.order.node_pencils().size(), bar);
  particle_numbers_vjp(
      [&](const auto& body) {
        for (int c = 0; c < ParticleOrder::kColours; ++c)
          for (const Pencil& pencil : s.order.pencils(c))
            body(s.particle_sums.data() + s.order.pencil_index(pencil) * particle_sum_count());
      },
      bar);
}

}  // namespace costate::mpm
