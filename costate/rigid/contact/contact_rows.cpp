#include "costate/rigid/contact/contact_rows.h"

#include "costate/geometry/contact_frame.h"
#include "costate/rigid/contact/contact_jacobian.h"
#include "costate/rigid/contact/contact_mixing.h"
#include "costate/rigid/contact/impact_law.h"

namespace costate::rigid {
namespace {

template <class S>
S bounding_radius(const TreeGeom& g, const S* size) {
  switch (g.type) {
    case GeomType::sphere:
      return size[0];
    case GeomType::capsule:
    case GeomType::cylinder:
      return size[0] + size[1];
    case GeomType::ellipsoid: {
      const S m = select(size[0] > size[1], size[0], size[1]);
      return select(size[2] > m, size[2], m);
    }
    case GeomType::box:
      return size[0] + size[1] + size[2];
    case GeomType::mesh:
      return S(value_t<S>(g.mesh->bounding_radius));
    case GeomType::heightfield:
      return S(value_t<S>(g.heights->bounding_radius()));
    default:
      return S(0);
  }
}

template <class S>
void place_shapes(const Tree& tree, const Constraints& cons, const S* p, const S* q, const Data<S>& d,
                  ContactData<S>& c) {
  int root = -1;
  Vec3<S> origin = Vec3<S>::zero();
  for (const int i : cons.geoms) {
    const TreeGeom& g = tree.geoms[i];
    const std::size_t body = g.body;
    if (tree.bodies[body].root != root) {
      root = tree.bodies[body].root;
      origin = root_origin(tree, p, q, root);
    }
    geometry::Shape<S>& shape = c.shapes[i];
    shape.x = origin + d.x[body] + d.R[body] * vec3_at(p + g.p.pos);
    shape.R = d.R[body] * to_matrix(quat_at(p + g.p.quat));
    shape.mesh = g.mesh.get();
    shape.heights = g.heights.get();
    for (int k = 0; k < 3; ++k) shape.size[k] = k < g.p.sizes ? p[g.p.size + k] : S(0);
    c.reach[i] = bounding_radius(g, shape.size);
  }
}

template <class S>
void take_values(const geometry::Shape<plain_t<S>>& from, geometry::Shape<S>& to) {
  for (int i = 0; i < 3; ++i) {
    to.x[i].v = from.x[i];
    to.size[i].v = from.size[i];
    for (int j = 0; j < 3; ++j) to.R.e[i][j].v = from.R.e[i][j];
  }
}

// Worlds that have them within the margin. Generous by more than rounding, so that what neighbours do cannot
// decide.
template <class S>
mask_t<S> maybe_near(const TouchingPair& pair, bool plane, const S& margin, const ContactData<S>& c) {
  const std::size_t one = pair.geoms.first, two = pair.geoms.second;
  const Vec3<S> between = c.shapes[two].x - c.shapes[one].x;
  const S slack = S(value_t<S>(1.001)) * (margin + c.reach[two]) + S(value_t<S>(1e-5));
  if (plane) return dot(between, c.shapes[one].R.column(2)) < slack;
  const S sum = slack + S(value_t<S>(1.001)) * c.reach[one];
  return dot(between, between) < sum * sum;
}

// Some point of the pair is in play however far apart the shapes are.
template <class S>
bool kept(const TouchingPair& pair, const ContactData<S>& c) {
  for (int k = pair.point; k < pair.point + pair.geoms.slots; ++k) {
    if (any(c.modes[k] > S(0))) return true;
  }
  return false;
}

// No point of the pair is in play in any world, however near the shapes are.
template <class S>
bool left_out(const TouchingPair& pair, const ContactData<S>& c) {
  for (int k = pair.point; k < pair.point + pair.geoms.slots; ++k) {
    if (any(!(c.modes[k] < S(0)))) return false;
  }
  return true;
}

// How far the surfaces of the two shapes can come towards each other within h. Each side counts by its own
// motion, not by the motion relative to the other: what the other one rests on may stop it within the step. A
// stack at rest falls as one while nothing holds it, and its boxes still carry each other.
template <class S>
S way_within(const Tree& tree, const TouchingPair& pair, const S* p, const S* q, const S& h,
             const ContactData<S>& c) {
  const std::size_t shape = pair.geoms.second;
  const auto length = [](const Vec3<S>& x) {
    const S square = held(dot(x, x));
    const mask_t<S> moves = square > S(0);
    return select(moves, sqrt(select(moves, square, S(1))), S(0));
  };
  const auto way = [&](std::size_t body) {
    const Vec3<S> x = c.shapes[shape].x - root_origin(tree, p, q, tree.bodies[body].root);
    const Motion<S>& motion = c.motion[body];
    return length(motion.v + cross(motion.w, x)) + held(c.reach[shape]) * length(motion.w);
  };
  return held(h) * (way(std::size_t(pair.second_body)) + way(std::size_t(pair.first_body)));
}

// The rows of one contact point.
template <class S>
void point_rows(const Tree& tree, const Constraints& cons, const TouchingPair& pair, const ConstraintGroup& g,
                const ContactParameters<S>& par, const S& margin, const S& mode,
                const geometry::ContactPoint<S>& point, const Mat3<S>& frame, const S* p, const S* q,
                const S* v, const Data<S>& d, ConstraintData<S>& c) {
  S vel[kMostRows];
  contact_jacobian(tree, pair, g, point.point, frame, p, q, v, d, c.J.data() + g.jacobian, vel);
  using T = value_t<S>;
  const std::size_t row = g.row;
  const bool cone = g.rows > 1;
  const S mu = par.friction[1 < g.rows ? 1 : 0];
  S weight = contact_weight(tree, pair, p);
  if (cone && !cons.elliptic) weight *= S(1) + mu * mu;
  const S r = point.dist - margin;
  const RowReference<S> reference = row_reference(par.soft, kMixed, p[tree.p.whole_dt], cons.refsafe, false,
                                                  RowInput<S>{r, abs(r), vel[0], weight});
  const mask_t<S> present = point_in_play(mode, r);
  c.worlds = c.worlds | present;
  S D = reference.D;
  if (cone && !cons.elliptic) D *= S(T(cons.impratio * 0.5)) / (mu * mu);
  c.D[row] = select(present, D, S(0));
  c.aref[row] = select(present, reference.aref, S(0));
  c.loss[row] = mu * S(T(1 / std::sqrt(cons.impratio)));
  const S damping = tangential_damping(tree, cons, pair.geoms, par, p, reference.B);
  for (int i = 1; i < g.rows; ++i) {
    const auto at = row + static_cast<std::size_t>(i);
    c.aref[at] = select(present, -(damping * vel[i]), S(0));
    c.loss[at] = par.friction[i];
  }
}

template <class S>
void find_points(const Tree& tree, const Constraints& cons, const S* p, ContactData<S>& c) {
  c.touching.clear();
  for (std::size_t i = 0; i < cons.pairs.size(); ++i) {
    const TouchingPair& pair = cons.pairs[i];
    if (left_out(pair, c)) continue;
    const std::size_t one = pair.geoms.first, two = pair.geoms.second;
    const GeomType first = tree.geoms[one].type, second = tree.geoms[two].type;
    const S margin = contact_margin(tree, pair.geoms, p), reach = margin + c.slack[i];
    if (!kept(pair, c) && !any(maybe_near(pair, first == GeomType::plane, reach, c))) continue;
    geometry::ContactPoint<S>* points = c.points.data() + pair.point;
    geometry::collide(first, second, c.shapes[one], c.shapes[two], reach, points);
    bool touches = false;
    for (int slot = 0; slot < pair.geoms.slots; ++slot) {
      const std::size_t at = pair.point + slot;
      if (!any(point_in_play(c.modes[at], points[slot].dist - reach))) continue;
      touches = true;
      c.frames[at] = geometry::contact_frame(points[slot].normal, points[slot].tangent);
    }
    if (touches) c.touching.push_back(int(i));
  }
}

}  // namespace

template <class S>
void contact_points(const Tree& tree, const Constraints& cons, const S* p, const S* q, const Data<S>& d,
                    ContactData<S>& c) {
  place_shapes(tree, cons, p, q, d, c);
  find_points(tree, cons, p, c);
}

template <class S>
void near_points(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v, const S& h,
                 const Data<S>& d, ContactData<S>& c) {
  place_shapes(tree, cons, p, q, d, c);
  body_motions(tree, v, d, c.motion);
  for (std::size_t i = 0; i < cons.pairs.size(); ++i)
    c.slack[i] = S(value_t<S>(2)) * way_within(tree, cons.pairs[i], p, q, h, c);
  find_points(tree, cons, p, c);
}

template <class S>
void listed_points(const Tree& tree, const Constraints& cons, const S* p, const S* q, const Data<S>& d,
                   [[maybe_unused]] const geometry::Shape<plain_t<S>>* shapes, ContactData<S>& c) {
  place_shapes(tree, cons, p, q, d, c);
  if constexpr (is_dual<S>) {
    for (const int i : cons.geoms) take_values(shapes[i], c.shapes[i]);
  }
  for (const int index : c.touching) {
    const TouchingPair& pair = cons.pairs[index];
    const std::size_t one = pair.geoms.first, two = pair.geoms.second;
    geometry::ContactPoint<S>* points = c.points.data() + pair.point;
    geometry::collide(tree.geoms[one].type, tree.geoms[two].type, c.shapes[one], c.shapes[two],
                      contact_margin(tree, pair.geoms, p) + c.slack[index], points);
    for (int slot = 0; slot < pair.geoms.slots; ++slot)
      c.frames[pair.point + slot] = geometry::contact_frame(points[slot].normal, points[slot].tangent);
  }
}

template <class S>
void contact_rows(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v,
                  const Data<S>& d, ConstraintData<S>& c) {
  ContactData<S>& contact = c.contact;
  contact_points(tree, cons, p, q, d, contact);
  for (const int index : contact.touching) {
    const TouchingPair& pair = cons.pairs[index];
    const S margin = contact_margin(tree, pair.geoms, p);
    ContactParameters<S> par;
    contact_parameters(tree, pair.geoms, p, par);
    for (int slot = 0; slot < pair.geoms.slots; ++slot) {
      const std::size_t at = pair.point + slot;
      const geometry::ContactPoint<S>& point = contact.points[at];
      if (!any(point_in_play(contact.modes[at], point.dist - margin))) continue;
      const int group = pair.group + slot;
      point_rows(tree, cons, pair, cons.groups[group], par, margin, contact.modes[at], point,
                 contact.frames[at], p, q, v, d, c);
      c.active.push_back(group);
    }
  }
}

template <class S>
void contact_gaps(const Tree& tree, const Constraints& cons, const S* p, const S* q, const Data<S>& d,
                  ContactData<S>& c, S* gap) {
  place_shapes(tree, cons, p, q, d, c);
  std::fill(gap, gap + cons.points, S(value_t<S>(geometry::kFar)));
  for (std::size_t i = 0; i < cons.pairs.size(); ++i) {
    const TouchingPair& pair = cons.pairs[i];
    if (!pair.splittable) continue;
    const std::size_t one = pair.geoms.first, two = pair.geoms.second;
    const GeomType first = tree.geoms[one].type, second = tree.geoms[two].type;
    const S margin = contact_margin(tree, pair.geoms, p);
    const mask_t<S> near = maybe_near(pair, first == GeomType::plane, margin + c.reach[two], c);
    if (!kept(pair, c) && !any(near)) continue;
    geometry::ContactPoint<S>* points = c.points.data() + pair.point;
    geometry::collide(first, second, c.shapes[one], c.shapes[two], margin + c.slack[i], points);
    // A world's gaps do not depend on who else is near.
    for (int k = pair.point; k < pair.point + pair.geoms.slots; ++k) {
      gap[k] = select(near | (c.modes[k] > S(0)), c.points[k].dist - margin, gap[k]);
    }
  }
}

#if !defined(COSTATE_ON_DEVICE)
#define COSTATE_INSTANTIATE(S)                                                                              \
  template void contact_rows(const Tree&, const Constraints&, const S*, const S*, const S*, const Data<S>&, \
                             ConstraintData<S>&);                                                           \
  template void contact_points(const Tree&, const Constraints&, const S*, const S*, const Data<S>&,         \
                               ContactData<S>&);                                                            \
  template void near_points(const Tree&, const Constraints&, const S*, const S*, const S*, const S&,        \
                            const Data<S>&, ContactData<S>&);                                               \
  template void listed_points(const Tree&, const Constraints&, const S*, const S*, const Data<S>&,          \
                              const geometry::Shape<plain_t<S>>*, ContactData<S>&);                         \
  template void contact_gaps(const Tree&, const Constraints&, const S*, const S*, const Data<S>&,           \
                             ContactData<S>&, S*);
COSTATE_INSTANTIATE(double)
COSTATE_INSTANTIATE(NativePack<double>)
COSTATE_INSTANTIATE(NativePack<float>)
COSTATE_INSTANTIATE(Dual<NativePack<double>>)
COSTATE_INSTANTIATE(Dual<NativePack<float>>)
#endif

}  // namespace costate::rigid
