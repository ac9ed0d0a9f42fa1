// Newton's method on the convex problem of constraints.h, one world per lane.
//
//   gradient    g = M a - tau - J' f(y),  y = J a - aref,  f = -s'(y)
//   direction   d = -H^-1 g,              H = M + J' S J,  S = s''(y)
//   step        the exact minimum along d: a root of an increasing piecewise linear function
//
// The problem is quadratic between kinks. So once a full step leaves every row in its zone (in play or not, sticking or
// slipping), it has ended at the minimum, to rounding; most states need two or three steps. A lane that has arrived is not
// moved again: what its neighbours do cannot change its bits.
//
// With S a Dual the loop finds the value; one more Newton step there gives the tangent by the implicit function theorem, however
// the value was found.
// Tests: tests/rigid/constraints_test.cpp, parity_test.cpp.
#pragma once

#include "costate/ad/dual.h"
#include "costate/rigid/constraint_rows.h"
#include "costate/rigid/crba.h"

namespace costate::rigid {

// Force and minus its slope at y.
template <class S>
struct RowForce {
  S force, slope;
};
template <class S>
COSTATE_INLINE RowForce<S> row_force(RowKind kind, const S& D, const S& loss, const S& y) {
  const S pull = -(D * y);
  if (kind == RowKind::equality) return {pull, D};
  if (kind == RowKind::limit) {
    const mask_t<S> on = y < S(0);
    return {select(on, pull, S(0)), select(on, D, S(0))};
  }
  const mask_t<S> high = pull > loss, low = pull < -loss;
  return {select(high, loss, select(low, -loss, pull)), select(high | low, S(0), D)};
}

// c.y for given a; forces and slopes.
template <class S>
void evaluate_rows(const Constraints& cons, const S* a, ConstraintData<S>& c) {
  for (const ConstraintGroup& g : cons.groups) {
    const int n = int(g.dofs.size());
    for (int i = 0; i < g.rows; ++i) {
      const auto row = static_cast<std::size_t>(g.row + i);
      const S* J = c.J.data() + g.jacobian + i * n;
      S y = -c.aref[row];
      for (int k = 0; k < n; ++k) y += J[k] * a[g.dofs[static_cast<std::size_t>(k)]];
      c.y[row] = y;
    }
  }
  for (std::size_t row = 0; row < c.y.size(); ++row) {
    const RowForce<S> f = row_force(cons.kinds[row], c.D[row], c.loss[row], c.y[row]);
    c.force[row] = f.force;
    c.slope[row] = f.slope;
  }
}

// out += sign J' values
template <class S>
void add_transposed(const Constraints& cons, const ConstraintData<S>& c, const S* values, const S& sign,
                    S* out) {
  for (const ConstraintGroup& g : cons.groups) {
    const int n = int(g.dofs.size());
    for (int i = 0; i < g.rows; ++i) {
      const S value = sign * values[g.row + i];
      const S* J = c.J.data() + g.jacobian + i * n;
      for (int k = 0; k < n; ++k) out[g.dofs[static_cast<std::size_t>(k)]] += J[k] * value;
    }
  }
}

// out = J x
template <class S>
void multiply_rows(const Constraints& cons, const ConstraintData<S>& c, const S* x, S* out) {
  for (const ConstraintGroup& g : cons.groups) {
    const int n = int(g.dofs.size());
    for (int i = 0; i < g.rows; ++i) {
      const S* J = c.J.data() + g.jacobian + i * n;
      S sum(0);
      for (int k = 0; k < n; ++k) sum += J[k] * x[g.dofs[static_cast<std::size_t>(k)]];
      out[g.row + i] = sum;
    }
  }
}

// c.H, c.inverse_D: the factor of M + J' S J.
template <class S>
void factor_newton_matrix(const Constraints& cons, ConstraintData<S>& c) {
  std::fill(c.H.begin(), c.H.end(), S(0));
  for (std::size_t e = 0; e < cons.place.size(); ++e)
    c.H[static_cast<std::size_t>(cons.place[e])] = c.mass[e];
  for (const ConstraintGroup& g : cons.groups) {
    const int n = int(g.dofs.size());
    for (int i = 0; i < g.rows; ++i) {
      const S slope = c.slope[static_cast<std::size_t>(g.row + i)];
      if (!any(slope != S(0))) continue;
      const S* J = c.J.data() + g.jacobian + i * n;
      const int* entry = g.entries.data();
      for (int a = 0; a < n; ++a) {
        const S scaled = slope * J[a];
        for (int b = 0; b <= a; ++b) c.H[static_cast<std::size_t>(*entry++)] += scaled * J[b];
      }
    }
  }
  factor(cons.dofs, c.H.data(), c.inverse_D.data());
}

// The gradient at c.a (with c.Ma and the rows evaluated) and Newton's direction.
template <class S>
void newton_direction(const Constraints& cons, const S* tau, ConstraintData<S>& c) {
  for (std::size_t i = 0; i < c.a.size(); ++i) c.gradient[i] = c.Ma[i] - tau[i];
  add_transposed(cons, c, static_cast<const S*>(c.force.data()), S(-1), c.gradient.data());
  factor_newton_matrix(cons, c);
  for (std::size_t i = 0; i < c.a.size(); ++i) c.direction[i] = -c.gradient[i];
  solve_factored(cons.dofs, c.H.data(), c.inverse_D.data(), c.direction.data());
}

// Where along the direction the cost is least, given c.Jd and c.Md. `changed`: lanes that a full step takes into another zone.
template <class S>
S step_length(const Constraints& cons, const S* tau, const ConstraintData<S>& c, mask_t<S>& changed) {
  S linear(0), quadratic(0);
  for (std::size_t i = 0; i < c.a.size(); ++i) {
    linear += c.direction[i] * (c.Ma[i] - tau[i]);
    quadratic += c.direction[i] * c.Md[i];
  }
  // Slope and curvature of the cost at step length t.
  const auto at = [&](const S& t, S& curvature) {
    S slope = linear + t * quadratic;
    curvature = quadratic;
    for (std::size_t row = 0; row < c.y.size(); ++row) {
      const RowForce<S> f = row_force(cons.kinds[row], c.D[row], c.loss[row], c.y[row] + t * c.Jd[row]);
      slope -= f.force * c.Jd[row];
      curvature += f.slope * c.Jd[row] * c.Jd[row];
    }
    return slope;
  };
  changed = mask_t<S>(false);
  for (std::size_t row = 0; row < c.y.size(); ++row) {
    const RowForce<S> f = row_force(cons.kinds[row], c.D[row], c.loss[row], c.y[row] + c.Jd[row]);
    changed = changed | (f.slope != c.slope[row]);
    // From one side of dry friction to the other.
    if (cons.kinds[row] == RowKind::friction)
      changed = changed | (f.force * c.force[row] < -(c.loss[row] * c.loss[row] * S(value_t<S>(0.5))));
  }
  S t(1);
  if (!any(changed)) return t;
  S curvature, low(0), high(0);
  mask_t<S> bounded(false);
  for (int i = 0; i < 30; ++i) {
    const S slope = at(t, curvature);
    const mask_t<S> past = slope > S(0);
    high = select(past, t, high);
    low = select(past, low, t);
    bounded = bounded | past;
    const S newton = t - slope / select(curvature > S(0), curvature, S(1));
    const S middle = select(bounded, S(value_t<S>(0.5)) * (low + high), S(2) * t);
    const mask_t<S> inside = (newton >= low) & ((newton <= high) | !bounded);
    const S next = select(inside, newton, middle);
    const mask_t<S> moves = abs(next - t) > S(value_t<S>(sizeof(value_t<S>) == 8 ? 1e-12 : 1e-5)) * t;
    t = select(changed & moves, next, t);
    if (!any(changed & moves)) break;
  }
  return t;
}

// c.a, the constrained acceleration; starts at c.a. Needs make_rows and M in c.mass.
template <class S>
void solve_constraints(const Tree& tree, const Constraints& cons, const S* tau, ConstraintData<S>& c) {
  using T = value_t<S>;
  const S tolerance = S(T(sizeof(T) == 8 ? 1e-28 : 1e-12));
  mask_t<S> running(true);
  for (int iteration = 0; iteration < cons.iterations; ++iteration) {
    multiply_mass(tree, c.mass.data(), c.a.data(), c.Ma.data());
    evaluate_rows(cons, c.a.data(), c);
    newton_direction(cons, tau, c);
    S square(0), scale(0);
    for (std::size_t i = 0; i < c.a.size(); ++i) {
      square += c.gradient[i] * c.gradient[i];
      scale += c.Ma[i] * c.Ma[i] + tau[i] * tau[i];
    }
    running = running & (square > tolerance * scale);
    if (!any(running)) break;
    multiply_rows(cons, c, static_cast<const S*>(c.direction.data()), c.Jd.data());
    multiply_mass(tree, c.mass.data(), c.direction.data(), c.Md.data());
    mask_t<S> changed;
    const S t = select(running, step_length(cons, tau, c, changed), S(0));
    for (std::size_t i = 0; i < c.a.size(); ++i) c.a[i] += t * c.direction[i];
    running = running & changed;
    if (!any(running)) break;
  }
  multiply_mass(tree, c.mass.data(), c.a.data(), c.Ma.data());
  evaluate_rows(cons, c.a.data(), c);
  if constexpr (is_dual<S>) {
    newton_direction(cons, tau, c);
  } else {  // the last factor once more: what rounding left
    for (std::size_t i = 0; i < c.a.size(); ++i) c.direction[i] = tau[i] - c.Ma[i];
    add_transposed(cons, c, static_cast<const S*>(c.force.data()), S(1), c.direction.data());
    solve_factored(cons.dofs, c.H.data(), c.inverse_D.data(), c.direction.data());
  }
  for (std::size_t i = 0; i < c.a.size(); ++i) c.a[i] += c.direction[i];
  evaluate_rows(cons, c.a.data(), c);
}

}  // namespace costate::rigid
