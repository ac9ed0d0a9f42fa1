// Lengths of tendons, their Jacobians J = dl/dq, and the transpose of both.
//
//   fixed     l = sum_k c_k q_k,                  J_k = c_k
//   spatial   l = sum over spans l_s / divisor    tendon_span.h; the divisor is that of the pulley before it,
//                                                 1 without one
//
// A span pulls on the bodies of its ends and of its geom with the gradients of its length: a force f at the
// point x is the wrench Phi = (x x f, f), and J_k = <S_k, sum of Phi over the bodies that dof k moves>. Dofs
// that move all of them alike have none.
//
// Transpose, given cotangents l_bar and J_bar (mu): J mu is the rate of l when the joints move with mu, so
// with X the points and axes of a span and X' their rates under mu,
//
//   L = l_bar l(X) + <grad l(X), X'>,      X_bar = l_bar grad l + (grad l)',      X'_bar = grad l
//
// where (grad l)' is the rate of the gradient: the gradient's code run on duals, whose Hessian is symmetric.
// Rates are made of the motions S: x' = W.v + W.w x x, W = sum of S_k mu_k, so S_k_bar += mu_k (x x x'_bar,
// x'_bar) and x_bar += x'_bar x W.w (d.axis_bar and d.wrench, rnea_adjoint.h).
//
// Which way a tendon takes around a geom changes where it begins or ends to touch: l and J are continuous
// there, J's derivative is not.
// Tests: tests/rigid/dynamics/tendon_test.cpp, parity_test.cpp.
#pragma once

#include "costate/ad/dual.h"
#include "costate/rigid/dynamics/data.h"
#include "costate/rigid/dynamics/rnea_adjoint.h"
#include "costate/rigid/dynamics/tendon_span.h"

namespace costate::rigid {

// A point of a body, about its tree's origin.
template <class S>
COSTATE_INLINE Vec3<S> body_point(int body, int pos, const S* p, const Data<S>& d) {
  return d.x[body] + d.R[body] * vec3_at(p + pos);
}

// The points of a span about their own trees' origins, and what takes them to the origin of the first.
template <class S>
struct SpanPoints {
  Vec3<S> from, to, centre, to_shift, centre_shift;
  Quat<S> frame;  // of the geom
};
template <class S>
SpanPoints<S> span_points(const Tree& tree, const TreeSpan& span, const S* p, const S* q, const Data<S>& d) {
  const int root = tree.bodies[span.from.body].root;
  const Vec3<S> origin = root_origin(tree, p, q, root);
  const auto shift = [&](int body) {
    const int other = tree.bodies[body].root;
    return other == root ? Vec3<S>::zero() : root_origin(tree, p, q, other) - origin;
  };
  const Vec3<S> none = Vec3<S>::zero();
  SpanPoints<S> x{none, none, none, none, none, Quat<S>::identity()};
  x.from = body_point(span.from.body, span.from.pos, p, d);
  x.to = body_point(span.to.body, span.to.pos, p, d);
  x.to_shift = shift(span.to.body);
  if (span.geom < 0) return x;
  x.centre = body_point(span.around.body, span.around.pos, p, d);
  x.centre_shift = shift(span.around.body);
  const GeomParameters& g = tree.geoms[span.geom].p;
  x.frame = d.quat[span.around.body] * quat_at(p + g.quat);
  return x;
}

template <class S>
Span<S> span_of(const Tree& tree, const TreeSpan& span, const SpanPoints<S>& x, const S* p) {
  const Vec3<S> none = Vec3<S>::zero();
  if (span.geom < 0) return {x.from, x.to + x.to_shift, none, none, S(0)};
  const Vec3<S> z{S(0), S(0), S(1)};
  return {x.from, x.to + x.to_shift, x.centre + x.centre_shift, rotate(x.frame, z),
          p[tree.geoms[span.geom].p.size]};
}

// Which way the span goes. The side point decides, but nothing depends on where it is.
template <class S>
SpanWay<S> way_of(const Tree& tree, const TreeSpan& span, const SpanPoints<S>& x, const Span<S>& s,
                  const S* p, const S* q, const Data<S>& d) {
  if (span.geom < 0) return {mask_t<S>(false), mask_t<S>(false), mask_t<S>(false)};
  if (span.side < 0) return span_way(span.cylinder, s, static_cast<const Vec3<S>*>(nullptr));
  const TreeSite& site = tree.sites[span.side];
  const int root = tree.bodies[site.body].root, own = tree.bodies[span.around.body].root;
  Vec3<S> side = body_point(site.body, site.p.pos, p, d) - x.centre;
  if (root != own) side = side + root_origin(tree, p, q, root) - root_origin(tree, p, q, own);
  return span_way(span.cylinder, s, &side);
}

template <class S>
COSTATE_INLINE Force<S> wrench_at(const Vec3<S>& x, const Vec3<S>& f) {
  return {cross(x, f), f};
}

// d.tendon_length and d.tendon_J. Needs kinematics.
template <class S>
void tendon_lengths(const Tree& tree, const S* p, const S* q, Data<S>& d) {
  for (std::size_t t = 0; t < tree.tendons.size(); ++t) {
    const TreeTendon& tendon = tree.tendons[t];
    S* J = d.tendon_J.data() + tendon.jacobian;
    S length(0);
    if (!tendon.spatial) {
      for (std::size_t k = 0; k < tendon.q.size(); ++k) {
        J[k] = p[tendon.p.coefficients + int(k)];
        length += J[k] * q[tendon.q[k]];
      }
      d.tendon_length[t] = length;
      continue;
    }
    std::fill(J, J + tendon.dof.size(), S(0));
    for (const TreeSpan& span : tendon.spans) {
      const SpanPoints<S> x = span_points(tree, span, p, q, d);
      const Span<S> s = span_of(tree, span, x, p);
      const SpanPull<S> pull = span_pull(span.cylinder, s, way_of(tree, span, x, s, p, q, d));
      const S weight = span.divisor >= 0 ? S(1) / p[span.divisor] : S(1);
      length += weight * pull.length;
      const auto add = [&](const SpanBody& body, const Force<S>& wrench) {
        for (const int k : body.dofs) J[k] += weight * dot(d.axis[tendon.dof[k]], wrench);
      };
      add(span.from, wrench_at(x.from, pull.x0));
      add(span.to, wrench_at(x.to, pull.x1));
      if (span.geom >= 0)
        add(span.around, wrench_at(x.centre, pull.c) + Force<S>{cross(s.a, pull.a), Vec3<S>::zero()});
    }
    d.tendon_length[t] = length;
  }
}

// One span, given weight-free cotangents of its length and of J; returns the cotangent of its weight.
template <class S>
S span_vjp(const Tree& tree, const TreeTendon& tendon, const TreeSpan& span, const S* p, const S* q,
           const S& length_bar, const S* J_bar, const S& weight, const Wanted& wanted, S* p_bar, Data<S>& d) {
  using D = Dual<S>;
  const SpanPoints<S> x = span_points(tree, span, p, q, d);
  const Span<S> s = span_of(tree, span, x, p);
  const auto motion = [&](const SpanBody& body) {
    Motion<S> W = Motion<S>::zero();
    for (const int k : body.dofs) W += J_bar[k] * d.axis[tendon.dof[k]];
    return W;
  };
  const auto with_rate = [](const Vec3<S>& v, const Vec3<S>& rate) {
    return Vec3<D>{D(v.x, rate.x), D(v.y, rate.y), D(v.z, rate.z)};
  };
  const auto value = [](const Vec3<D>& v) { return Vec3<S>{v.x.v, v.y.v, v.z.v}; };
  const auto rate = [](const Vec3<D>& v) { return Vec3<S>{v.x.d[0], v.y.d[0], v.z.d[0]}; };

  const Motion<S> from = motion(span.from), to = motion(span.to),
                  around = span.geom >= 0 ? motion(span.around) : Motion<S>::zero();
  const Span<D> moving{with_rate(s.x0, from.v + cross(from.w, x.from)),
                       with_rate(s.x1, to.v + cross(to.w, x.to)),
                       with_rate(s.c, around.v + cross(around.w, x.centre)),
                       with_rate(s.a, cross(around.w, s.a)), D(s.radius)};
  const SpanWay<S> way = way_of(tree, span, x, s, p, q, d);
  const SpanPull<D> pull = span_pull(span.cylinder, moving, SpanWay<D>{way.wraps, way.through, way.far});

  const auto act = [&](const SpanBody& body, const Force<S>& rate_bar, const Force<S>& wrench) {
    for (const int k : body.dofs) d.axis_bar[tendon.dof[k]] += J_bar[k] * rate_bar;
    d.wrench[body.body] += wrench;
  };
  const auto point = [&](const SpanBody& body, const Motion<S>& W, const Vec3<S>& at, const Vec3<D>& g) {
    const Vec3<S> rate_bar = weight * value(g);
    const Vec3<S> bar = weight * (length_bar * value(g) + rate(g)) + cross(rate_bar, W.w);
    act(body, wrench_at(at, rate_bar), wrench_at(at, bar));
    if (wanted(body.pos)) add_to(p_bar + body.pos, transpose_times(d.R[body.body], bar));
  };
  point(span.from, from, x.from, pull.x0);
  point(span.to, to, x.to, pull.x1);
  if (span.geom >= 0) {
    point(span.around, around, x.centre, pull.c);
    const GeomParameters& g = tree.geoms[span.geom].p;
    if (span.cylinder) {
      const Vec3<S> rate_bar = weight * value(pull.a), none = Vec3<S>::zero();
      const Vec3<S> bar = weight * (length_bar * value(pull.a) + rate(pull.a)) + cross(rate_bar, around.w);
      const Vec3<S> turn = cross(s.a, bar);
      act(span.around, {cross(s.a, rate_bar), none}, {turn, none});
      if (wanted(g.quat))
        add_to(p_bar + g.quat,
               quat_cotangent(quat_at(p + g.quat), p[g.inverse_quat_norm], rotate_back(x.frame, turn)));
    }
    if (wanted(g.size)) p_bar[g.size] += weight * (length_bar * pull.radius.v + pull.radius.d[0]);
  }
  return length_bar * pull.length.v + pull.length.d[0];
}

// Before the first cotangents are added.
template <class S>
void clear_tendon_cotangents(Data<S>& d) {
  std::fill(d.tendon_length_bar.begin(), d.tendon_length_bar.end(), S(0));
  std::fill(d.tendon_J_bar.begin(), d.tendon_J_bar.end(), S(0));
}

// From d.tendon_length_bar and d.tendon_J_bar to q, coefficients, sites, geoms and divisors. Adds to d.wrench
// and d.axis_bar.
template <class S>
void tendon_lengths_vjp(const Tree& tree, const S* p, const S* q, const Wanted& wanted, S* q_bar, S* p_bar,
                        Data<S>& d) {
  for (std::size_t t = 0; t < tree.tendons.size(); ++t) {
    const TreeTendon& tendon = tree.tendons[t];
    const S* J_bar = d.tendon_J_bar.data() + tendon.jacobian;
    const S length_bar = d.tendon_length_bar[t];
    if (tendon.spatial) {
      for (const TreeSpan& span : tendon.spans) {
        const S weight = span.divisor >= 0 ? S(1) / p[span.divisor] : S(1);
        const S weight_bar = span_vjp(tree, tendon, span, p, q, length_bar, J_bar, weight, wanted, p_bar, d);
        if (wanted(span.divisor)) p_bar[span.divisor] -= weight * weight * weight_bar;
      }
      continue;
    }
    const bool want = wanted(tendon.p.coefficients);
    for (std::size_t k = 0; k < tendon.dof.size(); ++k) {
      const int at = tendon.p.coefficients + int(k);
      q_bar[tendon.dof[k]] += p[at] * length_bar;
      if (want) p_bar[at] += q[tendon.q[k]] * length_bar + J_bar[k];
    }
  }
}

}  // namespace costate::rigid
