// The bodies of a MaterialPoints system: from the state to the stages of body_stage.h and on to the next
// state. Free ones come first, then those of a mechanism. Transpose: system_bodies_vjp.h.
#pragma once

#include "costate/mpm/system_mechanism.h"

namespace costate::mpm {

template <class Real, int D, int kTaps>
template <class S>
void MaterialPoints<Real, D, kTaps>::read_bodies(Slice<const Real> x, Slice<const Real> u,
                                                 Slice<const Real> p, const GridInputs<S>& grid,
                                                 const StepContext& at, Scratch& s) const {
  BodyWork<S>& out = body_work<S>(s);
  using Mode = std::conditional_t<is_dual<S>, Tangents<Real>, Values<Real>>;
  const auto vector = [&](std::int64_t place) {
    Vec3<S> r = Vec3<S>::zero();
    for (int a = 0; a < D; ++a) r[a] = number_at<Mode>(x, place + a);
    return r;
  };
  for (std::size_t b = 0; b < out.in.size(); ++b) {
    const Layout::BodyPlaces& from = layout_.bodies[b];
    BodyInputs<S>& in = out.in[b];
    in.body.c = vector(from.position);
    in.body.V = vector(from.velocity);
    if constexpr (D == 3)
      in.body.W = vector(from.angular_velocity);
    else
      in.body.W = {S(0), S(0), number_at<Mode>(x, from.angular_velocity)};
    for (int i = 0; i < 4; ++i)
      in.body.turn[i] = D == 3 || i == 0 ? number_at<Mode>(x, from.orientation + i) : S(0);
    in.n.mass = number_at<Mode>(p, from.mass);
    for (int i = 0; i < 3; ++i) in.n.inertia[i] = number_at<Mode>(p, from.inertia + (D == 3 ? i : 0));
    in.sums = BodySums<S>::zero();
    in.g = grid.gravity;
    in.dt = grid.dt;
    out.poses[b] = {orientation<D>(in.body.turn), in.body.c, in.body.V + in.dt * in.g, in.body.W,
                    number_at<Mode>(p, from.friction)};
  }
  if (model_.mechanism) begin_mechanism(x, u, p, grid, at, s);
}

// Leaves the sums of the first look in `in` and the predicted velocities in `poses`.
template <class Real, int D, int kTaps>
template <class Mode>
void MaterialPoints<Real, D, kTaps>::look_at_bodies(Slice<const Real> grid, Slice<const Real> velocity,
                                                    Scratch& s) const {
  using S = typename Mode::Number;
  auto& work = body_work<S>(s);
  const BodyStage<Mode> stage(grid_, body_shapes_);
  const std::size_t count = body_shapes_.size(), pencils = s.order.node_pencils().size();
  for_node_pencils(s, [&](const NodePencil& pencil, std::int64_t i) {
    stage.look(pencil, grid, velocity, work.poses, work.parts.data() + static_cast<std::size_t>(i) * count);
  });
  for (std::size_t b = 0; b < free_bodies(); ++b) {
    BodyInputs<S>& in = work.in[b];
    for (std::size_t i = 0; i < pencils; ++i) in.sums.add(work.parts[i * count + b]);
    BodyMotion<S> seen = in.body;
    predict<D>(seen, in.n, in.sums, in.g, in.dt);
    work.poses[b].V = seen.V;
    work.poses[b].W = seen.W;
  }
  if (model_.mechanism) predict_mechanism<S>(s);
}

// Leaves what each body receives in the parts of the first pencil.
template <class Real, int D, int kTaps>
template <class Mode>
void MaterialPoints<Real, D, kTaps>::push_bodies(Slice<const Real> grid, Slice<Real> velocity,
                                                 Scratch& s) const {
  using S = typename Mode::Number;
  auto& work = body_work<S>(s);
  const BodyStage<Mode> stage(grid_, body_shapes_);
  const std::size_t count = body_shapes_.size(), pencils = s.order.node_pencils().size();
  for_node_pencils(s, [&](const NodePencil& pencil, std::int64_t i) {
    stage.push(pencil, grid, work.poses, velocity, work.parts.data() + static_cast<std::size_t>(i) * count);
  });
  for (std::size_t i = 1; i < pencils; ++i)
    for (std::size_t b = 0; b < count; ++b) work.parts[b].add(work.parts[i * count + b]);
}

template <class Real, int D, int kTaps>
template <class Mode>
void MaterialPoints<Real, D, kTaps>::move_bodies(Slice<Real> y, Scratch& s) const {
  using S = typename Mode::Number;
  const auto& work = body_work<S>(s);
  const auto put = [&](std::int64_t place, const S& value) {
    if constexpr (Mode::kTangent)
      y.v[place] = value.v, y.d[place] = value.d[0];
    else
      y.v[place] = value;
  };
  for (std::size_t b = 0; b < work.in.size(); ++b) {
    const BodyInputs<S>& in = work.in[b];
    const Layout::BodyPlaces& to = layout_.bodies[b];
    const BodyMotion<S> next = move<D>(in.body, in.n, work.parts[b], in.g, in.dt);
    for (int a = 0; a < D; ++a) put(to.position + a, next.c[a]), put(to.velocity + a, next.V[a]);
    for (int a = 0; a < (D == 3 ? 3 : 1); ++a) put(to.angular_velocity + a, next.W[D == 3 ? a : 2]);
    for (int i = 0; i < (D == 3 ? 4 : 1); ++i) put(to.orientation + i, next.turn[i]);
  }
  if (model_.mechanism) move_mechanism<Mode>(y, s);
}

}  // namespace costate::mpm
