// Limits of a joint or a tendon, in play where pos < margin:
//
//   pos = x - low,   J = dx/dq          pos = high - x,   J = -dx/dq
#pragma once

#include "costate/rigid/constraints/paths.h"

namespace costate::rigid {

template <class Path>
struct PathLimit : ConstraintKind {
  static WeightSource weight(const Tree& tree, const ConstraintGroup& g, int) {
    return {Path::weight(tree, g.index), kAbsent};
  }
  template <class S>
  static GroupGeometry<S> rows(const GroupInput<S>& in, const Data<S>& d, S* J) {
    const auto& at = Path::numbers(in.tree, in.g.index);
    const int n = in.dofs();
    const S x = Path::value(in, in.g.index, d), *range = in.p + at.range;
    GroupGeometry<S> out;
    out.r[0] = x - range[0] - in.p[at.margin];
    out.r[1] = range[1] - x - in.p[at.margin];
    std::fill(J, J + 2 * n, S(0));
    Path::add_jacobian(in, in.g.index, S(1), d, J);
    for (int k = 0; k < n; ++k) J[n + k] = -J[k];
    return out;
  }
  template <class S>
  static void rows_vjp(const GroupInput<S>& in, const GroupBar<S>& bar, Data<S>& d) {
    const auto& at = Path::numbers(in.tree, in.g.index);
    if (bar.wanted(at.range)) {
      bar.to.p[at.range] -= bar.r[0];
      bar.to.p[at.range + 1] += bar.r[1];
    }
    if (bar.wanted(at.margin)) bar.to.p[at.margin] -= bar.r[0] + bar.r[1];
    Path::template vjp<S>(in, in.g.index, S(1), bar.r[0] - bar.r[1], bar.J, bar.to, d);
    Path::template vjp<S>(in, in.g.index, S(-1), S(0), bar.J + in.dofs(), bar.to, d);
  }
};

using JointLimit = PathLimit<JointPath>;
using TendonLimit = PathLimit<TendonPath>;

}  // namespace costate::rigid
