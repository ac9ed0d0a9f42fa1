// Which case of box_box.h two boxes are in, in plain numbers.
#pragma once

#include "costate/geometry/contact_point.h"

namespace costate::geometry {

struct BoxVertex {
  enum Kind { corner, crossing, pillar } kind;
  int edge;     // corner: its index; crossing: the edge from corner `edge` to the next
  int side[2];  // crossing: side[0]; pillar: both. Side 0: +x, 1: -x, 2: +y, 3: -y of the reference face
};

struct BoxCase {
  enum Kind { apart, edges, faces } kind = apart;

  // edges i of the first and j of the second
  int i = 0, j = 0;
  double side = 1;                // n = side e1 x e2 / |.|
  Vec3<double> corner1, corner2;  // signs of the edges' other two coordinates, 0 along the edge

  // faces
  bool first_owns = true;  // the reference is the first box
  int a = 0, b = 0;        // axes of the reference and the incident face
  double a_side = 1, b_side = 1;
  int count = 0;
  BoxVertex vertex[8];

  int x() const { return (a + 1) % 3; }
  int y() const { return (a + 2) % 3; }
};

BoxCase box_box_case(const Shape<double>& first, const Shape<double>& second, double margin);

// Signs of corner k of the incident face along the two axes after b.
inline constexpr double kFaceCorner[4][2] = {{1, 1}, {-1, 1}, {-1, -1}, {1, -1}};

}  // namespace costate::geometry
