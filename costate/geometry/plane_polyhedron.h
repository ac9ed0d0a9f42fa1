// A plane under a box, an ellipsoid, a cylinder or a convex mesh: the lowest points p of the body, each as a
// ball of no radius (plane_round.h). They differ in how the points hang on the body.
//
//   box        corners x + R (s o size), s = +-1, that lie lower than the centre and within the margin: of
//              each two that lie opposite each other the lower one. So a slot is the same corner until the
//              box has turned it above its centre.
//   ellipsoid  p = x - R w,  w_i = size_i^2 u_i / L,  L = |size o u|,  u = R^T n
//   cylinder   a: axis towards the plane, v = (n.a) a - n, e = v/|v|:  x + r e + h a,  x + r e - h a,
//              and two more of the lower rim, x - r e/2 + h a +- (sqrt 3 / 2) r (e x a). Standing within 1e-5
//              rad of upright, e is a point of the rim that moves with the body (its direction would spin
//              with a tilt that is rounding).
//   mesh       the lowest vertex and, of the face there that looks down most, the vertices within the margin
//              and below the centre; of more than four of these the lowest, the farthest from it, and the
//              farthest to either side of these two; of fewer, the lowest others of that face as well,
//              beyond the margin. The lower one first, so that the height of a slot is continuous: two
//              vertices change places where they are equally high.
//
// Numbers and choices are MuJoCo's, and the order except of boxes and meshes. Which points are taken is held.
// Tests: tests/geometry/solid_test.cpp.
#pragma once

#include "costate/geometry/contact_point.h"
#include "costate/geometry/scalars.h"

namespace costate::geometry {

COSTATE_GEOMETRY_PAIR(plane_box);
COSTATE_GEOMETRY_PAIR(plane_ellipsoid);
COSTATE_GEOMETRY_PAIR(plane_cylinder);
COSTATE_GEOMETRY_PAIR(plane_mesh);

}  // namespace costate::geometry
