#include "costate/rigid/contact/contact_adjoint.h"

#include "costate/ad/dual.h"
#include "costate/geometry/contact_frame.h"
#include "costate/rigid/contact/contact_mixing.h"

namespace costate::rigid {
namespace {

template <class S>
RowsBar<S> rows_vjp(const Tree& tree, const Constraints& cons, const TouchingPair& pair,
                    const ConstraintGroup& g, const ContactParameters<S>& par, const S& r, const S* p,
                    const S* v, const Wanted& wanted, ContactParameters<S>& par_bar, S* p_bar, S& dt_bar,
                    const ConstraintData<S>& c) {
  using T = value_t<S>;
  RowsBar<S> out;
  const int rows = g.rows, n = int(g.dofs.size());
  const bool cone = rows > 1, edges = cone && !cons.elliptic;
  const S *m = c.Jd.data() + g.row, *force = c.force.data() + g.row, *block = c.block.data() + g.block;
  const bool swept = c.noslip.transposed;
  const S* J = c.J.data() + g.jacobian;
  const S D = c.D[g.row];
  const mask_t<S> present = D > S(0);
  S work(0), vel[kMostRows];
  for (int i = 0; i < rows; ++i) {
    out.f[i] = force[i];
    out.g[i] = S(0);
    for (int j = 0; j < rows; ++j) out.g[i] += block[i >= j ? block_at(i, j) : block_at(j, i)] * m[j];
    if (swept) out.g[i] += c.noslip.pull[g.row + i];
    work += m[i] * force[i];
    vel[i] = S(0);
    for (int k = 0; k < n; ++k) vel[i] += J[i * n + k] * v[g.dofs[k]];
  }
  if (swept) work += c.noslip.work[g.row];
  if (swept && cone) out.tangents = c.noslip.J_bar.data() + c.noslip.place[g.row + 1] * tree.nv;
  const S mu = par.friction[cone ? 1 : 0];
  const S bodies = contact_weight(tree, pair, p), weight = edges ? bodies * (S(1) + mu * mu) : bodies;
  const S scale = edges ? S(T(cons.impratio * 0.5)) / (mu * mu) : S(1);
  const S D_bar = select(present, scale * work / select(present, D, S(1)), S(0));

  // Reference acceleration: the normal row, and the damping of the others.
  const RowInput<S> in{r, abs(r), vel[0], weight};
  const int own = own_damping(tree, pair.geoms);
  const S normal_damping = row_reference(par.soft, kMixed, p[tree.p.whole_dt], cons.refsafe, false, in).B;
  const S damping = tangential_damping(tree, cons, pair.geoms, par, p, normal_damping);
  S damping_bar(0);
  for (int i = 1; i < rows; ++i) {
    out.h[i] = -(damping * out.g[i]);
    damping_bar -= vel[i] * out.g[i];
  }
  const RowInput<S> in_bar =
      row_reference_vjp(par.soft, kMixed, p[tree.p.whole_dt], cons.refsafe, false, in, out.g[0], D_bar,
                        par_bar.soft, par_bar.soft + kMixed.solimp, dt_bar, own < 0 ? damping_bar : S(0));
  if (own >= 0) {
    const S* solref = p + own;
    S soft[7] = {solref[0], solref[1]}, soft_bar[7];
    for (int i = 0; i < 5; ++i) soft[2 + i] = par.soft[kMixed.solimp + i];
    for (S& x : soft_bar) x = S(0);
    row_reference_vjp(soft, kMixed, p[tree.p.whole_dt], cons.refsafe, true,
                      RowInput<S>{S(0), S(0), S(0), weight}, S(0), S(0), soft_bar, soft_bar + kMixed.solimp,
                      dt_bar, damping_bar);
    for (int i = 0; i < 5; ++i) par_bar.soft[2 + i] += soft_bar[2 + i];
    if (wanted(own)) {
      p_bar[own] += soft_bar[0];
      p_bar[own + 1] += soft_bar[1];
    }
  }
  out.h[0] = in_bar.vel;
  out.r = in_bar.r - select(r < S(0), in_bar.e, -in_bar.e);  // e = |r|

  if (cone) {
    S mu_bar[kMostRows];
    contact_friction_vjp(cons.elliptic, rows, ContactStiffness<S>{D, c.loss.data() + g.row},
                         c.y.data() + g.row, m, mu_bar);
    if (edges)
      mu_bar[1] += S(2) * (mu * bodies * in_bar.weight - work / mu);
    else
      mu_bar[1] += S(T(1 / std::sqrt(cons.impratio))) * mu_bar[0];
    for (int i = 1; i < rows; ++i) {
      if (swept) mu_bar[i] += c.noslip.friction[g.row + i];
      par_bar.friction[i] += mu_bar[i];
    }
  }
  const S bodies_bar = edges ? in_bar.weight * (S(1) + mu * mu) : in_bar.weight;
  for (const int body : {pair.first_body, pair.second_body}) {
    const int at = tree.bodies[body].p.invweight;
    if (wanted(at)) p_bar[at] += bodies_bar;
  }
  return out;
}

template <class S>
Vec3<S> at_point(const Motion<S>& m, const Vec3<S>& x) {
  return m.v + cross(m.w, x);
}

// The transpose of contact_jacobian's rows but the normal one, given J_bar of each with a number per dof.
template <class S>
void tangents_vjp(const Tree& tree, const ConstraintGroup& g, const S* J_bar, const Vec3<S>& x1,
                  const Vec3<S>& x2, const Mat3<S>& frame, Mat3<S>& frame_bar, Vec3<S>& x_bar, Data<S>& d) {
  for (std::size_t k = 0; k < g.dofs.size(); ++k) {
    const int dof = g.dofs[k];
    const bool second = g.sides[k] > 0;
    const S sign = second ? S(1) : S(-1);
    const Vec3<S>& x = second ? x2 : x1;
    const Vec3<S> w = sign * d.axis[dof].w, u = sign * at_point(d.axis[dof], x);
    Vec3<S> w_bar = Vec3<S>::zero(), u_bar = Vec3<S>::zero();
    for (int i = 1; i < g.rows; ++i) {
      const S bar = J_bar[(i - 1) * tree.nv + dof];
      const int axis = i < 3 ? i : i - 3;
      for (int j = 0; j < 3; ++j) frame_bar(axis, j) += bar * (i < 3 ? u : w)[j];
      (i < 3 ? u_bar : w_bar) += bar * frame.row(axis);
    }
    x_bar += cross(u_bar, w);
    d.axis_bar[dof] += {sign * (cross(x, u_bar) + w_bar), sign * u_bar};
  }
}

// Cotangent of the contact point, given those of its rows; wrenches for the bodies' dofs.
template <class S>
geometry::ContactPoint<S> point_vjp(const Tree& tree, const TouchingPair& pair, const ConstraintGroup& g,
                                    const RowsBar<S>& rows_bar, const geometry::ContactPoint<S>& point,
                                    const Mat3<S>& frame, const S* p, const S* q, Data<S>& d,
                                    ContactData<S>& c) {
  const int rows = g.rows;
  const std::size_t one = pair.first_body, two = pair.second_body;
  const Vec3<S> x1 = point.point - root_origin(tree, p, q, tree.bodies[one].root),
                x2 = point.point - root_origin(tree, p, q, tree.bodies[two].root);
  Mat3<S> frame_bar = Mat3<S>::zero();
  Vec3<S> x_bar = Vec3<S>::zero();
  const auto through = [&](const S* number, const S& sign, const Motion<S>& m1, const Motion<S>& m2,
                           std::vector<Force<S>>& on_bodies) {
    const Vec3<S> V = at_point(m2, x2) - at_point(m1, x1), W = m2.w - m1.w;
    Vec3<S> F = Vec3<S>::zero(), N = Vec3<S>::zero();
    for (int i = 0; i < rows; ++i) {
      const S value = sign * number[i];
      const int axis = i < 3 ? i : i - 3;
      const Vec3<S>& motion = i < 3 ? V : W;
      for (int k = 0; k < 3; ++k) frame_bar(axis, k) += value * motion[k];
      (i < 3 ? F : N) += value * frame.row(axis);
    }
    x_bar += cross(F, W);
    on_bodies[one] -= {cross(x1, F) + N, F};
    on_bodies[two] += {cross(x2, F) + N, F};
  };
  const auto minus = [](const Motion<S>& m) { return Motion<S>{-m.w, -m.v}; };  // d.w belongs to -nu
  through(rows_bar.f, S(1), minus(d.w[one]), minus(d.w[two]), c.by_nu);
  through(rows_bar.g, S(-1), c.motion[one], c.motion[two], c.by_a);
  through(rows_bar.h, S(1), d.v[one], d.v[two], c.by_v);
  if (rows_bar.tangents) tangents_vjp(tree, g, rows_bar.tangents, x1, x2, frame, frame_bar, x_bar, d);

  geometry::ContactPoint<S> bar = geometry::ContactPoint<S>::zero();
  bar.dist = rows_bar.r;
  bar.point = x_bar;
  geometry::contact_frame_vjp(point.normal, point.tangent, frame_bar, bar.normal, bar.tangent);
  return bar;
}

// Cotangents of the dofs' motions, and of v.
template <class S>
void dofs_vjp(const Tree& tree, const S* nu, const S* a, const S* v, S* v_bar, Data<S>& d,
              ContactData<S>& c) {
  for (std::size_t i = tree.bodies.size() - 1; i > 0; --i) {
    const TreeBody& body = tree.bodies[i];
    for (int dof = body.dof_begin; dof < body.dof_end; ++dof) {
      d.axis_bar[dof] += nu[dof] * c.by_nu[i] + a[dof] * c.by_a[i] + v[dof] * c.by_v[i];
      v_bar[dof] += dot(d.axis[dof], c.by_v[i]);
    }
    const std::size_t parent = body.parent;
    c.by_nu[parent] += c.by_nu[i];
    c.by_a[parent] += c.by_a[i];
    c.by_v[parent] += c.by_v[i];
  }
}

// From a shape's cotangents to its body's wrench and its own parameters.
template <class S>
void shape_vjp(const Tree& tree, int index, const S* p, const Wanted& wanted, S* p_bar, Data<S>& d,
               ContactData<S>& c) {
  const TreeGeom& g = tree.geoms[index];
  const geometry::Shape<S>& shape = c.shapes[index];
  const geometry::ShapeBar<S>& bar = c.shape_bars[index];
  const std::size_t body = g.body;
  const Vec3<S> turn = geometry::turn(shape.R, bar.R);
  const Vec3<S> x = d.x[body] + d.R[body] * vec3_at(p + g.p.pos);
  d.wrench[body] += {cross(x, bar.x) + turn, bar.x};
  if (wanted(g.p.pos)) add_to(p_bar + g.p.pos, transpose_times(d.R[body], bar.x));
  if (wanted(g.p.quat)) {
    add_to(p_bar + g.p.quat,
           quat_cotangent(quat_at(p + g.p.quat), p[g.p.inverse_quat_norm], transpose_times(shape.R, turn)));
  }
  if (wanted(g.p.size)) {
    for (int k = 0; k < g.p.sizes; ++k) p_bar[g.p.size + k] += bar.size[k];
  }
}

template <class S>
void margin_vjp(const Tree& tree, const TouchingPair& pair, const S& margin_bar, const Wanted& wanted,
                S* p_bar) {
  if (pair.geoms.pair >= 0) {
    const int at = tree.p.pairs[pair.geoms.pair].margin;
    if (wanted(at)) p_bar[at] += margin_bar;
    return;
  }
  for (const int g : {pair.geoms.first, pair.geoms.second}) {
    const int at = tree.geoms[g].p.margin;
    if (wanted(at)) p_bar[at] += margin_bar;
  }
}

// For all points of the pairs in contact.touching. rows_of(pair, slot, par, par_bar, rows): their cotangents,
// false if it has none.
template <class S, class RowsOf>
void pairs_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v, const S* a,
               const S* nu, const Wanted& wanted, const ConstraintBar<S>& bar, Data<S>& d,
               ContactData<S>& contact, const RowsOf& rows_of) {
  body_motions(tree, a, d, contact.motion);
  for (auto* wrenches : {&contact.by_nu, &contact.by_a, &contact.by_v})
    std::fill(wrenches->begin(), wrenches->end(), Force<S>::zero());
  for (const int i : cons.geoms) contact.shape_bars[i] = geometry::ShapeBar<S>::zero();

  for (const int index : contact.touching) {
    const TouchingPair& pair = cons.pairs[index];
    const std::size_t one = pair.geoms.first, two = pair.geoms.second;
    ContactParameters<S> par, par_bar;
    contact_parameters(tree, pair.geoms, p, par);
    for (S& x : par_bar.soft) x = S(0);
    for (S& x : par_bar.friction) x = S(0);
    S margin_bar(0);
    geometry::ContactPoint<S>* point_bars = contact.point_bars.data();
    for (int slot = 0; slot < pair.geoms.slots; ++slot) {
      const std::size_t at = pair.point + slot;
      point_bars[slot] = geometry::ContactPoint<S>::zero();
      RowsBar<S> rows;
      if (!rows_of(pair, slot, par, par_bar, rows)) continue;
      margin_bar -= rows.r;
      point_bars[slot] = point_vjp(tree, pair, cons.groups[pair.group + slot], rows, contact.points[at],
                                   contact.frames[at], p, q, d, contact);
    }
    geometry::collide_vjp(tree.geoms[one].type, tree.geoms[two].type, contact.shapes[one],
                          contact.shapes[two], contact_margin(tree, pair.geoms, p) + contact.slack[index],
                          point_bars, contact.shape_bars[one], contact.shape_bars[two]);
    contact_parameters_vjp(tree, pair.geoms, p, par_bar, wanted, bar.p);
    margin_vjp(tree, pair, margin_bar, wanted, bar.p);
  }
  dofs_vjp(tree, nu, a, v, bar.v, d, contact);
  for (const int i : cons.geoms) shape_vjp(tree, i, p, wanted, bar.p, d, contact);
}

}  // namespace

template <class S>
void contact_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v, const S* a,
                 const Wanted& wanted, const ConstraintBar<S>& bar, Data<S>& d, ConstraintData<S>& c,
                 S& dt_bar) {
  ContactData<S>& contact = c.contact;
  if (contact.touching.empty()) return;
  pairs_vjp(tree, cons, p, q, v, a, static_cast<const S*>(c.nu.data()), wanted, bar, d, contact,
            [&](const TouchingPair& pair, int slot, const ContactParameters<S>& par,
                ContactParameters<S>& par_bar, RowsBar<S>& rows) {
              const std::size_t at = pair.point + slot;
              const S r = contact.points[at].dist - contact_margin(tree, pair.geoms, p);
              if (!any(point_in_play(contact.modes[at], r))) return false;
              const ConstraintGroup& g = cons.groups[pair.group + slot];
              rows = rows_vjp(tree, cons, pair, g, par, r, p, v, wanted, par_bar, bar.p, dt_bar, c);
              return true;
            });
}

template <class S>
void contact_points_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v,
                        const S* a, const S* nu, const Wanted& wanted, const ConstraintBar<S>& bar,
                        Data<S>& d, ContactData<S>& c) {
  if (c.touching.empty()) return;
  pairs_vjp(tree, cons, p, q, v, a, nu, wanted, bar, d, c,
            [&](const TouchingPair& pair, int slot, const ContactParameters<S>&,
                ContactParameters<S>& par_bar, RowsBar<S>& rows) {
              rows = c.rows_bar[pair.point + slot];
              if (!rows.any_world) return false;  // what else it holds is of an earlier step
              for (int i = 1; i < pair.geoms.condim; ++i) par_bar.friction[i] += rows.friction[i];
              return true;
            });
}

template <class S>
void contact_gaps_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* gap_bar,
                      const Wanted& wanted, S* p_bar, Data<S>& d, ContactData<S>& c) {
  for (const int i : cons.geoms) c.shape_bars[i] = geometry::ShapeBar<S>::zero();
  for (std::size_t i = 0; i < cons.pairs.size(); ++i) {
    const TouchingPair& pair = cons.pairs[i];
    const std::size_t one = pair.geoms.first, two = pair.geoms.second;
    S margin_bar(0);
    bool wants = false;
    geometry::ContactPoint<S>* point_bars = c.point_bars.data();
    for (int slot = 0; slot < pair.geoms.slots; ++slot) {
      point_bars[slot] = geometry::ContactPoint<S>::zero();
      point_bars[slot].dist = gap_bar[pair.point + slot];
      margin_bar -= point_bars[slot].dist;
      wants |= any(point_bars[slot].dist != S(0));
    }
    if (!wants) continue;
    geometry::collide_vjp(tree.geoms[one].type, tree.geoms[two].type, c.shapes[one], c.shapes[two],
                          contact_margin(tree, pair.geoms, p) + c.slack[i], point_bars, c.shape_bars[one],
                          c.shape_bars[two]);
    margin_vjp(tree, pair, margin_bar, wanted, p_bar);
  }
  for (const int i : cons.geoms) shape_vjp(tree, i, p, wanted, p_bar, d, c);
}

#if !defined(COSTATE_ON_DEVICE)
#define COSTATE_INSTANTIATE(S)                                                                              \
  template void contact_vjp(const Tree&, const Constraints&, const S*, const S*, const S*, const S*,        \
                            const Wanted&, const ConstraintBar<S>&, Data<S>&, ConstraintData<S>&, S&);      \
  template void contact_points_vjp(const Tree&, const Constraints&, const S*, const S*, const S*, const S*, \
                                   const S*, const Wanted&, const ConstraintBar<S>&, Data<S>&,              \
                                   ContactData<S>&);                                                        \
  template void contact_gaps_vjp(const Tree&, const Constraints&, const S*, const S*, const Wanted&, S*,    \
                                 Data<S>&, ContactData<S>&);
COSTATE_INSTANTIATE(double)
COSTATE_INSTANTIATE(NativePack<double>)
COSTATE_INSTANTIATE(NativePack<float>)
COSTATE_INSTANTIATE(Dual<NativePack<double>>)
COSTATE_INSTANTIATE(Dual<NativePack<float>>)
#endif

}  // namespace costate::rigid
