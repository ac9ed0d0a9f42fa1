#include "costate/geometry/box_box_case.h"

#include <cmath>
#include <initializer_list>
#include <utility>

namespace costate::geometry {

namespace {

constexpr double kSeparationSlack = 1e-13;  // of the sum of half sizes
constexpr double kParallel = 1e-16;         // squared sine of two edges
constexpr double kAmbiguous = 1e-9;         // a support corner's sign along a component of n below this
constexpr double kSamePoint = 1e-14;        // squared, of the reference face's half diagonal
constexpr double kEdgeBias = 1e-6;
constexpr int kMaxVertices = 12;

struct Frames {
  Mat3<double> q;         // axes of the second box in the first's frame
  Vec3<double> c21, c12;  // centre of the second in the first's frame; of the first in the second's
};

struct Axis {
  double separation = -1e300;
  int code = -1;  // 0..2 face of the first, 3..5 of the second, 6 + 3 i + j edges
};

// A corner of the polygon while it is clipped; `on`: what the edge to the next corner lies on: 0..3 an
// incident edge, 4.. a side.
struct Clipped {
  Vec3<double> v;
  BoxVertex what;
  int on;
};

Vec3<double> edge_axis(const Mat3<double>& q, int i, int j) {
  Vec3<double> n = Vec3<double>::zero();
  const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
  n[i1] = -q.e[i2][j];
  n[i2] = q.e[i1][j];
  return n;
}

// False when some axis separates the boxes.
bool least_overlap(const Frames& f, const double* h1, const double* h2, double slack, Axis& best,
                   Axis& face) {
  for (int i = 0; i < 3; ++i) {
    double reach = h1[i];
    for (int k = 0; k < 3; ++k) reach += std::abs(f.q.e[i][k]) * h2[k];
    const double s = std::abs(f.c21[i]) - reach;
    if (s > slack) return false;
    if (s > best.separation) best = {s, i};
  }
  for (int j = 0; j < 3; ++j) {
    double reach = h2[j];
    for (int k = 0; k < 3; ++k) reach += std::abs(f.q.e[k][j]) * h1[k];
    const double s = std::abs(f.c12[j]) - reach;
    if (s > slack) return false;
    if (s > best.separation) best = {s, 3 + j};
  }
  face = best;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      Vec3<double> n = edge_axis(f.q, i, j);
      const double square = squared_norm(n);
      if (square < kParallel) continue;
      n = (1 / std::sqrt(square)) * n;
      const Vec3<double> n2 = transpose_times(f.q, n);
      double reach = 0;
      for (int k = 0; k < 3; ++k) reach += h1[k] * std::abs(n[k]) + (k == j ? 0 : h2[k] * std::abs(n2[k]));
      const double s = std::abs(dot(n, f.c21)) - reach;
      if (s > slack) return false;
      if (s - kEdgeBias * std::abs(s) > best.separation && s > face.separation) best = {s, 6 + 3 * i + j};
    }
  return true;
}

// An edge axis within 8 degrees of the best face, and not better by a twentieth of its depth, is that face
// seen by rounding.
void prefer_face(const Frames& f, Axis& best, const Axis& face) {
  if (best.code < 6) return;
  Vec3<double> n = edge_axis(f.q, (best.code - 6) / 3, (best.code - 6) % 3);
  n = (1 / std::sqrt(squared_norm(n))) * n;
  const double cosine = face.code < 3 ? std::abs(n[face.code]) : std::abs(dot(n, f.q.column(face.code - 3)));
  if (cosine > 0.99 && best.separation < face.separation + 0.05 * std::abs(face.separation) + 1e-15)
    best = face;
}

// The pair of edges whose closest points are nearest; a sign that rounding decides is tried both ways.
bool choose_edges(const Frames& f, const double* h1, const double* h2, double slack, BoxCase& c) {
  const int i = c.i, j = c.j, i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
  Vec3<double> n = edge_axis(f.q, i, j);
  n = (1 / std::sqrt(squared_norm(n))) * n;
  c.side = dot(n, f.c21) < 0 ? -1 : 1;
  n = c.side * n;
  const Vec3<double> n2 = transpose_times(f.q, n), e2 = f.q.column(j);
  const int unsure1 = std::abs(n[i1]) < kAmbiguous ? i1 : std::abs(n[i2]) < kAmbiguous ? i2 : -1;
  const int unsure2 = std::abs(n2[j1]) < kAmbiguous ? j1 : std::abs(n2[j2]) < kAmbiguous ? j2 : -1;
  const double b = e2[i], denominator = 1 - b * b;
  double nearest = 1e300, dist = 0;
  for (int v1 = 0; v1 < (unsure1 >= 0 ? 2 : 1); ++v1)
    for (int v2 = 0; v2 < (unsure2 >= 0 ? 2 : 1); ++v2) {
      Vec3<double> s1 = Vec3<double>::zero(), s2 = Vec3<double>::zero();
      for (int k : {i1, i2}) s1[k] = n[k] >= 0 ? 1 : -1;
      for (int k : {j1, j2}) s2[k] = n2[k] >= 0 ? -1 : 1;
      if (v1) s1[unsure1] = -s1[unsure1];
      if (v2) s2[unsure2] = -s2[unsure2];
      const Vec3<double> p1 = {s1.x * h1[0], s1.y * h1[1], s1.z * h1[2]};
      const Vec3<double> p2 = f.c21 + f.q * Vec3<double>{s2.x * h2[0], s2.y * h2[1], s2.z * h2[2]};
      const Vec3<double> e = p2 - p1;
      const double along1 = e[i], along2 = dot(e2, e);
      const auto clip = [](double x, double limit) { return x > limit ? limit : x < -limit ? -limit : x; };
      double s = denominator < 1e-15 ? 0 : clip((along1 - b * along2) / denominator, h1[i]);
      const double t = clip(b * s - along2, h2[j]);
      s = clip(along1 + b * t, h1[i]);
      Vec3<double> gap = e + t * e2;
      gap[i] -= s;
      const double square = squared_norm(gap);
      if (square < nearest) {
        nearest = square;
        dist = dot(gap, n);
        c.corner1 = s1;
        c.corner2 = s2;
      }
    }
  return dist <= slack;
}

// Keeps what is on the inner side of one side of the reference face.
int clip(const Clipped* in, int count, int side, double limit, Clipped* out) {
  const int coordinate = side / 2;
  const double sign = side % 2 == 0 ? 1 : -1;
  int n = 0;
  for (int k = 0; k < count; ++k) {
    const Clipped &p = in[k], &q = in[(k + 1) % count];
    const double dp = sign * p.v[coordinate] - limit, dq = sign * q.v[coordinate] - limit;
    if (dp <= 0 && n < kMaxVertices) out[n++] = p;
    if (((dp < 0 && dq > 0) || (dp > 0 && dq < 0)) && n < kMaxVertices) {
      const double t = dp / (dp - dq);
      const BoxVertex what = p.on < 4 ? BoxVertex{BoxVertex::crossing, p.on, {side, side}}
                                      : BoxVertex{BoxVertex::pillar, 0, {p.on - 4, side}};
      out[n++] = {p.v + t * (q.v - p.v), what, dp < 0 ? 4 + side : p.on};
    }
  }
  return n;
}

void clip_faces(const Frames& f, const double* reference, const double* incident, double margin, BoxCase& c) {
  const Vec3<double>& centre = c.first_owns ? f.c21 : f.c12;
  const Mat3<double> q = c.first_owns ? f.q : transpose(f.q);
  const int a = c.a, x = c.x(), y = c.y();
  c.a_side = centre[a] >= 0 ? 1 : -1;
  c.b = 0;
  for (int k = 1; k < 3; ++k)
    if (std::abs(q.e[a][k]) > std::abs(q.e[a][c.b])) c.b = k;
  c.b_side = c.a_side * q.e[a][c.b] > 0 ? -1 : 1;
  const int u = (c.b + 1) % 3, v = (c.b + 2) % 3;

  Clipped buffers[2][kMaxVertices];
  Clipped *now = buffers[0], *next = buffers[1];
  int count = 4;
  for (int k = 0; k < 4; ++k) {
    const Vec3<double> p = centre + (c.b_side * incident[c.b]) * q.column(c.b) +
                           (kFaceCorner[k][0] * incident[u]) * q.column(u) +
                           (kFaceCorner[k][1] * incident[v]) * q.column(v);
    now[k] = {{p[x], p[y], c.a_side * p[a] - reference[a]}, {BoxVertex::corner, k, {0, 0}}, k};
  }
  for (int side = 0; side < 4; ++side) {
    count = clip(now, count, side, reference[side < 2 ? x : y], next);
    std::swap(now, next);
  }
  const double same = kSamePoint * (reference[x] * reference[x] + reference[y] * reference[y]);
  Vec3<double> kept[8];
  for (int k = 0; k < count && c.count < 8; ++k) {
    if (now[k].v.z > margin) continue;
    bool again = false;
    for (int m = 0; m < c.count; ++m) {
      const double dx = kept[m].x - now[k].v.x, dy = kept[m].y - now[k].v.y;
      again |= dx * dx + dy * dy < same;
    }
    if (again) continue;
    int at = c.count++;
    for (; at > 0 && now[k].v.z < kept[at - 1].z; --at) {
      kept[at] = kept[at - 1];
      c.vertex[at] = c.vertex[at - 1];
    }
    kept[at] = now[k].v;
    c.vertex[at] = now[k].what;
  }
}

}  // namespace

BoxCase box_box_case(const Shape<double>& first, const Shape<double>& second, double margin) {
  BoxCase c;
  Frames f;
  f.q = transpose(first.R) * second.R;
  f.c21 = transpose_times(first.R, second.x - first.x);
  f.c12 = transpose_times(second.R, first.x - second.x);
  double extent = 0;
  for (int i = 0; i < 3; ++i) extent += first.size[i] + second.size[i];
  const double slack = margin + kSeparationSlack * extent;
  Axis best, face;
  if (!least_overlap(f, first.size, second.size, slack, best, face)) return c;
  prefer_face(f, best, face);
  if (best.code >= 6) {
    c.i = (best.code - 6) / 3;
    c.j = (best.code - 6) % 3;
    if (choose_edges(f, first.size, second.size, slack, c)) c.kind = BoxCase::edges;
    return c;
  }
  c.first_owns = best.code < 3;
  c.a = best.code % 3;
  clip_faces(f, c.first_owns ? first.size : second.size, c.first_owns ? second.size : first.size, margin, c);
  if (c.count > 0) c.kind = BoxCase::faces;
  return c;
}

}  // namespace costate::geometry
