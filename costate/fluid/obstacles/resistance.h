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
// useless although exact; with these two, both converge with second order.
//
// With the motion V = (velocity, spin) of a body, u_body = N V on a face. What the flow does to it is the
// transpose, its force and torque about the centre, per density: what the resistance takes away,
//
//   wrench = sum_stages b_s h^d sum N' kappa (star - u_body)       `felt` = N wrench_bar on the faces
//
// On a stretched grid h^d is the space of each face, and w the width of the cells in the middle of the body.
//
// A `level` body has a depth of its own per cell; that of a face is the mean of its two cells.
//
// A body that moves carries its pose in the state, and during a step it is where it is in the middle of it
// (bodies that the flow moves: free.h):
//
//   moved+ = moved + dt velocity     turned+ = turned + dt spin (2-D)
//   centre = center + moved + dt / 2 velocity,  angle + turned + dt / 2 spin
//
//   transpose: moved_bar = moved+_bar + centre_bar         velocity_bar += dt (moved+_bar + centre_bar / 2)
//              dt_bar += <velocity, moved+_bar + centre_bar / 2>
//
// [1] Angot, Bruneau, Fabrie, Numer. Math. 81 (1999).
// [2] NIST Digital Library of Mathematical Functions.
// Tests: tests/fluid/obstacle_test.cpp.
#pragma once

#include <cmath>
#include <optional>

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

  // What a step reads.
  struct From {
    Packed<Real> x, u, p;
    One dt;
  };

  // --- masks: functions of parameters alone, unless a body moves -------------------------------------------

  void read_masks(bool moving, const From& in) const;
  // mask_bar is a function of the face: the cotangents of kappa. Returns those of the shape.
  template <class MaskBar>
  ShapeNumbers<One> read_masks_vjp(std::size_t b, const ShapeNumbers<One>& q, const MaskBar& mask_bar,
                                   bool viscosity) const {
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    const Depth<One, Dim> of = depth_of(b, q);
    const Mask mask(o.core, o.width);
    return row_sums(Dim + o.sizes, [&](std::size_t a, Index at, const auto& x, auto& sums) {
      const One d = depth(b, q, a, at, x), bar = One(Real(mask.scale)) * mask_bar(a, at, x);
      if (viscosity) {
        const One half = One(Real(0.5)) * bar * mask.chi(d);
        store<One>(work.face_bar[a], at, load<One>(work.face_bar[a], at) + half);
      }
      const One d_bar = mask.flat(d) ? One(0) : bar * face_viscosity(a, at) * mask.slope(d);
      if (o.level >= 0)
        store<One>(work.level_face[a], at, One(Real(0.5)) * d_bar);
      else if (!mask.flat(d))
        of.of_vjp(x, d_bar, sums);
    });
  }
  // The depths of cells gather what read_masks_vjp left on the faces.
  void write_level(std::size_t b, PackedOut<Real> p_bar) const;
  void face_viscosity_vjp() const { add_to_cells(work.face_bar, work.viscosity_bar); }

  // --- motion ----------------------------------------------------------------------------------------------

  // carried = sum kappa u_body.
  void read_motion(const From& in) const;

  // moved+ and turned+.
  void move(const From& in, PackedOut<Real> y) const;

  // --- force and torque ------------------------------------------------------------------------------------

  // Adds b_s h^d sum N' kappa (star - u_body) to force[b]: value and tangent of each number.
  void add_forces(double share, const From& in, std::vector<std::array<double, 12>>& force) const;
  void write_forces(PackedOut<Real> y) const;
  // The cotangents of the wrenches, times the volume of a cell, and what faces feel of them.
  void read_forces_bar(const From& in, Packed<Real> y_bar) const;
  One felt(std::size_t b, std::size_t a, Index at) const {
    return work.feels[b] ? load<One>(work.felt[b][a], at) : One(0);
  }

  // Everything that a step's transpose left on the faces goes to masks, motions and centres.
  //   resist_bar: of sum kappa; carried_bar: of sum kappa u_body; mean_star: sum_s b_s star; y_bar: of the
  //   poses
  struct To {
    PackedOut<Real> x, u, p;
    One& dt;
  };
  void transpose(const From& in, bool viscosity, Packed<Real> y_bar, const To& bar) const;

  static constexpr std::size_t kPose = 3;  // numbers of a pose: a place, and in 2-D an angle

  void write_shape(std::size_t b, const ShapeNumbers<One>& q_bar, PackedOut<Real> p_bar) const {
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    const std::size_t first = o.linked < 0 ? 0 : Dim,  // where a linked one is, its linkage says
        end = Dim + o.sizes - (o.linked < 0 || !o.turns ? 0 : 1);
    for (std::size_t i = first; i < end; ++i) add_number<S>(p_bar, o.shape_at + Index(i), q_bar[i]);
    write_level(b, p_bar);
  }

  // What number of the shape a number of the pose is added to; none: a disc that turns looks the same.
  std::optional<std::size_t> shape_number(std::size_t b, std::size_t i) const {
    if (i < Dim) return i;
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    return o.turns ? std::optional<std::size_t>(Dim + o.sizes - 1) : std::nullopt;
  }
  // The transpose of `move`, and of the pose in the middle of the step.
  void move_vjp(std::size_t b, const From& in, const Motion& m, const ShapeNumbers<One>& q_bar,
                Packed<Real> y_bar, ShapeNumbers<One>& motion_bar, const To& bar) const;
  // Adds what faces hold to the two cells that they lie between (beyond the sides too: sides.h folds them).
  void add_to_cells(const Speeds<Real>& faces, const Plane<Real>& cells) const;
  double volume() const { return shape.h[0] * shape.h[1] * (Dim == 3 ? shape.h[2] : 1.0); }
  // What the wrenches of a body are times: of one that is held at points, the cells around these.
  double volume(std::size_t b) const {
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    return o.points.empty() ? volume() : o.cell[0] * o.cell[1];
  }
  // Of the space of a face, in units of that volume.
  Real size(std::size_t a, Index at) const {
    return shape.lines ? work.metric.template face_size<Real>(shape, int(a), at) : Real(1);
  }
  static Real value(const One& x) {
    if constexpr (kIsDual<S>)
      return x.v;
    else
      return x;
  }
  One face_viscosity(std::size_t a, Index at) const {
    return One(Real(0.5)) * (load<One>(work.viscosity, at) + load<One>(work.viscosity, at - shape.stride[a]));
  }

  // In the middle of the step.
  ShapeNumbers<One> numbers(std::size_t b, const From& in) const {
    ShapeNumbers<One> q{};
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    for (std::size_t i = 0; i < Dim + o.sizes; ++i) q[i] = read_number<S>(in.p, o.shape_at + Index(i));
    if (o.linked >= 0)
      for (std::size_t i = 0; i < kPose; ++i)
        if (const auto number = shape_number(b, i)) q[*number] = work.template of_bodies<One>().pose[b][i];
    if (o.moved_at < 0) return q;
    Motion m = motion(b, in);
    if (o.free_at >= 0)  // with what it has at the beginning of the step
      for (std::size_t i = 0; i < kPose; ++i) m[i] = read_number<S>(in.x, o.free_at + Index(i));
    for (std::size_t i = 0; i < kPose; ++i)
      if (const auto number = shape_number(b, i))
        q[*number] = q[*number] + read_number<S>(in.x, o.moved_at + Index(i)) + One(Real(0.5)) * in.dt * m[i];
    return q;
  }
  Motion motion(std::size_t b, const From& in) const {
    Motion m{};
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    if (o.flow_moves()) return work.template moving<One>()[b];  // of the stage: free.h
    for (std::size_t i = 0; i < kMotion; ++i)
      m[i] = read_number<S>(o.driven ? in.u : in.p, o.motion_at + Index(i));
    return m;
  }
  Depth<One, Dim> depth_of(std::size_t b, const ShapeNumbers<One>& q) const {
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    return {o.shape, o.sizes, q, 0.5 * o.width};
  }
  One depth(std::size_t b, const ShapeNumbers<One>& q, std::size_t a, Index at,
            const std::array<double, 3>& x) const {
    if (model.obstacles[b].level < 0) return depth_of(b, q).of(x);
    const Plane<Real>& level = work.level[b];
    return One(Real(0.5)) * (load<One>(level, at) + load<One>(level, at - shape.stride[a]));
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
  void speed_centre_vjp(const Motion& m, const ShapeNumbers<One>& sums, ShapeNumbers<One>& q_bar) const {
    if constexpr (Dim == 2) {
      q_bar[0] = q_bar[0] - m[2] * sums[1];
      q_bar[1] = q_bar[1] + m[2] * sums[0];
    } else {
      for (std::size_t a = 0; a < 3; ++a) {
        const std::size_t i = (a + 1) % 3, j = (a + 2) % 3;
        q_bar[a] = q_bar[a] + (m[3 + i] * sums[j] - m[3 + j] * sums[i]);
      }
    }
  }

  // --- loops over faces, with their places -----------------------------------------------------------------

  std::array<double, 3> place(std::size_t a, Index i, Index j, Index k) const {
    const std::array<Index, 3> index = {i, j, k};
    std::array<double, 3> x{};
    for (std::size_t b = 0; b < Dim; ++b)
      x[b] = b == a ? shape.face_place(int(b), index[b]) : shape.cell_place(int(b), index[b]);
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
