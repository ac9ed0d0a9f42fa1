// From momentum to velocity on the nodes of one pencil, and the transpose.
//
//   v = p / (m + floor) + dt g;  walls, low x to high z;  colliders, in their order
//
// Rows of four nodes at once; nodes that a wall or a collider reaches, one by one. Transpose, with v_ the
// cotangent before walls and colliders:
//
//   p_ = v_ / (m + floor),  m_ = -p.v_ / (m + floor)^2,  g_ += dt v_,  dt_ += g.v_
//
// Tests: tests/mpm/system_test.cpp, collider_test.cpp.
#pragma once

#include "costate/mpm/bodies/grid_shape.h"

namespace costate::mpm {

// What a node's velocity depends on besides its particles.
template <class S>
struct GridInputs {
  Vec3<S> gravity;
  S dt;
  S wall_friction[6];
  std::vector<Pose<S>> poses;  // of the colliders
};

// Cotangents that every node adds to; one per pencil, added in order.
struct GridSums {
  double velocity[4];  // sum of v_
  double wall_friction[6];
};

template <class Mode>
class GridVelocity {
 public:
  using Real = typename Mode::Real;
  using S = typename Mode::Number;
  using Row = typename Mode::Row;
  using Plain = NodeRow<Real>;

  GridVelocity(const Model& model, const GridShape& grid, Real floor, const GridInputs<S>& in)
      : model_(model), grid_(grid), floor_(floor), in_(in) {}

  // grid: momenta and masses in, velocities out (may be the same array).
  void update(const ParticleOrder::NodePencil& pencil, Slice<const Real> grid, Slice<Real> velocity) const {
    const Row kick = kick_row();
    for_rows(pencil, [&](std::int64_t at, int i, int j, int k, std::uint64_t colliders) {
      const Row state = load_row<Mode>(grid, at);
      Row v = state * inverse_mass(state) + kick;
      if (!touches_wall(i, j, k) && colliders == 0) {
        store_row<Mode>(velocity, at, v);
        return;
      }
      store_row<Mode>(velocity, at, v);
      for (int n = 0; n < 4; ++n) {
        Vec3<S> u = read(Slice<const Real>{velocity.v, velocity.d}, at + 4 * n);
        for_conditions(i, j, k + n, colliders,
                       [&](int wall, int collider) { u = apply(wall, collider, i, j, k + n, u); });
        write(velocity, at + 4 * n, u);
      }
    });
  }

  // grid: momenta and masses. bar: cotangents of velocities in, of momenta and masses out. Values only.
  void update_vjp(const ParticleOrder::NodePencil& pencil, const Real* grid, Real* bar, GridSums& sums,
                  Pose<double>* pose_bars) const {
    const Row kick = kick_row();
    Row total(Real(0));
    for_rows(pencil, [&](std::int64_t at, int i, int j, int k, std::uint64_t colliders) {
      const Row state = Row::load(grid + at), inverse = inverse_mass(state), free = state * inverse;
      if (touches_wall(i, j, k) || colliders != 0) {
        alignas(64) Real start[16];
        (free + kick).store(start);
        for (int n = 0; n < 4; ++n) {
          struct Stage {
            int wall, collider;
            Vec3<Real> before;
          };
          Stage stages[6 + 64];
          int count = 0;
          Vec3<Real> u{start[4 * n], start[4 * n + 1], start[4 * n + 2]};
          for_conditions(i, j, k + n, colliders, [&](int wall, int collider) {
            stages[count++] = {wall, collider, u};
            u = apply(wall, collider, i, j, k + n, u);
          });
          Real* b = bar + at + 4 * n;
          Vec3<Real> u_bar{b[0], b[1], b[2]};
          while (count-- > 0) {
            const Stage& s = stages[count];
            u_bar = apply_vjp(s.wall, s.collider, i, j, k + n, s.before, u_bar, sums, pose_bars);
          }
          b[0] = u_bar.x, b[1] = u_bar.y, b[2] = u_bar.z, b[3] = Real(0);
        }
      }
      const Row v_bar = Row::load(bar + at);
      total += v_bar;
      // The velocity's fourth place is zero: inverse_mass has a zero there, and so have free and v_bar.
      (inverse * v_bar + mass_place() * (full_inverse_mass(state) * (v_bar * free).quad_sum()))
          .store(bar + at);
    });
    const Pack<Real, 4> sum = total.fold();
    for (int a = 0; a < 4; ++a) sums.velocity[a] += double(sum[a]);
  }

 private:
  static Plain place_mask(Real x, Real y, Real z, Real m) {
    const Real q[4] = {x, y, z, m};
    return Plain::quad(q);
  }
  static Plain mass_place() { return place_mask(0, 0, 0, -1); }
  Row kick_row() const {
    const S g[3] = {in_.dt * in_.gravity.x, in_.dt * in_.gravity.y, in_.dt * in_.gravity.z};
    Real v[4] = {}, d[4] = {};
    for (int a = 0; a < 3; ++a) {
      if constexpr (Mode::kTangent)
        v[a] = g[a].v, d[a] = g[a].d[0];
      else
        v[a] = g[a];
    }
    return quad_row<Mode>(Slice<const Real>{v, d}, 0);
  }
  // 1 / (m + floor) in the three places of the momentum, 0 in that of the mass.
  Row inverse_mass(const Row& state) const { return Row(place_mask(1, 1, 1, 0)) * full_inverse_mass(state); }
  Row full_inverse_mass(const Row& state) const {
    const Plain one(Real(1)), floor(floor_);
    if constexpr (Mode::kTangent) {
      const Plain inverse = one / (state.v.masses() + floor);
      return {inverse, Plain(Real(-1)) * inverse * inverse * state.d[0].masses()};
    } else {
      return one / (state.masses() + floor);
    }
  }

  static Vec3<S> read(Slice<const Real> from, std::int64_t at) {
    return {number_at<Mode>(from, at), number_at<Mode>(from, at + 1), number_at<Mode>(from, at + 2)};
  }
  static void write(Slice<Real> to, std::int64_t at, const Vec3<S>& u) {
    for (int a = 0; a < 3; ++a) {
      if constexpr (Mode::kTangent)
        to.v[at + a] = u[a].v, to.d[at + a] = u[a].d[0];
      else
        to.v[at + a] = u[a];
    }
  }

  template <class Body>
  void for_rows(const ParticleOrder::NodePencil& p, const Body& body) const {
    constexpr int B = ParticleOrder::kBlock;
    const int i_end = std::min((p.a + 1) * B, grid_.nodes[0]);
    const int j_end = grid_.dimension == 3 ? std::min((p.b + 1) * B, grid_.nodes[1]) : 1;
    for (int k = p.low; k < p.high; k += 4) {
      const std::uint64_t near = reaching<Real>(grid_, model_.colliders, in_.poses, p, k);
      for (int i = p.a * B; i < i_end; ++i) {
        for (int j = p.b * B; j < j_end; ++j)
          body(i * grid_.first_stride() + j * grid_.second_stride() + 4 * k, i, j, k, near);
      }
    }
  }
  Vec3<Real> position(double i, double j, double k) const { return grid_.template position<Real>(i, j, k); }

  bool in_wall(int face, int index, int nodes) const {
    const Wall& w = model_.walls[face];
    if (w.contact == Contact::none) return false;
    return face % 2 == 0 ? index < w.nodes : index >= nodes - w.nodes && index < nodes;
  }
  bool touches_wall(int i, int j, int k) const {
    const int last = 2 * (grid_.dimension - 1);
    bool touches = in_wall(0, i, grid_.nodes[0]) || in_wall(1, i, grid_.nodes[0]);
    if (grid_.dimension == 3) touches |= in_wall(2, j, grid_.nodes[1]) || in_wall(3, j, grid_.nodes[1]);
    for (int n = 0; n < 4; ++n)
      touches |= in_wall(last, k + n, grid_.nodes[2]) || in_wall(last + 1, k + n, grid_.nodes[2]);
    return touches;
  }
  template <class Body>
  void for_conditions(int i, int j, int k, std::uint64_t colliders, const Body& body) const {
    const int D = grid_.dimension;
    for (int a = 0; a < D; ++a) {
      const int index = a == 0 ? i : a == D - 1 ? k : j;
      const int nodes = a == D - 1 ? grid_.nodes[2] : grid_.nodes[a];
      for (int face = 2 * a; face < 2 * a + 2; ++face)
        if (in_wall(face, index, nodes)) body(face, -1);
    }
    for (; colliders != 0; colliders &= colliders - 1) body(-1, __builtin_ctzll(colliders));
  }
  static Vec3<S> wall_normal(int wall) {
    Vec3<S> n = Vec3<S>::zero();
    n[wall / 2] = S(wall % 2 == 0 ? 1 : -1);
    return n;
  }
  Vec3<S> apply(int wall, int collider, int i, int j, int k, const Vec3<S>& v) const {
    if (wall >= 0) {
      return contact_velocity(model_.walls[wall].contact, v, wall_normal(wall), in_.wall_friction[wall]);
    }
    return collide(model_.colliders[collider], Real(model_.colliders[collider].band * grid_.dx),
                   grid_.dimension, in_.poses[collider], position(i, j, k), v);
  }
  Vec3<S> apply_vjp(int wall, int collider, int i, int j, int k, const Vec3<S>& v, const Vec3<S>& out_bar,
                    GridSums& sums, Pose<double>* pose_bars) const {
    if (wall >= 0) {
      const auto bar = contact_velocity_vjp(model_.walls[wall].contact, v, wall_normal(wall),
                                            in_.wall_friction[wall], out_bar);
      sums.wall_friction[wall] += double(bar.mu);
      return bar.r;
    }
    return collide_vjp(model_.colliders[collider], Real(model_.colliders[collider].band * grid_.dx),
                       grid_.dimension, in_.poses[collider], position(i, j, k), v, out_bar,
                       pose_bars[collider]);
  }

  const Model& model_;
  const GridShape& grid_;
  Real floor_;
  const GridInputs<S>& in_;
};

}  // namespace costate::mpm
