// What the grid and the materials of a MaterialPoints system are told besides the state: gravity, friction,
// poses of the colliders, and the transposes: sums over pencils, in their order, into the cotangents of
// controls and parameters.
#pragma once

#include "costate/mpm/bodies/collider_inputs.h"
#include "costate/mpm/system_stages.h"

namespace costate::mpm {

template <class Real, int D, int kTaps>
template <class S>
void MaterialPoints<Real, D, kTaps>::read_grid_inputs(Slice<const Real> u, Slice<const Real> p,
                                                      GridInputs<S>& out) const {
  using Mode = std::conditional_t<is_dual<S>, Tangents<Real>, Values<Real>>;
  out.gravity = Vec3<S>::zero();
  for (int a = 0; a < D; ++a) out.gravity[a] = number_at<Mode>(p, layout_.gravity + a);
  out.dt = number_at<Mode>(p, layout_.dt);
  for (int face = 0; face < 6; ++face) {
    out.wall_friction[face] =
        layout_.wall_friction >= 0 && face < 2 * D ? number_at<Mode>(p, layout_.wall_friction + face) : S(0);
  }
  for (std::size_t c = 0; c < model_.colliders.size(); ++c) {
    out.poses[c] = read_pose<D, S>(
        layout_.colliders[c], [&](std::int64_t i) { return number_at<Mode>(u, i); },
        [&](std::int64_t i) { return number_at<Mode>(p, i); });
  }
}

template <class Real, int D, int kTaps>
void MaterialPoints<Real, D, kTaps>::grid_inputs_vjp(const Inputs<Real>& in, const GridSums* sums,
                                                     const Pose<double>* poses, std::size_t count,
                                                     const Cotangents<Real>& bar) const {
  const std::size_t colliders = model_.colliders.size();
  GridSums total = {};
  for (std::size_t i = 0; i < count; ++i) {
    for (int a = 0; a < D; ++a) total.velocity[a] += sums[i].velocity[a];
    for (int f = 0; f < 2 * D; ++f) total.wall_friction[f] += sums[i].wall_friction[f];
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
      const Pose<double>& part = poses[i * colliders + c];
      pose.R += part.R;
      pose.c += part.c;
      pose.V += part.V;
      pose.W += part.W;
      pose.mu += part.mu;
    }
    read_pose_vjp<D>(layout_.colliders[c], in.u, in.p, pose, bar.u, bar.p);
  }
}

template <class Real, int D, int kTaps>
template <class Each>
void MaterialPoints<Real, D, kTaps>::particle_numbers_vjp(const Each& each,
                                                          const Cotangents<Real>& bar) const {
  const auto add = [&](Real* to, std::int64_t slot) {
    double total = 0;
    each([&](const double* sums) { total += sums[slot]; });
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

}  // namespace costate::mpm
