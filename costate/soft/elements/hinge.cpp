#include "costate/soft/elements/hinge.h"

#include <cmath>

namespace costate::soft {
namespace {

using V = Vec3<double>;
using M = Mat3<double>;

// One wing of a hinge: G = -l n/|n|^2 and s = w.e/l^2, with n = sign (e x w), and their derivatives with
// respect to e and w.
struct Wing {
  V G, s_e, s_w;
  M G_e, G_w;
  double s;
};

Wing wing(const V& e, const V& w, double sign, bool derivatives) {
  const double square = dot(e, e), l = std::sqrt(square);
  const V n = sign * cross(e, w);
  const double nn = dot(n, n);
  Wing r{};
  r.G = (-l / nn) * n;
  r.s = dot(w, e) / square;
  if (!derivatives) return r;
  r.s_w = (1 / square) * e;
  r.s_e = (1 / square) * w - (2 * r.s / square) * e;
  // d(n/|n|^2) = (I - 2 n n'/|n|^2)/|n|^2 dn,  dn = sign (de x w + e x dw)
  const M turn = (1 / nn) * (M::identity() - (2 / nn) * outer(n, n));
  r.G_w = (-l * sign) * (turn * skew(e));
  r.G_e = (l * sign) * (turn * skew(w)) - (1 / (l * nn)) * outer(n, e);
  return r;
}

}  // namespace

HingeAngle hinge_angle(const V (&x)[4]) {
  const V e = x[1] - x[0], a = x[2] - x[0], b = x[3] - x[0];
  const V n = cross(e, a), m = cross(b, e);
  HingeAngle r;
  r.theta = std::atan2(dot(cross(n, m), e) / norm(e), dot(n, m));
  const Wing A = wing(e, a, 1, false), B = wing(e, b, -1, false);
  r.gradient[0] = -((1 - A.s) * A.G) - (1 - B.s) * B.G;
  r.gradient[1] = -(A.s * A.G) - B.s * B.G;
  r.gradient[2] = A.G;
  r.gradient[3] = B.G;
  return r;
}

HingeCurvature hinge_curvature(const V (&x)[4]) {
  const V e = x[1] - x[0];
  HingeCurvature h;
  for (M(&row)[4] : h.block)
    for (M& b : row) b = M::zero();
  for (int side = 0; side < 2; ++side) {
    const int k = 2 + side;
    const Wing w = wing(e, x[k] - x[0], side == 0 ? 1 : -1, true);
    // Derivatives with respect to x0, x1 and the tip: of e = x1 - x0 and w = tip - x0.
    const M G[3] = {-1.0 * (w.G_e + w.G_w), w.G_e, w.G_w};
    const V s[3] = {-(w.s_e + w.s_w), w.s_e, w.s_w};
    const int at[3] = {0, 1, k};
    for (int j = 0; j < 3; ++j) {
      h.block[k][at[j]] += G[j];
      h.block[0][at[j]] += outer(w.G, s[j]) - (1 - w.s) * G[j];
      h.block[1][at[j]] -= outer(w.G, s[j]) + w.s * G[j];
    }
  }
  return h;
}

}  // namespace costate::soft
