// Contact points of a state, and their rows of the convex problem.
//
// Every pair of geoms that may touch is looked at in two steps: are their bounding spheres (or a sphere and a
// plane) within the margin in some world of the pack, and if so, where exactly do the shapes touch
// (costate/geometry). A contact point x with frame (n, t1, t2), which points from the first geom's body to
// the second's, has rows
//
//   J v = (n, t1, t2) . (velocity of the second body at x - velocity of the first)
//       and, with the same axes, of rotations
//   r   = dist - margin,      in play where r < 0
//   w   = inverse weights of both bodies; with a pyramid times 1 + mu_1^2            D = 1/R, R = (1 - d)/d w
//   D   of a pyramid's edges: 1/(2 mu^2 R), mu = mu_1 / sqrt(impratio) the regularised coefficient
//
// aref is that of any constraint (impedance.h) in the normal row; tangents, spin and rolling are damped only.
//
// The bodies of this file are compiled once for each scalar, in contact_rows.cpp; the transpose is
// contact_adjoint.h.
// Tests: tests/rigid/contact/gradient_test.cpp, parity_test.cpp.
#pragma once

#include <algorithm>

#include "costate/ad/dual.h"
#include "costate/geometry/collide.h"
#include "costate/rigid/constraints/constraints.h"
#include "costate/rigid/contact/contact_law.h"
#include "costate/rigid/dynamics/rnea.h"

namespace costate::rigid {

// The cotangents of one contact point's rows: J_bar = f nu' - g a' + h v', and those of r = dist - margin and
// of the coefficients of friction.
template <class S>
struct RowsBar {
  S f[kMostRows], g[kMostRows], h[kMostRows];
  S r;
  S friction[kMostRows];
  bool any_world = false;       // has them
  const S* tangents = nullptr;  // a part of J_bar of the rows but the normal one, all dofs each; or null
  static RowsBar zero() {
    RowsBar out;
    for (auto* values : {out.f, out.g, out.h, out.friction}) std::fill(values, values + kMostRows, S(0));
    out.r = S(0);
    return out;
  }
};

template <class S>
struct ContactData {
  explicit ContactData(const Constraints& cons)
      : shapes(cons.pairs.empty() ? 0 : cons.all_geoms),
        reach(shapes.size()),
        points(cons.points),
        frames(points.size()),
        modes(std::size_t(cons.events()), S(0)),
        slack(cons.pairs.size(), S(0)),
        shape_bars(shapes.size()),
        by_nu(cons.pairs.empty() ? 0 : cons.all_bodies),
        by_a(by_nu.size()),
        by_v(by_nu.size()),
        motion(by_nu.size()),
        rows_bar(cons.contact == ContactModel::convex ? 0 : points.size()) {
    touching.reserve(cons.pairs.size());
    int most = 0;
    for (const TouchingPair& pair : cons.pairs) most = std::max(most, pair.geoms.slots);
    point_bars.resize(most);
  }

  std::vector<geometry::Shape<S>> shapes;  // in the world
  std::vector<S> reach;                    // radii of bounding spheres
  std::vector<geometry::ContactPoint<S>> points;
  std::vector<Mat3<S>> frames;
  std::vector<S> modes;  // of each point, then of limits that are cut: > 0 in play, < 0 not, 0 as r says
  std::vector<S>
      slack;  // of each pair: its points count from that far beyond the margin on (near_points; else 0)
  std::vector<int> touching;  // pairs with a point in play in some world

  // The transpose: cotangents of one pair's points and of all shapes; wrenches on bodies whose product with a
  // dof's nu, a and v is the cotangent of its motion; motion of bodies by a alone.
  std::vector<geometry::ContactPoint<S>> point_bars;
  std::vector<geometry::ShapeBar<S>> shape_bars;
  std::vector<Force<S>> by_nu, by_a, by_v;
  std::vector<Motion<S>> motion;
  std::vector<RowsBar<S>> rows_bar;  // of each point, for the laws that are not convex
};

// Which worlds have a point in play, given r = dist - margin.
template <class S>
COSTATE_INLINE mask_t<S> point_in_play(const S& mode, const S& r) {
  return (mode > S(0)) | ((mode == S(0)) & (r < S(0)));
}

// Which pairs touch, and the frames of their points in play. Needs kinematics.
template <class S>
void contact_points(const Tree& tree, const Constraints& cons, const S* p, const S* q, const Data<S>& d,
                    ContactData<S>& c);

// The same with all points that bodies moving with v may close within h, twice as far to be safe. Fills
// c.slack.
template <class S>
void near_points(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v, const S& h,
                 const Data<S>& d, ContactData<S>& c);

// S without its tangents.
template <class S, bool dual = is_dual<S>>
struct PlainScalar {
  using type = S;
};
template <class S>
struct PlainScalar<S, true> {
  using type = typename S::Inner;
};
template <class S>
using plain_t = typename PlainScalar<S>::type;

// Points and frames of the pairs in c.touching, with the slack they have. shapes: where plain numbers have
// put the shapes, or null. Duals take these values, so that a choice that rounding decides (which of two
// faces that touch clips the other) is the same one.
template <class S>
void listed_points(const Tree& tree, const Constraints& cons, const S* p, const S* q, const Data<S>& d,
                   const geometry::Shape<plain_t<S>>* shapes, ContactData<S>& c);

// Motion of each body under the velocities (or accelerations) a alone.
template <class S>
void body_motions(const Tree& tree, const S* a, const Data<S>& d, std::vector<Motion<S>>& out) {
  out[0] = Motion<S>::zero();
  for (std::size_t i = 1; i < tree.bodies.size(); ++i) {
    const TreeBody& body = tree.bodies[i];
    out[i] = out[body.parent];
    if (body.dof_begin < body.dof_end) out[i] += combine(d, body.dof_begin, body.dof_end - body.dof_begin, a);
  }
}

// r = dist - margin of every contact point of a state; kFar where the bounding spheres are far from each
// other. Needs kinematics.
template <class S>
void contact_gaps(const Tree& tree, const Constraints& cons, const S* p, const S* q, const Data<S>& d,
                  ContactData<S>& c, S* gap);

}  // namespace costate::rigid
