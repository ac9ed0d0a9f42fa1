#include "costate/rigid/constraints/noslip.h"

#include <algorithm>

#include "costate/ad/dual.h"
#include "costate/rigid/constraints/constraint_rows.h"
#include "costate/rigid/constraints/noslip_cone.h"
#include "costate/rigid/dynamics/crba.h"

namespace costate::rigid {
namespace {

// --- What the sweeps go over -------------------------------------------------------------------------------

// The forces of the two edges of a pyramid's tangent k together, and their slopes.
template <class S>
struct EdgePair {
  S sum, plus, minus;
};
template <class S>
EdgePair<S> edge_pair(const ConstraintGroup& g, int k, const ConstraintData<S>& c) {
  const S D = c.D[g.row], y = c.y[g.row], side = c.loss[g.row + k] * c.y[g.row + k];
  const S plus = select(y + side < S(0), D, S(0)), minus = select(y - side < S(0), D, S(0));
  return {-(plus * (y + side)) - minus * (y - side), plus, minus};
}

template <class S>
void list_rows(const Constraints& cons, ConstraintData<S>& c) {
  NoslipData<S>& s = c.noslip;
  s.blocks.clear();
  s.row.clear();
  s.bound.clear();
  s.place.assign(static_cast<std::size_t>(cons.rows), -1);
  const auto add = [&](int index, int row, const S& bound) {
    s.place[row] = s.rows();
    s.blocks.push_back({index, s.rows()});
    s.row.push_back(row);
    s.bound.push_back(bound);
  };
  for (const int index : c.active) {
    const ConstraintGroup& g = cons.groups[index];
    if (cons.kinds[g.row] == RowKind::friction) add(index, g.row, c.loss[g.row]);
    if (g.kind != GroupKind::contact || g.rows == 1) continue;
    if (!cons.elliptic) {
      for (int k = 1; k < g.rows; ++k) add(index, g.row + k, c.loss[g.row + k] * edge_pair(g, k, c).sum);
      continue;
    }
    s.blocks.push_back({index, s.rows(), g.rows - 1, true});
    for (int k = 1; k < g.rows; ++k) {
      s.place[g.row + k] = s.rows();
      s.row.push_back(g.row + k);
      s.bound.push_back(c.force[g.row]);
    }
  }
}

// J_k x
template <class S>
S row_times(const ConstraintGroup& g, int row, const S* x, const ConstraintData<S>& c) {
  const int n = int(g.dofs.size());
  const S* J = c.J.data() + g.jacobian + (row - g.row) * n;
  S sum(0);
  for (int k = 0; k < n; ++k) sum += J[k] * x[g.dofs[k]];
  return sum;
}

// W, A, F_s and J a_s - aref.
template <class S>
void set_up(const Tree& tree, const Constraints& cons, ConstraintData<S>& c) {
  NoslipData<S>& s = c.noslip;
  const int n = s.rows(), nv = tree.nv;
  s.L = c.mass;
  s.inverse_D.resize(static_cast<std::size_t>(nv));
  factor(tree.dofs, s.L.data(), s.inverse_D.data());
  s.W.assign(static_cast<std::size_t>(n) * nv, S(0));
  s.A.resize(static_cast<std::size_t>(n) * n);
  s.start.resize(s.row.size());
  s.residual.resize(s.row.size());
  for (const NoslipBlock& block : s.blocks) {
    const ConstraintGroup& g = cons.groups[block.group];
    const int width = int(g.dofs.size());
    for (int k = block.first; k < block.first + block.rows; ++k) {
      const S* J = c.J.data() + g.jacobian + (s.row[k] - g.row) * width;
      S* W = s.W.data() + k * nv;
      for (int i = 0; i < width; ++i) W[g.dofs[i]] = J[i];
      solve_factored(tree.dofs, s.L.data(), s.inverse_D.data(), W);
      s.start[k] = c.force[s.row[k]];
      s.residual[k] = c.y[s.row[k]];
      for (int l = 0; l < n; ++l) s.A[k * n + l] = S(0);
    }
  }
  for (const NoslipBlock& block : s.blocks) {
    const ConstraintGroup& g = cons.groups[block.group];
    for (int k = block.first; k < block.first + block.rows; ++k)
      for (int l = 0; l < n; ++l)
        s.A[k * n + l] = row_times(g, s.row[k], static_cast<const S*>(s.W.data() + l * nv), c);
  }
}

// --- A sweep and its transpose -----------------------------------------------------------------------------

// J_k a - aref_k at the present forces.
template <class S>
S residual_now(const NoslipData<S>& s, int k) {
  const int n = s.rows();
  const S* A = s.A.data() + k * n;
  S sum = s.residual[k];
  for (int l = 0; l < n; ++l) sum += A[l] * (s.force[l] - s.start[l]);
  return sum;
}
template <class S>
void residual_now_vjp(NoslipData<S>& s, int k, const S& bar) {
  const int n = s.rows();
  const S* A = s.A.data() + k * n;
  S* A_bar = s.A_bar.data() + k * n;
  s.residual_bar[k] += bar;
  for (int l = 0; l < n; ++l) {
    A_bar[l] += bar * (s.force[l] - s.start[l]);
    s.force_bar[l] += bar * A[l];
    s.start_bar[l] -= bar * A[l];
  }
}

// One row within +-bound.
template <class S>
struct Interval {
  S slope, residual, free;  // A_kk, what is to be taken off, the force without a bound
  mask_t<S> moves, high, low;
};
template <class S>
Interval<S> interval(const NoslipData<S>& s, int k) {
  const S a = s.A[k * s.rows() + k], residual = residual_now(s, k);
  const mask_t<S> moves = a > S(value_t<S>(1e-15));
  const S slope = select(moves, a, S(1)), free = s.force[k] - residual / slope;
  // A world without this contact has no room for a force.
  const mask_t<S> high = (free > s.bound[k]) | (s.bound[k] <= S(0)), low = free < -s.bound[k];
  return {slope, residual, free, moves, high, low};
}
template <class S>
S within(const Interval<S>& i, const S& bound) {
  return select(i.moves, select(i.high, bound, select(i.low, -bound, i.free)), S(0));
}
// s.force is as it was before.
template <class S>
void interval_vjp(NoslipData<S>& s, int k) {
  const Interval<S> i = interval(s, k);
  const S bar = s.force_bar[k];
  const S out = select(i.moves, bar, S(0));
  s.bound_bar[k] += select(i.high, out, select(i.low, -out, S(0)));
  const S free_bar = select(i.high | i.low, S(0), out);
  s.force_bar[k] = free_bar;
  s.A_bar[k * s.rows() + k] += free_bar * i.residual / (i.slope * i.slope);
  residual_now_vjp(s, k, -(free_bar / i.slope));
}

// The rows of a cone in the coordinates of its ball.
template <class S>
struct Ball {
  S B[kMostFriction][kMostFriction], d[kMostFriction], b[kMostFriction];
};
template <class S>
Ball<S> ball_of(const NoslipData<S>& s, const NoslipBlock& block, const S* mu) {
  Ball<S> out;
  const int n = s.rows();
  for (int i = 0; i < block.rows; ++i) {
    const int k = block.first + i;
    S b = residual_now(s, k);
    for (int j = 0; j < block.rows; ++j) {
      const S& a = s.A[k * n + block.first + j];
      out.B[i][j] = mu[i] * a * mu[j];
      b -= a * s.force[block.first + j];
    }
    out.b[i] = b;
    out.d[i] = mu[i] * b;
  }
  return out;
}
template <class S>
void cone_vjp(NoslipData<S>& s, const NoslipBlock& block, const S* mu, S* mu_bar) {
  const int n = s.rows(), rows = block.rows, first = block.first;
  const Ball<S> ball = ball_of(s, block, mu);
  const ConeMinimum<S> at = cone_minimum(rows, ball.B, ball.d, s.bound[first]);
  S z[kMostFriction], b_bar[kMostFriction];
  for (int i = 0; i < rows; ++i) {  // F = mu x
    S& bar = s.force_bar[first + i];
    mu_bar[i] += bar * at.x[i];
    z[i] = bar * mu[i];
    bar = S(0);
  }
  s.bound_bar[first] += cone_minimum_vjp(rows, ball.B, at, s.bound[first], z);
  for (int i = 0; i < rows; ++i) {
    mu_bar[i] -= z[i] * ball.b[i];
    b_bar[i] = -(z[i] * mu[i]);
    for (int j = 0; j < rows; ++j) {  // B_bar = -z x'
      const int entry = (first + i) * n + first + j;
      const S B_bar = -(z[i] * at.x[j]), scaled = B_bar * s.A[entry];
      mu_bar[i] += scaled * mu[j];
      mu_bar[j] += scaled * mu[i];
      s.A_bar[entry] += B_bar * mu[i] * mu[j];
    }
  }
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < rows; ++j) {
      s.A_bar[(first + i) * n + first + j] -= b_bar[i] * s.force[first + j];
      s.force_bar[first + j] -= b_bar[i] * s.A[(first + i) * n + first + j];
    }
  for (int i = 0; i < rows; ++i) residual_now_vjp(s, first + i, b_bar[i]);
}

// Returns whether a force has moved in some world.
template <class S>
bool sweep(const Constraints& cons, ConstraintData<S>& c) {
  NoslipData<S>& s = c.noslip;
  bool moved = false;
  const auto put = [&](int k, const S& value) {
    moved |= any(value != s.force[k]);
    s.force[k] = value;
  };
  for (const NoslipBlock& block : s.blocks) {
    if (!block.cone) {
      put(block.first, within(interval(s, block.first), s.bound[block.first]));
      continue;
    }
    const S* mu = c.loss.data() + cons.groups[block.group].row + 1;
    const Ball<S> ball = ball_of(s, block, mu);
    const ConeMinimum<S> at = cone_minimum(block.rows, ball.B, ball.d, s.bound[block.first]);
    for (int i = 0; i < block.rows; ++i) put(block.first + i, mu[i] * at.x[i]);
  }
  return moved;
}
// before: the forces before the sweep.
template <class S>
void sweep_vjp(const Constraints& cons, const S* before, ConstraintData<S>& c) {
  NoslipData<S>& s = c.noslip;
  for (std::size_t b = s.blocks.size(); b-- > 0;) {
    const NoslipBlock& block = s.blocks[b];
    std::copy(before + block.first, before + block.first + block.rows, s.force.begin() + block.first);
    if (!block.cone) {
      interval_vjp(s, block.first);
      continue;
    }
    const int row = cons.groups[block.group].row + 1;
    cone_vjp(s, block, static_cast<const S*>(c.loss.data() + row), s.friction.data() + row);
  }
}

// --- The transpose of what the sweeps start from -----------------------------------------------------------

// F_s = f(y), c: cotangents of forces, of -y, of friction and of <m, f>.
template <class S>
void bounds_vjp(const Constraints& cons, ConstraintData<S>& c) {
  NoslipData<S>& s = c.noslip;
  for (const NoslipBlock& block : s.blocks) {
    const ConstraintGroup& g = cons.groups[block.group];
    for (int k = block.first; k < block.first + block.rows; ++k) {
      s.m[s.row[k]] += s.start_bar[k];
      s.pull[s.row[k]] -= s.residual_bar[k];
    }
    const int at = s.row[block.first];
    const S bar = s.bound_bar[block.first];
    if (block.cone) {
      s.m[g.row] += bar;
    } else if (g.kind != GroupKind::contact) {
      s.friction[at] += bar;
    } else {
      const EdgePair<S> edges = edge_pair(g, at - g.row, c);
      const S mu = c.loss[at], sum_bar = mu * bar, across = edges.plus - edges.minus;
      s.friction[at] += edges.sum * bar - across * c.y[at] * sum_bar;
      s.pull[g.row] += (edges.plus + edges.minus) * sum_bar;
      s.pull[at] += mu * across * sum_bar;
      s.work[g.row] += edges.sum * sum_bar;
    }
  }
}

// X_k = sum_l (A_bar_kl + A_bar_lk) W_l, and J_bar_k = X_k + (F - F_s)_k lambda'. after: F at the end.
template <class S>
void jacobians_vjp(int nv, const S* after, const S* lambda, NoslipData<S>& s) {
  const int n = s.rows();
  s.X.assign(static_cast<std::size_t>(n) * nv, S(0));
  s.J_bar.resize(s.X.size());
  for (int k = 0; k < n; ++k) {
    S* X = s.X.data() + k * nv;
    for (int l = 0; l < n; ++l) {
      const S bar = s.A_bar[k * n + l] + s.A_bar[l * n + k];
      const S* W = s.W.data() + l * nv;
      for (int i = 0; i < nv; ++i) X[i] += bar * W[i];
    }
    const S moved = after[k] - s.start[k];
    for (int i = 0; i < nv; ++i) s.J_bar[k * nv + i] = X[i] + moved * lambda[i];
  }
}

}  // namespace

template <class S>
void noslip(const Tree& tree, const Constraints& cons, bool keep, ConstraintData<S>& c) {
  NoslipData<S>& s = c.noslip;
  s.a.assign(c.a.begin(), c.a.end());
  s.transposed = false;
  list_rows(cons, c);
  const int n = s.rows();
  if (n == 0) return;
  set_up(tree, cons, c);
  s.force = s.start;
  if (keep) s.history.resize(static_cast<std::size_t>(cons.noslip + 1) * n);
  for (int i = 0; i < cons.noslip; ++i) {
    if (keep) std::copy(s.force.begin(), s.force.end(), s.history.begin() + std::ptrdiff_t(i) * n);
    // Forces that rest stay; their derivatives need not rest yet.
    if (!sweep(cons, c) && !keep && !is_dual<S>) break;
  }
  if (keep) std::copy(s.force.begin(), s.force.end(), s.history.begin() + std::ptrdiff_t(cons.noslip) * n);
  for (int k = 0; k < n; ++k) {
    const S moved = s.force[k] - s.start[k];
    for (int i = 0; i < tree.nv; ++i) s.a[i] += s.W[k * tree.nv + i] * moved;
  }
}

template <class S>
void noslip_vjp(const Tree& tree, const Constraints& cons, const S* lambda, ConstraintData<S>& c) {
  NoslipData<S>& s = c.noslip;
  const int n = s.rows();
  s.transposed = n > 0;
  if (n == 0) return;
  for (auto* bar : {&s.start_bar, &s.residual_bar, &s.bound_bar}) bar->assign(s.row.size(), S(0));
  for (auto* bar : {&s.m, &s.pull, &s.friction, &s.work}) bar->assign(c.y.size(), S(0));
  s.A_bar.assign(s.A.size(), S(0));
  s.force_bar.resize(s.row.size());
  for (const NoslipBlock& block : s.blocks)
    for (int k = block.first; k < block.first + block.rows; ++k) {
      s.force_bar[k] = row_times(cons.groups[block.group], s.row[k], lambda, c);
      s.start_bar[k] = -s.force_bar[k];
    }
  const S* const history = s.history.data();
  s.force.assign(history + std::ptrdiff_t(cons.noslip) * n, history + std::ptrdiff_t(cons.noslip + 1) * n);
  for (int i = cons.noslip - 1; i >= 0; --i) sweep_vjp(cons, history + std::ptrdiff_t(i) * n, c);
  for (int k = 0; k < n; ++k) s.start_bar[k] += s.force_bar[k];
  bounds_vjp(cons, c);
  jacobians_vjp(tree.nv, history + std::ptrdiff_t(cons.noslip) * n, lambda, s);
}

#define COSTATE_INSTANTIATE(S)                                                     \
  template void noslip(const Tree&, const Constraints&, bool, ConstraintData<S>&); \
  template void noslip_vjp(const Tree&, const Constraints&, const S*, ConstraintData<S>&);
COSTATE_INSTANTIATE(double)
COSTATE_INSTANTIATE(NativePack<double>)
COSTATE_INSTANTIATE(NativePack<float>)
COSTATE_INSTANTIATE(Dual<NativePack<double>>)
COSTATE_INSTANTIATE(Dual<NativePack<float>>)

}  // namespace costate::rigid
