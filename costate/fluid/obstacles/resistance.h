// Obstacles in a flow: a smooth mask and a resistance that is tied to it (volume penalisation [1]).
//
//   chi = 1 / (g + exp(-2 d / w))        d depth inside the shape (shapes.h), w a cell wide, or `mask` cells
//   kappa = chi nu / (c w)^2             c: a shear flow then stops where the shape says it does
//   du/dt = ... - kappa (u - u_body)     u_body = velocity + spin x (x - centre)
//
//   core   g      c
//   firm   1e-6   e^gamma / 2 = 0.890536   resistance grows inwards, and nothing seeps through. Shear flow u
//                 solves u'' = exp(2 d / w) / (c w)^2 u: u = K_0(exp(d / w) / c) [2, 10.25.3, 10.31.2]
//   soft   1      0.755222                 chi = (1 + tanh(d / w)) / 2, flat inside
//
// taken implicitly in every stage: star = (pre + s sum kappa u_body) / (1 + s sum kappa), s = share dt. Mask
// and resistance get sharper together with the grid. A mask that is sharper than its cells, or a resistance
// that is much harder than its mask is thin, would give drag whose derivative with respect to the shape is
// useless although exact; with these two, both converge with second order. The force of the flow on a body,
// per density, is what the resistance takes away:  force = sum_stages b_s h^d sum kappa (star - u_body).
//
// [1] Angot, Bruneau, Fabrie, Numer. Math. 81 (1999).
// [2] NIST Digital Library of Mathematical Functions.
// Tests: tests/fluid/obstacle_test.cpp.
#pragma once

#include <cmath>

#include "costate/fluid/obstacles/shapes.h"
#include "costate/fluid/step/flow_inputs.h"

namespace costate::fluid {

// How chi depends on depth, and how much it resists.
struct Mask {
  double width, give, scale;  // w, g, 1 / (c w)^2
  Mask(Obstacle::Core core, double w) : width(w) {
    const bool firm = core == Obstacle::Core::firm;
    const double shift = (firm ? 0.8905362089950989 : 0.755222) * w;
    give = firm ? 1e-6 : 1;
    scale = 1 / (shift * shift);
  }
  static constexpr double kFar = 20;  // chi is flat beyond so many widths

  template <class T>
  T chi(const T& d) const {
    if (far_out(d)) return T(0);
    return T(1) / (T(value_t<T>(give)) + fade(d));
  }
  template <class T>
  T slope(const T& d) const {
    const T e = fade(d), x = T(1) / (T(value_t<T>(give)) + e);
    return T(value_t<T>(2 / width)) * e * x * x;
  }
  template <class T>
  bool flat(const T& d) const {
    return std::abs(depth(d)) > kFar * width;
  }

 private:
  template <class T>
  T fade(const T& d) const {
    return exp(d * T(value_t<T>(-2 / width)));
  }
  template <class T>
  bool far_out(const T& d) const {
    return depth(d) < -kFar * width;
  }
  template <class T>
  static double depth(const T& d) {
    if constexpr (kIsDual<T>)
      return double(d.v);
    else
      return double(d);
  }
};

template <class S, int Dim>
struct Obstacles {
  using Real = value_t<S>;
  using One = Single<S>;
  static constexpr std::size_t kMotion = Dim == 2 ? 3 : 6;  // velocity, spin
  using Motion = std::array<One, 6>;

  const FlowModel& model;
  FlowScratch<Real>& work;
  const Shape& shape = model.sides.shape;

  // --- masks: functions of parameters alone --------------------------------------------------------------

  void read_masks(Packed<Real> p) const {
    for (std::size_t b = 0; b < model.obstacles.size(); ++b) {
      const ShapeNumbers<One> q = numbers(b, p);
      const Depth<One, Dim> depth = depth_of(b, q);
      const Mask mask(model.obstacles[b].core, model.obstacles[b].width);
      each_face([&](std::size_t a, Index at, const auto& x) {
        store<One>(work.mask[b][a], at,
                   One(Real(mask.scale)) * face_viscosity(a, at) * mask.chi(depth.of(x)));
      });
    }
  }
  // mask_bar is a function of the face: the cotangents of kappa.
  template <class MaskBar>
  void read_masks_vjp(std::size_t b, Packed<Real> p, const MaskBar& mask_bar, bool viscosity,
                      PackedOut<Real> p_bar) const {
    const ShapeNumbers<One> q = numbers(b, p);
    const Depth<One, Dim> depth = depth_of(b, q);
    const std::size_t count = Dim + model.obstacles[b].sizes;
    const Mask mask(model.obstacles[b].core, model.obstacles[b].width);
    const auto total = row_sums(count, [&](std::size_t a, Index at, const auto& x, auto& sums) {
      const One d = depth.of(x), bar = One(Real(mask.scale)) * mask_bar(a, at, x);
      if (viscosity) {
        const One half = One(Real(0.5)) * bar * mask.chi(d);
        store<One>(work.face_bar[a], at, load<One>(work.face_bar[a], at) + half);
      }
      if (!mask.flat(d)) depth.of_vjp(x, bar * face_viscosity(a, at) * mask.slope(d), sums);
    });
    for (std::size_t i = 0; i < count; ++i)
      add_number<S>(p_bar, model.obstacles[b].shape_at + Index(i), total[i]);
  }
  // What faces got goes to the two cells that they lie between (beyond the sides too: sides.h folds them).
  void face_viscosity_vjp() const {
    for (std::size_t a = 0; a < Dim; ++a) {
      model.sides.template wrap<One>(work.face_bar[a], int(a));
      each_pack<S>(shape, shape.widened(shape.all_cells()), [&](Index at, Index count) {
        store<S>(work.viscosity_bar, at,
                 load<S>(work.viscosity_bar, at) +
                     (load<S>(work.face_bar[a], at) + load<S>(work.face_bar[a], at + shape.stride[a])),
                 count);
      });
    }
  }

  // --- motion ----------------------------------------------------------------------------------------------

  // carried = sum kappa u_body.
  void read_motion(Packed<Real> p, Packed<Real> u) const {
    for (std::size_t b = 0; b < model.obstacles.size(); ++b) {
      const Motion m = motion(b, p, u);
      const ShapeNumbers<One> q = numbers(b, p);
      each_face([&](std::size_t a, Index at, const auto& x) {
        const One before = b == 0 ? One(0) : load<One>(work.carried[a], at);
        store<One>(work.carried[a], at, before + load<One>(work.mask[b][a], at) * speed(a, x, q, m));
      });
    }
  }

  // --- the force on a body ---------------------------------------------------------------------------------

  // Adds b_s h^d sum kappa (star - u_body) to force[b].
  void add_forces(double share, Packed<Real> p, Packed<Real> u,
                  std::vector<std::array<double, 6>>& force) const {
    for (std::size_t b = 0; b < model.obstacles.size(); ++b) {
      const Motion m = motion(b, p, u);
      const ShapeNumbers<One> q = numbers(b, p);
      const auto total = row_sums(Dim, [&](std::size_t a, Index at, const auto& x, auto& sums) {
        sums[a] =
            sums[a] + load<One>(work.mask[b][a], at) * (load<One>(work.star[a], at) - speed(a, x, q, m));
      });
      for (std::size_t a = 0; a < Dim; ++a) {
        force[b][2 * a] += share * volume() * double(value(total[a]));
        if constexpr (kIsDual<S>) force[b][2 * a + 1] += share * volume() * double(total[a].d[0]);
      }
    }
  }

  // Everything that a step's transpose left on the faces goes to masks, motions and centres.
  //   resist_bar: of sum kappa; carried_bar: of sum kappa u_body; mean_star: sum_s b_s star;
  //   force_bar: of the force on each body, times the volume of a cell
  void transpose(Packed<Real> p, Packed<Real> u, const std::vector<std::array<One, 3>>& force_bar,
                 bool viscosity, PackedOut<Real> p_bar, PackedOut<Real> u_bar) const {
    for (std::size_t b = 0; b < model.obstacles.size(); ++b) {
      const Motion m = motion(b, p, u);
      const ShapeNumbers<One> q = numbers(b, p);
      const auto speed_bar = [&](std::size_t a, Index at) {
        return load<One>(work.mask[b][a], at) * (load<One>(work.carried_bar[a], at) - force_bar[b][a]);
      };
      const auto of_motion = row_sums(kMotion, [&](std::size_t a, Index at, const auto& x, auto& sums) {
        add_speed_vjp(a, x, q, speed_bar(a, at), sums);
      });
      const FlowModel::ObstacleModel& o = model.obstacles[b];
      const PackedOut<Real> to = o.driven ? u_bar : p_bar;
      if (to.value)
        for (std::size_t i = 0; i < kMotion; ++i) add_number<S>(to, o.motion_at + Index(i), of_motion[i]);
      if (!p_bar.value) continue;
      move_centre(b, m, of_motion, p_bar);
      read_masks_vjp(
          b, p,
          [&](std::size_t a, Index at, const auto& x) {
            const One body = speed(a, x, q, m);
            return load<One>(work.resist_bar[a], at) + body * load<One>(work.carried_bar[a], at) +
                   force_bar[b][a] * (load<One>(work.mean_star[a], at) - body);
          },
          viscosity, p_bar);
    }
  }

 private:
  double volume() const { return shape.h[0] * shape.h[1] * (Dim == 3 ? shape.h[2] : 1.0); }
  static Real value(const One& x) {
    if constexpr (kIsDual<S>)
      return x.v;
    else
      return x;
  }
  One face_viscosity(std::size_t a, Index at) const {
    return One(Real(0.5)) * (load<One>(work.viscosity, at) + load<One>(work.viscosity, at - shape.stride[a]));
  }

  ShapeNumbers<One> numbers(std::size_t b, Packed<Real> p) const {
    ShapeNumbers<One> q{};
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    for (std::size_t i = 0; i < Dim + o.sizes; ++i) q[i] = read_number<S>(p, o.shape_at + Index(i));
    return q;
  }
  Motion motion(std::size_t b, Packed<Real> p, Packed<Real> u) const {
    Motion m{};
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    for (std::size_t i = 0; i < kMotion; ++i) m[i] = read_number<S>(o.driven ? u : p, o.motion_at + Index(i));
    return m;
  }
  Depth<One, Dim> depth_of(std::size_t b, const ShapeNumbers<One>& q) const {
    return {model.obstacles[b].shape, model.obstacles[b].sizes, q};
  }

  // Component a of velocity + spin x (x - centre).
  One speed(std::size_t a, const std::array<double, 3>& x, const ShapeNumbers<One>& q,
            const Motion& m) const {
    const auto y = [&](std::size_t i) { return One(Real(x[i])) - q[i]; };
    if constexpr (Dim == 2) return a == 0 ? m[0] - m[2] * y(1) : m[1] + m[2] * y(0);
    const std::size_t i = (a + 1) % 3, j = (a + 2) % 3;
    return m[a] + m[3 + i] * y(j) - m[3 + j] * y(i);
  }
  template <class Sums>
  void add_speed_vjp(std::size_t a, const std::array<double, 3>& x, const ShapeNumbers<One>& q,
                     const One& bar, Sums& sums) const {
    const auto y = [&](std::size_t i) { return One(Real(x[i])) - q[i]; };
    sums[a] = sums[a] + bar;
    if constexpr (Dim == 2) {
      sums[2] = sums[2] + (a == 0 ? -bar * y(1) : bar * y(0));
    } else {
      const std::size_t i = (a + 1) % 3, j = (a + 2) % 3;
      sums[3 + i] = sums[3 + i] + bar * y(j);
      sums[3 + j] = sums[3 + j] - bar * y(i);
    }
  }
  // The centre in spin x (x - centre), given the sums of speed_bar.
  void move_centre(std::size_t b, const Motion& m, const ShapeNumbers<One>& sums,
                   PackedOut<Real> p_bar) const {
    const Index at = model.obstacles[b].shape_at;
    if constexpr (Dim == 2) {
      add_number<S>(p_bar, at, -m[2] * sums[1]);
      add_number<S>(p_bar, at + 1, m[2] * sums[0]);
    } else {
      for (std::size_t a = 0; a < 3; ++a) {
        const std::size_t i = (a + 1) % 3, j = (a + 2) % 3;
        add_number<S>(p_bar, at + Index(a), m[3 + i] * sums[j] - m[3 + j] * sums[i]);
      }
    }
  }

  // --- loops over faces, with their places -----------------------------------------------------------------

  std::array<double, 3> place(std::size_t a, Index i, Index j, Index k) const {
    std::array<double, 3> x = {double(i) + 0.5, double(j) + 0.5, double(k) + 0.5};
    x[a] -= 0.5;
    for (std::size_t b = 0; b < 3; ++b) x[b] *= shape.h[b];
    return x;
  }
  template <class F>
  void each_face(const F& f) const {
    for (std::size_t a = 0; a < Dim; ++a) {
      const Box box = model.sides.free_faces(int(a));
      each_row(shape, box, [&](Index row, Index at) {
        const Index height = box.hi[1] - box.lo[1], j = box.lo[1] + row % height,
                    k = box.lo[2] + row / height;
        for (Index i = 0; i < box.width(); ++i) f(a, at + i, place(a, box.lo[0] + i, j, k));
      });
    }
  }
  // Sums over all free faces, row by row.
  template <class F>
  ShapeNumbers<One> row_sums(std::size_t count, const F& f) const {
    ShapeNumbers<One> total{};
    for (std::size_t a = 0; a < Dim; ++a) {
      const Box box = model.sides.free_faces(int(a));
      each_row(shape, box, [&](Index row, Index at) {
        const Index height = box.hi[1] - box.lo[1], j = box.lo[1] + row % height,
                    k = box.lo[2] + row / height;
        ShapeNumbers<One> sums{};
        for (std::size_t i = 0; i < count; ++i) sums[i] = One(0);
        for (Index i = 0; i < box.width(); ++i) f(a, at + i, place(a, box.lo[0] + i, j, k), sums);
        double* to = work.sums.data() + row * Index(2 * kMostShapeNumbers);
        for (std::size_t i = 0; i < count; ++i) {
          to[2 * i] = double(value(sums[i]));
          if constexpr (kIsDual<S>) to[2 * i + 1] = double(sums[i].d[0]);
        }
      });
      std::array<double, 2 * kMostShapeNumbers> added{};
      for (Index row = 0; row < box.rows(); ++row)
        for (std::size_t i = 0; i < 2 * count; ++i)
          added[i] += work.sums[std::size_t(row) * 2 * kMostShapeNumbers + i];
      for (std::size_t i = 0; i < count; ++i) {
        if constexpr (kIsDual<S>)
          total[i] = total[i] + One(Real(added[2 * i]), Real(added[2 * i + 1]));
        else
          total[i] += Real(added[2 * i]);
      }
    }
    return total;
  }
};

}  // namespace costate::fluid
