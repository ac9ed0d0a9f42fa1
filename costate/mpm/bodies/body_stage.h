// Free bodies between the grid's own velocities and the particles: two looks at the nodes of one pencil, and
// their transposes.
//
//   look     what the nodes would give if a body kept its velocity: BodySums for predict()
//   push     the nodes' velocities after the bodies, in their order, and what the bodies receive: BodySums
//            for move()
//
// Sums are kept by pencil and added in order. Tests: tests/mpm/body_test.cpp.
#pragma once

#include "costate/mpm/bodies/body_contact.h"
#include "costate/mpm/bodies/grid_shape.h"
#include "costate/mpm/transfer/node_row.h"

namespace costate::mpm {

template <class Mode>
class BodyStage {
 public:
  using Real = typename Mode::Real;
  using S = typename Mode::Number;
  using NodePencil = ParticleOrder::NodePencil;

  BodyStage(const GridShape& grid, const std::vector<Collider>& shapes) : grid_(grid), shapes_(shapes) {}

  // grid: momenta and masses; velocity: before the bodies. sums: one for each body, assigned.
  void look(const NodePencil& pencil, Slice<const Real> grid, Slice<const Real> velocity,
            const std::vector<Pose<S>>& poses, BodySums<S>* sums) const {
    for (std::size_t b = 0; b < shapes_.size(); ++b) sums[b] = BodySums<S>::zero();
    for_nodes(pencil, poses, [&](std::int64_t at, const Vec3<Real>& X, std::uint64_t near) {
      for (; near != 0; near &= near - 1) {
        const std::size_t b = __builtin_ctzll(near);
        push_body(shapes_[b], band(b), grid_.dimension, poses[b], X, number_at<Mode>(grid, at + 3),
                  read(velocity, at), sums[b]);
      }
    });
  }
  void push(const NodePencil& pencil, Slice<const Real> grid, const std::vector<Pose<S>>& poses,
            Slice<Real> velocity, BodySums<S>* sums) const {
    for (std::size_t b = 0; b < shapes_.size(); ++b) sums[b] = BodySums<S>::zero();
    for_nodes(pencil, poses, [&](std::int64_t at, const Vec3<Real>& X, std::uint64_t near) {
      Vec3<S> v = read({velocity.v, velocity.d}, at);
      for (; near != 0; near &= near - 1) {
        const std::size_t b = __builtin_ctzll(near);
        v = push_body(shapes_[b], band(b), grid_.dimension, poses[b], X, number_at<Mode>(grid, at + 3), v,
                      sums[b]);
      }
      for (int a = 0; a < 3; ++a) {
        if constexpr (Mode::kTangent)
          velocity.v[at + a] = v[a].v, velocity.d[at + a] = v[a].d[0];
        else
          velocity.v[at + a] = v[a];
      }
    });
  }

  // --- transposes; values only -----------------------------------------------------------------------------

  // before: velocities before the bodies; its fourth numbers collect the cotangents of the masses. bar:
  // cotangents of the velocities, after the bodies in, before them out. Adds to pose_bars.
  void push_vjp(const NodePencil& pencil, const Real* grid, const std::vector<Pose<S>>& poses, Real* before,
                Real* bar, const std::vector<BodySums<double>>& sums_bar, Pose<double>* pose_bars) const {
    for_nodes(pencil, poses, [&](std::int64_t at, const Vec3<Real>& X, std::uint64_t near) {
      Vec3<Real> v[64];
      std::size_t which[64];
      int count = 0;
      Vec3<Real> now = read({before, nullptr}, at);
      BodySums<Real> ignored = BodySums<Real>::zero();
      for (; near != 0; near &= near - 1) {
        const std::size_t b = __builtin_ctzll(near);
        v[count] = now, which[count++] = b;
        now = push_body(shapes_[b], band(b), grid_.dimension, poses[b], X, grid[at + 3], now, ignored);
      }
      Vec3<Real> v_bar{bar[at], bar[at + 1], bar[at + 2]};
      while (count-- > 0) {
        const std::size_t b = which[count];
        const NodeBar<Real> node = push_body_vjp(shapes_[b], band(b), grid_.dimension, poses[b], X,
                                                 grid[at + 3], v[count], v_bar, sums_bar[b], pose_bars[b]);
        v_bar = node.v;
        before[at + 3] += node.m;
      }
      for (int a = 0; a < 3; ++a) bar[at + a] = v_bar[a];
    });
  }
  void look_vjp(const NodePencil& pencil, const Real* grid, const std::vector<Pose<S>>& poses, Real* before,
                Real* bar, const std::vector<BodySums<double>>& sums_bar, Pose<double>* pose_bars) const {
    for_nodes(pencil, poses, [&](std::int64_t at, const Vec3<Real>& X, std::uint64_t near) {
      for (; near != 0; near &= near - 1) {
        const std::size_t b = __builtin_ctzll(near);
        const NodeBar<Real> node =
            push_body_vjp(shapes_[b], band(b), grid_.dimension, poses[b], X, grid[at + 3],
                          read({before, nullptr}, at), Vec3<Real>::zero(), sums_bar[b], pose_bars[b]);
        for (int a = 0; a < 3; ++a) bar[at + a] += node.v[a];
        before[at + 3] += node.m;
      }
    });
  }

 private:
  Real band(std::size_t b) const { return Real(shapes_[b].band * grid_.dx); }
  static Vec3<S> read(Slice<const Real> from, std::int64_t at) {
    return {number_at<Mode>(from, at), number_at<Mode>(from, at + 1), number_at<Mode>(from, at + 2)};
  }
  // Nodes that a body may reach.
  template <class Body>
  void for_nodes(const NodePencil& p, const std::vector<Pose<S>>& poses, const Body& body) const {
    constexpr int B = ParticleOrder::kBlock;
    const int i_end = std::min((p.a + 1) * B, grid_.nodes[0]);
    const int j_end = grid_.dimension == 3 ? std::min((p.b + 1) * B, grid_.nodes[1]) : 1;
    for (int k = p.low; k < p.high; k += 4) {
      const std::uint64_t near = reaching<Real>(grid_, shapes_, poses, p, k);
      if (near == 0) continue;
      for (int i = p.a * B; i < i_end; ++i) {
        for (int j = p.b * B; j < j_end; ++j) {
          for (int n = 0; n < 4; ++n)
            body(i * grid_.first_stride() + j * grid_.second_stride() + 4 * (k + n),
                 grid_.template position<Real>(i, j, k + n), near);
        }
      }
    }
  }

  const GridShape& grid_;
  const std::vector<Collider>& shapes_;
};

}  // namespace costate::mpm
