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

// Which part of the law acts: 0 none; dry friction: sticking 1, slipping either way 2 and 3.
template <class S>
COSTATE_INLINE S row_zone(RowKind kind, const RowForce<S>& f) {
  const S on = select(f.slope != S(0), S(1), S(0));
  if (kind != RowKind::friction) return on;
  return select(f.slope != S(0), S(1), select(f.force > S(0), S(2), S(3)));
}

template <class S>
COSTATE_INLINE ContactStiffness<S> stiffness_of(const ConstraintGroup& g, const ConstraintData<S>& c) {
  return {c.D[static_cast<std::size_t>(g.row)], c.loss.data() + g.row};
}

// Calls visit(group) for each group in play.
template <class S, class Visit>
COSTATE_INLINE void for_each_active(const Constraints& cons, const ConstraintData<S>& c, const Visit& visit) {
  for (const int i : c.active) visit(cons.groups[static_cast<std::size_t>(i)]);
}

// Forces, slopes and zones of a group at y.
template <class S>
COSTATE_INLINE void evaluate_group(const Constraints& cons, const ConstraintGroup& g, ConstraintData<S>& c) {
  const auto row = static_cast<std::size_t>(g.row);
  if (g.kind == GroupKind::contact) {
    ContactForce<S> f;
    contact_force(cons.elliptic, g.rows, stiffness_of(g, c), static_cast<const S*>(c.y.data() + g.row), f);
    std::copy(f.force, f.force + g.rows, c.force.data() + g.row);
    std::copy(f.block, f.block + block_at(g.rows, 0), c.block.data() + g.block);
    c.zone[row] = f.zone;
    return;
  }
  for (std::size_t i = row; i < row + static_cast<std::size_t>(g.rows); ++i) {
    const RowForce<S> f = row_force(cons.kinds[i], c.D[i], c.loss[i], c.y[i]);
    c.force[i] = f.force;
    c.slope[i] = f.slope;
    c.zone[i] = row_zone(cons.kinds[i], f);
  }
}

// c.y for given a; forces, slopes and zones.
template <class S>
void evaluate_rows(const Constraints& cons, const S* a, ConstraintData<S>& c) {
  for_each_active(cons, c, [&](const ConstraintGroup& g) {
    const int n = int(g.dofs.size());
    for (int i = 0; i < g.rows; ++i) {
      const auto row = static_cast<std::size_t>(g.row + i);
      const S* J = c.J.data() + g.jacobian + i * n;
      S y = -c.aref[row];
      for (int k = 0; k < n; ++k) y += J[k] * a[g.dofs[static_cast<std::size_t>(k)]];
      c.y[row] = y;
    }
    evaluate_group(cons, g, c);
  });
}

// out += sign J' values
template <class S>
void add_transposed(const Constraints& cons, const ConstraintData<S>& c, const S* values, const S& sign,
                    S* out) {
  for_each_active(cons, c, [&](const ConstraintGroup& g) {
    const int n = int(g.dofs.size());
    for (int i = 0; i < g.rows; ++i) {
      const S value = sign * values[g.row + i];
      const S* J = c.J.data() + g.jacobian + i * n;
      for (int k = 0; k < n; ++k) out[g.dofs[static_cast<std::size_t>(k)]] += J[k] * value;
    }
  });
}

// out = J x
template <class S>
void multiply_rows(const Constraints& cons, const ConstraintData<S>& c, const S* x, S* out) {
  for_each_active(cons, c, [&](const ConstraintGroup& g) {
    const int n = int(g.dofs.size());
    for (int i = 0; i < g.rows; ++i) {
      const S* J = c.J.data() + g.jacobian + i * n;
      S sum(0);
      for (int k = 0; k < n; ++k) sum += J[k] * x[g.dofs[static_cast<std::size_t>(k)]];
      out[g.row + i] = sum;
    }
  });
}

// values <- S values, with the slopes of the rows
template <class S>
void multiply_slopes(const Constraints& cons, const ConstraintData<S>& c, S* values) {
  for_each_active(cons, c, [&](const ConstraintGroup& g) {
    S* x = values + g.row;
    if (g.kind != GroupKind::contact) {
      for (int i = 0; i < g.rows; ++i) x[i] *= c.slope[static_cast<std::size_t>(g.row + i)];
      return;
    }
    S product[kMostRows];
    multiply_block(g.rows, c.block.data() + g.block, static_cast<const S*>(x), product);
    std::copy(product, product + g.rows, x);
  });
}

// H += J' S J of a contact: its rows together.
template <class S>
void add_contact_block(const ConstraintGroup& g, ConstraintData<S>& c) {
  const int n = int(g.dofs.size());
  const S *J = c.J.data() + g.jacobian, *block = c.block.data() + g.block;
  const int* entry = g.entries.data();
  for (int a = 0; a < n; ++a) {
    S column[kMostRows], scaled[kMostRows];
    for (int i = 0; i < g.rows; ++i) column[i] = J[i * n + a];
    multiply_block(g.rows, block, static_cast<const S*>(column), scaled);
    for (int b = 0; b <= a; ++b) {
      S sum = scaled[0] * J[b];
      for (int i = 1; i < g.rows; ++i) sum += scaled[i] * J[i * n + b];
      c.H[static_cast<std::size_t>(*entry++)] += sum;
    }
  }
}

// c.H, c.inverse_D: the factor of M + J' S J.
template <class S>
void factor_newton_matrix(const Constraints& cons, ConstraintData<S>& c) {
  std::fill(c.H.begin(), c.H.end(), S(0));
  for (std::size_t e = 0; e < cons.place.size(); ++e)
    c.H[static_cast<std::size_t>(cons.place[e])] = c.mass[e];
  for_each_active(cons, c, [&](const ConstraintGroup& g) {
    if (g.kind == GroupKind::contact) {
      if (any(c.zone[static_cast<std::size_t>(g.row)] != S(0))) add_contact_block(g, c);
      return;
    }
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
  });
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

// Slope and curvature of the cost of a group along the direction at step length t, and its zones there.
template <class S>
COSTATE_INLINE void along_direction(const Constraints& cons, const ConstraintGroup& g,
                                    const ConstraintData<S>& c, const S& t, S& slope, S& curvature,
                                    mask_t<S>& changed) {
  const auto row = static_cast<std::size_t>(g.row);
  if (g.kind == GroupKind::contact) {
    S y[kMostRows];
    const S* Jd = c.Jd.data() + g.row;
    for (int i = 0; i < g.rows; ++i) y[i] = c.y[row + static_cast<std::size_t>(i)] + t * Jd[i];
    ContactForce<S> f;
    contact_force(cons.elliptic, g.rows, stiffness_of(g, c), static_cast<const S*>(y), f);
    S product[kMostRows];
    multiply_block(g.rows, static_cast<const S*>(f.block), Jd, product);
    for (int i = 0; i < g.rows; ++i) {
      slope -= f.force[i] * Jd[i];
      curvature += product[i] * Jd[i];
    }
    changed = changed | (f.zone != c.zone[row]);
    // Between slipping and sticking s is not quadratic.
    if (cons.elliptic && g.rows > 1) changed = changed | (f.zone == S(2));
    return;
  }
  for (std::size_t i = row; i < row + static_cast<std::size_t>(g.rows); ++i) {
    const RowForce<S> f = row_force(cons.kinds[i], c.D[i], c.loss[i], c.y[i] + t * c.Jd[i]);
    slope -= f.force * c.Jd[i];
    curvature += f.slope * c.Jd[i] * c.Jd[i];
    changed = changed | (row_zone(cons.kinds[i], f) != c.zone[i]);
  }
}

// Where along the direction the cost is least, given c.Jd and c.Md. `changed`: lanes that a full step takes into another zone.
template <class S>
S step_length(const Constraints& cons, const S* tau, const ConstraintData<S>& c, mask_t<S>& changed) {
  using T = value_t<S>;
  S linear(0), quadratic(0);
  for (std::size_t i = 0; i < c.a.size(); ++i) {
    linear += c.direction[i] * (c.Ma[i] - tau[i]);
    quadratic += c.direction[i] * c.Md[i];
  }
  const auto at = [&](const S& t, S& curvature, mask_t<S>& other) {
    S slope = linear + t * quadratic;
    curvature = quadratic;
    for_each_active(
        cons, c, [&](const ConstraintGroup& g) { along_direction(cons, g, c, t, slope, curvature, other); });
    return slope;
  };
  changed = mask_t<S>(false);
  S t(1), curvature, low(0), high(0);
  mask_t<S> bounded(false), searching(false);
  for (int i = 0; i < 30; ++i) {
    mask_t<S> other(false);
    const S slope = at(t, curvature, other);
    if (i == 0) {
      changed = searching = other;
      if (!any(changed)) break;
    }
    const mask_t<S> past = slope > S(0);
    high = select(past, t, high);
    low = select(past, low, t);
    bounded = bounded | past;
    const S newton = t - slope / select(curvature > S(0), curvature, S(1));
    const S middle = select(bounded, S(T(0.5)) * (low + high), S(2) * t);
    const mask_t<S> inside = (newton >= low) & ((newton <= high) | !bounded);
    const S next = select(inside, newton, middle);
    searching = searching & (abs(next - t) > S(T(sizeof(T) == 8 ? 1e-12 : 1e-5)) * t);
    t = select(searching, next, t);
    if (!any(searching)) break;
  }
  return t;
}

// c.a, the constrained acceleration; starts at c.a. Needs make_rows and M in c.mass.
template <class S>
void solve_constraints(const Tree& tree, const Constraints& cons, const S* tau, ConstraintData<S>& c) {
  using T = value_t<S>;
  const S tolerance = S(T(sizeof(T) == 8 ? 1e-28 : 1e-12));
  mask_t<S> running = c.worlds;
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
