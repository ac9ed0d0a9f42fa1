// Equality of two joints or two tendons:  pos = x1 - P(x2),  J = J1 - P'(x2) J2,  x measured from the
// reference configuration, P a polynomial of degree 4. Without a second one P is its constant.
//
// Transpose:  x1_bar = r_bar,  x2_bar = -P' r_bar - P'' <J2, J_bar>,  c_k_bar = -(x2^k r_bar + k x2^(k-1)
// <J2, J_bar>).
#pragma once

#include "costate/rigid/constraints/paths.h"

namespace costate::rigid {

template <class S>
COSTATE_INLINE S polynomial(const S* c, const S& x) {
  return c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * c[4])));
}
template <class S>
COSTATE_INLINE S polynomial_slope(const S* c, const S& x) {
  return c[1] + x * (S(2) * c[2] + x * (S(3) * c[3] + x * (S(4) * c[4])));
}
template <class S>
COSTATE_INLINE S polynomial_curvature(const S* c, const S& x) {
  return S(2) * c[2] + x * (S(6) * c[3] + x * (S(12) * c[4]));
}

template <class Path>
struct PathEquality : ConstraintKind {
  static WeightSource weight(const Tree& tree, const ConstraintGroup& g, int) {
    return {Path::weight(tree, g.first), Path::weight(tree, g.second)};
  }
  // How far a side is from its reference.
  template <class S>
  static S side(const GroupInput<S>& in, int i, double ref, const Data<S>& d) {
    if (i < 0) return S(0);
    return Path::value(in, i, d) - S(value_t<S>(ref));
  }
  template <class S>
  static GroupGeometry<S> rows(const GroupInput<S>& in, const Data<S>& d, S* J) {
    const ConstraintGroup& g = in.g;
    const S* c = in.p + in.tree.p.equalities[in.index()].polycoef;
    const S x1 = side(in, g.first, g.first_ref, d), x2 = side(in, g.second, g.second_ref, d);
    GroupGeometry<S> out;
    out.r[0] = x1 - polynomial(c, x2);
    std::fill(J, J + in.dofs(), S(0));
    Path::add_jacobian(in, g.first, S(1), d, J);
    if (g.second >= 0) Path::template add_jacobian<S>(in, g.second, -polynomial_slope(c, x2), d, J);
    return out;
  }
  template <class S>
  static void rows_vjp(const GroupInput<S>& in, const GroupBar<S>& bar, Data<S>& d) {
    const ConstraintGroup& g = in.g;
    const int at = in.tree.p.equalities[in.index()].polycoef;
    const S* c = in.p + at;
    const S x = side<S>(in, g.second, g.second_ref, d), slope = polynomial_slope(c, x);
    Path::vjp(in, g.first, S(1), bar.r[0], bar.J, bar.to, d);
    S scale_bar(0);
    if (g.second >= 0) {
      // First what the scale -P'(x) of J2 receives, then x through position and slope.
      scale_bar = Path::template vjp<S>(in, g.second, -slope, S(0), bar.J, bar.to, d);
      const S x_bar = -(slope * bar.r[0]) - polynomial_curvature(c, x) * scale_bar;
      Path::template vjp<S>(in, g.second, S(0), x_bar, d.zeros.data(), bar.to, d);
    }
    if (!bar.wanted(at)) return;
    S power(1), before(0);  // x^k and k x^(k-1)
    for (int k = 0; k < 5; ++k) {
      bar.to.p[at + k] -= power * bar.r[0] + before * scale_bar;
      before = S(value_t<S>(k + 1)) * power;
      power *= x;
    }
  }
};

using JointEquality = PathEquality<JointPath>;
using TendonEquality = PathEquality<TendonPath>;

}  // namespace costate::rigid
