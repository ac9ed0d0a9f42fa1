// The closest points of a point and a triangle, and of two edges.
//
//   c = sum_i w_i x_i,   d^2 = |c|^2
//   x: point and corners, or the ends of the first edge, then of the second
//   w: +1 at the point and minus barycentric weights at the triangle; barycentric at the first edge, minus
//      those at the second
//   grad_i d^2 = 2 w_i c                      exact although w moves: the weights minimise d^2
//
// Which corners, edges or interiors are closest (7 cases and 9) is decided once, on numbers; the weights of
// that case are then computed on any scalar, so that Dual gives the second derivative.
// [1] Ericson: Real-Time Collision Detection, sections 5.1.5 and 5.1.9.
// Tests: tests/soft/closest_test.cpp.
#pragma once

#include "costate/core/mat3.h"

namespace costate::soft {

enum class Closest : unsigned char {
  // of a point and a triangle
  corner_0,
  corner_1,
  corner_2,
  edge_01,
  edge_12,
  edge_20,
  face,
  // of two edges: end or interior of the first, and of the second
  ends_00,
  ends_01,
  ends_10,
  ends_11,
  end_0_edge,
  end_1_edge,
  edge_end_0,
  edge_end_1,
  edges
};

Closest closest_point_triangle(const Vec3<double> (&x)[4]);
Closest closest_edges(const Vec3<double> (&x)[4]);

// Where the foot of p on the line a, b lies: 0 at a, 1 at b.
template <class S>
S foot(const Vec3<S>& p, const Vec3<S>& a, const Vec3<S>& b) {
  const Vec3<S> e = b - a;
  return dot(p - a, e) / dot(e, e);
}

template <class S>
void closest_weights(Closest kind, const Vec3<S> (&x)[4], S (&w)[4]) {
  const auto set = [&](S a, S b, S c, S d) { w[0] = a, w[1] = b, w[2] = c, w[3] = d; };
  const S o(0), l(1);
  switch (kind) {
    case Closest::corner_0:
      return set(l, -l, o, o);
    case Closest::corner_1:
      return set(l, o, -l, o);
    case Closest::corner_2:
      return set(l, o, o, -l);
    case Closest::edge_01: {
      const S t = foot(x[0], x[1], x[2]);
      return set(l, t - l, -t, o);
    }
    case Closest::edge_12: {
      const S t = foot(x[0], x[2], x[3]);
      return set(l, o, t - l, -t);
    }
    case Closest::edge_20: {
      const S t = foot(x[0], x[3], x[1]);
      return set(l, -t, o, t - l);
    }
    case Closest::
        face: {  // r = s a + t b + h n; by cross products, which do not cancel for slender triangles
      const Vec3<S> a = x[2] - x[1], b = x[3] - x[1], r = x[0] - x[1], n = cross(a, b);
      const S k = l / dot(n, n), s = k * dot(cross(r, b), n), t = k * dot(cross(a, r), n);
      return set(l, s + t - l, -s, -t);
    }
    case Closest::ends_00:
      return set(l, o, -l, o);
    case Closest::ends_01:
      return set(l, o, o, -l);
    case Closest::ends_10:
      return set(o, l, -l, o);
    case Closest::ends_11:
      return set(o, l, o, -l);
    case Closest::end_0_edge: {
      const S t = foot(x[0], x[2], x[3]);
      return set(l, o, t - l, -t);
    }
    case Closest::end_1_edge: {
      const S t = foot(x[1], x[2], x[3]);
      return set(o, l, t - l, -t);
    }
    case Closest::edge_end_0: {
      const S t = foot(x[2], x[0], x[1]);
      return set(l - t, t, -l, o);
    }
    case Closest::edge_end_1: {
      const S t = foot(x[3], x[0], x[1]);
      return set(l - t, t, o, -l);
    }
    case Closest::edges: {  // r = s a - t b + h n; the same for nearly parallel edges
      const Vec3<S> a = x[1] - x[0], b = x[3] - x[2], r = x[2] - x[0], n = cross(a, b);
      const S k = l / dot(n, n), s = k * dot(cross(r, b), n), t = k * dot(cross(r, a), n);
      return set(l - s, s, t - l, -t);
    }
  }
}

}  // namespace costate::soft
