// The bodies of a MaterialPoints system: from the state to the stages of body_stage.h and back. Free ones come first, then those of a mechanism.
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
  const auto vector = [&](std::int64_t at) {
    Vec3<S> r = Vec3<S>::zero();
    for (int a = 0; a < D; ++a) r[a] = number_at<Mode>(x, at + a);
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

// After look_at_bodies and push_bodies: takes grid_bar from after the bodies to before them, leaves the cotangents of the masses in the fourth numbers of
// `before`, and assigns the bodies' part of bar.x.
template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::bodies_vjp(const Inputs<Real>& in, const Real* y_bar, Scratch& s,
                                                const Cotangents<Real>& bar) const {
  const BodyStage<Values<Real>> stage(grid_, body_shapes_);
  const std::size_t count = body_shapes_.size(), free = free_bodies(),
                    pencils = s.order.node_pencils().size();
  std::vector<BodyInputs<double>>& total = s.body_inputs_bar;
  std::vector<BodySums<double>>& sums_bar = s.body_sums_bar;
  const auto inputs = [&](std::size_t b, const BodySums<Real>& sums) {
    const BodyInputs<Real>& from = s.bodies.in[b];
    BodyInputs<double> r;
    r.body.c = body_detail::in_double(from.body.c), r.body.V = body_detail::in_double(from.body.V);
    r.body.W = body_detail::in_double(from.body.W);
    for (int i = 0; i < 4; ++i) r.body.turn[i] = double(from.body.turn[i]);
    r.n.mass = double(from.n.mass);
    for (int i = 0; i < 3; ++i) r.n.inertia[i] = double(from.n.inertia[i]);
    r.sums = body_detail::sums_as<double>(sums);
    r.g = body_detail::in_double(from.g), r.dt = double(from.dt);
    return r;
  };
  const auto add_inputs = [&](BodyInputs<double>& to, BodyInputs<double> from) {
    double numbers[BodyInputs<double>::kCount];
    int i = 0;
    from.each([&](double& v) { numbers[i++] = v; });
    i = 0;
    to.each([&](double& v) { v += numbers[i++]; });
  };
  const auto clear_bars = [&] {
    for (std::size_t i = 0; i < pencils * count; ++i)
      s.body_bars[i] = {Mat3<double>::zero(), Vec3<double>::zero(), Vec3<double>::zero(),
                        Vec3<double>::zero(), 0.0};
  };
  const auto sum_bars = [&](std::size_t b) {
    Pose<double> r = s.body_bars[b];
    for (std::size_t i = 1; i < pencils; ++i) {
      const Pose<double>& part = s.body_bars[i * count + b];
      r.R += part.R, r.c += part.c, r.V += part.V, r.W += part.W, r.mu += part.mu;
    }
    return r;
  };
  // R and c of the pose go to orientation and position.
  const auto add_pose = [&](std::size_t b, const Pose<double>& pose, BodyInputs<double>& to) {
    to.body.c += pose.c;
    using T = Dual<double, 4>;
    T turn[4];
    for (int i = 0; i < 4; ++i) turn[i] = T::variable(double(s.bodies.in[b].body.turn[i]), i);
    const Mat3<T> R = orientation<D>(turn);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 4; ++k) to.body.turn[k] += pose.R.e[i][j] * R.e[i][j].d[k];
    if (bar.p) bar.p[layout_.bodies[b].friction] += Real(pose.mu);
  };

  // move
  for (std::size_t b = 0; b < free; ++b) {
    const Layout::BodyPlaces& from = layout_.bodies[b];
    BodyMotion<double> out_bar;
    out_bar.c = out_bar.V = out_bar.W = Vec3<double>::zero();
    for (int a = 0; a < D; ++a) {
      out_bar.c[a] = double(y_bar[from.position + a]);
      out_bar.V[a] = double(y_bar[from.velocity + a]);
    }
    for (int a = 0; a < (D == 3 ? 3 : 1); ++a)
      out_bar.W[D == 3 ? a : 2] = double(y_bar[from.angular_velocity + a]);
    for (int i = 0; i < 4; ++i)
      out_bar.turn[i] = D == 3 || i == 0 ? double(y_bar[from.orientation + i]) : 0.0;
    total[b] = body_vjp(inputs(b, s.bodies.parts[b]), out_bar,
                        [](const auto& at) { return move<D>(at.body, at.n, at.sums, at.g, at.dt); });
    sums_bar[b] = total[b].sums;
  }
  const Mechanism* mechanism = model_.mechanism.get();
  if (mechanism) {
    for (std::size_t i = 0; i < count - free; ++i)
      s.mechanism.sums[i] = body_detail::sums_as<double>(s.bodies.parts[free + i]);
    for (std::size_t i = 0; i < s.mechanism_bar.y.size(); ++i)
      s.mechanism_bar.y[i] = double(y_bar[layout_.mechanism_x + std::int64_t(i)]);
    mechanism->move_vjp(s.mechanism.sums.data(), s.mechanism_bar.y.data(), bar.p != nullptr,
                        sums_bar.data() + free, *s.mechanism_work);
  }
  // push, at the predicted velocities
  clear_bars();
  for_node_pencils(s, [&](const NodePencil& pencil, std::int64_t i) {
    stage.push_vjp(pencil, s.grid.data(), s.bodies.poses, s.before.data(), s.grid_bar.data(), sums_bar,
                   s.body_bars.data() + static_cast<std::size_t>(i) * count);
  });
  for (std::size_t b = 0; b < free; ++b) {
    const Pose<double> pose = sum_bars(b);
    add_pose(b, pose, total[b]);
    // predict
    BodyMotion<double> seen_bar;
    seen_bar.c = Vec3<double>::zero(), seen_bar.V = pose.V, seen_bar.W = pose.W;
    for (double& t : seen_bar.turn) t = 0;
    const BodyInputs<double> from = body_vjp(inputs(b, s.bodies.in[b].sums), seen_bar, [](const auto& at) {
      auto seen = at.body;
      predict<D>(seen, at.n, at.sums, at.g, at.dt);
      return seen;
    });
    sums_bar[b] = from.sums;
    add_inputs(total[b], from);
    // As it was at the first look.
    s.bodies.poses[b].V = s.bodies.in[b].body.V + s.bodies.in[b].dt * s.bodies.in[b].g;
    s.bodies.poses[b].W = s.bodies.in[b].body.W;
  }
  if (mechanism) {
    for (std::size_t i = 0; i < count - free; ++i) {
      s.mechanism_bar.poses[i] = sum_bars(free + i);
      s.bodies.poses[free + i] = body_detail::pose_as<Real>(s.mechanism.first[i]);
    }
    mechanism->predict_vjp(s.mechanism_bar.poses.data(), sums_bar.data() + free, *s.mechanism_work);
  }
  clear_bars();
  for_node_pencils(s, [&](const NodePencil& pencil, std::int64_t i) {
    stage.look_vjp(pencil, s.grid.data(), s.bodies.poses, s.before.data(), s.grid_bar.data(), sums_bar,
                   s.body_bars.data() + static_cast<std::size_t>(i) * count);
  });
  for (std::size_t i = 0; i < count - free; ++i) s.mechanism_bar.poses[i] = sum_bars(free + i);
  if (mechanism) mechanism_begin_vjp(s, bar);
  for (std::size_t b = 0; b < free; ++b) {
    const Pose<double> pose = sum_bars(b);
    add_pose(b, pose, total[b]);
    BodyInputs<double>& t = total[b];
    t.body.V += pose.V;
    t.body.W += pose.W;
    for (int a = 0; a < D; ++a) {
      t.g[a] += double(in.p[layout_.dt]) * pose.V[a];
      t.dt += double(in.p[layout_.gravity + a]) * pose.V[a];
    }
    const Layout::BodyPlaces& to = layout_.bodies[b];
    for (int a = 0; a < D; ++a) {
      bar.x[to.position + a] = Real(t.body.c[a]);
      bar.x[to.velocity + a] = Real(t.body.V[a]);
    }
    for (int a = 0; a < (D == 3 ? 3 : 1); ++a)
      bar.x[to.angular_velocity + a] = Real(t.body.W[D == 3 ? a : 2]);
    for (int i = 0; i < (D == 3 ? 4 : 1); ++i) bar.x[to.orientation + i] = Real(t.body.turn[i]);
    if (!bar.p) continue;
    bar.p[to.mass] += Real(t.n.mass);
    for (int i = 0; i < (D == 3 ? 3 : 1); ++i) bar.p[to.inertia + i] += Real(t.n.inertia[D == 3 ? i : 2]);
    for (int a = 0; a < D; ++a) bar.p[layout_.gravity + a] += Real(t.g[a]);
    bar.p[layout_.dt] += Real(t.dt);
  }
}

}  // namespace costate::mpm
