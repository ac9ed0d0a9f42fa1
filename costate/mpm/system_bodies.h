// The bodies of a MaterialPoints system: from the state to the stages of body_stage.h and on to the next
// state. What moves them is a Mechanism (mechanism.h), whose numbers are double, whatever those of the
// particles are. Transpose: system_bodies_vjp.h.
#pragma once

#include "costate/mpm/bodies/body_precision.h"
#include "costate/mpm/system_stages.h"

namespace costate::mpm {

template <class Real, int D, int kTaps>
template <class S>
void MaterialPoints<Real, D, kTaps>::read_bodies(Slice<const Real> x, Slice<const Real> u,
                                                 Slice<const Real> p, const GridInputs<S>& grid,
                                                 const StepContext& at, Scratch& s) const {
  using Mode = std::conditional_t<is_dual<S>, Tangents<Real>, Values<Real>>;
  using T = std::conditional_t<is_dual<S>, Dual<double>, double>;
  const auto copy = [](Slice<const Real> from, std::int64_t place, std::vector<T>& to) {
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = body_detail::number_as<T>(number_at<Mode>(from, place + std::int64_t(i)));
  };
  for_mechanisms<S>(s, [&](const Layout::Moved& moved, auto& m, Workspace& work) {
    copy(x, moved.x, m.x), copy(u, moved.u, m.u), copy(p, moved.p, m.p);
    const MechanismInputs<T> in{at,
                                m.x.data(),
                                m.u.data(),
                                m.p.data(),
                                body_detail::vector_as<T>(grid.gravity),
                                body_detail::number_as<T>(grid.dt)};
    moved.by->begin(in, D, m.poses.data(), work);
    m.first = m.poses;
    for (std::size_t i = 0; i < m.poses.size(); ++i)
      body_work<S>(s).poses[moved.shape + i] = body_detail::pose_as<S>(m.poses[i]);
  });
}

// Leaves the predicted velocities in `poses`.
template <class Real, int D, int kTaps>
template <class Mode>
void MaterialPoints<Real, D, kTaps>::look_at_bodies(Slice<const Real> grid, Slice<const Real> velocity,
                                                    Scratch& s) const {
  using S = typename Mode::Number;
  using T = std::conditional_t<is_dual<S>, Dual<double>, double>;
  auto& bodies = body_work<S>(s);
  const BodyStage<Mode> stage(grid_, body_shapes_);
  const std::size_t count = body_shapes_.size(), pencils = s.order.node_pencils().size();
  for_node_pencils(s, [&](const NodePencil& pencil, std::int64_t i) {
    stage.look(pencil, grid, velocity, bodies.poses, bodies.parts.data() + std::size_t(i) * count);
  });
  for_mechanisms<S>(s, [&](const Layout::Moved& moved, auto& m, Workspace& work) {
    for (std::size_t i = 0; i < m.sums.size(); ++i) {
      BodySums<S> sum = BodySums<S>::zero();
      for (std::size_t k = 0; k < pencils; ++k) sum.add(bodies.parts[k * count + moved.shape + i]);
      m.sums[i] = body_detail::sums_as<T>(sum);
    }
    moved.by->predict(m.sums.data(), m.poses.data(), work);
    for (std::size_t i = 0; i < m.poses.size(); ++i)
      bodies.poses[moved.shape + i] = body_detail::pose_as<S>(m.poses[i]);
  });
}

// Leaves what each body receives in the parts of the first pencil.
template <class Real, int D, int kTaps>
template <class Mode>
void MaterialPoints<Real, D, kTaps>::push_bodies(Slice<const Real> grid, Slice<Real> velocity,
                                                 Scratch& s) const {
  using S = typename Mode::Number;
  auto& bodies = body_work<S>(s);
  const BodyStage<Mode> stage(grid_, body_shapes_);
  const std::size_t count = body_shapes_.size(), pencils = s.order.node_pencils().size();
  for_node_pencils(s, [&](const NodePencil& pencil, std::int64_t i) {
    stage.push(pencil, grid, bodies.poses, velocity, bodies.parts.data() + std::size_t(i) * count);
  });
  for (std::size_t i = 1; i < pencils; ++i)
    for (std::size_t b = 0; b < count; ++b) bodies.parts[b].add(bodies.parts[i * count + b]);
}

template <class Real, int D, int kTaps>
template <class Mode>
void MaterialPoints<Real, D, kTaps>::move_bodies(Slice<Real> y, Scratch& s) const {
  using S = typename Mode::Number;
  using T = std::conditional_t<is_dual<S>, Dual<double>, double>;
  for_mechanisms<S>(s, [&](const Layout::Moved& moved, auto& m, Workspace& work) {
    for (std::size_t i = 0; i < m.sums.size(); ++i)
      m.sums[i] = body_detail::sums_as<T>(body_work<S>(s).parts[moved.shape + i]);
    moved.by->move(m.sums.data(), m.y.data(), work);
    for (std::size_t i = 0; i < m.y.size(); ++i) {
      const S value = body_detail::number_as<S>(m.y[i]);
      const std::int64_t place = moved.x + std::int64_t(i);
      if constexpr (Mode::kTangent)
        y.v[place] = value.v, y.d[place] = value.d[0];
      else
        y.v[place] = value;
    }
  });
}

}  // namespace costate::mpm
