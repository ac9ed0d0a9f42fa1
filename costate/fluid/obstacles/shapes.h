// Shapes of obstacles: how deep a point lies inside, and the transpose with respect to the shape's numbers.
//
//   ball        d = r - rho                              rho = |y|, y = x - centre; numbers: r
//   ellipsoid   d = k (1 - k) / m                        k^2 = sum (z_i / a_i)^2, m^2 = sum (z_i / a_i^2)^2,
//                                                        z = y turned back (2-D); numbers: a, angle
//   fourier     d = r_0 + sum_k (a_k cos k t + b_k sin k t) - rho       t the direction of y (2-D);
//                                                        numbers: r_0, a_1, b_1, a_2, b_2, ..., angle
//   box         d = -s log sum_i (exp((z_i - a_i)/s) + exp((-z_i - a_i)/s))   the least distance to a face,
//                                                        corners rounded by s; numbers: a, angle
//   capsule     d = r - |z - (the nearest point of its axis)|   axis of half length l along x, in 3-D along
//                                                        z; numbers: r, l, angle
//   level       d is a number per cell (resistance.h): nothing here
//
// d is positive inside. That of an ellipsoid is a distance near its surface, which is where it matters: the
// mask of an obstacle (resistance.h) is flat elsewhere. In the centre, where d has a corner, its slope is 0.
// T is a number, or a Dual of one. Tests: tests/fluid/obstacle_test.cpp.
#pragma once

#include <array>

#include "costate/core/functions.h"
#include "costate/fluid/flow.h"
#include "costate/fluid/grid/field.h"

namespace costate::fluid {

inline constexpr std::size_t kMostShapeNumbers = 40;  // centre, sizes, angle

// The centre first (Dim numbers), then those of the kind.
template <class T>
using ShapeNumbers = std::array<T, kMostShapeNumbers>;

template <class T, int Dim>
struct Depth {
  using V = std::array<T, Dim>;
  Obstacle::Shape shape;
  std::size_t sizes;  // numbers behind the centre
  const ShapeNumbers<T>& q;
  double rounding = 1;  // of the corners of a box [m]

  T of(const std::array<double, 3>& x) const {
    const V y = from_centre(x);
    switch (shape) {
      case Obstacle::Shape::ball:
        return q[Dim] - length(y);
      case Obstacle::Shape::ellipsoid:
        return ellipsoid(y);
      case Obstacle::Shape::box:
        return box(y);
      case Obstacle::Shape::capsule:
        return capsule(y);
      case Obstacle::Shape::fourier:
      case Obstacle::Shape::level:
        break;
    }
    return fourier(y);
  }
  void of_vjp(const std::array<double, 3>& x, const T& bar, ShapeNumbers<T>& q_bar) const {
    const V y = from_centre(x);
    if (shape == Obstacle::Shape::ball) return ball_vjp(y, bar, q_bar);
    if (shape == Obstacle::Shape::ellipsoid) return ellipsoid_vjp(y, bar, q_bar);
    if (shape == Obstacle::Shape::box) return box_vjp(y, bar, q_bar);
    if (shape == Obstacle::Shape::capsule) return capsule_vjp(y, bar, q_bar);
    fourier_vjp(y, bar, q_bar);
  }

 private:
  static constexpr double kCentre = 1e-12;  // closer than this is the centre

  V from_centre(const std::array<double, 3>& x) const {
    V y;
    for (std::size_t a = 0; a < Dim; ++a) y[a] = T(value_t<T>(x[a])) - q[a];
    return y;
  }
  static T square(const V& y) {
    T sum = y[0] * y[0];
    for (std::size_t a = 1; a < Dim; ++a) sum = sum + y[a] * y[a];
    return sum;
  }
  static double number(const T& x) {
    if constexpr (kIsDual<T>)
      return double(x.v);
    else
      return double(x);
  }
  static bool central(const T& squared) { return number(squared) < kCentre; }
  static T length(const V& y) {
    const T squared = square(y);
    return central(squared) ? T(0) : sqrt(squared);
  }
  void move_centre(const V& y_bar, ShapeNumbers<T>& q_bar) const {
    for (std::size_t a = 0; a < Dim; ++a) q_bar[a] = q_bar[a] - y_bar[a];
  }

  void ball_vjp(const V& y, const T& bar, ShapeNumbers<T>& q_bar) const {
    q_bar[Dim] = q_bar[Dim] + bar;
    const T squared = square(y);
    if (central(squared)) return;
    const T scale = -bar / sqrt(squared);
    V y_bar;
    for (std::size_t a = 0; a < Dim; ++a) y_bar[a] = scale * y[a];
    move_centre(y_bar, q_bar);
  }

  // Back by the angle, which is the last number; only in 2-D.
  V turned(const V& y) const {
    if constexpr (Dim == 2) {
      const T c = cos(q[Dim + sizes - 1]), s = sin(q[Dim + sizes - 1]);
      return {c * y[0] + s * y[1], c * y[1] - s * y[0]};
    } else {
      return y;
    }
  }
  void turned_vjp(const V& z, const V& z_bar, ShapeNumbers<T>& q_bar) const {
    if constexpr (Dim == 2) {
      const std::size_t angle = Dim + sizes - 1;
      const T c = cos(q[angle]), s = sin(q[angle]);
      q_bar[angle] = q_bar[angle] + z_bar[0] * z[1] - z_bar[1] * z[0];
      move_centre({c * z_bar[0] - s * z_bar[1], s * z_bar[0] + c * z_bar[1]}, q_bar);
    } else {
      move_centre(z_bar, q_bar);
    }
  }
  struct Norms {
    V z;
    T k, m;  // 1 in the centre, where nobody asks: a compiler may divide by them before it looks
    bool central;
  };
  Norms norms(const V& y) const {
    Norms n{turned(y), T(1), T(1), false};
    T k(0), m(0);
    for (std::size_t a = 0; a < Dim; ++a) {
      const T s = n.z[a] / q[Dim + a], t = s / q[Dim + a];
      k = k + s * s, m = m + t * t;
    }
    n.central = central(k);
    if (!n.central) n.k = sqrt(k), n.m = sqrt(m);
    return n;
  }
  T ellipsoid(const V& y) const {
    const Norms n = norms(y);
    return n.central ? q[Dim] : n.k * (T(1) - n.k) / n.m;
  }
  void ellipsoid_vjp(const V& y, const T& bar, ShapeNumbers<T>& q_bar) const {
    const Norms n = norms(y);
    if (n.central) {
      q_bar[Dim] = q_bar[Dim] + bar;
      return;
    }
    // Divided by k and m already, so that z and a need no roots.
    const T k_bar = bar * (T(1) - T(2) * n.k) / (n.m * n.k);
    const T m_bar = -bar * n.k * (T(1) - n.k) / (n.m * n.m * n.m);
    V z_bar;
    for (std::size_t a = 0; a < Dim; ++a) {
      const T size = q[Dim + a], s = n.z[a] / (size * size), t = s / (size * size);
      z_bar[a] = k_bar * s + m_bar * t;
      q_bar[Dim + a] = q_bar[Dim + a] - n.z[a] / size * (k_bar * s + T(2) * m_bar * t);
    }
    turned_vjp(n.z, z_bar, q_bar);
  }

  // How far z lies beyond the upper and the lower face of every axis, and the sum of exp(./s) in units of
  // that of the largest one.
  struct Faces {
    V z, above, below;  // exp of (z - a - most) / s and of (-z - a - most) / s
    T most, sum;
  };
  Faces faces(const V& y) const {
    Faces f{turned(y), {}, {}, T(0), T(0)};
    const T per_s(value_t<T>(1 / rounding));
    for (std::size_t a = 0; a < Dim; ++a) {
      f.above[a] = f.z[a] - q[Dim + a], f.below[a] = -f.z[a] - q[Dim + a];
      const T& beyond = number(f.z[a]) > 0 ? f.above[a] : f.below[a];
      if (a == 0 || number(beyond) > number(f.most)) f.most = beyond;
    }
    for (std::size_t a = 0; a < Dim; ++a) {
      f.above[a] = exp((f.above[a] - f.most) * per_s), f.below[a] = exp((f.below[a] - f.most) * per_s);
      f.sum = f.sum + f.above[a] + f.below[a];
    }
    return f;
  }
  T box(const V& y) const {
    const Faces f = faces(y);
    return -(f.most + T(value_t<T>(rounding)) * log(f.sum));
  }
  void box_vjp(const V& y, const T& bar, ShapeNumbers<T>& q_bar) const {
    const Faces f = faces(y);
    V z_bar;
    for (std::size_t a = 0; a < Dim; ++a) {
      z_bar[a] = bar * (f.below[a] - f.above[a]) / f.sum;
      q_bar[Dim + a] = q_bar[Dim + a] + bar * (f.above[a] + f.below[a]) / f.sum;
    }
    turned_vjp(f.z, z_bar, q_bar);
  }

  // From the nearest point of the axis to z, and on which end of the axis it lies: -1, 0 (between), 1.
  struct FromAxis {
    V z, to;
    int end;
  };
  static constexpr std::size_t kAlong = Dim == 2 ? 0 : 2;
  FromAxis from_axis(const V& y) const {
    FromAxis f{turned(y), {}, 0};
    f.to = f.z;
    const T half = q[Dim + 1];
    if (number(f.z[kAlong]) > number(half))
      f.end = 1, f.to[kAlong] = f.z[kAlong] - half;
    else if (number(f.z[kAlong]) < -number(half))
      f.end = -1, f.to[kAlong] = f.z[kAlong] + half;
    else
      f.to[kAlong] = T(0);
    return f;
  }
  T capsule(const V& y) const { return q[Dim] - length(from_axis(y).to); }
  void capsule_vjp(const V& y, const T& bar, ShapeNumbers<T>& q_bar) const {
    q_bar[Dim] = q_bar[Dim] + bar;
    const FromAxis f = from_axis(y);
    const T squared = square(f.to);
    if (central(squared)) return;
    const T scale = -bar / sqrt(squared);
    V z_bar;
    for (std::size_t a = 0; a < Dim; ++a) z_bar[a] = scale * f.to[a];
    if (f.end != 0) q_bar[Dim + 1] = q_bar[Dim + 1] - T(value_t<T>(f.end)) * z_bar[kAlong];
    turned_vjp(f.z, z_bar, q_bar);
  }

  // f(k, cos k t, sin k t) for k = 1, 2, ...
  template <class F>
  void waves(const T& c, const T& s, const F& f) const {
    T ck = c, sk = s;
    for (std::size_t k = 1; 2 * k + 1 < sizes; ++k) {
      f(k, ck, sk);
      const T next = ck * c - sk * s;
      sk = sk * c + ck * s;
      ck = next;
    }
  }
  T fourier(const V& from) const {
    const V y = turned(from);
    const T squared = square(y);
    if (central(squared)) return q[Dim];
    const T rho = sqrt(squared);
    T r = q[Dim];
    waves(y[0] / rho, y[1] / rho, [&](std::size_t k, const T& c, const T& s) {
      r = r + q[Dim + 2 * k - 1] * c + q[Dim + 2 * k] * s;
    });
    return r - rho;
  }
  void fourier_vjp(const V& from, const T& bar, ShapeNumbers<T>& q_bar) const {
    const V y = turned(from);
    q_bar[Dim] = q_bar[Dim] + bar;
    const T squared = square(y);
    if (central(squared)) return;
    const T rho = sqrt(squared), cos_t = y[0] / rho, sin_t = y[1] / rho;
    T slope(0);  // dr/dt
    waves(cos_t, sin_t, [&](std::size_t k, const T& c, const T& s) {
      q_bar[Dim + 2 * k - 1] = q_bar[Dim + 2 * k - 1] + bar * c;
      q_bar[Dim + 2 * k] = q_bar[Dim + 2 * k] + bar * s;
      slope = slope + T(value_t<T>(k)) * (q[Dim + 2 * k] * c - q[Dim + 2 * k - 1] * s);
    });
    const T along = bar * slope / rho;
    V y_bar{};
    y_bar[0] = -bar * cos_t - along * sin_t;
    y_bar[1] = -bar * sin_t + along * cos_t;
    turned_vjp(y, y_bar, q_bar);
  }
};

}  // namespace costate::fluid
