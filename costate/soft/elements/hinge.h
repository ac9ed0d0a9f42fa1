// The angle at an edge that two triangles share, its gradient and its second derivative.
//
//   edge e = x1 - x0, a = x2 - x0 in the first triangle, b = x3 - x0 in the second
//   n = e x a,  m = b x e,  l = |e|
//   theta = atan2((n x m).e / l, n.m)             0 where flat
//   d theta/dx2 = -l n/|n|^2 = A,   d theta/dx3 = -l m/|m|^2 = B
//   d theta/dx0 = -(1 - s) A - (1 - t) B,  d theta/dx1 = -s A - t B,     s = a.e/l^2, t = b.e/l^2
//
// The second derivative is the derivative of these four lines. theta jumps by 2 pi where a hinge folds onto
// itself; contact keeps cloth from going there.
// [1] Grinspun, Hirani, Desbrun, Schroeder: Discrete Shells, SCA 2003. [2] Tamstorf, Grinspun: Discrete
// Bending Forces and Their Jacobians, Graphical Models 75 (2013).
// Tests: tests/soft/hinge_test.cpp.
#pragma once

#include "costate/core/mat3.h"

namespace costate::soft {

struct HingeAngle {
  double theta = 0;
  Vec3<double> gradient[4] = {};
};
struct HingeCurvature {
  Mat3<double> block[4][4] = {};
};

HingeAngle hinge_angle(const Vec3<double> (&x)[4]);
HingeCurvature hinge_curvature(const Vec3<double> (&x)[4]);

}  // namespace costate::soft
