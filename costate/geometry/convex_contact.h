// Contact of two convex shapes whose surfaces have no closed form together: ellipsoids, cylinders, meshes,
// and these with spheres, capsules, boxes. One contact point, or several where a face of one lies along the
// other (face_clip.h).
//
// gjk.h finds about where; the features of both shapes there (convex_feature.h) make equations of the contact
// exact. With cores (a sphere's centre, a capsule's axis; radii r1, r2 put on after), w1 = w1(t1, n),
// w2 = w2(t2, -n):
//
//   F:   w2 - w1 - d n = 0,    n.n - 1 = 0,    (R f_j).n = 0  for every flat direction of both
//   dist = d - r1 - r2,   normal = n,   point = (w1 + w2 + (r1 - r2) n)/2
//
// Unknowns z = (n, d, t): as many as equations, 4 to 6. Newton from the search's answer; features are right
// when w_i lies on them and is the shape's support along n. Derivatives by the implicit function theorem:
// with J = dF/dz, whose block in n is -(K1 + K2 + d), K_i = dw_i/dm the surfaces' curvature radii,
//
//   J^T l = z_,   inputs_ -= (dF/d inputs)^T l
//
// Where no features fit (rounding at a seam of two), the search's own answer is taken with its points held on
// the shapes and its normal held: the distance's derivative is then exact and the normal's is left out.
// Tests: tests/geometry/convex_test.cpp.
#pragma once

#include "costate/geometry/contact_point.h"
#include "costate/geometry/scalars.h"

namespace costate::geometry {

template <class S>
void convex_contact(ShapeType first_type, ShapeType second_type, const Shape<S>& first,
                    const Shape<S>& second, const S& margin, ContactPoint<S>* out);
template <class S>
void convex_contact_vjp(ShapeType first_type, ShapeType second_type, const Shape<S>& first,
                        const Shape<S>& second, const S& margin, const ContactPoint<S>* bar,
                        ShapeBar<S>& first_bar, ShapeBar<S>& second_bar);

}  // namespace costate::geometry
