// The bodies of a mechanism (mechanism.h) in a MaterialPoints system: its numbers, poses and sums, from and
// to those of the particles' precision.
#pragma once

#include "costate/mpm/system_stages.h"

namespace costate::mpm {

namespace body_detail {

// One number in another precision, with its tangent.
template <class To, class From>
To number_as(const From& a) {
  if constexpr (is_dual<From>)
    return To(value_t<To>(a.v), value_t<To>(a.d[0]));
  else
    return To(a);
}
template <class To, class From>
Vec3<To> vector_as(const Vec3<From>& v) {
  return {number_as<To>(v.x), number_as<To>(v.y), number_as<To>(v.z)};
}
inline Vec3<double> in_double(const auto& v) { return vector_as<double>(v); }

template <class To, class From>
BodySums<To> sums_as(const BodySums<From>& from) {
  BodySums<To> to;
  to.J = vector_as<To>(from.J), to.L = vector_as<To>(from.L);
  for (int i = 0; i < 6; ++i) to.K[i] = number_as<To>(from.K[i]), to.Kw[i] = number_as<To>(from.Kw[i]);
  for (int i = 0; i < 9; ++i) to.Kvw[i] = number_as<To>(from.Kvw[i]);
  return to;
}
template <class To, class From>
Pose<To> pose_as(const Pose<From>& from) {
  Pose<To> to;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) to.R.e[i][j] = number_as<To>(from.R.e[i][j]);
  to.c = vector_as<To>(from.c), to.V = vector_as<To>(from.V), to.W = vector_as<To>(from.W);
  to.mu = number_as<To>(from.mu);
  return to;
}

}  // namespace body_detail

template <class Real, int D, int kTaps>
template <class S>
void MaterialPoints<Real, D, kTaps>::begin_mechanism(Slice<const Real> x, Slice<const Real> u,
                                                     Slice<const Real> p, const GridInputs<S>& grid,
                                                     const StepContext& at, Scratch& s) const {
  using Mode = std::conditional_t<is_dual<S>, Tangents<Real>, Values<Real>>;
  using T = std::conditional_t<is_dual<S>, Dual<double>, double>;
  auto& m = mechanism_work<S>(s);
  const auto copy = [](Slice<const Real> from, std::int64_t place, std::vector<T>& to) {
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = body_detail::number_as<T>(number_at<Mode>(from, place + std::int64_t(i)));
  };
  copy(x, layout_.mechanism_x, m.x), copy(u, layout_.mechanism_u, m.u), copy(p, layout_.mechanism_p, m.p);
  const MechanismInputs<T> in{at,
                              m.x.data(),
                              m.u.data(),
                              m.p.data(),
                              body_detail::vector_as<T>(grid.gravity),
                              body_detail::number_as<T>(grid.dt)};
  model_.mechanism->begin(in, D, m.poses.data(), *s.mechanism_work);
  m.first = m.poses;
  auto& work = body_work<S>(s);
  for (std::size_t i = 0; i < m.poses.size(); ++i)
    work.poses[free_bodies() + i] = body_detail::pose_as<S>(m.poses[i]);
}

// After a look: the sums of all pencils, and the velocities that follow from them.
template <class Real, int D, int kTaps>
template <class S>
void MaterialPoints<Real, D, kTaps>::predict_mechanism(Scratch& s) const {
  using T = std::conditional_t<is_dual<S>, Dual<double>, double>;
  auto& m = mechanism_work<S>(s);
  auto& work = body_work<S>(s);
  const std::size_t count = body_shapes_.size(), pencils = s.order.node_pencils().size(),
                    free = free_bodies();
  for (std::size_t i = 0; i < m.sums.size(); ++i) {
    BodySums<S> sum = BodySums<S>::zero();
    for (std::size_t k = 0; k < pencils; ++k) sum.add(work.parts[k * count + free + i]);
    m.sums[i] = body_detail::sums_as<T>(sum);
  }
  model_.mechanism->predict(m.sums.data(), m.poses.data(), *s.mechanism_work);
  for (std::size_t i = 0; i < m.poses.size(); ++i) work.poses[free + i] = body_detail::pose_as<S>(m.poses[i]);
}

// After a push, whose sums are in the parts of the first pencil.
template <class Real, int D, int kTaps>
template <class Mode>
void MaterialPoints<Real, D, kTaps>::move_mechanism(Slice<Real> y, Scratch& s) const {
  using S = typename Mode::Number;
  using T = std::conditional_t<is_dual<S>, Dual<double>, double>;
  auto& m = mechanism_work<S>(s);
  const auto& work = body_work<S>(s);
  for (std::size_t i = 0; i < m.sums.size(); ++i)
    m.sums[i] = body_detail::sums_as<T>(work.parts[free_bodies() + i]);
  model_.mechanism->move(m.sums.data(), m.y.data(), *s.mechanism_work);
  for (std::size_t i = 0; i < m.y.size(); ++i) {
    const S value = body_detail::number_as<S>(m.y[i]);
    const std::int64_t place = layout_.mechanism_x + std::int64_t(i);
    if constexpr (Mode::kTangent)
      y.v[place] = value.v, y.d[place] = value.d[0];
    else
      y.v[place] = value;
  }
}

// The last of the mechanism's transposes, with the pose bars of the first look: from its numbers to ours.
template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::mechanism_begin_vjp(Scratch& s, const Cotangents<Real>& bar) const {
  auto& m = s.mechanism_bar;
  std::fill(m.u.begin(), m.u.end(), 0.0);
  std::fill(m.p.begin(), m.p.end(), 0.0);
  MechanismBar to{m.x.data(), bar.u ? m.u.data() : nullptr, bar.p ? m.p.data() : nullptr,
                  Vec3<double>::zero(), 0.0};
  model_.mechanism->begin_vjp(m.poses.data(), to, *s.mechanism_work);
  for (std::size_t i = 0; i < m.x.size(); ++i) bar.x[layout_.mechanism_x + std::int64_t(i)] = Real(m.x[i]);
  for (std::size_t i = 0; bar.u && i < m.u.size(); ++i)
    bar.u[layout_.mechanism_u + std::int64_t(i)] += Real(m.u[i]);
  if (!bar.p) return;
  for (std::size_t i = 0; i < m.p.size(); ++i) bar.p[layout_.mechanism_p + std::int64_t(i)] += Real(m.p[i]);
  for (int a = 0; a < D; ++a) bar.p[layout_.gravity + a] += Real(to.gravity[a]);
  bar.p[layout_.dt] += Real(to.dt);
}

}  // namespace costate::mpm
