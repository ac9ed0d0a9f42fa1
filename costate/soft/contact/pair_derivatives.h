// Second derivatives of the barrier and the friction of one pair (pair.h), by Dual of their first ones.
//
//   H = d(grad W)/dz, 12x12;   d(grad W)/d(stiffness, reach, parallel);
//   d(friction)/d(x of the start of the step, stiffness, reach, parallel, friction, e)
//
// Tests: tests/soft/closest_test.cpp, tests/python/test_ipctk.py (against the IPC Toolkit).
#pragma once

#include <algorithm>

#include "costate/ad/dual.h"
#include "costate/soft/contact/pair.h"

namespace costate::soft {

// The four points of a pair, in its order.
struct Four {
  Vec3<double> x[4];
};
inline Four four(const TouchingPair& pair, const double* y) {
  Four r;
  for (int i = 0; i < 4; ++i) {
    const double* at = y + 3 * pair.v[i];
    r.x[i] = {at[0], at[1], at[2]};
  }
  return r;
}
inline Closest closest_of(bool edges, const Vec3<double> (&x)[4]) {
  return edges ? closest_edges(x) : closest_point_triangle(x);
}

// Whether the boxes of the two sides are further apart than `reach` along some axis: cheaper than their
// distance, and true for most candidates.
inline bool far_apart(bool edges, const Four& x, double reach) {
  const auto gap = [&](double a, double b, double c, double d) {
    if (edges) return std::max(std::min(a, b) - std::max(c, d), std::min(c, d) - std::max(a, b));
    return std::max(a - std::max({b, c, d}), std::min({b, c, d}) - a);
  };
  return gap(x.x[0].x, x.x[1].x, x.x[2].x, x.x[3].x) > reach ||
         gap(x.x[0].y, x.x[1].y, x.x[2].y, x.x[3].y) > reach ||
         gap(x.x[0].z, x.x[1].z, x.x[2].z, x.x[3].z) > reach;
}

// convex: without the negative eigenvalues; of a pair that is not mollified, only along its distance.
void pair_matrix(const TouchingPair& pair, const Four& z, const PairNumbers<double>& p, bool convex,
                 double* H);

// The gradient of a touching pair as a function of (stiffness, reach, parallel).
using D3 = Dual<double, 3>;
void numbers_of_touch(const TouchingPair& pair, const Four& z, const PairNumbers<double>& p,
                      Vec3<D3> (&g)[4]);

// Friction as a function of x (12), (stiffness, reach, parallel), friction and e = slip speed dt.
using D17 = Dual<double, 17>;
void numbers_of_friction(const TouchingPair& pair, const Four& z, const Four& x, const PairNumbers<double>& p,
                         double friction, double e, Vec3<D17> (&r)[4]);

}  // namespace costate::soft
