// Several contacts of two polyhedra (boxes, meshes) that lie on each other with a face each.
//
// Of the faces that hold the contact's places w1 and w2 on the two shapes (all faces of a corner, the two of
// an edge) the pair counts whose normals are nearest to opposite, if they are so within 5 degrees. Where the
// two overlap, seen along the first face's normal, is
// a polygon in the first face's plane; its corners, carried to the second face's plane along the second
// face's normal, are the contacts. In the second shape's frame, with faces m.(p - P) = 0 and n.(p - O) = 0
// (outward m of the first, n of the second), first face's corners P_k, second face's corners A_j,
//
//   corner    v = P_k
//   crossing  v = P + t d,  d = P' - P,  t = s.(A - P) / s.d,  s = (A' - A) x m
//   pillar    v = A + (m.(P - A)) m
//
//   g = n.(v - O),   dist = g,   point = v - g/2 n,   normal = -n                  at most four: widest_four
//
// The rule is MuJoCo's (4.0), found from its contacts; of more than four corners it keeps others than the
// widest. The choice is held, the formulas are transposed.
// Tests: tests/geometry/convex_test.cpp, face_pair_test.cpp.
#pragma once

#include "costate/geometry/face_clip.h"

namespace costate::geometry {

struct FacePairCase {
  SizedPoint first_origin, second_origin;  // P of a pillar, O
  Vec3<double> first_n, second_n;          // outward, each in its shape's frame
  int count = 0;
  struct Vertex {
    ClipVertex::Kind kind;
    SizedPoint p, q;  // corner, crossing: P and P'
    SizedPoint a, b;  // crossing: A and A'; pillar: A
  } vertex[kClipSlots];
};

// n: the contact's normal, from the first to the second; w1, w2: its places on them, in the world. False: no
// two faces lie on each other there.
bool face_pair_case(const ConvexBody& first, const ConvexBody& second, const Vec3<double>& n,
                    const Vec3<double>& w1, const Vec3<double>& w2, double margin, FacePairCase& out);

template <class T>
void face_pair_contacts(const FacePairCase& c, const Shape<T>& first, const Shape<T>& second,
                        ContactPoint<T>* out);
template <class T>
void face_pair_contacts_vjp(const FacePairCase& c, const Shape<T>& first, const Shape<T>& second,
                            const ContactPoint<T>* bar, ShapeBar<T>& first_bar, ShapeBar<T>& second_bar);

}  // namespace costate::geometry
