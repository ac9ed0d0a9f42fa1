// Several contacts of two convex shapes whose contact is a face of one (the reference) against a face, an
// edge or a side line of the other (the incident part) that lies along it, within 5 degrees. Two faces of
// boxes and meshes have a rule of their own: face_pair.h.
//
// The incident polygon or segment is clipped by the sides of the reference face. In the reference's frame,
// with the face n.p = o, its sides s_j.p <= o_j, and incident points P_k = c + Q (b_k + k(u)), u = -Q^T n (k:
// a cylinder's side, convex_feature.h), each place v of what is left within the margin is a contact,
//
//   g = n.v - o,   dist = g - r,   point = v - (g + r)/2 n        (r: radius of a capsule)
//
//   corner    v = P_k
//   crossing  v = P + t (P' - P),   t = (o_j - s_j.P) / (s_j.(P' - P))
//   pillar    s_i.v = o_i,  s_j.v = o_j,  m.(v - P_0) = 0,  m = Q m_l the incident face's normal
//
// at most four: of more, the four of largest area. A round cap as a reference has sixteen sides, for a line
// the circle itself; as an incident face it has four points. The choice is held, the formulas are transposed.
// Tests: tests/geometry/convex_test.cpp.
#pragma once

#include "costate/geometry/convex_feature.h"
#include "costate/geometry/widest_four.h"

namespace costate::geometry {

inline constexpr int kClipSlots = 4, kMaxOutline = 64;
inline constexpr double kAlongFace = 0.996;  // cosine between two faces' normals

// fixed + multiple * size[which], in each coordinate
struct SizedPoint {
  Vec3<double> fixed = Vec3<double>::zero(), multiple = Vec3<double>::zero();
  int which[3] = {0, 1, 2};
};
template <class T>
Vec3<T> point_of(const SizedPoint& p, const T* size) {
  Vec3<T> r;
  for (int i = 0; i < 3; ++i) r[i] = p.fixed[i] + p.multiple[i] * size[p.which[i]];
  return r;
}

// A face, counterclockwise from outside, or a line of a shape, in its frame.
struct Outline {
  int count = 0;
  SizedPoint point[kMaxOutline];
  Vec3<double> n;
  bool round = false;
};
// A face of a box (2 axis, + 1 on the negative side) or of a mesh.
struct BodyFace {
  int index;
  Vec3<double> n;  // outward, in the shape's frame
};
inline constexpr int kMostFaces = 64;
// The faces of a box or a mesh that hold its place p, which is farthest along u: one, the two of an edge, all
// of a corner. Both are in the shape's frame.
int faces_at(const ConvexBody& body, const Vec3<double>& u, const Vec3<double>& p, BodyFace* out);
// False: it has too many corners to be clipped.
bool face_outline(const ConvexBody& body, const BodyFace& face, Outline& out);

struct SizedPlane {
  Vec3<double> n;
  double fixed = 0, multiple = 0;
  int which = 0;
};
struct ClipVertex {
  enum Kind { corner, crossing, pillar } kind;
  SizedPoint p, q;      // corner: p; crossing: from p to q
  SizedPlane side[2];   // crossing: the first
  bool circle = false;  // the crossing is with a cap's circle, whose side there is
};
struct ClipCase {
  bool first_owns = true;
  bool round = false;  // the incident line is a cylinder's side
  SizedPlane face;
  SizedPoint origin;  // a point of the incident face
  Vec3<double> incident_n;
  int count = 0;
  ClipVertex vertex[kClipSlots];
};

// A face `owner` of one body against a face, or a line, of the other. False: nothing lies along it.
bool clip_case(const ConvexBody& first, const ConvexBody& second, bool first_owns, const Feature& owner,
               bool face_wanted, double margin, ClipCase& out);

template <class T>
void clip_contacts(const ClipCase& c, const Shape<T>& reference, const Shape<T>& incident, const T& radius,
                   ContactPoint<T>* out);
template <class T>
void clip_contacts_vjp(const ClipCase& c, const Shape<T>& reference, const Shape<T>& incident,
                       const T& radius, const ContactPoint<T>* bar, ShapeBar<T>& reference_bar,
                       ShapeBar<T>& incident_bar, T& radius_bar);

}  // namespace costate::geometry
