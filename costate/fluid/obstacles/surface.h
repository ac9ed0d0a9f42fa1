// Bodies whose surface holds the flow: immersed-boundary projection [1], in two dimensions.
//
// Points X_i lie on the surface. After a stage, forces f_i at these points make the speed there the body's:
//
//   w = P star      u = w - P E' f      E u = u_body         P the projection onto div u = 0 (projection.h)
//   (E u)_i = sum over faces of phi phi u                    phi the quadratic B-spline, 3 cells wide
//
// so f = S^-1 (E w - u_body) with S = E P E', symmetric, a small dense matrix that is made and factorised
// once per run. The divergence vanishes to rounding, the slip (of speeds as E sees them) to a few millionths
// of them: forces along the normals that are the same everywhere are a pressure inside the body, which P
// takes out, so S is nearly singular and is factorised with 1e-12 (in float 1e-5) of its largest diagonal
// element added. The force of the flow on the body is h^2 sum_i f_i per stage and its time. E sees 1.5 cells
// around; a shear flow then stops 0.2845238 h = E|Y - Y'| / 2 (Y, Y' distributed as phi) outside of the
// points, so that far inside of the shape the points lie.
//
// Transpose. With a = P' u_bar and phi_i what the force on the body gives,
//
//   lambda = S^-1 (E a - phi)      star_bar = a - P' E' lambda      u_body_bar = lambda
//   E_bar = -(f star_bar' + lambda u')         which goes to the points, and from them to the shape
//
// The pressure is that of star minus that of E' f, and its cotangent is part of a (projection.h). P is never
// differentiated, nor is S^-1. On a stretched grid cells must have one width wherever E looks; there P is
// symmetric, and h is that width. Tests: tests/fluid/surface_test.cpp, stretched_test.cpp.
//
// [1] Taira, Colonius, J. Comput. Phys. 225 (2007), with an exact P instead of an approximate one.
#pragma once

#include <cmath>

#include "costate/core/error.h"
#include "costate/fluid/obstacles/shapes.h"
#include "costate/fluid/step/flow_inputs.h"
#include "costate/fluid/step/projection.h"

namespace costate::fluid {

template <class S, bool Stretched>
struct Surfaces {
  static constexpr int Dim = 2;
  using Real = value_t<S>;
  using One = Single<S>;
  using Pair = std::array<One, 2>;
  const FlowModel& model;
  FlowScratch<Real>& work;
  const PressureSolver<Real>& solver;
  Packed<Real> u, p;
  One dt;
  const Shape& shape = model.sides.shape;

  // S of the values, factorised: where the bodies have been read anew.
  void factorise() const;

  // `out` has been projected; what is left is without slip.
  void apply(const Speeds<Real>& out) const;
  // Adds to the force and the torque on each body: value and tangent of every number.
  void add_forces(FlowModel::Weights w) const;

  // star_bar is a; the cotangents of wrenches are times the volume of a cell.
  void transpose(FlowModel::Weights w) const;
  // What shapes, motions and dt get; surface_force and `out` of the stage have been made again.
  void transpose_bodies(FlowModel::Weights w, const Speeds<Real>& out, PackedOut<Real> u_bar,
                        PackedOut<Real> p_bar, One& dt_bar) const;

  // E P E' f.
  void image(const std::vector<Real>& f, std::vector<Real>& to) const;

 private:
  static constexpr double kInside = 0.2845238;

  std::size_t numbers() const { return work.surface_rhs.size() / 2; }
  One get(const std::vector<Real>& from, std::size_t i) const {
    if constexpr (kIsDual<S>)
      return One(from[i], from[numbers() + i]);
    else
      return from[i];
  }
  void put(std::vector<Real>& to, std::size_t i, const One& x) const {
    to[i] = value(x);
    if constexpr (kIsDual<S>) to[numbers() + i] = x.d[0];
  }
  static Real value(const One& x) {
    if constexpr (kIsDual<S>)
      return x.v;
    else
      return x;
  }
  // N wrench_bar, as u_body is N V.
  One felt(std::size_t b, std::size_t a, const Pair& x, const ShapeNumbers<One>& q) const {
    const auto& bar = work.template wrenches_bar<One>()[b];
    return a == 0 ? bar[0] - bar[2] * (x[1] - q[1]) : bar[1] + bar[2] * (x[0] - q[0]);
  }
  One per_time(FlowModel::Weights w) const { return One(Real(w.mean / w.share)) / dt; }
  template <class F>
  void each_face(bool free, const F& f) const {
    for (int a = 0; a < 2; ++a)
      each_pack<S>(shape, free ? model.sides.free_faces(a) : shape.faces(a),
                   [&](Index at, Index count) { f(std::size_t(a), at, count); });
  }

  // S^-1 of surface_rhs. A tangent: S x_dot = rhs_dot - S_dot x.
  void solve(std::vector<Real>& x) const {
    const std::size_t n = numbers();
    substitute(work.surface_rhs.data(), x.data());
    if constexpr (kIsDual<S>) {
      std::fill_n(x.begin() + std::ptrdiff_t(n), n, Real(0));
      std::vector<Real>& kept = work.surface_kept;
      kept = work.surface_rhs;
      image(x, work.surface_rhs);
      for (std::size_t i = 0; i < n; ++i) kept[n + i] -= work.surface_rhs[n + i];
      substitute(kept.data() + n, x.data() + n);
    }
  }
  void substitute(const Real* from, Real* to) const {
    const std::size_t n = numbers();
    const std::vector<double>& l = work.surface_factor;
    std::vector<double>& y = work.surface_temporary;
    for (std::size_t i = 0; i < n; ++i) {
      double sum = double(from[i]);
      for (std::size_t k = 0; k < i; ++k) sum -= l[i * n + k] * y[k];
      y[i] = sum / l[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
      double sum = y[i];
      for (std::size_t k = i + 1; k < n; ++k) sum -= l[i * n + k] * y[k];
      y[i] = sum / l[i * n + i];
      to[i] = Real(y[i]);
    }
  }
  void make_forces(const std::vector<Real>& f) const {
    for (std::size_t a = 0; a < 2; ++a) clear<S>(shape, work.held[a]);
    each_point([&](std::size_t b, std::size_t i, const Pair& x, const auto&) {
      for (std::size_t a = 0; a < 2; ++a) {
        const One force = get(f, 2 * i + a);
        each_neighbour(b, a, x, [&](Index at, const One& weight, const Pair&) {
          store<One>(work.held[a], at, load<One>(work.held[a], at) + weight * force);
        });
      }
    });
  }

  // --- points ----------------------------------------------------------------------------------------------

  // f(body, number of the point, place, numbers of the shape)
  template <class F>
  void each_point(const F& f) const {
    std::size_t i = 0;
    for (std::size_t b = 0; b < model.obstacles.size(); ++b) {
      const FlowModel::ObstacleModel& o = model.obstacles[b];
      if (o.points.empty()) continue;
      ShapeNumbers<One> q{};
      for (std::size_t k = 0; k < 2 + o.sizes; ++k) q[k] = read_number<S>(p, o.shape_at + Index(k));
      for (std::size_t k = 0; k < o.points.size(); ++k, ++i) f(b, i, position(b, i, q), q);
    }
  }
  const std::array<double, 2>& direction(std::size_t b, std::size_t i) const {
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    return o.points[i - o.first_point];
  }
  static One inside(const FlowModel::ObstacleModel& o) {
    return One(Real(kInside * std::max(o.cell[0], o.cell[1])));
  }
  // Before it is turned and moved.
  Pair at_rest(const FlowModel::ObstacleModel& o, const std::array<double, 2>& d,
               const ShapeNumbers<One>& q) const {
    const One c{Real(d[0])}, s{Real(d[1])};
    if (o.shape == Obstacle::Shape::ellipsoid) {
      const One ex = c / q[2], ey = s / q[3], length = sqrt(ex * ex + ey * ey);
      return {q[2] * c - inside(o) * ex / length, q[3] * s - inside(o) * ey / length};
    }
    One r = q[2] - inside(o);
    if (o.shape == Obstacle::Shape::fourier) {
      const double t = std::atan2(d[1], d[0]);
      for (std::size_t k = 1; 2 * k + 1 < o.sizes; ++k)
        r = r + q[2 + 2 * k - 1] * One(Real(std::cos(double(k) * t))) +
            q[2 + 2 * k] * One(Real(std::sin(double(k) * t)));
    }
    return {r * c, r * s};
  }
  Pair position(std::size_t b, std::size_t i, const ShapeNumbers<One>& q) const {
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    const Pair z = at_rest(o, direction(b, i), q);
    if (!o.turns) return {q[0] + z[0], q[1] + z[1]};
    const One c = cos(q[2 + o.sizes - 1]), s = sin(q[2 + o.sizes - 1]);
    return {q[0] + c * z[0] - s * z[1], q[1] + s * z[0] + c * z[1]};
  }
  void position_vjp(std::size_t b, std::size_t i, const ShapeNumbers<One>& q, const Pair& bar,
                    PackedOut<Real> p_bar) const {
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    const std::array<double, 2>& d = direction(b, i);
    const auto add = [&](std::size_t number, const One& x) {
      add_number<S>(p_bar, o.shape_at + Index(number), x);
    };
    for (std::size_t a = 0; a < 2; ++a) add(a, bar[a]);
    Pair z_bar = bar;
    if (o.turns) {
      const std::size_t angle = 2 + o.sizes - 1;
      const Pair z = at_rest(o, d, q);
      const One c = cos(q[angle]), s = sin(q[angle]);
      z_bar = {c * bar[0] + s * bar[1], c * bar[1] - s * bar[0]};
      add(angle, z[0] * z_bar[1] - z[1] * z_bar[0]);
    }
    const One c{Real(d[0])}, s{Real(d[1])};
    if (o.shape == Obstacle::Shape::ellipsoid) {
      const One ex = c / q[2], ey = s / q[3], length = sqrt(ex * ex + ey * ey);
      const One nx = ex / length, ny = ey / length, along = nx * z_bar[0] + ny * z_bar[1];
      const One ex_bar = -inside(o) * (z_bar[0] - nx * along) / length,
                ey_bar = -inside(o) * (z_bar[1] - ny * along) / length;
      add(2, z_bar[0] * c - ex_bar * ex / q[2]);
      add(3, z_bar[1] * s - ey_bar * ey / q[3]);
      return;
    }
    const One r_bar = z_bar[0] * c + z_bar[1] * s;
    add(2, r_bar);
    if (o.shape != Obstacle::Shape::fourier) return;
    const double t = std::atan2(d[1], d[0]);
    for (std::size_t k = 1; 2 * k + 1 < o.sizes; ++k) {
      add(2 + 2 * k - 1, r_bar * One(Real(std::cos(double(k) * t))));
      add(2 + 2 * k, r_bar * One(Real(std::sin(double(k) * t))));
    }
  }
  One speed(std::size_t b, std::size_t a, const Pair& x, const ShapeNumbers<One>& q) const {
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    const auto m = [&](Index i) { return read_number<S>(o.driven ? u : p, o.motion_at + i); };
    return a == 0 ? m(0) - m(2) * (x[1] - q[1]) : m(1) + m(2) * (x[0] - q[0]);
  }

  // --- E ---------------------------------------------------------------------------------------------------

  // f(at, weight, slopes of the weight) for the 3 x 3 faces of a component around a point.
  template <class F>
  void each_neighbour(std::size_t b, std::size_t a, const Pair& x, const F& f) const {
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    One weight[2][3], slopes[2][3];
    std::array<Index, 2> middle{};
    for (std::size_t d = 0; d < 2; ++d) {
      // In cells, as if all were as wide as those in the middle of the body.
      const double h = o.cell[d], begin = shape.face_place(int(d), o.middle[d]) / h - double(o.middle[d]);
      const One place = x[d] * One(Real(1 / h)) - One(Real(begin + (d == a ? 0.0 : 0.5)));
      const double near = std::round(double(value(place)));
      if (!(near >= 2 && near <= double(shape.n[d] - 2)))
        throw Error({"the surface of a body comes too close to a side of the box",
                     {},
                     "keep it three cells away from every side"},
                    Error::Kind::numerics);
      middle[d] = Index(near);
      for (Index i = middle[d] - 2; shape.lines && i < middle[d] + 2; ++i)
        if (std::abs(shape.width(int(d), i) - h) > 1e-9 * h)
          throw Error({"cells are stretched where the surface of a body holds the flow",
                       {},
                       "let cells have one width around the body, and two of them beyond it"});
      const One t = place - One(Real(near)), low = One(Real(0.5)) - t, high = One(Real(0.5)) + t;
      const One half(Real(0.5)), per_h(Real(1 / h));
      weight[d][0] = half * low * low, weight[d][1] = One(Real(0.75)) - t * t,
      weight[d][2] = half * high * high;
      slopes[d][0] = -(per_h * low), slopes[d][1] = One(Real(-2)) * per_h * t, slopes[d][2] = per_h * high;
    }
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 3; ++i)
        f(shape.at(middle[0] + i - 1, middle[1] + j - 1, 0), weight[0][i] * weight[1][j],
          Pair{slopes[0][i] * weight[1][j], weight[0][i] * slopes[1][j]});
  }
  One interpolated(const Plane<Real>& field, std::size_t b, std::size_t a, const Pair& x) const {
    One sum(0);
    each_neighbour(b, a, x, [&](Index at, const One& weight, const Pair&) {
      sum = sum + weight * load<One>(field, at);
    });
    return sum;
  }
  Pair slope(const Plane<Real>& field, std::size_t b, std::size_t a, const Pair& x) const {
    Pair sum{One(0), One(0)};
    each_neighbour(b, a, x, [&](Index at, const One&, const Pair& slopes) {
      for (std::size_t d = 0; d < 2; ++d) sum[d] = sum[d] + slopes[d] * load<One>(field, at);
    });
    return sum;
  }
};

}  // namespace costate::fluid
