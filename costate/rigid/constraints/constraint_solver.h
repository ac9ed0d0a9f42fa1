// The convex problem of constraints.h, one world per lane: Newton's method, or conjugate gradients and then
// Newton's method.
//
//   gradient    g = M a - tau - J' f(y),  y = J a - aref,  f = -s'(y)
//   direction   d = -H^-1 g,              H = M + J' S J,  S = s''(y)
//   step        the exact minimum along d: a root of an increasing piecewise linear function
//
// The problem is quadratic between kinks. So once a full step leaves every row in its zone (in play or not,
// sticking or slipping), it has ended at the minimum, to rounding; most states need two or three steps. A
// lane that has arrived is not moved again: what its neighbours do cannot change its bits.
//
// Conjugate gradients [1] go along d = -P g + beta d_before, P = (M + h B)^-1, whose factor there is anyway,
// and beta = max(0, <g, P (g - g_before)> / <g_before, P g_before>) (Polak and Ribiere, started again where
// it would be negative). They form and factor no H, which pays where H has far more entries than M: many
// bodies that touch each other. They converge slower the stiffer the rows are; so they stop at a gradient of
// 1e-6 of its terms, and Newton's method takes off the rest. The minimum is the same, to rounding, and so is
// the adjoint, which needs the factor of H there.
//
// With S a Dual the loop finds the value; one more Newton step there gives the tangent by the implicit
// function theorem, however the value was found.
//
// [1] Nocedal, Wright: Numerical Optimization, 2nd ed., ch. 5.2.
// Tests: tests/rigid/constraints/constraints_test.cpp, parity_test.cpp.
#pragma once

#include <type_traits>

#include "costate/ad/dual.h"
#include "costate/rigid/constraints/constraint_rows.h"
#include "costate/rigid/dynamics/crba.h"

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
  return {c.D[g.row], c.loss.data() + g.row};
}

// Calls visit(group) for each group in play.
template <class S, class Visit>
COSTATE_INLINE void for_each_active(const Constraints& cons, const ConstraintData<S>& c, const Visit& visit) {
  for (const int i : c.active) visit(cons.groups[i]);
}

// Forces, slopes and zones of a group at y.
template <class S>
COSTATE_INLINE void evaluate_group(const Constraints& cons, const ConstraintGroup& g, ConstraintData<S>& c) {
  const std::size_t row = g.row;
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

// Calls visit(rows) with the number of a group's rows as a constant where it is a common one: loops over rows
// unroll.
template <class Visit>
COSTATE_INLINE void with_rows(int rows, const Visit& visit) {
  switch (rows) {
    case 1:
      return visit(std::integral_constant<int, 1>());
    case 2:
      return visit(std::integral_constant<int, 2>());
    case 3:
      return visit(std::integral_constant<int, 3>());
    case 4:
      return visit(std::integral_constant<int, 4>());
    default:
      return visit(std::integral_constant<int, 6>());
  }
}

// out = J x of one group
template <class S>
COSTATE_INLINE void multiply_group(const ConstraintGroup& g, const ConstraintData<S>& c, const S* x, S* out) {
  with_rows(g.rows, [&](auto rows) {
    constexpr int kRows = decltype(rows)::value;
    const int n = int(g.dofs.size());
    const S* J = c.J.data() + g.jacobian;
    S sum[kRows];
    for (int i = 0; i < kRows; ++i) sum[i] = S(0);
    for (int k = 0; k < n; ++k) {
      const S value = x[g.dofs[k]];
      for (int i = 0; i < kRows; ++i) sum[i] += J[i * n + k] * value;
    }
    for (int i = 0; i < kRows; ++i) out[i] = sum[i];
  });
}

// c.y for given a.
template <class S>
void locate_rows(const Constraints& cons, const S* a, ConstraintData<S>& c) {
  for_each_active(cons, c, [&](const ConstraintGroup& g) {
    S* y = c.y.data() + g.row;
    multiply_group(g, c, a, y);
    for (int i = 0; i < g.rows; ++i) y[i] -= c.aref[g.row + i];
  });
}

// Forces, slopes and zones at c.y.
template <class S>
void evaluate_groups(const Constraints& cons, ConstraintData<S>& c) {
  for_each_active(cons, c, [&](const ConstraintGroup& g) { evaluate_group(cons, g, c); });
}

// Both, for given a.
template <class S>
void evaluate_rows(const Constraints& cons, const S* a, ConstraintData<S>& c) {
  locate_rows(cons, a, c);
  evaluate_groups(cons, c);
}

// out += sign J' values
template <class S>
void add_transposed(const Constraints& cons, const ConstraintData<S>& c, const S* values, const S& sign,
                    S* out) {
  for_each_active(cons, c, [&](const ConstraintGroup& g) {
    with_rows(g.rows, [&](auto rows) {
      constexpr int kRows = decltype(rows)::value;
      const int n = int(g.dofs.size());
      const S* J = c.J.data() + g.jacobian;
      S value[kRows];
      for (int i = 0; i < kRows; ++i) value[i] = sign * values[g.row + i];
      for (int k = 0; k < n; ++k) {
        S sum = J[k] * value[0];
        for (int i = 1; i < kRows; ++i) sum += J[i * n + k] * value[i];
        out[g.dofs[k]] += sum;
      }
    });
  });
}

// out = J x
template <class S>
void multiply_rows(const Constraints& cons, const ConstraintData<S>& c, const S* x, S* out) {
  for_each_active(cons, c, [&](const ConstraintGroup& g) { multiply_group(g, c, x, out + g.row); });
}

// values <- S values, with the slopes of the rows
template <class S>
void multiply_slopes(const Constraints& cons, const ConstraintData<S>& c, S* values) {
  for_each_active(cons, c, [&](const ConstraintGroup& g) {
    S* x = values + g.row;
    if (g.kind != GroupKind::contact) {
      for (int i = 0; i < g.rows; ++i) x[i] *= c.slope[g.row + i];
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
  with_rows(g.rows, [&](auto rows) {
    constexpr int kRows = decltype(rows)::value;
    const int n = int(g.dofs.size());
    const S *J = c.J.data() + g.jacobian, *block = c.block.data() + g.block;
    const int* entry = g.entries.data();
    S* H = c.H.data();
    for (int a = 0; a < n; ++a) {
      S column[kRows], scaled[kRows];
      for (int i = 0; i < kRows; ++i) column[i] = J[i * n + a];
      multiply_block(kRows, block, static_cast<const S*>(column), scaled);
      for (int b = 0; b <= a; ++b) {
        S sum = scaled[0] * J[b];
        for (int i = 1; i < kRows; ++i) sum += scaled[i] * J[i * n + b];
        H[*entry++] += sum;
      }
    }
  });
}

// The factor of a matrix whose rows are nested as crba.h describes. Where a row's parent is the row before
// it, the two are eliminated together: the rows above are read and written once for both.
template <class S>
void factor_in_pairs(const std::vector<TreeDof>& dofs, S* H, S* inverse_D) {
  for (int k = int(dofs.size()) - 1; k >= 0; --k) {
    const TreeDof& dof = dofs[k];
    S* row = H + dof.row;
    const S inverse = S(1) / row[0];
    inverse_D[k] = inverse;
    int ancestor = dof.parent;
    if (ancestor != k - 1 || k == 0) {
      for (int t = 1; t < dof.depth; ++t) {
        const TreeDof& up = dofs[ancestor];
        S* target = H + up.row;
        const S scale = inverse * row[t];
        for (int s = 0; s < up.depth; ++s) target[s] -= scale * row[t + s];
        row[t] = scale;
        ancestor = up.parent;
      }
      continue;
    }
    const TreeDof& next = dofs[--k];
    S* second = H + next.row;
    const S first_scale = inverse * row[1];
    for (int s = 0; s < next.depth; ++s) second[s] -= first_scale * row[1 + s];
    row[1] = first_scale;
    const S second_inverse = S(1) / second[0];
    inverse_D[k] = second_inverse;
    ancestor = next.parent;
    for (int t = 1; t < next.depth; ++t) {
      const TreeDof& up = dofs[ancestor];
      S* target = H + up.row;
      const S one = inverse * row[t + 1], two = second_inverse * second[t];
      for (int s = 0; s < up.depth; ++s) {
        S value = target[s];
        value -= one * row[t + 1 + s];
        value -= two * second[t + s];
        target[s] = value;
      }
      row[t + 1] = one;
      second[t] = two;
      ancestor = up.parent;
    }
  }
}

// c.H, c.inverse_D: the factor of M + J' S J.
template <class S>
void factor_newton_matrix(const Constraints& cons, ConstraintData<S>& c) {
  std::fill(c.H.begin(), c.H.end(), S(0));
  for (std::size_t e = 0; e < cons.place.size(); ++e) c.H[cons.place[e]] = c.mass[e];
  for_each_active(cons, c, [&](const ConstraintGroup& g) {
    if (g.kind == GroupKind::contact) {
      if (any(c.zone[g.row] != S(0))) add_contact_block(g, c);
      return;
    }
    const int n = int(g.dofs.size());
    for (int i = 0; i < g.rows; ++i) {
      const S slope = c.slope[g.row + i];
      if (!any(slope != S(0))) continue;
      const S* J = c.J.data() + g.jacobian + i * n;
      const int* entry = g.entries.data();
      for (int a = 0; a < n; ++a) {
        const S scaled = slope * J[a];
        for (int b = 0; b <= a; ++b) c.H[*entry++] += scaled * J[b];
      }
    }
  });
  factor_in_pairs(cons.dofs, c.H.data(), c.inverse_D.data());
}

// The gradient at c.a, with c.Ma and the rows evaluated.
template <class S>
void cost_gradient(const Constraints& cons, const S* tau, ConstraintData<S>& c) {
  for (std::size_t i = 0; i < c.a.size(); ++i) c.gradient[i] = c.Ma[i] - tau[i];
  add_transposed(cons, c, static_cast<const S*>(c.force.data()), S(-1), c.gradient.data());
}

// The gradient and Newton's direction.
template <class S>
void newton_direction(const Constraints& cons, const S* tau, ConstraintData<S>& c) {
  cost_gradient(cons, tau, c);
  factor_newton_matrix(cons, c);
  for (std::size_t i = 0; i < c.a.size(); ++i) c.direction[i] = -c.gradient[i];
  solve_factored(cons.dofs, c.H.data(), c.inverse_D.data(), c.direction.data());
}

// Slope and curvature of the cost of a group along the direction at step length t, and its zones there.
template <class S>
COSTATE_INLINE void along_direction(const Constraints& cons, const ConstraintGroup& g,
                                    const ConstraintData<S>& c, const S& t, S& slope, S& curvature,
                                    mask_t<S>& changed) {
  const std::size_t row = g.row;
  if (g.kind == GroupKind::contact) {
    S y[kMostRows];
    const S* Jd = c.Jd.data() + g.row;
    for (int i = 0; i < g.rows; ++i) y[i] = c.y[row + i] + t * Jd[i];
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

// Where along the direction the cost is least, given c.Jd and c.Md. `changed`: lanes that a full step takes
// into another zone. Along Newton's direction a full step is that place in all other lanes.
template <class S>
S step_length(const Constraints& cons, const S* tau, const ConstraintData<S>& c, bool newtons,
              mask_t<S>& changed) {
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
  // Newton's method between bounds. On a line with kinks it may jump to and fro between two points: those are
  // the bounds then, and a step that ends on one is replaced by the middle; so is one after three steps that
  // have not halved the distance.
  changed = mask_t<S>(false);
  const S tolerance = S(T(sizeof(T) == 8 ? 1e-12 : 1e-5)), half(T(0.5));
  S t(1), curvature, low(0), high(0), width(0);
  mask_t<S> bounded(false), searching(false);
  for (int i = 0; i < 60; ++i) {
    mask_t<S> other(false);
    const S slope = at(t, curvature, other);
    if (i == 0) {
      changed = other;
      searching = newtons ? other : mask_t<S>(true);
      if (!any(searching)) break;
    }
    const mask_t<S> past = slope > S(0);
    high = select(past, t, high);
    low = select(past, low, t);
    bounded = bounded | past;
    const S newton = t - slope / select(curvature > S(0), curvature, S(1)), distance = high - low;
    searching = searching & (abs(newton - t) > tolerance * t);
    const S edge = tolerance * distance;
    mask_t<S> inside = (newton > low + edge) & ((newton < high - edge) | !bounded);
    if (i % 3 == 2) {
      inside = inside & ((distance < half * width) | (width == S(0)));
      width = select(bounded, distance, S(0));
    }
    const S middle = select(bounded, half * (low + high), S(2) * t);
    t = select(searching, select(inside, newton, middle), t);
    if (!any(searching)) break;
  }
  return t;
}

// Whether the gradient is more than a share of its terms; the share squared is given.
template <class S>
mask_t<S> far_from_minimum(const S* tau, const S& share2, const ConstraintData<S>& c) {
  S square(0), scale(0);
  for (std::size_t i = 0; i < c.a.size(); ++i) {
    square += c.gradient[i] * c.gradient[i];
    scale += c.Ma[i] * c.Ma[i] + tau[i] * tau[i];
  }
  return square > share2 * scale;
}

// One step along c.direction in the lanes that run; returns those in which it has changed zones. M a and y
// move with a: no product with M or J is formed twice. What rounding that leaves, the last step takes off.
template <class S>
mask_t<S> step_along(const Tree& tree, const Constraints& cons, const S* tau, const mask_t<S>& running,
                     bool newtons, ConstraintData<S>& c) {
  multiply_rows(cons, c, static_cast<const S*>(c.direction.data()), c.Jd.data());
  multiply_mass(tree, c.mass.data(), c.direction.data(), c.Md.data());
  mask_t<S> changed;
  const S t = select(running, step_length(cons, tau, c, newtons, changed), S(0));
  for (std::size_t i = 0; i < c.a.size(); ++i) {
    c.a[i] += t * c.direction[i];
    c.Ma[i] += t * c.Md[i];
  }
  for_each_active(cons, c, [&](const ConstraintGroup& g) {
    for (int i = g.row; i < g.row + g.rows; ++i) c.y[i] += t * c.Jd[i];
  });
  return changed;
}

// Conjugate gradients from c.a. Preconditioner: the factor L, 1/D.
template <class S>
void descend_by_conjugate_gradients(const Tree& tree, const Constraints& cons, const S* tau, const S* L,
                                    const S* inverse_D, ConstraintData<S>& c) {
  using T = value_t<S>;
  const S share2 = S(T(sizeof(T) == 8 ? 1e-12 : 1e-8));
  mask_t<S> running = c.worlds;
  S before(0);  // <g, P g> of the step before
  for (int iteration = 0; iteration < cons.iterations; ++iteration) {
    evaluate_groups(cons, c);
    cost_gradient(cons, tau, c);
    running = running & far_from_minimum(tau, share2, c);
    if (!any(running)) return;
    S mixed(0), now(0);
    for (std::size_t i = 0; i < c.a.size(); ++i) mixed += c.gradient[i] * c.preconditioned[i];
    std::copy(c.gradient.begin(), c.gradient.end(), c.preconditioned.begin());
    solve_factored(tree.dofs, L, inverse_D, c.preconditioned.data());
    for (std::size_t i = 0; i < c.a.size(); ++i) now += c.gradient[i] * c.preconditioned[i];
    S beta(0), slope(0);
    if (iteration > 0) beta = (now - mixed) / select(before > S(0), before, S(1));
    beta = select(beta > S(0), beta, S(0));
    for (std::size_t i = 0; i < c.a.size(); ++i) {
      const S back = iteration > 0 ? beta * c.direction[i] : S(0);
      c.direction[i] = back - c.preconditioned[i];
      slope += c.gradient[i] * c.direction[i];
    }
    const mask_t<S> uphill = slope >= S(0);
    for (std::size_t i = 0; i < c.a.size(); ++i)
      c.direction[i] = select(uphill, -c.preconditioned[i], c.direction[i]);
    before = now;
    step_along(tree, cons, tau, running, false, c);
  }
}

// c.a, the constrained acceleration; starts at c.a. Needs make_rows, M in c.mass, and a factor of M or M + h
// B.
template <class S>
void solve_constraints(const Tree& tree, const Constraints& cons, const S* tau, const S* L,
                       const S* inverse_D, ConstraintData<S>& c) {
  using T = value_t<S>;
  const S share2 = S(T(sizeof(T) == 8 ? 1e-28 : 1e-12));
  multiply_mass(tree, c.mass.data(), c.a.data(), c.Ma.data());
  locate_rows(cons, static_cast<const S*>(c.a.data()), c);
  if (cons.conjugate_gradients) descend_by_conjugate_gradients(tree, cons, tau, L, inverse_D, c);
  mask_t<S> running = c.worlds;
  for (int iteration = 0; iteration < cons.iterations; ++iteration) {
    evaluate_groups(cons, c);
    newton_direction(cons, tau, c);
    running = running & far_from_minimum(tau, share2, c);
    if (!any(running)) break;
    running = running & step_along(tree, cons, tau, running, true, c);
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
