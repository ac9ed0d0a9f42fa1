// The transposes of system_bodies.h, its stages in reverse order: move, push, predict, look, read.
// Tests: tests/mpm/body_test.cpp, tests/coupled/articulated_test.cpp.
#pragma once

#include "costate/mpm/system_bodies.h"

namespace costate::mpm {

namespace body_detail {

template <class Real>
BodyInputs<double> inputs_in_double(const BodyInputs<Real>& from, const BodySums<Real>& sums) {
  BodyInputs<double> r;
  r.body.c = in_double(from.body.c), r.body.V = in_double(from.body.V);
  r.body.W = in_double(from.body.W);
  for (int i = 0; i < 4; ++i) r.body.turn[i] = double(from.body.turn[i]);
  r.n.mass = double(from.n.mass);
  for (int i = 0; i < 3; ++i) r.n.inertia[i] = double(from.n.inertia[i]);
  r.sums = sums_as<double>(sums);
  r.g = in_double(from.g), r.dt = double(from.dt);
  return r;
}

inline void add_inputs(BodyInputs<double>& to, BodyInputs<double> from) {
  double numbers[BodyInputs<double>::kCount];
  int i = 0;
  from.each([&](double& v) { numbers[i++] = v; });
  i = 0;
  to.each([&](double& v) { v += numbers[i++]; });
}

// R and c of a pose go to orientation and position.
template <int D, class Real>
void add_pose(const Real* turn_of_body, const Pose<double>& pose, BodyMotion<double>& to) {
  to.c += pose.c;
  using T = Dual<double, 4>;
  T turn[4];
  for (int i = 0; i < 4; ++i) turn[i] = T::variable(double(turn_of_body[i]), i);
  const Mat3<T> R = orientation<D>(turn);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) to.turn[k] += pose.R.e[i][j] * R.e[i][j].d[k];
}

}  // namespace body_detail

// After look_at_bodies and push_bodies: takes grid_bar from after the bodies to before them, leaves the
// cotangents of the masses in the fourth numbers of `before`, and assigns the bodies' part of bar.x.
template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::bodies_vjp(const Inputs<Real>& in, const Real* y_bar, Scratch& s,
                                                const Cotangents<Real>& bar) const {
  const BodyStage<Values<Real>> stage(grid_, body_shapes_);
  const std::size_t count = body_shapes_.size();
  move_bodies_vjp(y_bar, bar.p != nullptr, s);
  clear_body_bars(s);
  for_node_pencils(s, [&](const NodePencil& pencil, std::int64_t i) {
    stage.push_vjp(pencil, s.grid.data(), s.bodies.poses, s.before.data(), s.grid_bar.data(), s.body_sums_bar,
                   s.body_bars.data() + static_cast<std::size_t>(i) * count);
  });
  predict_bodies_vjp(s, bar);
  clear_body_bars(s);
  for_node_pencils(s, [&](const NodePencil& pencil, std::int64_t i) {
    stage.look_vjp(pencil, s.grid.data(), s.bodies.poses, s.before.data(), s.grid_bar.data(), s.body_sums_bar,
                   s.body_bars.data() + static_cast<std::size_t>(i) * count);
  });
  read_bodies_vjp(in, s, bar);
}

template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::clear_body_bars(Scratch& s) const {
  for (std::size_t i = 0; i < s.order.node_pencils().size() * body_shapes_.size(); ++i)
    s.body_bars[i] = {Mat3<double>::zero(), Vec3<double>::zero(), Vec3<double>::zero(), Vec3<double>::zero(),
                      0.0};
}

// Of body b, over all pencils in their order.
template <class Real, int D, int kTaps>
Pose<double> MaterialPoints<Real, D, kTaps>::body_bar(std::size_t b, const Scratch& s) const {
  Pose<double> r = s.body_bars[b];
  for (std::size_t i = 1; i < s.order.node_pencils().size(); ++i) {
    const Pose<double>& part = s.body_bars[i * body_shapes_.size() + b];
    r.R += part.R, r.c += part.c, r.V += part.V, r.W += part.W, r.mu += part.mu;
  }
  return r;
}

// Leaves the cotangents of what each body receives in body_sums_bar.
template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::move_bodies_vjp(const Real* y_bar, bool parameters, Scratch& s) const {
  const std::size_t free = free_bodies();
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
    s.body_inputs_bar[b] =
        body_vjp(body_detail::inputs_in_double(s.bodies.in[b], s.bodies.parts[b]), out_bar,
                 [](const auto& at) { return move<D>(at.body, at.n, at.sums, at.g, at.dt); });
    s.body_sums_bar[b] = s.body_inputs_bar[b].sums;
  }
  if (!model_.mechanism) return;
  for (std::size_t i = 0; i < s.mechanism.sums.size(); ++i)
    s.mechanism.sums[i] = body_detail::sums_as<double>(s.bodies.parts[free + i]);
  for (std::size_t i = 0; i < s.mechanism_bar.y.size(); ++i)
    s.mechanism_bar.y[i] = double(y_bar[layout_.mechanism_x + std::int64_t(i)]);
  model_.mechanism->move_vjp(s.mechanism.sums.data(), s.mechanism_bar.y.data(), parameters,
                             s.body_sums_bar.data() + free, *s.mechanism_work);
}

// Leaves the cotangents of what the first look found in body_sums_bar, and the poses as they were at that
// look.
template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::predict_bodies_vjp(Scratch& s, const Cotangents<Real>& bar) const {
  const std::size_t free = free_bodies();
  for (std::size_t b = 0; b < free; ++b) {
    const Pose<double> pose = body_bar(b, s);
    const BodyInputs<Real>& in = s.bodies.in[b];
    body_detail::add_pose<D>(in.body.turn, pose, s.body_inputs_bar[b].body);
    if (bar.p) bar.p[layout_.bodies[b].friction] += Real(pose.mu);
    BodyMotion<double> seen_bar;
    seen_bar.c = Vec3<double>::zero(), seen_bar.V = pose.V, seen_bar.W = pose.W;
    for (double& t : seen_bar.turn) t = 0;
    const BodyInputs<double> from =
        body_vjp(body_detail::inputs_in_double(in, in.sums), seen_bar, [](const auto& at) {
          auto seen = at.body;
          predict<D>(seen, at.n, at.sums, at.g, at.dt);
          return seen;
        });
    s.body_sums_bar[b] = from.sums;
    body_detail::add_inputs(s.body_inputs_bar[b], from);
    s.bodies.poses[b].V = in.body.V + in.dt * in.g;
    s.bodies.poses[b].W = in.body.W;
  }
  if (!model_.mechanism) return;
  for (std::size_t i = 0; i < s.mechanism.sums.size(); ++i) {
    s.mechanism_bar.poses[i] = body_bar(free + i, s);
    s.bodies.poses[free + i] = body_detail::pose_as<Real>(s.mechanism.first[i]);
  }
  model_.mechanism->predict_vjp(s.mechanism_bar.poses.data(), s.body_sums_bar.data() + free,
                                *s.mechanism_work);
}

template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::read_bodies_vjp(const Inputs<Real>& in, Scratch& s,
                                                     const Cotangents<Real>& bar) const {
  const std::size_t free = free_bodies();
  if (model_.mechanism) {
    for (std::size_t i = 0; i < s.mechanism.sums.size(); ++i)
      s.mechanism_bar.poses[i] = body_bar(free + i, s);
    mechanism_begin_vjp(s, bar);
  }
  for (std::size_t b = 0; b < free; ++b) {
    const Pose<double> pose = body_bar(b, s);
    BodyInputs<double>& t = s.body_inputs_bar[b];
    body_detail::add_pose<D>(s.bodies.in[b].body.turn, pose, t.body);
    if (bar.p) bar.p[layout_.bodies[b].friction] += Real(pose.mu);
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
