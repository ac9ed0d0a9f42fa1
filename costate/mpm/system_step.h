// A step of MaterialPoints: the stages of system.h in order. Values and tangents are one code (node_row.h).
// Transpose: system_vjp.h.
// Tests: tests/mpm/system_test.cpp.
#pragma once

#include "costate/mpm/system_bodies.h"
#include "costate/mpm/system_inputs.h"

namespace costate::mpm {

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
  if (!body_shapes_.empty()) {
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
    s.offender[s.order.pencil_index(pencil)] = particles.deform_and_scatter(pencil, next, grid);
  });
  if (const std::int64_t particle = worst(s); particle != kNoParticle)
    throw_inverted(at, particle, s.order.name(particle));
  if (tape) write_tape(grid.v, tape, s);
  read_grid_inputs(u, p, grid_inputs);
  const GridVelocity<Mode> on_grid(model_, grid_, floor_, grid_inputs);
  for_node_pencils(
      s, [&](const NodePencil& pencil, std::int64_t) { on_grid.update(pencil, grid_in, velocity); });
  if (!body_shapes_.empty()) {
    read_bodies(x, u, p, grid_inputs, at, s);
    look_at_bodies<Mode>(grid_in, {velocity.v, velocity.d}, s);
    push_bodies<Mode>(grid_in, velocity, s);
    move_bodies<Mode>(next, s);
  }
  for_pencils(s, [&](const Pencil& pencil) {
    s.offender[s.order.pencil_index(pencil)] =
        particles.gather_and_move(pencil, {velocity.v, velocity.d}, next);
  });
  if (const std::int64_t particle = worst(s); particle != kNoParticle)
    throw_too_fast(at, particle, s.order.name(particle), y, in.p[layout_.dt]);
}

}  // namespace costate::mpm
