// The transposes of system_bodies.h, its stages in reverse order: move, push, predict, look, read.
// Tests: tests/mpm/body_test.cpp, tests/coupled/articulated_test.cpp.
#pragma once

#include "costate/mpm/system_bodies.h"

namespace costate::mpm {

// After look_at_bodies and push_bodies: takes grid_bar from after the bodies to before them, leaves the
// cotangents of the masses in the fourth numbers of `before`, and assigns the bodies' part of bar.x.
template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::bodies_vjp(const Real* y_bar, Scratch& s,
                                                const Cotangents<Real>& bar) const {
  const BodyStage<Values<Real>> stage(grid_, body_shapes_);
  const std::size_t count = body_shapes_.size();
  move_bodies_vjp(y_bar, bar.p != nullptr, s);
  clear_body_bars(s);
  for_node_pencils(s, [&](const NodePencil& pencil, std::int64_t i) {
    stage.push_vjp(pencil, s.grid.data(), s.bodies.poses, s.before.data(), s.grid_bar.data(), s.body_sums_bar,
                   s.body_bars.data() + std::size_t(i) * count);
  });
  predict_bodies_vjp(s);
  clear_body_bars(s);
  for_node_pencils(s, [&](const NodePencil& pencil, std::int64_t i) {
    stage.look_vjp(pencil, s.grid.data(), s.bodies.poses, s.before.data(), s.grid_bar.data(), s.body_sums_bar,
                   s.body_bars.data() + std::size_t(i) * count);
  });
  read_bodies_vjp(s, bar);
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
  for_mechanism_transposes(s, [&](const Layout::Moved& moved, auto& m, auto& m_bar, Workspace& work) {
    for (std::size_t i = 0; i < m.sums.size(); ++i)
      m.sums[i] = body_detail::sums_as<double>(s.bodies.parts[moved.shape + i]);
    for (std::size_t i = 0; i < m_bar.y.size(); ++i) m_bar.y[i] = double(y_bar[moved.x + std::int64_t(i)]);
    moved.by->move_vjp(m.sums.data(), m_bar.y.data(), parameters, s.body_sums_bar.data() + moved.shape, work);
  });
}

// Leaves the cotangents of what the first look found in body_sums_bar, and the poses as they were at that
// look.
template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::predict_bodies_vjp(Scratch& s) const {
  for_mechanism_transposes(s, [&](const Layout::Moved& moved, auto& m, auto& m_bar, Workspace& work) {
    for (std::size_t i = 0; i < m.sums.size(); ++i) {
      m_bar.poses[i] = body_bar(moved.shape + i, s);
      s.bodies.poses[moved.shape + i] = body_detail::pose_as<Real>(m.first[i]);
    }
    moved.by->predict_vjp(m_bar.poses.data(), s.body_sums_bar.data() + moved.shape, work);
  });
}

template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::read_bodies_vjp(Scratch& s, const Cotangents<Real>& bar) const {
  for_mechanism_transposes(s, [&](const Layout::Moved& moved, auto&, auto& m, Workspace& work) {
    for (std::size_t i = 0; i < m.sums.size(); ++i) m.poses[i] = body_bar(moved.shape + i, s);
    std::fill(m.u.begin(), m.u.end(), 0.0);
    std::fill(m.p.begin(), m.p.end(), 0.0);
    MechanismBar to{m.x.data(), bar.u ? m.u.data() : nullptr, bar.p ? m.p.data() : nullptr,
                    Vec3<double>::zero(), 0.0};
    moved.by->begin_vjp(m.poses.data(), to, work);
    for (std::size_t i = 0; i < m.x.size(); ++i) bar.x[moved.x + std::int64_t(i)] = Real(m.x[i]);
    for (std::size_t i = 0; bar.u && i < m.u.size(); ++i) bar.u[moved.u + std::int64_t(i)] += Real(m.u[i]);
    if (!bar.p) return;
    for (std::size_t i = 0; i < m.p.size(); ++i) bar.p[moved.p + std::int64_t(i)] += Real(m.p[i]);
    for (int a = 0; a < D; ++a) bar.p[layout_.gravity + a] += Real(to.gravity[a]);
    bar.p[layout_.dt] += Real(to.dt);
  });
}

}  // namespace costate::mpm
